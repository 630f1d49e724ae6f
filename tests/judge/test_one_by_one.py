"""What calls one by one come to, kind of contents by kind."""

import random

import pytest

from harness.judge import one_by_one
from harness.judge.one_by_one import (
    ENOUGH_STEPS,
    InRounds,
    by_singles,
    capped,
    steps_no_longer_than_alone,
    suspect,
    usual_by_kind,
)
from harness.judge.samples import Samples
from harness.schema.record import Interval

OTHERS = ("wide", "ties", "huge")
BESIDE, BESIDE_LONG = InRounds(2.0, 0.1), InRounds(2.0, 1e9)
SHOWING_S = 3e-5


def shown(call_s, rounds, *, noise=0.0, chance=None):
    """Rounds of one side: of each kind so many, of calls of so many seconds."""
    chance = chance or random.Random(1)
    kinds = [kind for kind, count in rounds.items() for _ in range(count)]
    seconds = [(call_s[kind] + SHOWING_S) * chance.lognormvariate(0, noise) for kind in kinds]
    return Samples(seconds, nominal=[kind == "nominal" for kind in kinds], kinds=kinds)


def every(call_s, **others):
    return dict.fromkeys(("nominal", *OTHERS), call_s) | others


def test_a_kind_that_says_less_counts_alone_once_it_had_enough_rounds():
    for rounds, speedup in ((one_by_one.KIND_STEPS - 1, 2.0), (one_by_one.KIND_STEPS, 1.0)):
        each = every(8) | {"huge": rounds}
        singles = shown(every(0.5e-4, huge=1e-4), each), shown(every(1e-4), each)
        assert by_singles(singles, BESIDE)[2].value == pytest.approx(speedup, rel=0.01)


def test_a_kind_that_says_less_for_sure_counts_though_half_of_all_rounds_are_of_it():
    """All rounds together said as little, with an upper end that left the speed-up of the rounds open."""
    each = every(4) | {"huge": one_by_one.KIND_STEPS + 1}
    found = by_singles((shown(every(0.5e-4, huge=1e-4), each), shown(every(1e-4), each)), BESIDE)[2]
    assert found.high == pytest.approx(1.0, rel=0.01)


def test_a_kind_that_rounds_say_no_more_of_does_not():
    """A candidate that is slower on some contents is stated by its rounds on these."""
    each = every(8)
    singles = shown(every(0.5e-4, huge=1e-4), each), shown(every(1e-4), each)
    assert by_singles(singles, InRounds(1.0, 0.1))[2].value == pytest.approx(2.0, rel=0.01)


def test_of_kinds_that_say_less_the_one_with_fewest_rounds_is_asked_next_until_it_had_enough():
    singles = (
        shown(every(0.5e-4, huge=1e-4, ties=0.9e-4), every(2) | {"ties": 1}),
        shown(every(1e-4), every(2) | {"ties": 1}),
    )
    assert suspect(singles, OTHERS, BESIDE) == "ties"
    each = every(2) | {"ties": one_by_one.SURE_KIND_STEPS}
    singles = shown(every(0.5e-4, huge=1e-4, ties=0.9e-4), each), shown(every(1e-4), each)
    assert suspect(singles, OTHERS, BESIDE) == "huge"
    assert suspect(singles, ("wide",), BESIDE) is None
    assert suspect(singles, ("narrow",), BESIDE) is None  # it had none: it is never shown so


@pytest.mark.parametrize(("noise", "asked"), [(0.01, True), (0.8, False)])
def test_a_kind_that_says_less_for_sure_has_as_many_rounds_again(noise, asked):
    each, chance = every(2) | {"ties": one_by_one.KIND_STEPS}, random.Random(5)
    mine = shown(every(0.5e-4, ties=0.9e-4), each, noise=noise, chance=chance)
    singles = mine, shown(every(1e-4), each, noise=noise, chance=chance)
    assert suspect(singles, ("ties",), BESIDE) == ("ties" if asked else None)


def steps_of(seconds):
    count = len(seconds)
    return Samples([one + SHOWING_S for one in seconds], nominal=[True] * count, kinds=["nominal"] * count)


def test_of_many_rounds_the_later_half_counts_alone_where_it_says_more():
    """A host had the first fourteen of one side's take 40 us longer."""
    slow_at_first, its = [1.4e-4] * 18 + [0.5e-4] * 14, steps_of([1e-4] * 32)
    for seconds, speedup in ((slow_at_first, 2.0), (slow_at_first[::-1], 1 / 1.4)):
        assert by_singles((steps_of(seconds), its), BESIDE)[2].value == pytest.approx(speedup, rel=0.01)


