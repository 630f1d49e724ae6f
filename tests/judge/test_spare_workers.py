"""Workers that were started before it is known what they will run."""

from contextlib import contextmanager

import pytest

from harness.errors import SandboxError
from harness.judge.failure import SubjectFailed
from harness.judge.spare_workers import SpareWorkers
from harness.sandbox import Policy
from harness.transport.worker_messages import DeviceOpened, OpenDevice

OPENS = OpenDevice(visible={})
LATE = SubjectFailed("timeout", "no answer")
ONE, OTHER = Policy(devices=True), Policy(devices=True, environment={"NAME": "value"})


class FakeConversation:
    """Notes what is asked of it; fails to become ready where it is told to."""

    def __init__(self, log, number):
        self.log, self.number, self.fails, self.dies, self.is_gone = log, number, None, False, False

    def begin(self, request):
        self.log.append(("begin", self.number, request))
        if self.dies:
            raise SubjectFailed("exit", "the process left")

    def expect_ready(self, *, seconds):
        assert seconds > 0
        self.log.append(("ready", self.number))
        if self.fails:
            raise self.fails

    def ask(self, request, kind, *, seconds):
        assert (request, kind) == (OPENS, DeviceOpened)
        assert seconds > 0
        if self.is_gone:
            raise SubjectFailed("crash", "the worker died of signal 9")
        return DeviceOpened()


@pytest.fixture
def log():
    return []


@pytest.fixture
def spares(log):
    def make(opens=OPENS, *, dead=(), lasting=()):
        started = []

        @contextmanager
        def start(policy):
            one = FakeConversation(log, len(started))
            one.dies, one.fails = one.number in dead, LATE if one.number in dead else None
            started.append(one)
            log.append(("start", one.number, policy))
            try:
                yield f"worker {one.number}", one
            finally:
                log.append(("end", one.number))
                if one.number in lasting:
                    raise SandboxError("it did not end")

        return SpareWorkers(start, opens), started

    return make


def names(log):
    return [entry[:2] for entry in log]


def test_a_spare_worker_is_taken_and_ends_with_the_block(spares, log):
    some, _ = spares()
    some.prepare([ONE])
    assert names(log) == [("start", 0), ("begin", 0)]
    with some.take(ONE) as (worker, conversation):
        assert (worker, conversation.number) == ("worker 0", 0)
        assert names(log)[2:] == [("ready", 0)]
    assert names(log)[3:] == [("end", 0)]


def test_without_one_a_worker_is_started_and_told_the_same_first(spares, log):
    some, _ = spares()
    with some.take(ONE) as (worker, _):
        assert worker == "worker 0"
        assert names(log) == [("start", 0), ("begin", 0)]
    assert names(log)[2:] == [("end", 0)]


def test_none_is_taken_for_another_policy_and_those_not_wanted_any_more_end(spares, log):
    some, _ = spares()
    some.prepare([ONE])
    with some.take(OTHER) as (worker, _):
        assert worker == "worker 1"
        some.prepare([OTHER])
    assert [entry[1] for entry in log if entry[0] == "start"] == [0, 1, 2]
    assert log[-1][0] == "end"
    with some.take(OTHER) as (worker, _):
        assert worker == "worker 2"


def test_there_is_one_for_each_policy_that_is_wanted_and_no_more(spares, log):
    some, started = spares()
    for _ in range(3):
        some.prepare([ONE, OTHER, ONE])
    assert len(started) == 3
    assert [entry[2] for entry in log if entry[0] == "start"] == [ONE, OTHER, ONE]


def test_one_that_does_not_become_ready_is_ended_and_another_started(spares, log):
    some, started = spares()
    some.prepare([ONE])
    started[0].fails = LATE
    with some.take(ONE) as (worker, _):
        assert worker == "worker 1"
    some.prepare([ONE, OTHER])
    started[3].fails = LATE
    some.settle()
    assert names(log)[-3:] == [("ready", 2), ("ready", 3), ("end", 3)]
    with some.take(ONE) as (worker, _):
        assert worker == "worker 2"


def test_where_no_device_is_to_be_opened_there_are_no_spare_ones(spares, log):
    some, started = spares(None)
    some.prepare([ONE])
    assert not started
    with some.take(ONE):
        assert names(log) == [("start", 0)]


def test_all_end_at_the_end(spares, log):
    some, _ = spares()
    some.prepare([ONE, OTHER])
    some.end()
    assert sum(entry[0] == "end" for entry in log) == 2
    some.settle()


def test_nobody_is_blamed_for_one_that_dies_as_it_is_started(spares, log):
    some, _ = spares(dead=[0])
    some.prepare([ONE])
    with some.take(ONE) as (worker, _):
        assert worker == "worker 1"
    assert ("end", 0) in names(log)


def test_one_that_died_since_it_was_ready_is_not_handed_out(spares, log):
    """What it said before lies in its socket still."""
    some, started = spares()
    some.prepare([ONE])
    some.settle()
    started[0].is_gone = True
    with some.take(ONE) as (worker, _):
        assert worker == "worker 1"
    assert ("end", 0) in names(log)


def test_one_whose_supervisor_is_lost_stands_in_nobodys_way(spares, log):
    some, started = spares(lasting=[0])
    some.prepare([ONE, OTHER])
    started[0].fails = SandboxError("a supervisor died unexpectedly")
    some.settle()
    some.settle()
    assert names(log).count(("ready", 0)) == 1
    with some.take(OTHER) as (worker, _):
        assert worker == "worker 1"


def test_one_that_does_not_end_is_not_kept(spares, log):
    some, _ = spares(lasting=[0])
    some.prepare([ONE])
    some.prepare([])
    with some.take(ONE) as (worker, _):
        assert worker == "worker 1"


def test_a_sandbox_that_starts_no_more_is_told_to_who_needs_one(log):
    def start(policy):
        raise SandboxError("no process could be started")

    some = SpareWorkers(start, OPENS)
    some.prepare([ONE])
    with pytest.raises(SandboxError, match="no process"), some.take(ONE):
        pass
