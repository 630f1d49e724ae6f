"""The reference's worker is kept from one candidate to the next of the same problem, and for no other."""

import pytest
from relu import PROBLEM, RIGHT, submitted

from harness.catalog import text_problem
from harness.controller.evaluate import evaluate
from harness.controller.session import open_session
from harness.settings import Settings

SETTINGS = Settings(timing_s=0, audit="none")


@pytest.fixture(scope="module")
def session():
    with open_session("cpu", SETTINGS) as opened:
        yield opened


def test_what_is_known_of_a_problem_is_in_the_record_of_a_candidate(session):
    problem = text_problem(PROBLEM.replace("torch.relu(x)", "torch.zeros_like(x)"))
    record = evaluate(submitted(RIGHT.replace("x.clamp(min=0)", "x * 0.0")), problem, session=session).record
    assert record.audit


def judged(session, text, problem):
    """The verdict, and whether a worker for the reference was started."""
    phases = []
    record = evaluate(submitted(text), text_problem(problem), session=session, on_phase=phases.append).record
    return record.verdict.kind, "reference" in phases


def test_one_worker_serves_all_candidates_of_a_problem(session):
    other = PROBLEM.replace("relu", "abs")
    assert judged(session, RIGHT, PROBLEM) == ("correct", True)
    assert judged(session, f"{RIGHT}\n", PROBLEM) == ("correct", False)
    assert judged(session, RIGHT.replace(".clamp(min=0)", ".abs()"), other) == ("correct", True)
    assert judged(session, RIGHT, PROBLEM) == ("correct", True)
