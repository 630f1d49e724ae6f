"""What a GPU found correct, emulated as well: which flag comes of which verdict. Emulation is tried elsewhere."""

from types import SimpleNamespace
from typing import Any

import pytest

from harness.controller import evaluate, races
from harness.controller.evaluate import Draft, Evaluated
from harness.errors import DeviceError, GivenUpError
from harness.schema import Correct, Failed, Flag, Wrong
from harness.settings import Settings

RACE = Wrong(reason="data-race", detail="data race (candidate.py:7)", trial="nominal")
OUTSIDE = Failed(stage="run", reason="out-of-bounds", detail="past the end (candidate.py:7)")
ANYTHING: Any = None


def flags_of(verdict: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, str]]:
    def emulated(*_: Any, **__: Any) -> Any:
        if isinstance(verdict, Exception):
            raise verdict
        return verdict

    monkeypatch.setattr(races, "_emulated", emulated)
    found = races.flags_of_races(ANYTHING, ANYTHING, ANYTHING, session=ANYTHING, on_phase=print)
    return [(flag.rule, flag.severity, flag.detail) for flag in found]


@pytest.mark.parametrize(
    ("verdict", "rule", "severity"),
    [
        (RACE, "data-race", "warn"),
        (OUTSIDE, "out-of-bounds", "warn"),
        (Failed(stage="build", reason="not-emulated", detail="wmma"), "races-unchecked", "info"),
        (Wrong(reason="values", detail="0 should be 1", trial="nominal"), "races-unchecked", "info"),
        (DeviceError("lost"), "races-unchecked", "info"),
    ],
)
def test_a_verdict_of_emulation_is_a_flag_and_nothing_else(
    verdict: Any, rule: str, severity: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ((found_rule, found_severity, detail),) = flags_of(verdict, monkeypatch)
    assert (found_rule, found_severity) == (rule, severity)
    assert getattr(verdict, "detail", "lost") in detail


def test_nobody_waits_any_more_is_no_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(GivenUpError):
        flags_of(GivenUpError("cancelled"), monkeypatch)


def test_what_is_correct_there_too_gets_no_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    assert flags_of(Correct(trials=9), monkeypatch) == []


@pytest.mark.parametrize(
    ("kind", "languages", "verdict", "asked"),
    [
        ("cuda", ("cuda",), Correct(trials=9), True),
        ("cuda", ("triton",), Correct(trials=9), False),
        ("cuda", ("cuda",), RACE, False),
        ("cpu-emulated", ("cuda",), Correct(trials=9), False),
    ],
)
def test_only_cuda_that_a_gpu_found_correct_is_emulated_once_more(
    kind: Any, languages: tuple[str, ...], verdict: Any, asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    flag = Flag(rule="data-race", severity="warn", detail="there")
    monkeypatch.setattr(evaluate, "flags_of_races", lambda *_, **__: (flag,))
    submission: Any = SimpleNamespace(path="a.py", sha256="0" * 64)
    draft = Draft(submission, ANYTHING, Settings(races=True), kind)
    draft.candidate = SimpleNamespace(languages=languages)  # type: ignore[assignment]
    record = SimpleNamespace(verdict=verdict, flags=(), phases_s={})
    record.model_copy = lambda update: SimpleNamespace(verdict=verdict, **update)
    judged = Evaluated(record, {})  # type: ignore[arg-type]
    told = evaluate._held_against_races(judged, draft, session=ANYTHING, on_phase=lambda name: None)
    assert told.record.flags == ((flag,) if asked else ())
