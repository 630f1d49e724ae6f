"""The reference alone: what it takes once the candidate is gone, and what that makes of a measurement.

What it takes then, and what its rounds cost beyond its calls, no candidate can have lengthened. The smaller figures
count.
"""

import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.judge.alone_before import AloneBefore
from harness.judge.one_by_one import (
    by_singles,
    singles_no_longer_than_alone,
    steps_no_longer_than_alone,
    steps_slack,
)
from harness.judge.round_figures import (
    LAUNCH_BOUND_S,
    at_most_share,
    core_slower,
    in_rounds_of,
    no_longer_than_alone,
    slowed_beyond,
    slowed_by,
    stated_of,
    timing_of,
    with_chores,
)
from harness.judge.rounds import Clock, Device, Draw, Side
from harness.judge.samples import Samples
from harness.judge.statistics import median, spread
from harness.judge.timing import Measured, Plan, most_steps
from harness.schema.record import Interval, Timing

STEPS_ALONE, STEPS_ALONE_OF_BASE = 8, 3
"""So many of the reference once the candidate is gone, so many of the base kind and each other kind once at least: on a
device no median of its calls beside counts longer than the longest of these that take as long."""
SINGLES_ALONE, SINGLES_APART_S = 8, 5e-5
"""So many rounds of one call of the base kind the reference has then, and one of each other kind that had any: no such
round beside a candidate counts longer than the longest of these that take as long, and this besides, by which switches
take longer where there is a third process. A candidate that held a device up in these alone had 10.9 times for four
calls in one of 1.2 (H200, November 2026)."""
SINGLES_SLACK = 0.01
"""By more than this they decide: what a round costs beyond its call was 0.3 ms less alone once in ten, and a product of
2.7 ms 0.97 times as fast as itself (H200, November 2026). They are looked at again then, and if that does not mend it
all is judged once more."""
SLOWED, SLOWED_LAUNCH_MS, SLOWED_ROUND_MS = 0.02, 2e-3, 0.5
"""Once the reference takes longer beside the candidate than alone, by more than this share and so many milliseconds a
call and beyond the noise of both, its time alone counts. A launch takes about a microsecond less where no third process
uses the device (H200, 7 us instead of 8); on a host without one it is so many milliseconds a round, because processes
share its cores. What is left below is what a candidate that slows the reference can gain."""
SWITCHED = 0.03
"""By so much calls of the reference whose contents the device shows may take longer beside a candidate than alone:
there two switches between processes are 0.3 ms of each, and take some per cent longer where there is a third (H200)."""
MORE_ALONE = 2
"""So often are as many rounds alone added while the reference seems slowed and that may be noise."""
MORE_LOOKS, LOOK_AGAIN_S, QUICK_LOOK_AGAIN_S = 3, 0.3, 0.1
"""Where the reference seems slowed it is timed alone so many times more, after a pause each, and what is nearest to
what it took beside the candidate counts: the speed of a core that a host shares out changes by half from one second to
the next, and so do launches (H100, November 2026). A quick measurement, which lies in one second, pauses less."""
ALONE_ROUNDS, QUICK_ALONE = 6, 4
"""So many of the base kind of contents, and as many of the others, each of which comes once at least: what the longest
takes is the most that a round beside the candidate counts with. After a quick measurement the second."""
LONG_ALONE_S, FEWEST_ALONE = 1.0, 3
"""Rounds that take so long together need be no more than so many of either sort."""
LAST_ROUNDS = 8
"""So many of the last rounds count where only those do."""
LENGTHS_APART, LONGEST_SPAN_S = 1.1, 0.1
"""Rounds of the sides that are further apart, by this factor, are held against what waiting so long costs; longer ones
as if they took LONGEST_SPAN_S, of which it is less than one in a hundred."""
LAUNCHING_S = 2e-5
"""So much of a call a slower core may have made longer. That excuses no more than makes both sides equal: a candidate
that the core does not slow gains by one that slows the reference."""


