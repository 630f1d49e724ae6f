"""Two runs, problem by problem: what was won, what was lost, and what cannot be said."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from harness.report.escape import one_cell
from harness.report.leaderboard import ratio_text
from harness.report.metrics import Estimate, bootstrap, geometric_means, paired_p, ratio_of_speedups
from harness.report.rows import BASELINES, SURE_P
from harness.schema import EMULATED, Frozen, Interval, Record
from harness.schema.columns import Columns

SAME = 0.01
"""Two speed-ups closer than this are the same, and only what lies further off is faster or slower: the harness's own
repeatability, which the samples of one measurement do not show."""

Outcome = Literal[
    "became wrong",  # solved before and not after
    "slower",
    "became right",
    "faster",
    "ambiguous",  # the interval allows for both
    "not timed",  # solved in both, and at least one of them has no samples
    "not judged",  # a fault of ours in one of them
    "only before",
    "only after",
    "same",
    "unsolved",  # in both
]
LOST: tuple[Outcome, ...] = ("became wrong", "slower")
WON: tuple[Outcome, ...] = ("became right", "faster")
# What is too long to read line by line.
_COUNTED: tuple[Outcome, ...] = ("same", "unsolved")
_ORDER: tuple[Outcome, ...] = get_args(Outcome)


class Change(Frozen):
    """What became of one problem, or of one model's answers to it where the runs share models.

    `before` and `after` say how the best answer of either run ended; a speed-up is None where it was not timed.
    `ratio` is the speed-up after over that before, with a bootstrap interval over the raw samples of both.
    """

    problem: str
    model: str
    precision: str
    outcome: Outcome
    before: str
    after: str
    before_speedup: Interval | None = None
    after_speedup: Interval | None = None
    ratio: Estimate | None = None


class Test(Frozen):
    """A paired test over `problems` problems: `p` as `metrics.paired_p` has it. `better` is the side that is better,
    None where that cannot be told.
    """

    problems: int
    p: float
    better: Literal["A", "B"] | None


class Diff(Frozen):
    """All changes, the gravest first.

    `overall` is the geometric mean of the ratios, over problems; `solved` and `speed` say whether one side solves more
    problems, and is faster where both do. `places` are the devices of either run, and `models` what is in only one of
    two runs that share others: it has no counterpart.
    """

    changes: tuple[Change, ...]
    overall: Estimate | None
    solved: Test | None
    speed: Test | None
    places: tuple[tuple[str, ...], tuple[str, ...]]
    models: tuple[str, ...] = ()


@dataclass(frozen=True)
class Side:
    """One of the two runs: its records as columns, and the way from a selection of them to the records themselves."""

    columns: Columns
    records: Callable[[Columns], Iterable[Record]]


_Question = tuple[str, str, str]


def diff(before: Side, after: Side) -> Diff:
    """Compares the best answers of two runs to each problem.

    Where the runs share models, each of those is compared with itself; else the best answer of any model counts.
    Speed-ups are compared over the same baseline, and never under emulation.
    """
    shared = set(before.columns.model.texts) & set(after.columns.model.texts)
    baselines = [each for each in BASELINES if all(each in side.columns.baseline.texts for side in (before, after))]
    baseline = baselines[0] if baselines else ""
    first, second = (_answers(side, baseline, by_model=bool(shared)) for side in (before, after))
    unmatched = tuple(sorted({*before.columns.model.texts} ^ {*after.columns.model.texts})) if shared else ()
    questions = [each for each in dict.fromkeys((*first, *second)) if not shared or each[1] in shared]
    changes = [_change(question, first.get(question), second.get(question)) for question in questions]
    ratios = np.array([each.ratio.value for each in changes if each.ratio])
    return Diff(
        changes=tuple(sorted(changes, key=lambda each: (_ORDER.index(each.outcome), each.problem, each.model))),
        overall=bootstrap(ratios, geometric_means) if len(ratios) else None,
        solved=_test(np.array(_solved(changes), np.float64)),
        speed=_test(np.log(ratios)),
        places=(_places(before.columns), _places(after.columns)),
        models=unmatched,
    )


def _solved(changes: Iterable[Change]) -> list[int]:
    """For each problem that both judged: 1 where only B solved it, -1 where only A did, else 0."""
    unknown = ("only before", "only after", "not judged")
    signs = {"became right": 1, "became wrong": -1}
    return [signs.get(each.outcome, 0) for each in changes if each.outcome not in unknown]


def _test(differences: NDArray[np.float64]) -> Test | None:
    """Of B less A, one a problem; None where there is none."""
    if not len(differences):
        return None
    p = paired_p(differences)
    better: Literal["A", "B"] | None = None
    if p < SURE_P:
        better = "B" if differences.sum() > 0 else "A"
    return Test(problems=len(differences), p=p, better=better)


@dataclass(frozen=True)
class _Answer:
    """What stands for one question in one run. `text` says how it ended, in a word or three; the samples are those of
    the reference and of the candidate, empty where nothing may be said about time.
    """

    verdict: str
    text: str
    speedup: Interval | None = None
    samples: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())


def _answers(side: Side, baseline: str, *, by_model: bool) -> dict[_Question, _Answer]:
    """For each question the fastest correct answer, else a correct one, else what was judged, and a fault of ours
    only where there is nothing else.
    """
    columns = side.columns
    speedups = columns.speedups(baseline)
    speed = speedups[:, 0]
    emulated = columns.device.codes == columns.device.code(EMULATED)
    correct = columns.verdict.codes == columns.verdict.code("correct")
    fault = columns.verdict.codes == columns.verdict.code("infrastructure")
    usable = correct & ~emulated & np.isfinite(speed) & (speed > 0)
    quality = np.where(usable, speed, np.where(correct, 0.0, np.where(fault, -2.0, -1.0)))
    best: dict[_Question, int] = {}
    for row in np.lexsort((columns.sample, -quality)).tolist():
        model = columns.model[row] if by_model else ""
        best.setdefault((columns.problem[row], model, columns.precision[row]), row)
    timed = [row for row in best.values() if usable[row]]
    records = side.records(columns.take(np.array(timed, np.int64)))
    samples = {row: _samples(record, baseline) for row, record in zip(timed, records, strict=True)}
    answers = {}
    for question, row in best.items():
        answer = _Answer(columns.verdict[row], _text(columns, row))
        if row in samples:
            value, low, high = speedups[row].tolist()
            answer = replace(answer, speedup=Interval(value=value, low=low, high=high), samples=samples[row])
        answers[question] = answer
    return answers


def _text(columns: Columns, row: int) -> str:
    words = (columns.verdict[row], columns.stage[row], columns.reason[row])
    if words[0] == "infrastructure":
        return "not judged"
    return " ".join(filter(None, words[words[0] == "failed" :]))


def _samples(record: Record, baseline: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    timing = record.timing
    if timing is None:
        return (), ()
    if timing.baseline == baseline:
        return timing.reference_samples_ms, timing.candidate_samples_ms
    against = (each.reference_samples_ms for each in timing.baselines if each.name == baseline)
    return next(against, ()), timing.candidate_samples_ms


def _change(question: _Question, before: _Answer | None, after: _Answer | None) -> Change:
    ratio = ratio_of_speedups(after.samples, before.samples) if before and after else None
    problem, model, precision = question
    return Change(
        problem=problem,
        model=model,
        precision=precision,
        outcome=_outcome(before, after, ratio),
        before=before.text if before else "no answer",
        after=after.text if after else "no answer",
        before_speedup=before.speedup if before else None,
        after_speedup=after.speedup if after else None,
        ratio=ratio,
    )


def _outcome(before: _Answer | None, after: _Answer | None, ratio: Estimate | None) -> Outcome:
    if before is None or after is None:
        return "only after" if before is None else "only before"
    if "infrastructure" in (before.verdict, after.verdict):
        return "not judged"
    if before.verdict == after.verdict == "correct":
        return _speed_outcome(ratio)
    if before.verdict == "correct":
        return "became wrong"
    return "became right" if after.verdict == "correct" else "unsolved"


def _speed_outcome(ratio: Estimate | None) -> Outcome:
    """An interval that allows for two of these decides for neither."""
    if ratio is None or ratio.low is None or ratio.high is None:
        return "not timed"
    if ratio.low > 1 + SAME:
        return "faster"
    if ratio.high < 1 / (1 + SAME):
        return "slower"
    if ratio.low >= 1 / (1 + SAME) and ratio.high <= 1 + SAME:
        return "same"
    return "ambiguous"


def _places(columns: Columns) -> tuple[str, ...]:
    return tuple(sorted({columns.device_name.texts[code] for code in np.unique(columns.device_name.codes).tolist()}))


# For a terminal

_STYLES: dict[Outcome, str] = {
    "became wrong": "red", "slower": "red", "became right": "green", "faster": "green", "ambiguous": "yellow",
    "not judged": "yellow",
}  # fmt: skip


def diff_text(found: Diff, *, names: tuple[str, str]) -> RenderableType:
    """What changed, a line a problem; what did not is counted."""
    return Group(*_parts(found, names))


def _parts(found: Diff, names: tuple[str, str]) -> Iterator[RenderableType]:
    shown = [each for each in found.changes if each.outcome not in _COUNTED]
    yield Text(f"A is {one_cell(names[0])}, B is {one_cell(names[1])}", style="dim")
    if shown:
        yield Text()
        yield _table(shown)
    yield Text()
    yield Text(_summary(found), style="bold")
    if found.overall:
        yield Text(_overall(found.overall))
    if found.solved:
        yield Text(f"Is B better than A? {'; '.join(_answered(found))}.")
    if found.places[0] != found.places[1]:
        here, there = (", ".join(map(one_cell, places)) or "nothing" for places in found.places)
        text = f"not the same device ({here}; {there}): a ratio compares speed-ups that were measured on either"
        yield Text(text, style="yellow")
    if found.models:
        yield Text(f"without a counterpart: {', '.join(map(one_cell, found.models))}", style="yellow")


def _table(changes: list[Change]) -> Table:
    drawn = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), expand=False)
    drawn.add_column("problem", overflow="fold", ratio=1)
    for title in "AB":
        drawn.add_column(title, overflow="fold", justify="right", max_width=24)
    drawn.add_column("B over A", justify="right", no_wrap=True)
    drawn.add_column("", no_wrap=True)
    for each in changes:
        notes = ", ".join(filter(None, (each.model, each.precision if each.precision != "fp32" else "")))
        drawn.add_row(
            Text.assemble(one_cell(each.problem), (f"\n{one_cell(notes)}" if notes else "", "dim")),
            Text(ratio_text(each.before_speedup.value) if each.before_speedup else one_cell(each.before)),
            Text(ratio_text(each.after_speedup.value) if each.after_speedup else one_cell(each.after)),
            Text(_ratio(each.ratio)),
            Text(each.outcome, style=_STYLES.get(each.outcome, "dim")),
        )
    return drawn


def _summary(found: Diff) -> str:
    counts = {outcome: sum(each.outcome == outcome for each in found.changes) for outcome in _ORDER}
    sides = (("won", WON), ("lost", LOST))
    heads = [f"{sum(counts[each] for each in outcomes)} {word}" for word, outcomes in sides]
    rest = [f"{counts[each]} {each}" for each in _ORDER if counts[each] and each not in (*WON, *LOST)]
    parts = [f"{counts[each]} {each}" for each in (*WON, *LOST) if counts[each]]
    detail = f" ({', '.join(parts)})" if parts else ""
    return ", ".join([*heads, *rest]) + detail


def _answered(found: Diff) -> Iterator[str]:
    for name, test in (("solved", found.solved), ("speed-up", found.speed)):
        if test:
            verdict = f"{test.better} is better" if test.better else "cannot be told"
            yield f"{name}: {verdict} (p = {test.p:.2g}, {test.problems} problem{'s' if test.problems != 1 else ''})"


def _overall(overall: Estimate) -> str:
    problems = f"{overall.over} problem{'s' if overall.over != 1 else ''} that both solved"
    return f"speed-ups of B over those of A: {_ratio(overall)}, geometric mean over {problems}"


def _ratio(ratio: Estimate | None) -> str:
    if ratio is None:
        return "-"
    interval = f" [{ratio.low:.3f}, {ratio.high:.3f}]" if ratio.low is not None and ratio.high is not None else ""
    return f"{ratio.value:.3f}{interval}"
