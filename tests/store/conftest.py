"""Records without a judge, and a manifest."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.schema import Correct, Device, Environment, Infrastructure, ProblemRef, Record, SubmissionRef
from harness.store import Manifest

MakeRecord = Callable[..., Record]


@pytest.fixture
def make_record() -> MakeRecord:
    def make(path: str = "relu.py", *, kind: str = "correct", problem: str = "19_ReLU", **changes: Any) -> Record:
        verdict = Infrastructure(detail="the device was lost") if kind == "infrastructure" else Correct(trials=3)
        fields: dict[str, Any] = {
            "problem": ProblemRef(set="level1", name=problem, sha256="0" * 64),
            "submission": SubmissionRef(path=path, sha256="1" * 64, model="gpt"),
            "device": Device(kind="cpu", name="a CPU"),
            "verdict": verdict,
            "environment": Environment(harness="0.1.0", python="3.12", torch="2.13.0"),
            "judged_at": "2026-01-01T00:00:00+00:00",
        }
        return Record(**(fields | changes))

    return make


@pytest.fixture
def manifest() -> Manifest:
    return Manifest(created="2026-01-01T00:00:00+00:00", harness="0.1.0", settings={"trials": 3}, device="cpu")
