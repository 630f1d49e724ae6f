"""A submission that is given up while a real judge is at it: it ends between phases, and the judge takes the next."""

import threading
from collections.abc import Iterator

import pytest
from relu import PROBLEM, RIGHT, WRONG, submitted

from harness.catalog import text_problem
from harness.controller.engine import Ask, LocalEngine
from harness.controller.session import JudgeSeat, Session, open_session
from harness.errors import GivenUpError
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
