"""The judge's end of its conversation with the controller: whose answer it takes, and how a job is given up."""

import socket
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from harness.judge.jobs import (
    FROM_JUDGE,
    BuildDone,
    Fault,
    GiveUp,
    Job,
    Judgement,
    Proceed,
)
from harness.judge.process import JudgeProcess
from harness.schema import Correct
from harness.schema.build import BuildFailure, BuildRequest
from harness.settings import Settings
from harness.transport import Channel, Closed

JUDGEMENT = Judgement(verdict=Correct(trials=3))
FAILURE = BuildFailure(reason="compile", detail="no", log="no", toolchain="slim")
REQUEST = BuildRequest(name="a")


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Channel]]:
    """The controller's end of a channel, and the judge's."""
    ours, theirs = Channel.pair()
    with ours, Channel(theirs) as judges:
        yield ours, judges


@pytest.fixture
def job(problem) -> Job:
    return Job(problem=problem(), source="", kind="cpu", settings=Settings())


def judge_process(channel: Channel, judge: Callable[[JudgeProcess], Judgement]) -> JudgeProcess:
    """A judge's process without a device, which comes to its judgement by `judge`."""
    made = JudgeProcess.__new__(JudgeProcess)
    made._channel, made._job, made._phase, made._asked_at = channel, "", "", 0.0
    made._judge_and_let_go = lambda job: judge(made)  # type: ignore[method-assign]
    return made


def one_phase(process: JudgeProcess) -> Judgement:
    process._begin("check")
    return JUDGEMENT


def a_build(process: JudgeProcess) -> Judgement:
    assert process._relay_build(REQUEST) == FAILURE
    return JUDGEMENT


def said(channel: Channel, count: int) -> list[object]:
    return [channel.receive(FROM_JUDGE) for _ in range(count)]


@pytest.mark.parametrize("of", ["", "another"])
@pytest.mark.parametrize(
    ("judge", "answer"),
    [(one_phase, Proceed()), (one_phase, GiveUp()), (a_build, BuildDone(outcome=FAILURE))],
    ids=["proceed", "give-up", "build-done"],
)
def test_an_answer_to_another_job_is_a_fault_and_ends_the_judge(ends, job, judge, answer, of):
    ours, judges = ends
    ours.send(job)
    ours.send(answer.model_copy(update={"job": of}))
    ours._sock.shutdown(socket.SHUT_WR)  # one that took the answer would wait for the next job
    judge_process(judges, judge).serve()  # which ends: whose the next answer is could not be told
    fault = said(ours, 2)[1]
    assert isinstance(fault, Fault)
    assert (fault.job, fault.device_lost) == (job.id, True)
    assert f"said {answer.say!r} of another job" in fault.detail


@pytest.mark.parametrize(
    ("judge", "answer"),
    [(one_phase, BuildDone(outcome=FAILURE)), (a_build, Proceed())],
    ids=["a build for a phase", "a phase for a build"],
)
def test_an_answer_that_was_not_asked_for_is_a_fault_too(ends, job, judge, answer):
    ours, judges = ends
    ours.send(job)
    ours.send(answer.model_copy(update={"job": job.id}))
    ours._sock.shutdown(socket.SHUT_WR)
    judge_process(judges, judge).serve()
    fault = said(ours, 2)[1]
    assert isinstance(fault, Fault)
    assert (fault.job, fault.device_lost) == (job.id, True)


def test_a_job_that_is_given_up_is_said_to_be_and_the_next_one_is_judged(ends, job):
    ours, judges = ends
    following = job.model_copy(update={"id": "following"})
    for message in (job, GiveUp(job=job.id), following, Proceed(job="following")):
        ours.send(message)
    ours._sock.shutdown(socket.SHUT_WR)
    with pytest.raises(Closed):  # when there is no further job
        judge_process(judges, one_phase).serve()
    heard = said(ours, 4)
    assert [message.say for message in heard] == ["phase", "gave-up", "phase", "judgement"]
    assert [message.job for message in heard] == [job.id, job.id, "following", "following"]


def test_within_a_phase_it_is_asked_once_in_a_while(ends, job, monkeypatch):
    ours, judges = ends
    now = [0.0]
    monkeypatch.setattr("harness.judge.process.time", SimpleNamespace(monotonic=lambda: now[0]))

    for _ in range(40):
        ours.send(Proceed(job=job.id))
    process = judge_process(judges, one_phase)
    process._job = job.id
    process._begin("check")
    for _ in range(100):
        now[0] += 0.1
        process._ask_to_proceed()
    heard = said(ours, 34)  # every third time
    assert {message.name for message in heard} == {"check"}
    assert ours.is_quiet()
