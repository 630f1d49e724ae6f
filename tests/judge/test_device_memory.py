"""Before a candidate is blamed for a lack of device memory, what others hold is given back and it is tried again."""

from types import SimpleNamespace

import pytest
import torch

from harness.catalog import text_problem
from harness.errors import DeviceError, SandboxError
from harness.judge.failure import SubjectFailed
from harness.judge.jobs import Check, Judgement
from harness.judge.process import JudgeProcess, _Sparing
from harness.schema import Correct, Failed
from harness.settings import Settings
from harness.transport import Closed

SHORT = Judgement(verdict=Failed(stage="run", reason="device-memory", detail="CUDA out of memory"))
CORRECT = Judgement(verdict=Correct(trials=1))
PROBLEM = "class Model: ...\ndef get_inputs(): ...\ndef get_init_inputs(): ...\n"


@pytest.fixture
def process(monkeypatch):
    """A judge's process whose judgements are these in turn; an exception is raised."""

    def make(*answers):
        free, closed = [10e9], []

        def give(size):
            free[0] += size

        judge_process = JudgeProcess.__new__(JudgeProcess)
        judge_process._hardware = SimpleNamespace(free_bytes=lambda: free[0], trim=lambda: give(2e9))
        judge_process._spares = SimpleNamespace(end=lambda: give(1e9))
        judge_process._held = SimpleNamespace(close=lambda: (give(40e9), closed.append(True)))
        left, tries = list(answers), []

        def judge_once(job, *, alone=False):
            tries.append(alone)
            answer = left.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        judge_process._judge_once = judge_once
        return judge_process, tries, closed

    return make


@pytest.mark.parametrize("first", [SHORT, torch.OutOfMemoryError("the judge's own")])
def test_it_is_tried_once_more_with_the_references_memory_given_back(process, first):
    one, tries, closed = process(first, CORRECT)
    assert one._judge(None) == CORRECT
    assert tries == [False, True]
    assert closed == [True]


def test_a_second_lack_is_its_own_and_says_who_held_what(process):
    one, _, _ = process(SHORT, SHORT)
    detail = one._judge(None).verdict.detail
    assert detail.startswith("CUDA out of memory; twice, ")
    assert "caches gave back 2.0 GB and the reference's worker and spare ones 41.0 GB, with 53.0 GB free" in detail


def test_a_judge_that_lacks_memory_alone_says_so(process):
    one, tries, _ = process(torch.OutOfMemoryError("first"), torch.OutOfMemoryError("second"))
    with pytest.raises(torch.OutOfMemoryError, match="second"):
        one._judge(None)
    assert tries == [False, True]


@pytest.mark.parametrize(
    ("lack", "said"), [(MemoryError(), "MemoryError"), (torch.OutOfMemoryError("8 GB more\nand a hint"), "8 GB more")]
)
def test_a_lack_of_memory_is_a_fault_in_one_line_and_ends_no_judge_whether_it_says_something_or_not(
    process, lack, said
):
    one, _, _ = process(lack)
    heard, told = [Check(problem=text_problem(PROBLEM), settings=Settings())], []

    def receive(_):
        if not heard:
            raise Closed
        return heard.pop()

    def short(job):
        raise lack

    one._channel, one._check, one._tell = SimpleNamespace(receive=receive), short, told.append
    with pytest.raises(Closed):
        one.serve()
    assert [fault.detail for fault in told] == [f"the judge ran out of memory: {said}; use --set to make it smaller"]


def test_other_verdicts_are_given_once(process):
    one, tries, closed = process(CORRECT)
    assert one._judge(None) == CORRECT
    assert (tries, closed) == ([False], [])


def test_the_judge_trims_before_calls_and_not_before_questions():
    trimmed = []
    subject = _Sparing(SimpleNamespace(round=lambda: 1, outputs=lambda: 2), lambda: trimmed.append(True))
    assert (subject.round(), subject.outputs()) == (1, 2)
    assert trimmed == [True]


@pytest.mark.parametrize(
    ("poison", "trim", "given_back"), [(True, False, True), (False, False, False), (False, True, True)]
)
def test_what_a_worker_keeps_for_later_goes_after_a_trial_and_not_between_rounds(poison, trim, given_back):
    released = []
    subject = _Sparing(SimpleNamespace(release=lambda **how: released.append(how)), lambda: None)
    subject.release(poison=poison, trim=trim)
    assert released == [{"poison": poison, "trim": given_back}]


@pytest.mark.parametrize(
    ("reason", "raised"), [("device-memory", SubjectFailed), ("exception", DeviceError), ("timeout", DeviceError)]
)
def test_what_a_worker_fails_at_before_a_candidate_is_there_is_ours_but_for_memory(reason, raised):
    def expect_ready():
        raise SubjectFailed(reason, "no context")

    judge_process = JudgeProcess.__new__(JudgeProcess)
    with pytest.raises(raised, match="no context"):
        judge_process._expect_ready(SimpleNamespace(expect_ready=expect_ready))


def test_a_reference_s_worker_that_does_not_end_is_no_fault_of_the_next_job():
    def close():
        raise SandboxError("it did not end")

    judge_process = JudgeProcess.__new__(JudgeProcess)
    judge_process._held = SimpleNamespace(close=close)
    judge_process._let_go_of_reference()
    assert judge_process._held is None
