"""What the page's tables and charts are drawn from: records -> plain data, ready for JSON."""

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from pydantic import BaseModel

from harness.report.escape import one_cell, plain
from harness.report.judged import Judged
from harness.report.leaderboard import denominator_text
from harness.report.page.details import Packer
from harness.report.rows import Figures, Row, leaderboard
from harness.report.text import outcome
from harness.schema import EMULATED, Interval, Record, Roofline
from harness.schema.columns import ColumnsBuilder
from harness.schema.head import Head

Reference = Callable[[Record], str]
"""The source of the problem that a record answers; empty where it is not at hand as it was then."""
Attachments = Callable[[str, Record], Mapping[str, str]]

GRID = tuple(2.0 ** (step / 8) for step in range(-32, 41))
"""The p of the curves of fast_p: evenly spaced on a logarithmic axis, from 1/16 to 32."""

_SEVERITIES = ("", "info", "warn", "reject")
_Column = list[object]


class _Group(NamedTuple):
    """What a row of the leaderboard stands for, beside the baseline, each part as `one_cell` shows it."""

    model: str
    run: str
    device: str
    device_name: str
    precision: str

    @classmethod
    def of(cls, run: str, record: Record) -> "_Group":
        device = record.device
        precision = record.problem.workload.precision
        return cls(*map(one_cell, (record.submission.model, run, device.kind, device.name, precision)))

    @classmethod
    def of_row(cls, row: Row) -> "_Group":
        return cls(*map(one_cell, (row.model, row.run, row.device, row.device_name, row.precision)))


def content(
    runs: Mapping[str, Iterable[Record]],
    attachments: Attachments,
    *,
    title: str,
    judged: Mapping[str, Judged] | None = None,
    reference: Reference = lambda record: "",
) -> dict[str, object]:
    """Everything that the page shows. Each record is looked at once and not kept.

    Returns:
        `groups` and `problems`: what the places in the columns of these names stand for. `rows`: the leaderboard in its
        order, each with its `group`, with fast_p at every one of `p` as its `curve` and its `levels`. `columns`: an
        element a submission in each, times in milliseconds, `id` the same in every page; `speedups`: by baseline, the
        value, low and high of each submission, None where nothing may be said. `details`: what `Packer.pack` made of
        the first submissions. `made`: when, by which versions and on what machines.
    """
    packer, cells, details, made = Packer(), _Cells(), list[str](), _Made()
    found: dict[str, Judged] = {}
    for run, records in runs.items():
        builder = ColumnsBuilder()
        for record in records:
            cells.add(run, record, reference)
            made.add(record)
            if judged is None:
                builder.add((Head.of(record),))
            if not packer.full:
                details.append(packer.pack(record, attachments(run, record)))
        found[run] = Judged.of(builder.build()) if judged is None else judged[run]
    board = leaderboard(found, ps=GRID)
    columns = cells.columns
    columns["group"] = _counted_groups(columns["group"], cells.groups, [_Group.of_row(row) for row in board.rows])
    return {
        "title": one_cell(title),
        "groups": [group._asdict() for group in cells.groups],
        "problems": [
            {"title": one_cell(name), "level": _level(level), "source": plain(cells.sources[name, level])}
            for name, level in cells.problems
        ],
        "made": made.facts,
        "p": GRID,
        "rows": [_row(row, cells.groups[_Group.of_row(row)]) for row in board.rows],
        "columns": columns,
        "speedups": cells.speedups,
        "details": details,
    }


def _counted_groups(column: _Column, groups: Mapping[_Group, int], rows: Iterable[_Group]) -> _Column:
    """Each submission's group as the leaderboard counts it: what was never built has no row of its own there."""
    counting = {each: groups[each] for each in rows if each in groups}
    elsewhere = {each._replace(device=""): number for each, number in counting.items()}
    moved = {
        number: elsewhere.get(each._replace(device=""), number)
        for each, number in groups.items()
        if each not in counting
    }
    return [moved.get(number, number) if isinstance(number, int) else number for number in column]


class _Made:
    """When, by what and on what machines the records of a page were made."""

    def __init__(self) -> None:
        self._dates: list[str] = []
        self._words: dict[str, dict[str, None]] = {
            name: {} for name in ("harness", "torch", "CUDA", "driver", "machine")
        }

    def add(self, record: Record) -> None:
        environment = record.environment
        self._dates = [min([*self._dates[:1], record.judged_at]), max([*self._dates[1:], record.judged_at])]
        told = {
            "harness": environment.harness,
            "torch": environment.torch,
            "CUDA": environment.cuda,
            "driver": environment.driver,
            "machine": record.device.name,
        }
        for name, word in told.items():
            if word:
                self._words[name][one_cell(word)] = None

    @property
    def facts(self) -> dict[str, list[str]]:
        return {"judged": self._dates, **{name: list(words) for name, words in self._words.items()}}


class _Cell(NamedTuple):
    """What the page's tables and charts know of one submission; `group` and `problem` are places in `_Cells`'."""

    group: int
    problem: int
    path: str
    sample: int
    turn: int | None
    verdict: str
    outcome: str
    candidate_ms: float | None
    floor_ms: float | None
    fraction: float | None
    bound: str
    severity: str
    marks: str
    id: str


