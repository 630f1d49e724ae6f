"""Records without a judge."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.schema import (
    BuildSummary,
    CandidateRef,
    Correct,
    Device,
    Environment,
    ErrorSummary,
    Extraction,
    Interval,
    ProblemRef,
    Record,
    SandboxReport,
    SubmissionRef,
    Timing,
    Workload,
)

MakeRecord = Callable[..., Record]


def timing(speedup: float, *, spread: float = 0.02) -> Timing:
    low, high = speedup * (1 - spread), speedup * (1 + spread)
    conclusion = "faster" if low > 1 else "slower" if high < 1 else "ambiguous"
    return Timing(
        candidate_ms=1.0 / speedup,
        reference_ms=1.0,
        speedup=Interval(value=speedup, low=low, high=high),
        conclusion=conclusion,
        rounds=31,
        calls_per_round=12,
        candidate_samples_ms=(1.0 / speedup,) * 3,
        reference_samples_ms=(1.0,) * 3,
    )


def make_record(
    problem: str = "level1/19_ReLU",
    *,
    path: str = "relu.txt",
    sample: int = 0,
    model: str = "gpt",
    speedup: float | None = None,
    workload: Workload | None = None,
    device: Device | None = None,
    **changes: Any,
) -> Record:
    """A correct record on a GPU, timed where a `speedup` is given; `changes` replace any other field."""
    folder, _, name = problem.rpartition("/")
    fields: dict[str, Any] = {
        "problem": ProblemRef(set=folder, name=name, sha256="0" * 64, workload=workload or Workload()),
        "submission": SubmissionRef(
            path=path, sha256="1" * 64, sample=sample, model=model, extraction=Extraction(policy="last", kind="python")
        ),
        "candidate": CandidateRef(sha256="2" * 64, languages=("cuda",)),
        "device": device or Device(kind="cuda", name="NVIDIA H200"),
        "verdict": Correct(
            trials=12, error=ErrorSummary(relative=3.1e-7, reference_relative=2.2e-7, of_tolerance=0.04)
        ),
        "timing": None if speedup is None else timing(speedup),
        "builds": (BuildSummary(name="relu", toolchain="slim", cached=False, seconds=1.71, cpu_seconds=3.3),),
        "confirmed": "stock",
        "sandbox": SandboxReport(layers=("namespaces", "landlock", "seccomp")),
        "phases_s": {"extract": 0.001, "screen": 0.004, "build": 1.72, "load": 3.4, "run": 0.35, "time": 2.1},
        "environment": Environment(harness="0.1.0", python="3.12.1", torch="2.11.0+cu130"),
        "judged_at": "2026-01-01T00:00:00+00:00",
    }
    return Record(**(fields | changes))


@pytest.fixture(name="make_record")
def make_record_fixture() -> MakeRecord:
    return make_record
