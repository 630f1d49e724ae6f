"""What the page's tables and charts are drawn from: records -> plain data, ready for JSON."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from harness.report.entry import Entry
from harness.report.escape import one_cell
from harness.report.metrics import fast_p
from harness.report.page.details import Packer
from harness.report.rows import Leaderboard, Row, leaderboard
from harness.report.text import outcome
from harness.schema import Interval, Record, Roofline

Attachments = Callable[[str, Record], Mapping[str, str]]

_SEVERITIES = ("", "info", "warn", "reject")
_STEPS_PER_OCTAVE = 8
_OCTAVES_SHOWN = (-1, 2)
_OCTAVES_AT_MOST = (-6, 10)
_ROW_FIELDS = {
    "submissions", "unjudged", "compiled", "correct", "rejected", "flagged", "timed", "problems", "fast_0", "fast_1",
    "fast_2", "geomean_speedup",
}  # fmt: skip


class _Group(NamedTuple):
    """What a row of the leaderboard stands for."""

    model: str
    run: str
    device: str
    device_name: str
    precision: str

    @classmethod
    def of_row(cls, row: Row) -> "_Group":
        return cls(row.model, row.run, row.device, row.device_name, row.precision)


@dataclass(frozen=True, slots=True)
class _Cell:
    """What stays of a record: the page holds a hundred thousand of them, and details of few."""

    run: str
    entry: Entry
    outcome: str
    candidate_ms: float | None
    reference_ms: float | None
    floor_ms: float | None
    fraction: float | None
    bound: str
    disturbed: bool

    @classmethod
    def of(cls, run: str, record: Record) -> "_Cell":
        timing, roofline = record.timing, record.roofline
        return cls(
            run=run,
            entry=Entry.model_validate(record, from_attributes=True),
            outcome=outcome(record),
            candidate_ms=timing.candidate_ms if timing else None,
            reference_ms=timing.reference_ms if timing else None,
            floor_ms=roofline.floor_ms if roofline else None,
            fraction=roofline.fraction if roofline else None,
            bound=_bound(roofline) if roofline else "",
            disturbed=bool(timing and timing.conditions and timing.conditions.disturbed),
        )

    @property
    def group(self) -> _Group:
        entry = self.entry
        device = entry.device
        return _Group(entry.submission.model, self.run, device.kind, device.name, entry.problem.workload.precision)

    @property
    def speedup(self) -> Interval | None:
        """None where nothing may be said about time."""
        entry = self.entry
        if entry.verdict.kind != "correct" or entry.timing is None or entry.device.kind == "cpu-emulated":
            return None
        speedup = entry.timing.speedup
        return speedup if math.isfinite(speedup.value) and speedup.value > 0 else None

    @property
    def severity(self) -> int:
        """The place in _SEVERITIES of the gravest flag."""
        return max((_SEVERITIES.index(flag.severity) for flag in self.entry.flags), default=0)

    @property
    def marks(self) -> Iterator[str]:
        """Why this one is not like another."""
        if self.entry.device.kind == "cpu-emulated":
            yield "emulated"
        if self.entry.problem.workload.reduced:
            yield "reduced"
        if self.entry.sandbox.missing:
            yield "less isolated"
        if not self.entry.sandbox.layers and self.entry.verdict.kind in ("correct", "wrong"):
            yield "unisolated"
        if self.disturbed:
            yield "disturbed"


def content(runs: Mapping[str, Iterable[Record]], attachments: Attachments, *, title: str) -> dict[str, object]:
    """Everything that the page shows. Each record is looked at once and not kept.

    Returns:
        `groups`: the rows of the leaderboard, in its order. `boards`: the leaderboard by level ("" for all of them),
        each row with `group` (a place in `groups`) and `curve` (fast_p at every `p`, None where nothing is said about
        time). `columns`: one element a submission in each; `group` and `problem` are places in the lists of these
        names, times are milliseconds. `details`: what `Packer.pack` made of the first submissions.
    """
    packer, cells, details = Packer(), list[_Cell](), list[str]()
    for run, records in runs.items():
        for record in records:
            cells.append(_Cell.of(run, record))
            if not packer.full:
                details.append(packer.pack(record, attachments(run, record)))
    board = _ranked(cells)
    groups = {_Group.of_row(row): number for number, row in enumerate(board.rows)}
    problems = {title: number for number, title in enumerate(dict.fromkeys(each.problem for each in board.problems))}
    levels = {cell.entry.problem.title: cell.entry.problem.set for cell in cells}
    grid = _grid([speedup.value for cell in cells if (speedup := cell.speedup)])
    return {
        "title": one_cell(title),
        "groups": [{field: one_cell(value) for field, value in group._asdict().items()} for group in groups],
        "problems": [{"title": one_cell(each), "level": _level(levels[each])} for each in problems],
        "p": [_short(p) for p in grid],
        "boards": {
            scope: _board(chosen, groups, grid)
            for scope, chosen in _scopes(cells, sorted(set(levels.values()))).items()
        },
        "columns": _columns(cells, groups, problems),
        "details": details,
    }


def _scopes(cells: Sequence[_Cell], levels: Sequence[str]) -> dict[str, Sequence[_Cell]]:
    """All cells under "", and those of each level where there are several."""
    scopes = {"": cells}
    if len(levels) > 1:
        scopes |= {_level(level): [cell for cell in cells if cell.entry.problem.set == level] for level in levels}
    return scopes


def _level(folder: str) -> str:
    return one_cell(folder) or "(no level)"


def _ranked(cells: Iterable[_Cell]) -> Leaderboard:
    runs: dict[str, list[Entry]] = defaultdict(list)
    for cell in cells:
        runs[cell.run].append(cell.entry)
    return leaderboard(runs)


def _board(cells: Sequence[_Cell], groups: Mapping[_Group, int], grid: Sequence[float]) -> list[dict[str, object]]:
    speedups: dict[_Group, list[float]] = defaultdict(list)
    for cell in cells:
        if speedup := cell.speedup:
            speedups[cell.group].append(speedup.value)
    return [
        {
            **row.model_dump(mode="json", include=_ROW_FIELDS),
            "group": groups[group],
            "curve": _curve(row, speedups[group], grid),
            "notes": [{"tag": one_cell(note.tag), "text": one_cell(note.text)} for note in row.notes],
        }
        for row in _ranked(cells).rows
        for group in (_Group.of_row(row),)
    ]


def _curve(row: Row, speedups: Sequence[float], grid: Sequence[float]) -> list[float] | None:
    if row.fast_1 is None:
        return None
    return [round(fast_p(speedups, asked=row.submissions, p=p), 4) for p in grid]


def _grid(speedups: Sequence[float]) -> list[float]:
    """Values of p, evenly spaced on a logarithmic axis, from whole octave to whole octave around all speed-ups."""
    octaves = [math.log2(speedup) for speedup in speedups]
    first = max(_OCTAVES_AT_MOST[0], min(math.floor(min(octaves, default=0.0)), _OCTAVES_SHOWN[0]))
    last = min(_OCTAVES_AT_MOST[1], max(math.ceil(max(octaves, default=0.0)), _OCTAVES_SHOWN[1]))
    steps = (last - first) * _STEPS_PER_OCTAVE
    return [2.0 ** (first + step / _STEPS_PER_OCTAVE) for step in range(steps + 1)]


def _columns(
    cells: Sequence[_Cell], groups: Mapping[_Group, int], problems: Mapping[str, int]
) -> dict[str, list[object]]:
    speedups = [cell.speedup for cell in cells]
    return {
        "group": [groups[cell.group] for cell in cells],
        "problem": [problems[cell.entry.problem.title] for cell in cells],
        "path": [one_cell(cell.entry.submission.path) for cell in cells],
        "sample": [cell.entry.submission.sample for cell in cells],
        "verdict": [cell.entry.verdict.kind for cell in cells],
        "outcome": [cell.outcome for cell in cells],
        "speedup": [_short(speedup.value) if speedup else None for speedup in speedups],
        "low": [_short(speedup.low) if speedup else None for speedup in speedups],
        "high": [_short(speedup.high) if speedup else None for speedup in speedups],
        "candidate_ms": [_short(cell.candidate_ms) for cell in cells],
        "reference_ms": [_short(cell.reference_ms) for cell in cells],
        "floor_ms": [_short(cell.floor_ms) for cell in cells],
        "fraction": [_short(cell.fraction) for cell in cells],
        "bound": [cell.bound for cell in cells],
        "severity": [_SEVERITIES[cell.severity] for cell in cells],
        "marks": [", ".join(cell.marks) for cell in cells],
    }


def _bound(roofline: Roofline) -> str:
    """What limits the roofline here: moving the bytes or multiplying."""
    moving_ms = (roofline.bytes_read + roofline.bytes_written) / (roofline.bandwidth_gb_s * 1e6)
    return "memory" if moving_ms >= roofline.floor_ms * 0.999 else "compute"


def _short(value: float | None) -> float | None:
    """Six significant digits, more than a chart can show; None for what is no number."""
    return float(f"{value:.6g}") if value is not None and math.isfinite(value) else None