def beside_and_alone(
    measured: Measured,
    reference: Side,
    *,
    draw: Draw,
    base: str = "nominal",
    kinds: Sequence[str] = (),
    device: Device,
    plan: Plan,
) -> Measured:
    """What was measured, held against what the reference takes now that the candidate is gone.

    Where it takes less, that counts, and so does what its rounds cost beyond its calls: no candidate can have had a
    hand in either. Clocks that rose meanwhile are allowed for. Raises `SubjectFailed` where the reference fails.
    """
    told = [kind for kind in kinds if kind not in plan.untold]
    found = _known_alone(measured, plan, (base, *kinds), (base, *told))
    if found is None:
        with device.awake():
            clock = Clock(None, base, draw, device, own_seeds=plan.own_seeds)
            device.settle()  # the driver clears the memory of a process that has ended
            found = _held_alone(clock, reference, (base, *kinds), (base, *told), measured, plan.alone_before)
    count, timing, quick = measured.timing.calls_per_round, measured.timing, measured.timing.mode == "quick"
    alone, slowed, allowed, singles = found.samples, found.slowed, found.allowed, found.singles
    beyond_s, hand_over_s, longer_s = found.beyond_s, found.hand_over_s, found.longer_s
    beside = measured.theirs
    held = no_longer_than_alone(beside, alone, allowed, count)
    _, stated = stated_of(measured.mine, held, hand_over_s, count)
    mine = with_chores(measured.mine, held, stated).and_each(longer_s)
    alone_ms, depends = median(alone.call_ms(hand_over_s, count)), False
    if slowed.value > 1 + allowed and (not alone.device_ms or timing.reference_ms < LAUNCH_BOUND_S * 1e3):
        # What launching takes changes with the host from one second to the next: only rounds just before can tell.
        _, stated = stated_of(mine, held, hand_over_s, count)
        depends = len(stated) < len(mine.round_s)
        mine, beside = mine.at(stated[-LAST_ROUNDS:]), beside.at(stated[-LAST_ROUNDS:])
        slowed = slowed_by(beside, alone, hand_over_s, count)
    longer = slowed_beyond(slowed, allowed, beside, alone)
    factor = longer
    if longer > 1.0:
        excused = slowed_beyond(slowed, allowed, beside, alone, by_core=by_core(beside, alone, quick=quick))
        factor = min(longer, max(excused, stated_of(mine, beside, hand_over_s, count)[0].value))
    beside = no_longer_than_alone(beside, alone, allowed, count, explained=longer)
    before_s = measured.theirs.beyond_events_s(count) if measured.theirs.device_ms else measured.empty_s
    unsure_s = spread([*before_s, *beyond_s])
    timing = timing_of(mine, beside, hand_over_s, count, singles, slowed=factor, unsure_s=unsure_s)
    besides = {
        "reference_alone_ms": alone_ms,
        "mode": measured.timing.mode,
        "longer_ms": longer_s * 1e3,
        "single_slowed": _single_slowed(measured, singles, hand_over_s),
        "depends_on_values": depends or timing.depends_on_values,
    }
    return replace(measured, timing=timing.model_copy(update=besides))


@dataclass(frozen=True)
class _Alone:
    """The reference alone: its rounds, by how much it took longer beside a candidate and what of that is allowed, what
    each round took beyond its calls and what that is taken for, and single calls of both sides held against it.

    `longer_s`: what a round costs more where it is as long as the reference's, not the candidate's.
    """

    samples: Samples
    slowed: Interval
    allowed: float
    beyond_s: Sequence[float]
    hand_over_s: float
    singles: tuple[Samples, Samples] | None
    longer_s: float = 0.0


def _known_alone(measured: Measured, plan: Plan, kinds: Sequence[str], told: Sequence[str]) -> _Alone | None:
    """What is known already of the reference alone, where a quick measurement is not to be held against more: beside
    the candidate it took no longer than in the fastest of its rounds, and its single calls decide nothing.
    """
    before, timing, count = plan.alone_before, measured.timing, measured.timing.calls_per_round
    if before is None or timing.mode != "quick" or not measured.theirs.device_ms:
        return None
    alone, singles = before.rounds(kinds, count, measured.theirs), measured.singles
    if alone is None:
        return None
    beyond_s = alone.beyond_events_s(count)
    hand_over_s = min(timing.hand_over_ms / 1e3, median(beyond_s))
    slowed, allowed = _held_against(alone, measured, hand_over_s)
    if slowed.value > 1 + allowed:
        return None
    if singles is not None:  # of rounds of one call nothing is known, which have no copies
        steps = before.steps(told, most_steps(count, quick=True), measured.copies, singles[1])
        if steps is None:
            return None
        singles = _steps_held(singles, steps.samples, quick=True, allowed=steps.allowed)
        if _is_decided_by(singles, measured, hand_over_s):
            return None
    return _Alone(alone, slowed, allowed, beyond_s, hand_over_s, singles)


