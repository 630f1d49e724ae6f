"""What the page's tables and charts are drawn from: records -> plain data, ready for JSON."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from pydantic import BaseModel

from harness.report.escape import one_cell
from harness.report.judged import Judged
from harness.report.page.details import Packer
from harness.report.rows import Figures, Row, leaderboard
from harness.report.text import outcome
from harness.schema import Interval, Record, Roofline
from harness.schema.columns import ColumnsBuilder
from harness.schema.head import Head

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
) -> dict[str, object]:
    """Everything that the page shows. Each record is looked at once and not kept.

    Returns:
        `groups` and `problems`: what the places in the columns of these names stand for. `rows`: the leaderboard in its
        order, each with its `group`, with fast_p at every one of `p` as its `curve` and its `levels`. `columns`: an
        element a submission in each, times in milliseconds; `speedups`: by baseline, the value, low and high of each
        submission, None where nothing may be said. `details`: what `Packer.pack` made of the first submissions.
    """
    packer, cells, details = Packer(), _Cells(), list[str]()
    found: dict[str, Judged] = {}
    for run, records in runs.items():
        builder = ColumnsBuilder()
        for record in records:
            cells.add(run, record)
            if judged is None:
                builder.add((Head.of(record),))
            if not packer.full:
                details.append(packer.pack(record, attachments(run, record)))
        found[run] = Judged.of(builder.build()) if judged is None else judged[run]
    board = leaderboard(found, ps=GRID)
    return {
        "title": one_cell(title),
        "groups": [group._asdict() for group in cells.groups],
        "problems": [{"title": one_cell(name), "level": _level(level)} for name, level in cells.problems],
        "p": GRID,
        "rows": [_row(row, cells.groups[_Group.of_row(row)]) for row in board.rows],
        "columns": cells.columns,
        "speedups": cells.speedups,
        "details": details,
    }


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


class _Cells:
    """Columns, while their records go by."""

    def __init__(self) -> None:
        self.groups: dict[_Group, int] = {}
        self.problems: dict[tuple[str, str], int] = {}
        self.speedups: dict[str, dict[str, _Column]] = {}
        self._cells: list[_Cell] = []

    @property
    def columns(self) -> dict[str, _Column]:
        return {name: [cell[place] for cell in self._cells] for place, name in enumerate(_Cell._fields)}

    def add(self, run: str, record: Record) -> None:
        problem = (record.problem.title, record.problem.set)
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


def _speedups(record: Record) -> Iterator[tuple[str, tuple[Interval, str]]]:
    """Speed-ups by baseline, where anything may be said about time, as `rows` has it."""
    timing = record.timing
    if timing is None or record.verdict.kind != "correct" or record.device.kind == "cpu-emulated":
        return
    for name, speedup, conclusion in (
        (timing.baseline, timing.speedup, timing.conclusion),
        *((each.name, each.speedup, each.conclusion) for each in timing.baselines),
    ):
        if math.isfinite(speedup.value) and speedup.value > 0:
            yield name, (speedup, conclusion)


def _marks(record: Record) -> Iterator[str]:
    """Why this one is not like another."""
    if record.device.kind == "cpu-emulated":
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
    moving_ms = (roofline.bytes_read + roofline.bytes_written) / (roofline.bandwidth_gb_s * 1e6)
    return "memory" if moving_ms >= roofline.floor_ms * 0.999 else "compute"


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