class _Cells:
    """Columns, while their records go by."""

    def __init__(self) -> None:
        self.groups: dict[_Group, int] = {}
        self.problems: dict[tuple[str, str], int] = {}
        self.sources: dict[tuple[str, str], str] = {}
        self.speedups: dict[str, dict[str, _Column]] = {}
        self._cells: list[_Cell] = []

    @property
    def columns(self) -> dict[str, _Column]:
        return {name: [cell[place] for cell in self._cells] for place, name in enumerate(_Cell._fields)}

    def add(self, run: str, record: Record, reference: Reference) -> None:
        problem = (record.problem.title, record.problem.set)
        if not self.sources.get(problem):
            self.sources[problem] = reference(record)
        timing, roofline, submission = record.timing, record.roofline, record.submission
        speedups = dict(_speedups(record))
        self._add_speedups(speedups)
        cell = _Cell(
            group=self.groups.setdefault(_Group.of(run, record), len(self.groups)),
            problem=self.problems.setdefault(problem, len(self.problems)),
            path=one_cell(submission.path),
            sample=submission.sample,
            turn=submission.turn,
            verdict=record.verdict.kind,
            outcome="" if speedups else outcome(record),
            candidate_ms=_short(timing.candidate_ms) if timing else None,
            floor_ms=_short(roofline.floor_ms) if roofline else None,
            fraction=_short(roofline.fraction) if roofline else None,
            bound=_bound(roofline) if roofline else "",
            severity=max((flag.severity for flag in record.flags), key=_SEVERITIES.index, default=""),
            marks=", ".join(_marks(record)),
            id=_id(run, record),
        )
        self._cells.append(cell)

    def _add_speedups(self, mine: Mapping[str, tuple[Interval, str]]) -> None:
        for baseline in mine.keys() - self.speedups.keys():
            before = len(self._cells)
            self.speedups[baseline] = {name: [None] * before for name in ("value", "low", "high", "conclusion")}
        for baseline, column in self.speedups.items():
            speedup, conclusion = mine.get(baseline, (None, None))
            column["value"].append(_short(speedup.value) if speedup else None)
            column["low"].append(_short(speedup.low) if speedup else None)
            column["high"].append(_short(speedup.high) if speedup else None)
            column["conclusion"].append(conclusion)


def _id(run: str, record: Record) -> str:
    """What an address calls a submission: the same in every page that holds it."""
    submission = record.submission
    asked = (run, record.problem.title, submission.path, str(submission.sample), submission.model)
    return hashlib.sha256("\0".join(asked).encode("utf-8", "backslashreplace")).hexdigest()[:12]


def _speedups(record: Record) -> Iterator[tuple[str, tuple[Interval, str]]]:
    """Speed-ups by baseline, where anything may be said about time, as `rows` has it."""
    timing = record.timing
    if timing is None or record.verdict.kind != "correct" or record.device.kind == EMULATED:
        return
    for name, speedup, conclusion in (
        (timing.baseline, timing.speedup, timing.conclusion),
        *((each.name, each.speedup, each.conclusion) for each in timing.baselines),
    ):
        if math.isfinite(speedup.value) and speedup.value > 0:
            yield name, (speedup, conclusion)


def _marks(record: Record) -> Iterator[str]:
    """Why this one is not like another."""
    if record.device.kind == EMULATED:
        yield "emulated"
    if record.problem.workload.reduced:
        yield "reduced"
    if record.sandbox.weakened:
        yield "less isolated"
    if not record.sandbox.layers and record.verdict.kind in ("correct", "wrong"):
        yield "unisolated"
    if any(flag.severity != "info" for flag in record.audit):
        yield "audited"
    if record.timing and record.timing.conditions and record.timing.conditions.disturbed:
        yield "disturbed"


def _bound(roofline: Roofline) -> str:
    """What the roofline's time is spent on here: moving the bytes or multiplying."""
    moved_by_the_floor = roofline.floor_ms * 0.999 * roofline.bandwidth_gb_s * 1e6
    return "memory" if roofline.bytes_read + roofline.bytes_written >= moved_by_the_floor else "compute"


def _row(row: Row, group: int) -> object:
    return _plain_tree(
        {
            **_figures(row),
            "group": group,
            "baseline": row.baseline,
            "at_k": row.at_k,
            "failures": row.failures,
            "tokens": row.tokens,
            "notes": row.notes,
            "denominator": denominator_text(row),
            "levels": [{**_figures(level), "level": _level(level.set)} for level in row.levels],
        }
    )


def _figures(figures: Figures) -> dict[str, object]:
    by_p = {each.p: each.value for each in figures.fast_p}
    return {
        **{name: getattr(figures, name) for name in Figures.model_fields if name != "fast_p"},
        "fast": [each for each in figures.fast_p if each.p in (0.0, 1.0, 2.0)],
        "curve": [by_p[p] for p in GRID] if GRID[0] in by_p else None,
    }


def _plain_tree(value: object) -> object:
    """Plain data, its texts on one line and its numbers short."""
    match value:
        case BaseModel():
            return {name: _plain_tree(getattr(value, name)) for name in type(value).model_fields}
        case dict():
            return {key: _plain_tree(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain_tree(each) for each in value]
        case str():
            return one_cell(value)
        case float():
            return _short(value)
        case _:
            return value


def _level(folder: str) -> str:
    return one_cell(folder) or "(no level)"


def _short(value: float) -> float | None:
    """Six significant digits, more than a chart can show; None for what is no number."""
    return float(f"{value:.6g}") if math.isfinite(value) else None