def test_what_a_call_takes_longer_is_a_share_of_what_it_takes_the_reference_on_its_kind():
    its_s = every(0.5e-4, nominal=1e-4)
    mine_s = {kind: seconds / 2 for kind, seconds in its_s.items()}
    usual = {kind: seconds * 1e3 for kind, seconds in its_s.items()}
    singles = shown(mine_s, every(8)), shown(its_s, every(8))
    assert by_singles(singles, InRounds(2.0, 0.075, usual))[2].value == pytest.approx(2.0)
    assert by_singles(singles, InRounds(2.0, 0.075))[2].value != pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize(("noise", "own"), [(0.01, True), (0.4, False)])
def test_a_kind_has_a_time_of_its_own_where_its_rounds_set_it_apart(noise, own):
    chance, kinds = random.Random(3), ["nominal", "ties"] * 6
    figures = [(0.8 if kind == "ties" else 1.0) * chance.lognormvariate(0, noise) for kind in kinds]
    usual = usual_by_kind(kinds, figures)
    assert (usual["ties"] < 0.85 * usual["nominal"]) == own
    assert own or usual["ties"] == usual["nominal"]


def test_single_rounds_of_another_kind_count_where_they_say_less():
    """Rounds of one call had what get_inputs draws alone: 2 for 0.33 on all other contents."""
    kinds = ["nominal", "huge"] * one_by_one.KIND_STEPS

    def rounds_of_one(**call_ms):
        figures = [call_ms[kind] for kind in kinds]
        return Samples(
            [ms / 1e3 + 5e-3 for ms in figures], figures, nominal=[kind == "nominal" for kind in kinds], kinds=kinds
        )

    singles = rounds_of_one(nominal=1.0, huge=6.0), rounds_of_one(nominal=2.0, huge=2.0)
    usual_ms, alone_ms, found = by_singles(singles, InRounds(2.0, 2.0))
    assert found.value == pytest.approx(1 / 3, rel=0.01)
    assert (usual_ms, alone_ms) == pytest.approx((2.0, 6.0), rel=0.01)
    assert by_singles(singles, InRounds(0.33, 2.0))[2].value == pytest.approx(2.0, rel=0.01)


def test_calls_of_the_reference_are_no_longer_than_alone_on_contents_that_take_as_long():
    alone = shown(every(4e-5, ties=1.2e-4), every(2))
    beside, mine = shown(every(1.2e-4), every(2)), shown(every(4e-5), every(2))
    cut = steps_no_longer_than_alone(beside, alone, mine)
    longest = dict(zip(cut.kinds, cut.round_s, strict=True))
    assert longest["huge"] == longest["nominal"] == pytest.approx(7e-5)
    assert longest["ties"] == pytest.approx(1.5e-4)
    assert max(steps_no_longer_than_alone(beside, alone, mine, by_core=1.1).round_s[:2]) == pytest.approx(7.7e-5)


