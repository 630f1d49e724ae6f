"""A submission that is given up while a real judge is at it: it ends between phases, and the judge takes the next."""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from relu import PROBLEM, RIGHT, WRONG, submitted

from harness.catalog import text_problem
from harness.controller.engine import Ask, LocalEngine
from harness.controller.session import JudgeSeat, Session, open_session
from harness.errors import DeadlineError, GivenUpError
from harness.sandbox.processes import descendants
from harness.settings import Settings

SLOWLY = "        time.sleep(0.1)\n        return"
SLOW_PROBLEM = f"import time\n{PROBLEM}".replace("        return", SLOWLY)
SLOW = f"import time\n{RIGHT}".replace("        return", SLOWLY)
SETTINGS = Settings(timing_s=3600, audit="none")


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with open_session("cpu", SETTINGS) as opened:
        yield opened


@pytest.mark.parametrize("phase", ["load", "check", "time"])
def test_what_is_cancelled_ends_between_phases_and_its_judge_lives(
    session: Session, monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    """Both sides sleep in every call, so that each phase takes longer than the judge goes on without asking."""
    sent, conversations, phases = threading.Event(), [], []
    converse = JudgeSeat._converse

    def kept(*asked):  # type: ignore[no-untyped-def]
        conversations.append(converse(*asked))
        return conversations[-1]

    def on_phase(name: str) -> None:
        phases.append(name)
        if name == phase:
            assert sent.wait(60)
            assert future.cancel()

    monkeypatch.setattr(JudgeSeat, "_converse", kept)
    with LocalEngine(session) as engine:
        session.seats[0].start()
        judge = session.seats[0]._process.pid
        future = engine.submit(Ask(submitted(SLOW), text_problem(SLOW_PROBLEM), SETTINGS, on_phase=on_phase))
        sent.set()
        assert engine.drain(240)
        assert future.cancelled()
        assert phases[-1] == phase
        assert [type(end) for end in conversations] == [GivenUpError]
        quick = SETTINGS.model_copy(update={"timing_s": 0})
        for text, kind in ((RIGHT, "correct"), (WRONG, "wrong")):
            assert engine.evaluate(Ask(submitted(text), text_problem(PROBLEM), quick)).record.verdict.kind == kind
        assert session.seats[0]._process.pid == judge


ENDLESS = (
    "template <int A, int B> struct T { static const int v = T<A - 1, B * 2>::v + T<A - 1, B * 2 + 1>::v; };\n"
    "template <int B> struct T<0, B> { static const int v = B; };\nint number() { return T<26, 0>::v; }\n"
)
"""What takes a compiler minutes."""


def compilers_below() -> list[str]:
    """What this process has started of compilers."""
    names = []
    for pid in descendants(os.getpid()):
        with contextlib.suppress(OSError):
            names.append(Path(f"/proc/{pid}/comm").read_text().strip())
    return [name for name in names if name == "cc1plus"]


@pytest.mark.slow
@pytest.mark.parametrize("where", ["import", "constructor"])
@pytest.mark.parametrize("how", ["cancelled", "late"])
def test_what_is_given_up_while_it_is_built_ends_at_once_with_its_compilers_and_its_judge_lives(
    session: Session, how: str, where: str
) -> None:
    builds = f"load_inline(name='endless', cpp_sources={ENDLESS!r}, functions=['number'])"
    constructor = f"    def __init__(self):\n        super().__init__()\n        {builds}\n\n    def forward"
    text = f"from torch.utils.cpp_extension import load_inline\n{RIGHT}"
    text = f"{text}\n{builds}\n" if where == "import" else text.replace("    def forward", constructor)
    quick = SETTINGS.model_copy(update={"timing_s": 0})
    with LocalEngine(session) as engine:
        session.seats[0].start()
        judge = session.seats[0]._process.pid
        future = engine.submit(Ask(submitted(text), text_problem(PROBLEM), quick))
        until(compilers_below, seconds=240)
        if how == "cancelled":
            assert future.cancel()
        else:
            (job,) = engine._open
            object.__setattr__(job.ask, "deadline", time.monotonic() - 1)
            assert isinstance(future.exception(60), DeadlineError)
        assert engine.drain(60)
        until(lambda: not compilers_below(), seconds=60)
        for right, kind in ((RIGHT, "correct"), (WRONG, "wrong")):
            assert engine.evaluate(Ask(submitted(right), text_problem(PROBLEM), quick)).record.verdict.kind == kind
        assert session.seats[0]._process.pid == judge


def until(true: Callable[[], object], *, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)
