"""A measurement whose reference was slowed on a device is taken once more, with another process of the candidate's."""

from types import SimpleNamespace

import pytest
import torch

from harness.judge.doubts import PAUSED_BETWEEN_ROUNDS
from harness.judge.jobs import Judgement
from harness.judge.process import JudgeProcess
from harness.schema import Correct, Failed, Interval, Timing, Wrong


def judged(speedup, slowed=1.0, *, one_by_one=1.0, mode="full", flags=()):
    timing = Timing(
        candidate_ms=1.0,
        reference_ms=speedup,
        speedup=Interval(value=speedup, low=speedup, high=speedup),
        conclusion="same",
        rounds=10,
        calls_per_round=1,
        hand_over_ms=0.0,
        reference_slowed=slowed,
        single_slowed=one_by_one,
        mode=mode,
    )
    return Judgement(verdict=Correct(trials=1), timing=timing, flags=flags)


def judge(*answers, apart=True):
    """What comes of these judgements in turn, and which of them were with all memory given back before."""
    judge_process, left = JudgeProcess.__new__(JudgeProcess), list(answers)
    judge_process._hardware = SimpleNamespace(apart=apart)
    tries = []

    def judge_once(job, *, alone=False):
        tries.append(alone)
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    judge_process._judge_once, judge_process._give_back = judge_once, lambda: "nothing"
    return judge_process._judge(None), tries


SLOWED = judged(0.66, 1.5)


@pytest.mark.parametrize("again", [judged(0.99), judged(0.8, 1.2)])
def test_the_one_counts_whose_reference_was_slowed_less(again):
    assert judge(SLOWED, again) == (again, [False, False])


def test_so_does_the_one_whose_calls_one_by_one_were():
    slowed = judged(0.7, one_by_one=1.07)
    assert judge(slowed, judged(0.98)) == (judged(0.98), [False, False])
    assert judge(slowed, judged(0.9, 1.2)) == (slowed, [False, False])


def test_a_second_one_that_was_slowed_more_does_not():
    assert judge(SLOWED, judged(1.2, 1.6)) == (SLOWED, [False, False])


def test_one_that_is_wrong_the_second_time_is():
    wrong = Judgement(verdict=Wrong(reason="values", detail="", trial="nominal"))
    assert judge(SLOWED, wrong) == (wrong, [False, False])


@pytest.mark.parametrize(
    ("first", "apart"), [(judged(1.0), True), (judged(0.66, 1.5, mode="quick"), True), (SLOWED, False)]
)
def test_what_was_not_slowed_was_measured_quickly_or_on_a_host_is_judged_once(first, apart):
    assert judge(first, apart=apart) == (first, [False])


def test_what_worked_between_its_rounds_the_second_time_is_judged_a_third_time():
    paused, last = judged(1.0, flags=(PAUSED_BETWEEN_ROUNDS,)), judged(0.9)
    assert judge(SLOWED, paused, last) == (last, [False] * 3)


LACKS = Judgement(verdict=Failed(stage="run", reason="device-memory", detail=""))


@pytest.mark.parametrize("again", [Judgement(verdict=Correct(trials=1)), LACKS, torch.OutOfMemoryError()])
def test_a_second_one_without_a_time_or_for_want_of_memory_takes_nothing_from_the_first(again):
    assert judge(SLOWED, again) == (SLOWED, [False, False])


def test_one_that_needed_all_memory_has_it_the_second_time_too():
    assert judge(LACKS, SLOWED, judged(1.0)) == (judged(1.0), [False, True, True])
