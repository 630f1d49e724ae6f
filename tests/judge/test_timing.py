"""Rounds: what is written when, what is verified, and what the clock makes of it."""

import itertools
import random
from contextlib import nullcontext

import pytest
import torch

from harness.judge import timing
from harness.judge.failure import SubjectFailed
from harness.judge.inputs import Contents, InputSets
from harness.judge.statistics import with_repeatability
from harness.judge.subject import Round, Unsettled
from harness.judge.timing import Plan, Reading, Samples, conditions, measure, sets_for
from harness.schema import Interval
from harness.wire.memory import HostArena


class Recorder:
    """A subject whose calls take no time but are written down, with what the slots held then."""

    def __init__(self, log, name):
        self.log, self.name, self.frozen = log, name, False
        self.other = None
        self.call_device_ms = None

    def freeze(self):
        self.frozen = True

    def wake(self):
        self.frozen = False

    def round(self, slots, *, seed):
        assert not self.frozen
        assert self.other is None or self.other.frozen
        seen = [float(self.inputs.arguments(slot)[0][0]) for slot in slots]
        self.log.append((self.name, list(slots), seen))
        device_ms = None if self.call_device_ms is None else self.call_device_ms * len(slots)
        return Round(1e-3 + 1e-3 * len(slots), len(slots), device_ms)

    def snapshot(self, calls):
        assert self.frozen

    def survey(self, calls): ...

    def outputs(self, calls):
        return [None for _ in calls]

    def release(self, *, poison=False, trim=False):
        self.frozen = False
        if trim:
            self.log.append((self.name, "trim", []))


class Quiet:
    def evict(self): ...

    def touch(self): ...

    def trim(self): ...

    def awake(self):
        return nullcontext()

    def read(self):
        return None


def run(
    count=4,
    *,
    tight=False,
    verify=None,
    watched=False,
    plan=Plan(budget_s=0.0),  # noqa: B008  # frozen
    device_ms=(None, None),
):
    log = []
    drawn = iter(range(1, 1_000_000))

    def draw():
        value = next(drawn)
        return Contents(lambda: [torch.full((8,), float(value))])

    sets = InputSets([torch.zeros(8)], count, HostArena)
    candidate, reference = Recorder(log, "candidate"), Recorder(log, "reference")
    candidate.inputs = reference.inputs = sets
    candidate.call_device_ms, reference.call_device_ms = device_ms
    if watched:
        reference.other = candidate
    measured = measure(
        candidate,
        reference,
        sets,
        draw=draw,
        device=Quiet(),
        plan=plan,
        tight=tight,
        verify=verify,
        choose=lambda calls: (calls - 1,),
    )
    sets.close()
    return measured, log


def test_contents_never_repeat_and_the_order_of_slots_is_not_the_same():
    _, log = run(8)
    rounds = [entry for entry in log if len(entry[1]) == 8]
    values = [value for _, _, seen in rounds for value in seen]
    assert len(set(values)) == len(values)
    assert len({tuple(slots) for _, slots, _ in rounds}) > 1


def test_the_cost_of_an_empty_round_is_taken_off():
    measured, _ = run(4)
    assert measured.timing.hand_over_ms == pytest.approx(1.0, rel=0.2)
    assert measured.timing.candidate_ms == pytest.approx(1.0, rel=0.1)


def test_what_rounds_of_the_reference_take_beyond_its_device_events_is_taken_off_both():
    measured, log = run(4, device_ms=(0.9, 0.9))
    assert measured.timing.hand_over_ms == pytest.approx(5 - 4 * 0.9, rel=0.01)
    assert measured.timing.candidate_ms == pytest.approx(0.9, rel=1e-3)
    assert measured.timing.speedup.value == pytest.approx(1.0, rel=1e-3)
    assert all(slots for _, slots, _ in log)  # no empty rounds


@pytest.mark.parametrize("claimed_ms", [None, 0.0, 0.1, 100.0])
def test_what_the_candidate_s_device_events_say_changes_no_time(claimed_ms):
    measured, _ = run(4, device_ms=(claimed_ms, 1.0))
    assert measured.timing.candidate_ms == pytest.approx(1.0, rel=0.01)
    assert measured.timing.speedup.value == pytest.approx(1.0, rel=1e-3)


def test_without_device_events_of_the_reference_those_of_the_candidate_are_not_asked():
    measured, log = run(4, device_ms=(0.1, None))
    assert measured.timing.hand_over_ms == pytest.approx(1.0, rel=0.2)
    assert any(not slots for _, slots, _ in log)


def test_the_last_round_gets_new_contents_half_way():
    _, log = run(4)
    first, second = log[-2:]
    assert len(first[1]) == len(second[1]) == 2
    assert not set(first[1]) & set(second[1])
    assert min(second[2]) > max(first[2])  # values are counted up: what is called last was written last


def test_the_last_call_of_verified_rounds_is_verified_with_what_was_written_there():
    seen = []
    _, log = run(4, verify=lambda subject, written, seed: seen.append(written))
    assert seen
    assert all(call in (3, 1) for written in seen for call in written)
    assert float(next(iter(seen[-1].values())).contents.get()[0][0]) == log[-1][2][-1]