def _held_alone(
    clock: Clock,
    reference: Side,
    kinds: Sequence[str],
    told: Sequence[str],
    measured: Measured,
    before: AloneBefore | None,
) -> _Alone:
    """The reference timed alone, as often as it takes; the first rounds and those that count are known from then on."""
    count, timing = reference.sets.count, measured.timing
    quick = timing.mode == "quick"
    alone = _rounds_alone(clock, reference, kinds[0], kinds[1:], quick=quick)
    exact = alone.device_ms and not quick  # which tells bands of a quarter apart
    longer_s = _longer_s(clock, reference, timing) if exact else 0.0
    beyond_s = alone.beyond_events_s(count) if alone.device_ms else clock.empty_rounds(reference, slots=count)
    hand_over_s = min(timing.hand_over_ms / 1e3, median(beyond_s))
    singles = _single_calls_held(clock, reference, told, measured, hand_over_s, before)
    nearest, slowed, allowed = _nearest_alone(clock, reference, kinds, measured, alone, hand_over_s)
    if before is not None and alone.device_ms:
        before.keep_rounds(alone, count)
        if nearest is not alone:
            before.keep_rounds(nearest, count)
    return _Alone(nearest, slowed, allowed, beyond_s, hand_over_s, singles, longer_s)


def _held_against(rounds: Samples, measured: Measured, hand_over_s: float) -> tuple[Interval, float]:
    """By how much the reference took longer beside the candidate than in these rounds alone, and what is allowed."""
    count = measured.timing.calls_per_round
    least_ms = SLOWED_LAUNCH_MS if rounds.device_ms else SLOWED_ROUND_MS / count
    allowed = SLOWED + least_ms / median(rounds.call_ms(hand_over_s, count))
    return slowed_by(measured.theirs, rounds, hand_over_s, count), allowed


def _nearest_alone(
    clock: Clock,
    reference: Side,
    kinds: Sequence[str],
    measured: Measured,
    alone: Samples,
    hand_over_s: float,
) -> tuple[Samples, Interval, float]:
    """The rounds alone that are nearest to those beside a candidate, by how much those took longer, and what of that is
    allowed. `alone` were taken already; there are more where the difference is too large: but for what a slower core
    of the host explains, where a quick measurement excuses all of that.
    """
    quick = measured.timing.mode == "quick"
    excused = quick and measured.timing.speedup.value <= 1.0
    slowed, allowed = _held_against(alone, measured, hand_over_s)
    for _ in range(MORE_ALONE):
        if not slowed.low <= 1 + allowed < slowed.value:
            break
        alone = alone.and_those_of(_rounds_alone(clock, reference, kinds[0], kinds[1:], quick=quick))
        slowed, allowed = _held_against(alone, measured, hand_over_s)
    for _ in range(MORE_LOOKS):
        core = by_core(measured.theirs, alone, quick=True) if excused else 1.0
        if slowed.low <= (1 + allowed) * core:  # which noise explains, or the core
            break
        time.sleep(QUICK_LOOK_AGAIN_S if quick else LOOK_AGAIN_S)
        again = _rounds_alone(clock, reference, kinds[0], kinds[1:], quick=quick)
        its, its_allowed = _held_against(again, measured, hand_over_s)
        if its.value - its_allowed < slowed.value - allowed:
            alone, slowed, allowed = again, its, its_allowed
    return alone, slowed, allowed


def by_core(beside: Samples, alone: Samples, *, quick: bool = False) -> float:
    """By how much the reference's calls were slower beside a candidate at most because a core of the host was, by the
    device's events: what of a call is launching is not known beyond LAUNCHING_S. A quick measurement, which lies in one
    second of the host, takes all of a call below LAUNCH_BOUND_S for it.
    """
    if not alone.device_ms:
        return 1.0
    share = at_most_share(launching_s(quick=quick), median(alone.device_ms))
    return 1.0 + (core_slower(beside, alone) - 1.0) * share


def launching_s(*, quick: bool) -> float:
    """So many seconds of a call a slower core may have made longer."""
    return LAUNCH_BOUND_S if quick else LAUNCHING_S


def _rounds_alone(clock: Clock, reference: Side, base: str, kinds: Sequence[str], *, quick: bool) -> Samples:
    """Rounds of the base kind of contents, and of all others."""
    alone, started = Samples(), time.monotonic()
    of_base = QUICK_ALONE if quick else ALONE_ROUNDS
    drawn = random.SystemRandom().sample(kinds, len(kinds))
    clock.round(reference, base, None, look=True)
    for turn in range(max(of_base, len(drawn))):
        if turn >= FEWEST_ALONE and time.monotonic() - started > LONG_ALONE_S:
            break
        if turn < of_base:
            clock.round(reference, base, alone)
        if drawn:
            clock.round(reference, drawn[turn % len(drawn)], alone)
    return alone


