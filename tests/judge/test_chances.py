"""What a candidate that leaves out calls can hope for: the chance that it passes, and what it gains if it does."""

import math
import statistics
from types import SimpleNamespace

import pytest
import torch

from harness.judge.correctness import Expected
from harness.judge.moved_by_rounding import MovedByRounding, out_of_tolerance
from harness.judge.question import TimeForDoubts
from harness.judge.timing import MIN_ROUNDS, QUICK_ROUNDS
from harness.judge.verification import Verification, verified_calls

ROUNDS = (10, 12, 16, 24, 40, 80, 160, 320, 500)
QUICK = (4, 6, 8)
"""Rounds after which a quick measurement may end, whose early rounds are verified more."""
CALLS = (1, 2, 3, 7, 16, 24, 33, 64, 111, 256)
SKIPPED = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5)
PASSES, GAINS = 0.01, 1.02


def chance_of_one_round(calls: int, skipped: int, verified: int) -> float:
    """That none of the calls that were left out is among the random ones; the last one is always looked at."""
    return math.comb(calls - skipped, verified) / math.comb(calls, verified) if verified <= calls - skipped else 0.0


def gain(calls: int, skipped: int, cheated: int, rounds: int) -> float:
    """The median over rounds of how much faster a round is, where so many calls of some rounds are left out."""
    ratio = calls / (calls - skipped)
    return statistics.median([ratio] * cheated + [1.0] * (rounds - cheated))


@pytest.mark.parametrize("rounds", [*QUICK, *ROUNDS])
@pytest.mark.parametrize("calls", CALLS)
def test_leaving_out_calls_passes_hardly_ever_or_gains_hardly_anything(rounds, calls):
    """For every share of calls that are left out in every share of rounds, the early ones or the late ones."""
    least = QUICK_ROUNDS if rounds in QUICK else MIN_ROUNDS
    for skipped in {math.ceil(share * calls) for share in SKIPPED}:
        if skipped >= calls:
            continue  # the last call is always verified
        for cheated in {math.ceil(rounds * tenth / 10) for tenth in range(1, 11)}:
            for first in (0, rounds - cheated):
                chances = (
                    chance_of_one_round(calls, skipped, verified_calls(calls, taken, least))
                    for taken in range(first, first + cheated)
                )
                passes = math.prod(chances)
                assert passes < PASSES or gain(calls, skipped, cheated, rounds) <= GAINS, (skipped, cheated, passes)


def test_a_round_of_few_calls_is_verified_whole():
    assert [verified_calls(calls, 0) for calls in (1, 7, 24, 256)] == [1, 7, 24, 32]
    assert verified_calls(256, MIN_ROUNDS * 8) == 4


def choosing(least=MIN_ROUNDS):
    """As much of a verification as choosing calls asks for: nothing that is known of the reference."""
    return Verification(None, None, None, least=least)


@pytest.mark.parametrize("rounds", [0, 10, 100_000])
def test_the_last_call_of_every_round_is_verified(rounds):
    """Work that is not finished when a worker says that it is shows there first."""
    assert all(4095 in choosing().choose(4096, rounds) for _ in range(50))


@pytest.mark.parametrize("least", [MIN_ROUNDS, QUICK_ROUNDS])
def test_as_many_calls_are_verified_whatever_the_reference_is(least):
    """One that draws random numbers, or on which rounding decides: of these some are asked how rounding moves them."""
    chosen = choosing(least).choose(4096, 0)
    assert len(set(chosen)) >= verified_calls(4096, 0, least)
    doubted = choosing(least).doubted(sorted(chosen))
    assert 4095 in doubted
    assert 2 * MIN_ROUNDS / least <= len(doubted) <= 2 * MIN_ROUNDS / least + 1 <= len(chosen)


@pytest.mark.parametrize(("usual", "most"), [(0.0, 0.0), (0.01, 0.02), (0.2, 0.4), (0.6, 0.8), (0.9, 0.95)])
def test_a_call_that_was_left_out_is_no_usual_one(usual, most):
    """What rounding explained in other calls, twice; and never so much that nothing of an output need be right."""
    expected = Expected(like=torch.zeros(1000), exact=torch.zeros(1000))

    def is_usual(wrong):
        moved = MovedByRounding("scaled", TimeForDoubts(lambda: None), unstable=0.0, leave_out=lambda kind: None)
        moved._usual["signed", 0] = usual
        output = torch.cat([torch.ones(wrong), torch.zeros(1000 - wrong)])
        return moved._is_usual(output, expected, SimpleNamespace(kind="signed"))

    assert is_usual(round(1000 * most))
    assert not is_usual(round(1000 * most) + 1)
    assert not is_usual(1000)


def test_numbers_beside_tensors_and_what_is_not_finite_are_no_usual_thing():
    like = torch.zeros(8)
    assert out_of_tolerance([like, 1.0], Expected([like, 1.0], [like, 1.0]), "scaled") is None
    assert out_of_tolerance(like / 0, Expected(like, like), "scaled") is None
