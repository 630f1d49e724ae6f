"""Every submission as a line of CSV, for whoever makes their own tables."""

import csv
import io
import math
from collections.abc import Iterable, Mapping

from harness.report.escape import csv_cell
from harness.report.rows import BASELINES
from harness.schema import EMULATED, Failed, Infrastructure, Interval, Record, Rejected, Wrong

_FIRST = (
    "run", "model", "problem", "level", "submission", "sample", "turn", "sha256", "problem_sha256", "device",
    "device_name", "precision", "tolerance", "reduced", "verdict", "stage", "reason", "detail", "candidate_ms",
    "reference_ms",
)  # fmt: skip
_LAST = ("roofline", "flags", "isolation", "prompt_tokens", "completion_tokens", "harness", "torch", "judged_at")
_Cell = str | int | float | None


def samples_csv(runs: Mapping[str, Iterable[Record]]) -> str:
    """One line a submission of each run, unrounded; times are milliseconds of a call, cells without a value empty.

    Speed-ups are in `speedup`, `speedup_low` and `speedup_high` over the reference as written, and in columns named
    after any other baseline. What ran emulated has none.
    """
    out = io.StringIO()
    names = [*_FIRST, *(name for baseline in BASELINES for name in _speedup_names(baseline)), *_LAST]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for run, records in runs.items():
        for record in records:
            cells = _cells(run, record)
            writer.writerow([_written(cells.get(name)) for name in names])
    return out.getvalue()


def _cells(run: str, record: Record) -> dict[str, _Cell]:
    submission, problem, timing = record.submission, record.problem, record.timing
    stage, reason, detail = _why(record)
    cells: dict[str, _Cell] = {
        "run": run,
        "model": submission.model,
        "problem": problem.title,
        "level": problem.set,
        "submission": submission.path,
        "sample": submission.sample,
        "turn": submission.turn,
        "sha256": submission.sha256,
        "problem_sha256": problem.sha256,
        "device": record.device.kind,
        "device_name": record.device.name,
        "precision": problem.workload.precision,
        "tolerance": record.tolerance,
        "reduced": int(problem.workload.reduced),
        "verdict": record.verdict.kind,
        "stage": stage,
        "reason": reason,
        "detail": detail,
        "candidate_ms": timing.candidate_ms if timing else None,
        "reference_ms": timing.reference_ms if timing else None,
        "roofline": record.roofline.fraction if record.roofline else None,
        "flags": " ".join(f"{flag.severity}:{flag.rule}" for flag in record.flags),
        "isolation": " ".join(record.sandbox.layers),
        "prompt_tokens": submission.prompt_tokens,
        "completion_tokens": submission.completion_tokens,
        "harness": record.environment.harness,
        "torch": record.environment.torch,
        "judged_at": record.judged_at,
    }
    for baseline, speedup in _speedups(record).items():
        cells |= dict(zip(_speedup_names(baseline), (speedup.value, speedup.low, speedup.high), strict=True))
    return cells


def _why(record: Record) -> tuple[str, str, str]:
    """Stage, reason and detail of a verdict, each empty where it has none."""
    match record.verdict:
        case Failed(stage=stage, reason=reason, detail=detail):
            return stage, reason, detail
        case Wrong(reason=reason, detail=detail):
            return "", reason, detail
        case Rejected(rule=rule, detail=detail):
            return "", rule, detail
        case Infrastructure(detail=detail):
            return "", "", detail
        case _:
            return "", "", ""


def _speedups(record: Record) -> dict[str, Interval]:
    timing = record.timing
    if timing is None or record.device.kind == EMULATED:
        return {}
    return {timing.baseline: timing.speedup, **{each.name: each.speedup for each in timing.baselines}}


def _speedup_names(baseline: str) -> tuple[str, str, str]:
    name = "speedup" if baseline == "eager" else f"speedup_over_{baseline}"
    return name, f"{name}_low", f"{name}_high"


def _written(cell: _Cell) -> object:
    if isinstance(cell, str):
        return csv_cell(cell)
    return "" if cell is None or (isinstance(cell, float) and not math.isfinite(cell)) else cell