def _single_calls_held(
    clock: Clock,
    reference: Side,
    kinds: Sequence[str],
    measured: Measured,
    hand_over_s: float,
    before: AloneBefore | None,
) -> tuple[Samples, Samples] | None:
    """Single calls of both sides; on a device those of the reference count no longer than they take alone, a round each
    or one by one.

    Where that would be what is stated they are looked at again as rounds are: MORE_LOOKS says why.
    """
    singles = measured.singles
    if singles is None or not (measured.copies or singles[1].device_ms):
        return singles
    quick = measured.timing.mode == "quick"
    look = _steps_alone if measured.copies else _rounds_of_one_alone
    beside_s, held, nearest_s = median(singles[1].round_s), singles, math.inf
    for number in range(1 + MORE_LOOKS):
        if number:
            time.sleep(QUICK_LOOK_AGAIN_S if quick else LOOK_AGAIN_S)
        alone, found = look(clock, reference, kinds, measured, before)
        apart_s = abs(median(alone.round_s) - beside_s)
        if apart_s < nearest_s:
            held, nearest_s = found, apart_s
        if not _is_decided_by(held, measured, hand_over_s):
            break
    return held


def _steps_alone(
    clock: Clock, reference: Side, kinds: Sequence[str], measured: Measured, before: AloneBefore | None
) -> tuple[Samples, tuple[Samples, Samples]]:
    """Calls of the reference alone that come one by one, and what is held against them. They are as many as half of
    what such a round has at most, which nobody is to know.
    """
    assert measured.singles is not None
    quick = measured.timing.mode == "quick"
    most = most_steps(reference.sets.count, quick=quick)
    base, *others = kinds
    of_each = [*others, *[base] * max(STEPS_ALONE_OF_BASE, STEPS_ALONE - len(others))]
    allowed = 0.0 if reference.sets.is_staged else SWITCHED
    alone = Samples()
    for kind in random.SystemRandom().sample(of_each, len(of_each)):
        clock.stepped(reference, kind, alone, most=most, calls=max(2, most // 2), copies=measured.copies)
    if before is not None:
        before.keep_steps(alone, most, measured.copies, allowed)
    return alone, _steps_held(measured.singles, alone, quick=quick, allowed=allowed)


def _rounds_of_one_alone(
    clock: Clock, reference: Side, kinds: Sequence[str], measured: Measured, before: AloneBefore | None
) -> tuple[Samples, tuple[Samples, Samples]]:
    """Rounds of one call of the reference alone, and what is held against them."""
    assert measured.singles is not None
    mine, theirs = measured.singles
    base, *others = kinds
    of_each = [*[base] * SINGLES_ALONE, *(other for other in others if other in theirs.kinds)]
    alone = Samples()
    for kind in random.SystemRandom().sample(of_each, len(of_each)):
        clock.single(reference, alone, kind=kind)
    return alone, (mine, singles_no_longer_than_alone(theirs, alone, SINGLES_APART_S))


def _steps_held(
    singles: tuple[Samples, Samples], alone: Samples, *, quick: bool, allowed: float
) -> tuple[Samples, Samples]:
    """Calls that came one by one, those of the reference no longer than they took alone."""
    share = at_most_share(launching_s(quick=quick), median(alone.round_s) * 1e3)
    by_core = 1.0 + (core_slower(singles[1], alone) - 1.0) * share
    mine, theirs = singles
    return mine, steps_no_longer_than_alone(theirs, alone, mine, allowed=allowed, by_core=by_core)


def _single_slowed(measured: Measured, held: tuple[Samples, Samples] | None, hand_over_s: float) -> float:
    """By how much calls of the reference that came one by one took longer than the ones that they are held against;
    1 where that does not decide.
    """
    if held is None or measured.singles is None or not _is_decided_by(held, measured, hand_over_s):
        return 1.0
    return median(measured.singles[1].round_s) / median(held[1].round_s)


def _is_decided_by(held: tuple[Samples, Samples], measured: Measured, hand_over_s: float) -> bool:
    """Whether what is stated goes by what calls that came one by one are held against, and by less than they say."""
    assert measured.singles is not None
    timing = measured.timing
    said = timing.reference_ms / timing.candidate_ms
    count = timing.calls_per_round
    beside = in_rounds_of(said, timing.reference_samples_ms, measured.theirs, hand_over_s, count)
    slack = steps_slack(len(held[1].round_s)) if measured.copies else SINGLES_SLACK
    said_beside, said_held = (by_singles(singles, beside)[2].value for singles in (measured.singles, held))
    return said_held * (1 + slack) < min(said_beside, beside.speedup)


def _longer_s(clock: Clock, reference: Side, timing: Timing) -> float:
    """Seconds that a round costs more beyond its calls where it is as long as the reference's, not the candidate's."""
    per_round = timing.calls_per_round / 1e3
    spans_s = [min(ms * per_round, LONGEST_SPAN_S) for ms in (timing.candidate_ms, timing.reference_ms)]
    if max(spans_s) <= min(spans_s) * LENGTHS_APART:
        return 0.0
    mine_s, theirs_s = clock.beyond_spans(reference, spans_s)
    return theirs_s - mine_s