def test_where_memory_is_tight_one_side_gives_its_own_back_before_the_other_s_turn():
    _, log = run(1, tight=True)
    holder = None
    for name, what, _ in log:
        if what == "trim":
            holder = None if holder == name else holder
        elif what:
            assert holder in (None, name)
            holder = name


@pytest.mark.parametrize("tight", [False, True])
def test_once_both_had_a_turn_nobody_is_awake_in_the_other_s(tight):
    _, log = run(1, tight=tight, watched=True)
    assert {name for name, _, _ in log} == {"candidate", "reference"}


def test_whose_turn_comes_first_nobody_can_know():
    orders = set()
    for _ in range(40):
        _, log = run(2)
        orders.add(tuple(name for name, what, _ in log if what not in ([], "trim"))[4:8])
    assert len(orders) == 2


def test_a_round_whose_outputs_could_not_be_kept_is_repeated_and_does_not_count():
    tries = iter([True, False, True])

    def verify(subject, written, seed):
        if next(tries, False):
            raise Unsettled

    measured, _ = run(2, verify=verify)
    assert measured.timing.rounds == len(measured.timing.candidate_samples_ms) == 10


def test_who_lays_outputs_elsewhere_each_time_has_failed():
    def verify(subject, written, seed):
        raise Unsettled

    with pytest.raises(SubjectFailed, match="could not be read in time"):
        run(2, verify=verify)


def test_a_hand_over_that_is_overrated_leaves_a_tenth():
    assert Samples(round_s=[1e-3]).call_ms(2e-3, 1) == [pytest.approx(0.1)]


@pytest.mark.parametrize(
    ("candidate_s", "reference_s", "count"),
    [(1.0, 1.0, 1), (1e-3, 1e-3, 8), (1e-3, 9e-3, 4), (9e-3, 1e-3, 4), (1e-6, 1e-6, 256)],
)
def test_rounds_have_enough_calls_to_outweigh_the_hand_over(candidate_s, reference_s, count):
    assert sets_for(candidate_s, reference_s, 1, 1, Plan()) == count


def reading(mhz, *throttle):
    return Reading(sm_mhz=mhz, memory_mhz=3201, temperature_c=50, power_w=300, throttle=throttle)


def test_sides_that_ran_at_different_clocks_are_disturbed():
    assert not conditions([reading(1980)] * 3, [reading(1965)] * 3).disturbed
    assert conditions([reading(1980)] * 3, [reading(1500)] * 3).disturbed


def test_a_power_cap_comes_from_the_load_and_heat_from_outside():
    assert not conditions([reading(1980, "sw-power-cap")], [reading(1980)]).disturbed
    assert conditions([reading(1980, "hw-thermal")], [reading(1980)]).disturbed


def test_repeatability_widens_the_interval_of_short_calls():
    narrow = Interval(value=2.0, low=1.99, high=2.01)
    short, long = (with_repeatability(narrow, ms, ms) for ms in (0.005, 5.0))
    assert short.low < 1.95 < 1.98 < long.low < 1.99
    assert short.high > 2.05 > 2.02 > long.high > 2.01


def test_both_sides_are_asked_about_outputs_equally_often(monkeypatch):
    monkeypatch.setattr(timing, "VERIFIED_SHARE", 1.0)
    asked = {"candidate": 0, "reference": 0}

    def outputs(self, calls):
        asked[self.name] += 1
        return [None for _ in calls]

    monkeypatch.setattr(Recorder, "outputs", outputs)
    measured, _ = run(4, verify=lambda subject, written, seed: subject.outputs(sorted(written)))
    assert asked["reference"] == measured.timing.rounds
    assert asked["candidate"] == measured.timing.rounds + 1  # the round that is split at the end


def test_a_reference_whose_outputs_lie_elsewhere_each_time_is_timed_all_the_same(monkeypatch):
    monkeypatch.setattr(timing, "VERIFIED_SHARE", 1.0)

    def outputs(self, calls):
        if self.name == "reference":
            raise Unsettled
        return [None for _ in calls]

    monkeypatch.setattr(Recorder, "outputs", outputs)
    measured, _ = run(4, verify=lambda subject, written, seed: subject.outputs(sorted(written)))
    assert len(measured.timing.reference_samples_ms) == measured.timing.rounds


@pytest.mark.parametrize(("call_s", "longer"), [(8e-5, True), (2e-3, False)])
def test_launch_bound_calls_are_timed_longer_where_their_interval_is_wide(monkeypatch, call_s, longer):
    now = itertools.count()
    monkeypatch.setattr(timing.time, "monotonic", lambda: next(now) * 1e-3)
    chance = random.Random(0)

    def round(self, slots, *, seed):
        return Round(1e-3 + call_s * len(slots) * chance.uniform(0.8, 1.2), len(slots))

    monkeypatch.setattr(Recorder, "round", round)
    patient, _ = run(4, plan=Plan(budget_s=0.5, singles=True))
    usual, _ = run(4, plan=Plan(budget_s=0.5))
    assert patient.timing.rounds == pytest.approx((3 if longer else 1) * usual.timing.rounds, rel=0.1)