def test_they_may_be_as_much_longer_as_the_candidate_s_own_beside_them():
    """A host that is slower for some seconds slows both: an honest candidate was stated as 0.70."""
    rounds = 12

    def calls(more_s):
        return Samples([7e-5 + each for each in more_s], kinds=["nominal"] * rounds, nominal=[True] * rounds)

    slow = [1e-5] * (rounds // 2) + [0.0] * (rounds // 2)
    alone, beside = calls([0.0] * rounds), calls([2e-5] * rounds)
    cut = steps_no_longer_than_alone(beside, alone, calls(slow))
    assert cut.round_s == pytest.approx([8e-5] * (rounds // 2) + [7e-5] * (rounds // 2))
    assert steps_no_longer_than_alone(calls(slow), alone, calls(slow)).round_s == calls(slow).round_s


def test_who_slows_both_gains_nothing_and_a_lucky_round_of_its_own_no_more():
    """It is the difference that counts, and the fast end is that of a quarter of the rounds."""
    rounds = 32
    slow = [1e-5 * (at % 2) for at in range(rounds)]

    def calls(figures):
        return Samples(
            figures,
            kinds=["nominal"] * rounds,
            nominal=[True] * rounds,
            aside_s=[0.0] * rounds,
            loop_s=[1e-4] * rounds,
        )

    mine = calls([1e-4 + more for more in slow])
    mine.round_s[3] = 7e-5
    cut = steps_no_longer_than_alone(calls([7e-5 + 3 * more for more in slow]), calls([7e-5] * rounds), mine)
    found = by_singles((mine, cut), InRounds(10.0, 0.03))[2]
    assert found.value == pytest.approx(0.5, rel=0.01)


@pytest.mark.parametrize(
    ("single", "stated"),
    [
        ((0.7, 1.1, 160.0), 1.0),
        ((0.13, 24.3, 24.3), 1.0),
        ((0.009, 0.235, 0.77), 0.77),
        ((12.0, 18.0, 38.0), 1.8),
        ((1.2, 1.9, 3.0), 1.2),
        ((1.97, 3.5, 101.6), 1.8),
        ((112.0, 120.0, 126.0), 1.0),
        ((1.5, 1.9, 2.4), 1.8),
        ((0.9, 1.1, 1.3), 1.1),
    ],
)
def test_where_calls_one_by_one_leave_everything_open_nothing_is_called_faster(single, stated):
    """On a busy host an upper end is 160, or the middle 24, and rounds that did ninety calls as one stood."""
    low, value, high = single
    rounds = Interval(value=1.8, low=1.7, high=1.9)
    single = Interval(value=value, low=low, high=high)
    beside = InRounds(2.0, 0.3) if low > 100 else BESIDE_LONG  # what takes no longer than an empty call
    said = capped(rounds, single, one_by_one=True, rounds=64, on_host=True, beside=beside)
    assert said.value == pytest.approx(stated)
    assert said.low <= said.value <= said.high
    if high > 1.8 * 1.03:  # a device shows contents in some ten times a short call
        assert capped(rounds, single, one_by_one=True, rounds=64, beside=BESIDE) == rounds


@pytest.mark.parametrize(
    ("single", "reference_ms", "stated"),
    [
        ((0.4, 25.0, 25.0), 0.05, 1.0),
        ((14.3, 14.3, 14.3), 0.0286, 1.0),
        ((1.3, 2.0, 4.0), 0.5, 1.3),
        ((1.9, 2.0, 2.1), 0.5, 2.1),
        ((0.7, 0.8, 0.9), 0.5, 0.9),
        ((1.3, 2.0, 4.0), 5.0, 4.0),
    ],
)
def test_short_calls_on_a_device_that_had_a_round_each_are_no_faster_than_that_tells(single, reference_ms, stated):
    """What other processes left on a device made four calls in one 10.9 for 1.2 of calls of 29 us."""
    low, value, high = single
    said = capped(
        Interval(value=10.9, low=7.2, high=14.6),
        Interval(value=value, low=low, high=high),
        one_by_one=False,
        rounds=32,
        beside=InRounds(10.9, reference_ms),
    )
    assert said.value == pytest.approx(stated)
    assert said.low <= said.value <= said.high


def test_what_calls_one_by_one_say_instead_of_rounds_on_a_host_is_with_what_a_loop_of_its_own_may_save():
    single = Interval(value=2.0, low=1.9, high=2.1)
    honest, claims = (Interval(value=value, low=value, high=value) for value in (2.1, 3.0))
    assert capped(honest, single, one_by_one=True, rounds=64, on_host=True, beside=BESIDE) == honest
    said = capped(claims, single, one_by_one=True, rounds=64, on_host=True, beside=BESIDE)
    assert said.value == pytest.approx(1 / (0.5 + 1e3 * one_by_one.OWN_LOOP_S / 0.1))
    assert capped(claims, single, one_by_one=True, rounds=64, beside=BESIDE).value == 2.0


def test_and_what_is_slower_stays_so():
    slow = Interval(value=0.5, low=0.4, high=0.6)
    said = capped(
        slow, Interval(value=3.0, low=0.1, high=160.0), one_by_one=True, rounds=64, on_host=True, beside=BESIDE
    )
    assert (said.value, said.low, said.high) == (0.5, 0.1, 0.6)


@pytest.mark.parametrize(("rounds", "stated"), [(ENOUGH_STEPS - 1, 1.1), (ENOUGH_STEPS, 1.3)])
def test_few_rounds_say_what_most_of_them_do(rounds, stated):
    single = Interval(value=1.1, low=0.9, high=1.4)
    said = capped(Interval(value=1.3, low=1.2, high=1.4), single, one_by_one=True, rounds=rounds, beside=BESIDE)
    assert said.value == stated


@pytest.mark.parametrize(("rounds", "stated"), [(ENOUGH_STEPS - 1, 1.2), (ENOUGH_STEPS, 1.1)])
def test_few_rounds_tell_no_less_than_a_tenth(rounds, stated):
    """Of honest calls of 10 us a third were called 3% slower by ten rounds."""
    single = Interval(value=1.1, low=1.05, high=1.15)
    said = capped(Interval(value=1.2, low=1.15, high=1.25), single, one_by_one=True, rounds=rounds, beside=BESIDE)
    assert said.value == stated
