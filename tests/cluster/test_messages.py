"""What the driver and a node say to each other comes through whole."""

import pickle
import time

import pytest
from fake_cluster import device

from harness import errors
from harness.cluster.engine import not_judged
from harness.cluster.messages import Asked, Fault, Told
from harness.controller.engine import Ask
from harness.controller.evaluate import Evaluated
from harness.controller.reuse import Reuse
from harness.controller.session import JudgeLost
from harness.errors import DeviceError, HarnessError, MachineError
from harness.settings import Settings

KNOWN = Reuse()
KINDS = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, HarnessError)]


def sent(message):
    """As it arrives."""
    arrived = pickle.loads(pickle.dumps(message))
    assert arrived == message
    return type(message).model_validate(arrived.model_dump())


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_is_of_its_class_where_it_arrives(kind):
    error = sent(Fault.of(kind("it is full"))).error()
    assert (type(error), str(error)) == (kind, "it is full")


def test_a_class_that_errors_does_not_have_is_the_nearest_that_it_has():
    assert type(Fault.of(JudgeLost("gone")).error()) is DeviceError


@pytest.mark.parametrize("kind", ["ProtocolError", "annotations", "never heard of"])
def test_a_word_that_names_no_fault_is_the_machines(kind):
    assert type(Fault(kind=kind, detail="").error()) is MachineError


@pytest.mark.parametrize("path", ["a.py", "\udcff.py"])
def test_an_ask_arrives_as_it_was_but_for_its_clock(path, problem, submission):
    told = evaluated(problem(), submission("x"))
    ask = Ask(
        submission("text", path=path), problem(), Settings(timing_s=0), rank=0, deadline=time.monotonic() + 1000,
        noting=True, tools=("memcheck",), later=True, confirms=told, idle=True, device="node cuda:1",
    )  # fmt: skip
    there = sent(Asked.of(7, ask, device="cuda:1")).ask(KNOWN)
    same = ("submission", "problem", "settings", "rank", "noting", "tools", "later", "idle")
    assert [getattr(there, name) for name in same] == [getattr(ask, name) for name in same]
    assert there.device == "cuda:1"
    assert there.confirms.record == told.record
    assert type(there.confirms.fault) is MachineError
    assert 0 < there.deadline - time.monotonic() <= 1000


def test_an_ask_without_a_deadline_has_none_there(problem, submission):
    assert Asked.of(0, Ask(submission(""), problem(), Settings()), device=None).ask(KNOWN).deadline is None


@pytest.mark.parametrize("reuses", [Reuse(), None])
def test_verdicts_on_equal_candidates_are_known_to_the_node_that_gave_them(problem, submission, reuses):
    ask = Ask(submission("text"), problem(), Settings(), reuses=reuses)
    assert sent(Asked.of(0, ask, device=None)).ask(KNOWN).reuses is (None if reuses is None else KNOWN)


def test_what_came_of_a_submission_arrives_as_it_was(problem, submission):
    before = evaluated(problem(), submission("x"))
    after = sent(Told.of(before)).evaluated()
    assert str(after.fault) == str(before.fault)
    assert [getattr(after, name) for name in vars(before) if name != "fault"] == [
        getattr(before, name) for name in vars(before) if name != "fault"
    ]


def evaluated(problem, submission):
    ask = Ask(submission, problem, Settings())
    fault = MachineError("no room")
    return Evaluated(not_judged(ask, fault, device()), {"build.log": "\x00é"}, fault, True, True, "cuda:1", 2.5)
