"""Judged: the records of one run that a leaderboard looks at, and what else the run asked."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harness.errors import InputError
from harness.schema import Record
from harness.schema.build import EMULATED
from harness.schema.columns import Coded, Columns
from harness.schema.verdict import PAST_BUILD

Tier = Literal["full", "basic", "none"]
TIERS: tuple[Tier, ...] = ("none", "basic", "full")
"""The tiers of isolation, rising."""

# Failing at one of these means that the candidate's extensions were built, or that it had none.

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Judged:
    """`columns` are the records. `unanswered` are, by model, the titles of problems that the run asked and has no
    record of that model for. `complete` says that verdicts were not filtered: else there is nothing to take a share of.
    `only_answered` says that problems without an answer were left out of the denominators. `aside` are records of what
    a CPU judged that only the devices asked for leave out: they have no row, and count in those of their models.
    """

    columns: Columns
    unanswered: Mapping[str, frozenset[str]] = field(default_factory=dict)
    complete: bool = True
    only_answered: bool = False
    aside: Columns | None = None

    @classmethod
    def of(cls, records: Columns | Iterable[Record], *, problems: Iterable[str] = ()) -> "Judged":
        """All records of a run.

        Args:
            problems: the titles of the problems that the run's catalogue holds. A model is taken to have been asked
                all those of each set from which it answers any.
        """
        columns = records if isinstance(records, Columns) else Columns.of(records)
        return cls(columns, _unanswered(columns, frozenset(problems)))

    def only(
        self,
        *,
        models: Sequence[str] = (),
        levels: Sequence[str] = (),
        devices: Sequence[str] = (),
        verdicts: Sequence[str] = (),
        min_isolation: Tier = "none",
        only_answered: bool = False,
    ) -> "Judged":
        """The records that all of these let through; of each, any of its values.

        Args:
            models: names, or patterns such as `gpt-*`.
            levels: names of sets; a number n means `level<n>`.
            devices: kinds, or what is no kind of any record: a part of the device's name in any case.
            min_isolation: leaves out answers that ran with less. One that never ran had no need of it.
            only_answered: shares are of the problems that a model answers, not of all that it was asked.
        """
        columns = self.columns
        names = [f"level{level}" if level.isdecimal() else level for level in levels]
        kept = np.ones(len(columns), np.bool_)
        if models:
            kept &= _matching(columns.model, lambda model: any(fnmatchcase(model, each) for each in models))
        if levels:
            kept &= _matching(columns.set, lambda name: name in names)
        if verdicts:
            kept &= _matching(columns.verdict, lambda kind: kind in verdicts)
        if min_isolation != "none":
            kept &= ~ran(columns) | (tiers(columns) >= TIERS.index(min_isolation))
        aside = None
        if devices:
            named = [each.casefold() for each in devices if each not in columns.device.texts]
            on_these = _matching(columns.device, lambda kind: kind in devices) | _matching(
                columns.device_name, lambda name: any(each in name.casefold() for each in named)
            )
            aside = columns.take(kept & ~on_these & _matching(columns.device, lambda kind: kind in ("cpu", EMULATED)))
            kept &= on_these
        unanswered = {
            model: frozenset(title for title in titles if not names or set_of(title) in names)
            for model, titles in self.unanswered.items()
        }
        return replace(
            self,
            columns=columns.take(kept),
            unanswered={} if only_answered else unanswered,
            complete=not verdicts,
            only_answered=only_answered,
            aside=aside,
        )


def check_filters(runs: Iterable[Judged], *, models: Sequence[str], levels: Sequence[str]) -> None:
    """Raises InputError where a model or level is asked for that no run has: a typing error should not look like an
    empty leaderboard.
    """
    columns = [run.columns for run in runs]
    for word, wanted, found in (
        ("model", models, {text for each in columns for text in each.model.texts}),
        ("level", levels, {text for each in columns for text in each.set.texts}),
    ):
        for name in wanted:
            pattern = f"level{name}" if word == "level" and name.isdecimal() else name
            if not any(fnmatchcase(text, pattern) for text in found):
                there = f"there is {', '.join(named)}" if (named := sorted(filter(None, found))) else "none is named"
                raise InputError(f"no record is of the {word} {name!r}: {there}")


def set_of(title: str) -> str:
    """The set that a problem's title names; empty for a single file."""
    return title.rpartition("/")[0]


def ran(columns: Columns) -> Bools:
    """Whose code was run after it was built; a rejected one without any layer was perhaps only screened."""
    rejected = _matching(columns.verdict, lambda kind: kind == "rejected")
    bare = _matching(columns.isolation, lambda text: not json.loads(text)[0])
    return compiled(columns) & ~(rejected & bare)


def compiled(columns: Columns) -> Bools:
    """Which got past the build; a fault of ours says nothing about that."""
    failed = _matching(columns.verdict, lambda kind: kind == "failed")
    fault = _matching(columns.verdict, lambda kind: kind == "infrastructure")
    return (~failed | _matching(columns.stage, lambda stage: stage in PAST_BUILD)) & ~fault


def tiers(columns: Columns) -> NDArray[np.int64]:
    """The tier of isolation, as its place in TIERS, by the layers that held."""
    return np.array([_tier(json.loads(text)[0]) for text in columns.isolation.texts], np.int64)[columns.isolation.codes]


def _tier(layers: Sequence[str]) -> int:
    """As the sandbox names them: a file system of its own is what sets the full tier apart from the basic one."""
    if "mount-namespace" in layers:
        return TIERS.index("full")
    return TIERS.index("basic" if any(layer.startswith(("landlock", "seccomp")) for layer in layers) else "none")


def _matching(column: Coded, test: Callable[[str], bool]) -> Bools:
    """Where a text passes; each text is tried once."""
    return np.array([test(text) for text in column.texts], np.bool_)[column.codes]


def _unanswered(columns: Columns, problems: frozenset[str]) -> dict[str, frozenset[str]]:
    if not problems:
        return {}
    titles, models = list(columns.problem.texts), list(columns.model.texts)
    answered: dict[str, set[str]] = {model: set() for model in models}
    pairs = np.unique(columns.model.codes.astype(np.int64) * max(1, len(titles)) + columns.problem.codes)
    for pair in pairs.tolist():
        model, problem = divmod(pair, len(titles))
        answered[models[model]].add(titles[problem])
    return {
        model: frozenset(title for title in problems - there if set_of(title) in set(map(set_of, there)))
        for model, there in answered.items()
    }
