"""A worker as the judge's subject: what is asked of it, and when."""

import pytest
import torch
from hosts import Host

from harness.judge.deadlines import Deadlines
from harness.judge.failure import SubjectFailed
from harness.judge.inputs import InputSets
from harness.judge.worker_subject import WorkerSubject
from harness.transport.memory import HostArena
from harness.transport.worker_messages import Attach, Attached, Constructed, Done, Prepared


class Freezer:
    """Says that it holds a worker until that is resumed."""

    def __init__(self, log):
        self.log, self.holds, self.strayed = log, False, False

    def stop(self):
        self.holds = True

    def ran(self):
        return self.strayed

    def resume(self):
        self.holds = False
        self.log.append("resumed")


class Talk:
    """Answers what an honest worker would."""

    pid, could_be_read = 1, True

    def __init__(self):
        self.log = []
        self.held = Freezer(self.log)

    def freezer(self):
        return self.held

    def ask(self, request, kind, **_):
        self.log.append(type(request).__name__)
        return Attached(base=4096) if isinstance(request, Attach) else Prepared()


@pytest.fixture
def subject():
    return WorkerSubject(Talk(), hardware=Host(), init_arguments=[], call_s=1.0, memory_bytes=1 << 20)


def test_it_is_woken_before_it_is_asked_to_attach(subject):
    """Where memory is tight it was stopped when it gave its own back, and would not answer."""
    sets = InputSets([torch.zeros(4)], 1, HostArena)
    subject.freeze()
    subject.attach(sets)
    sets.close()
    assert subject._talk.log == ["resumed", "Attach", "Prepare"]


def test_a_stop_is_looked_at_once_whether_it_was_asked_about_before_or_not(subject):
    subject.freeze()
    assert subject.rests()
    subject._talk.held.strayed = True
    subject.wake()  # nothing looks again
    subject.freeze()
    assert not subject.rests()


def test_one_that_runs_while_it_is_stopped_has_failed_after_few_times(subject):
    subject._talk.held.strayed = True

    def stop_often():
        for _ in range(10):
            subject.freeze()
            subject.wake()

    with pytest.raises(SubjectFailed, match="ran while it was stopped"):
        stop_often()


def test_a_round_has_the_deadline_of_its_candidate_and_the_first_after_construction_more(subject):
    asked = []

    def ask_round(request, *, seconds, why, **_):
        asked.append((seconds, why))
        return Done(addresses=((),) * len(request.slots), plain=(0,) * len(request.slots))

    subject._talk.ask_round = ask_round
    subject._deadlines = Deadlines(60.0, 1e-3, False, on_device=True)
    for _ in range(2):
        subject.round([0], seed=1)
    subject._was_called = False
    subject._deadlines = None
    subject.round([0], seed=1)
    assert [seconds for seconds, _ in asked] == [5.0, 2.0, 1.0]
    assert asked[1][1] == "100 times the reference's 1 ms for a call, at least 2 s"


def test_making_the_model_has_a_deadline_of_its_own(subject):
    asked = []

    def ask(request, kind, *, seconds, why):
        asked.append((seconds, why))
        return Constructed(parameters=())

    subject._talk.ask = ask
    subject.construct(1)
    subject._deadlines = Deadlines(60.0, 1e-3, False, on_device=True, construct_s=1e-3)
    subject.construct(1)
    assert [seconds for seconds, _ in asked] == [1.0, 13.0]
    assert "of constructing the reference" in asked[1][1]
