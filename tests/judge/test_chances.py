"""What a candidate that leaves out calls can hope for: the chance that it passes, and what it gains if it does."""

import math
import statistics
from types import SimpleNamespace

import pytest

from harness.judge.judge import _Case, verified_calls
from harness.judge.timing import MIN_ROUNDS, QUICK_ROUNDS

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


@pytest.mark.parametrize("rounds", [0, 10, 100_000])
def test_the_last_call_of_every_round_is_verified(rounds):
    """Work that is not finished when a worker says that it is shows there first."""
    case = SimpleNamespace(_audit=SimpleNamespace(random=False), _unstable={})
    assert all(4095 in _Case._choose(case, 4096, rounds) for _ in range(50))


@pytest.mark.parametrize("least", [MIN_ROUNDS, QUICK_ROUNDS])
def test_references_that_draw_random_numbers_are_verified_as_often_as_others(least):
    case = SimpleNamespace(_audit=SimpleNamespace(random=True), _unstable={})
    assert len(set(_Case._choose(case, 4096, 0, least=least))) >= verified_calls(4096, 0, least)


def test_where_rounding_decides_four_quick_rounds_are_verified_as_ten():
    case = SimpleNamespace(_audit=SimpleNamespace(random=False), _unstable={"nominal": 0.1})
    many, quick = (len(set(_Case._choose(case, 4096, 0, least=one)) - {4095}) for one in (MIN_ROUNDS, QUICK_ROUNDS))
    assert (many, quick) in {(2, 5), (1, 5), (2, 4)}  # the last one may be drawn as well
    assert quick * QUICK_ROUNDS >= many * MIN_ROUNDS - QUICK_ROUNDS
