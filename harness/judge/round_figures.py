"""Round figures: what rounds of candidate and reference come to: a speed-up with its interval, and what says so."""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from harness.backends.reading import Reading
from harness.judge.one_by_one import InRounds, by_singles, capped, usual_by_kind
from harness.judge.samples import Samples, grouped, longer_besides
from harness.judge.statistics import (
    RESAMPLES,
    conclusion,
    longer_at_least,
    longer_on_average_at_least,
    median,
    median_ratio,
    percentile,
    ratio_of_medians,
    with_repeatability,
)
from harness.schema.record import Conditions, Interval, Timing

VALUES_SLACK = 0.03
"""By so much, beyond the noise of both, one sort of contents may look better before the other counts alone."""
KIND_ROUNDS, SORT_ROUNDS = 8, 4
"""A kind of contents counts alone once it had so many rounds; what `get_inputs` draws, and all other kinds together,
where there are so many of either: of fewer no interval says how they vary."""
ASIDE = 0.02
"""What a candidate works besides its rounds (on a host), or in few of them, beyond the reference and the noise, counts
with all of them once it is more than this share of a round."""
BETWEEN_AT = 25
"""The percentile by which what lies between rounds of a device is held against the reference's: it takes 8 to 25 ms,
whatever is drawn, and 0.2 s now and then (H200, November 2026)."""
LONG_ROUNDS_S = 0.05
"""Rounds of both sides that take longer together are soon too many for the time, and scatter little."""
UNEVEN_AT = 16
"""The percentile of resampled means that tells whether something is worked in few rounds for many. What is done in one
round of the measurement it does not see: a host that takes cores away for milliseconds does as much to one round."""
MOST_UNSEEN, MOST_UNSEEN_ON_HOST = 0.3, 1.0
"""What counts though it may have been one round: what makes rounds longer on average by so much of one. On H200s the
largest of 360 honest measurements, most of 8 to 18 rounds, was 0.18 (November 2026); a round of 8 ms that is 30 ms late
makes fourteen longer by 0.27."""
LAUNCH_BOUND_S = 1e-4
"""Calls that are shorter may be launching for the most part: some ten launches. They are timed one at a time as well:
there a launch costs what matters to a user."""
HAND_OVER_DRIFT_S, OUTLIER = 3e-4, 3.0
"""What a round costs beyond its calls drifts by so much from one second to the next (H200, November 2026). Beside a
candidate no round of the reference counts with more than what most did and so many of their median deviations."""
CLOCK_DRIFT = 0.02
"""How far the clocks of the two sides' rounds may lie apart before the measurement counts as disturbed."""
HARD_THROTTLE = ("hw-slowdown", "hw-thermal", "hw-power-brake", "sw-thermal")
"""Reasons for a lowered clock that come from outside of what is measured. A power cap comes from the load itself."""


def _aside(mine: Samples, theirs: Samples) -> float:
    """`longer_besides`, 0 where that is no more than ASIDE of a round. It may make memory ready there, which its calls
    then need not.
    """
    more_s = longer_besides(mine, theirs)
    return more_s if more_s > ASIDE * median(mine.round_s) else 0.0


def _between(mine: Samples, theirs: Samples) -> float:
    """Seconds that a device was busy after a round of the candidate longer than after one of the reference, beyond the
    noise: by what lies between rounds at least, and by the share of moments in which it was. 0 where that is no more
    than ASIDE of a round.
    """
    if not mine.between_s or not theirs.between_s:
        return 0.0
    longer_s = longer_at_least(mine.between_s, theirs.between_s, of=BETWEEN_AT)
    busy_s = longer_on_average_at_least(mine.busy_s, theirs.busy_s)
    more_s = max(0.0, longer_s) + max(0.0, busy_s)
    return more_s if more_s > ASIDE * median(mine.round_s) else 0.0


def _uneven(mine: Samples, theirs: Samples, stated: Sequence[int]) -> float:
    """Seconds that a round of the candidate is more work on average than in most, beyond what one of the reference is:
    than in most of its kind, or among those that are stated, whatever their kinds, the larger.

    What is done in few rounds for many, as clearing memory is, moves no median; but where it is done in half of the
    rounds of one kind it moves the median of that.
    """
    return max(_uneven_by_kind(mine, theirs), _uneven_by_kind(*_together(mine, theirs, stated)))


def _together(mine: Samples, theirs: Samples, rounds: Sequence[int]) -> tuple[Samples, Samples]:
    """Those of some rounds, as if they were of one kind."""
    kinds = [""] * len(rounds)
    return replace(mine.at(rounds), kinds=kinds), replace(theirs.at(rounds), kinds=kinds)


def _uneven_by_kind(mine: Samples, theirs: Samples) -> float:
    """0 where it is no more than ASIDE of a round, or may have been one round and is no more than MOST_UNSEEN."""
    above, usual = _above_most_of_both(mine, theirs)
    on_average_s = fmean(above) - fmean(usual)
    if on_average_s <= ASIDE * median(mine.round_s):
        return 0.0
    if on_average_s > (MOST_UNSEEN if theirs.device_ms else MOST_UNSEEN_ON_HOST) * median(mine.round_s):
        return on_average_s
    at_least_s = longer_on_average_at_least(above, usual, at=UNEVEN_AT)
    return on_average_s if at_least_s > ASIDE * median(mine.round_s) else 0.0


def may_be_uneven(mine: Samples, theirs: Samples, stated: Sequence[int]) -> bool:
    """Whether so much was done in one round, or may have been, that more rounds are to tell how much it is in all."""

    def is_open(mine: Samples, theirs: Samples) -> bool:
        above, usual = _above_most_of_both(mine, theirs)
        return fmean(above) - fmean(usual) > ASIDE * median(mine.round_s) and not _uneven_by_kind(mine, theirs)

    return is_open(mine, theirs) or is_open(*_together(mine, theirs, stated))


def _above_most_of_both(mine: Samples, theirs: Samples) -> tuple[list[float], list[float]]:
    """Of each round of the candidate by how much it is more work than most, and of each of the reference by how much if
    it is, in the measure of the longer of the two.
    """
    if not mine.worked_s or not theirs.worked_s:
        return [0.0], [0.0]
    longer = max(
        1.0, median(mine.worked_s) / median(theirs.worked_s)
    )  # what a host does to one round is no share of it
    return _above_most(mine), [max(0.0, seconds) * longer for seconds in _above_most(theirs)]


def _above_most(samples: Samples) -> list[float]:
    """Seconds that each round is more work than the median: of those of its kind, if they are KIND_ROUNDS."""
    kinds = [kind if samples.kinds.count(kind) >= KIND_ROUNDS else "" for kind in samples.kinds]
    usual = {kind: median(each) for kind, each in grouped(kinds, samples.worked_s).items()}
    return [seconds - usual[kind] for kind, seconds in zip(kinds, samples.worked_s, strict=True)]


def with_chores(mine: Samples, theirs: Samples, stated: Sequence[int]) -> Samples:
    """The candidate's rounds, each with its share of what it worked besides them and in few of them for the others.

    `stated`: the rounds that the speed-up is taken from.
    """
    more_s = _aside(mine, theirs) + _between(mine, theirs) + _uneven(mine, theirs, stated)
    return replace(mine.and_each(more_s), worked_s=[], aside_s=[], between_s=[])


def stated_of(
    mine: Samples, theirs: Samples, hand_over_s: float, count: int, *, resamples: int = RESAMPLES
) -> tuple[Interval, list[int]]:
    """The speed-up, and the rounds that it was taken from: those of the worst sort of contents alone, where one is.

    Held against the rest are what `get_inputs` draws, the others together, and each kind of `KIND_ROUNDS` rounds. One
    of fewer counts where rounds are long, of which there is no time for more, and it is worse in each of its own.
    """
    mine_ms, theirs_ms = (samples.call_ms(hand_over_s, count) for samples in (mine, theirs))

    def over(rounds: list[int]) -> Interval:
        return median_ratio([theirs_ms[at] for at in rounds], [mine_ms[at] for at in rounds], resamples=resamples)

    ratios = [above / below for above, below in zip(theirs_ms, mine_ms, strict=True)]

    def median_over(rounds: list[int]) -> float:
        return median([ratios[at] for at in rounds])

    everything = list(range(len(mine_ms)))
    sorts = [[at for at in everything if mine.nominal[at] == nominal] for nominal in (True, False)]
    found: list[tuple[Interval, list[int]]] = []
    are_long = median(mine.round_s) + median(theirs.round_s) > LONG_ROUNDS_S
    for kind in sorted(set(mine.kinds)):
        of_kind = [at for at in everything if mine.kinds[at] == kind]
        if len(of_kind) >= KIND_ROUNDS:
            sorts.append(of_kind)
        elif are_long and _is_worse_in_each(ratios, of_kind):
            found.append((over(of_kind), of_kind))
    for worse in sorts:
        better = sorted(set(everything) - set(worse))
        few = min(len(better), len(worse)) < SORT_ROUNDS
        if few or median_over(better) <= median_over(worse) * (1 + VALUES_SLACK):
            continue  # what follows takes long, and an interval holds its median
        if over(better).low > over(worse).high * (1 + VALUES_SLACK):
            found.append((over(worse), worse))
    return min(found, key=lambda one: one[0].value) if found else (over(everything), everything)


def _is_worse_in_each(ratios: Sequence[float], of_kind: Sequence[int]) -> bool:
    """Whether a candidate is worse in each round of a kind than in any other, by more than those are apart but for the
    extreme ones, or by VALUES_SLACK.
    """
    rest = [ratio for at, ratio in enumerate(ratios) if at not in of_kind]
    if len(rest) < SORT_ROUNDS:
        return False
    apart = percentile(rest, 90) / percentile(rest, 10)
    return max(ratios[at] for at in of_kind) * max(apart, 1 + VALUES_SLACK) < min(rest)


def timing_of(
    mine: Samples,
    theirs: Samples,
    hand_over_s: float,
    count: int,
    singles: tuple[Samples, Samples] | None,
    *,
    slowed: float = 1.0,
    unsure_s: float = 0.0,
    resamples: int = RESAMPLES,
) -> Timing:
    """What the rounds come to. `slowed`: by how much the reference's rounds took longer than they would have alone.

    `unsure_s` is by how much the hand-over may be off.
    `singles` are rounds of one call: what the candidate takes longer there than the reference, a call of it does. Where
    the reference's device events span less there than its calls take in rounds, as where launches wait for a host that
    is busy with others, they say what its call takes. What the candidate works longer than the reference around its
    rounds counts with them, and so does what it works in few of them.
    """
    if mine.worked_s:
        _, stated = stated_of(mine, theirs, hand_over_s, count, resamples=resamples)
        mine = with_chores(mine, theirs, stated)
    _, rounds = stated_of(mine, theirs, hand_over_s, count, resamples=resamples)
    mine_ms = [mine.call_ms(hand_over_s, count)[at] for at in rounds]
    theirs_ms = [theirs.call_ms(hand_over_s, count)[at] / slowed for at in rounds]
    speedup = median_ratio(theirs_ms, mine_ms, resamples=resamples)
    single = alone_ms = usual_ms = None
    stated_ms = median(mine_ms)
    if singles is not None:
        beside = in_rounds_of(speedup.value, theirs_ms, theirs, hand_over_s, count, slowed=slowed)
        usual_ms, alone_ms, single = by_singles(singles, beside)
        one_by_one = not singles[1].device_ms
        on_host, taken = one_by_one and not singles[1].loop_s, len(singles[0].round_s)
        in_rounds = speedup
        speedup = capped(in_rounds, single, one_by_one=one_by_one, rounds=taken, on_host=on_host, beside=beside)
        stated_ms = alone_ms if one_by_one and speedup is not in_rounds else stated_ms
    found = with_repeatability(speedup, stated_ms, median(theirs_ms), unsure_s / count * 1e3)
    return Timing(
        candidate_ms=median(mine_ms),
        reference_ms=median(theirs_ms),
        speedup=found,
        conclusion=conclusion(found),
        rounds=len(rounds),
        calls_per_round=count,
        hand_over_ms=hand_over_s * 1e3,
        hand_over_spread_ms=unsure_s * 1e3,
        candidate_samples_ms=tuple(mine_ms),
        reference_samples_ms=tuple(theirs_ms),
        candidate_device_ms=median(mine.device_ms) if mine.device_ms else None,
        reference_device_ms=median(theirs.device_ms) if theirs.device_ms else None,
        candidate_single_ms=alone_ms,
        reference_single_ms=usual_ms,
        single_speedup=single,
        depends_on_values=len(rounds) < len(mine.round_s),
        reference_slowed=slowed,
        conditions=conditions(mine.readings, theirs.readings),
    )


def in_rounds_of(
    speedup: float,
    stated_ms: Sequence[float],
    theirs: Samples,
    hand_over_s: float,
    count: int,
    *,
    slowed: float = 1.0,
) -> InRounds:
    """What single calls are held against: the speed-up, and of the reference the rounds that it is from and all."""
    usual = usual_by_kind(theirs.kinds, [ms / slowed for ms in theirs.call_ms(hand_over_s, count)])
    return InRounds(speedup, median(stated_ms), usual)


def slowed_beyond(slowed: Interval, allowed: float, beside: Samples, alone: Samples, *, by_core: float = 1.0) -> float:
    """By how much the reference was slowed; 1 where noise, or a clock of the device that rose since, or a core of the
    host that was slower `by_core`, explains it.
    """
    explained = _clock_rose(beside, alone) * by_core
    return slowed.value / explained if slowed.low / explained > 1 + allowed else 1.0


def no_longer_than_alone(
    beside: Samples, alone: Samples, allowed: float, count: int, *, explained: float = 1.0
) -> Samples:
    """Rounds of so many calls of the reference beside a candidate, none longer by the device's events than the longest
    alone of its contents and what is `allowed` besides, nor beyond them than those alone and most of those beside.

    Fewer than half of the rounds may be slowed without moving a median, and then hide that a candidate is slower on
    them. A clock of the device that rose since is allowed for, and all else by which they were longer that is
    `explained`, or a core of the host by that round's own loop. On a host as they are.
    """
    if not beside.device_ms or not alone.device_ms:
        return beside
    longest_ms = _longest_alone_ms(beside, alone)
    factor = (1 + allowed) * _clock_rose(beside, alone)
    within_ms = [
        min(ms, longest * factor * max(explained, by_core))
        for ms, longest, by_core in zip(beside.device_ms, longest_ms, _by_core_of_each(beside, alone), strict=True)
    ]
    most_s = _most_beyond_events_s(beside, alone, count)
    over_s = [
        seconds - ms * count / 1e3 - min(beyond_s, most_s)
        for seconds, ms, beyond_s in zip(beside.round_s, within_ms, beside.beyond_events_s(count), strict=True)
    ]

    def without_it(rounds_s: list[float]) -> list[float]:
        return [seconds - longer_s for seconds, longer_s in zip(rounds_s, over_s, strict=True)]

    return replace(
        beside,
        round_s=without_it(beside.round_s),
        worked_s=without_it(beside.worked_s) if beside.worked_s else [],
        device_ms=within_ms,
    )


def _longest_alone_ms(beside: Samples, alone: Samples) -> list[float]:
    """For each round beside the longest call alone of its kind of contents: the median and what any kind varies by, as
    it may have had one round. Of its sort where it had none, and of calls that may be launching, which vary.
    """
    by_sort, by_kind = grouped(alone.nominal, alone.device_ms), grouped(alone.kinds, alone.device_ms)
    if median(alone.device_ms) < LAUNCH_BOUND_S * 1e3:
        by_kind = {}
    varies = max((max(each) / median(each) for each in by_kind.values()), default=1.0)

    def longest(kind: str, nominal: bool) -> float:
        if kind in by_kind:
            return median(by_kind[kind]) * varies
        return max(by_sort.get(nominal, [math.inf]))

    return [longest(kind, nominal) for kind, nominal in zip(beside.kinds, beside.nominal, strict=True)]


def _most_beyond_events_s(beside: Samples, alone: Samples, count: int) -> float:
    """The most that a round of the reference took beyond the device's events of its own accord: what the longest alone
    did, and what the host drifts by, but of that no more than what sets rounds beside apart.
    """
    beyond_s = beside.beyond_events_s(count)
    usual_s = median(beyond_s)
    scatter_s = median([abs(seconds - usual_s) for seconds in beyond_s])
    longest_s = max(alone.beyond_events_s(count))
    return max(longest_s, min(longest_s + HAND_OVER_DRIFT_S, usual_s + OUTLIER * scatter_s))


def _by_core_of_each(beside: Samples, alone: Samples) -> list[float]:
    """By how much each round may have been longer because a core of the host was, by the loop that followed it."""
    usual_s = alone.usual_loop_s()
    if not usual_s or not beside.loop_s:
        return [1.0] * len(beside.round_s)
    share = at_most_share(LAUNCH_BOUND_S, median(alone.device_ms))
    return [1.0 + max(0.0, loop_s / usual_s - 1.0) * share for loop_s in beside.loop_s]


def at_most_share(seconds: float, call_ms: float) -> float:
    """The share that so many seconds are of a call; 1 where it is shorter."""
    return min(1.0, seconds * 1e3 / call_ms) if call_ms else 1.0


def _clock_rose(beside: Samples, alone: Samples) -> float:
    """By how much the device's clock is higher alone; 1 where it is not, or nothing told."""
    return max(1.0, alone.mhz() / beside.mhz()) if beside.mhz() else 1.0


def core_slower(beside: Samples, alone: Samples) -> float:
    """By how much longer a loop of the host took in the reference's process beside a candidate, if beyond the noise.

    A host that shares its cores out changes their speed by half, and what launches take with it. The candidate is
    stopped meanwhile, with all that it started. Not covered: another one, which is imported meanwhile and goes to that
    core of its own accord.
    """
    before, after = (list(filter(None, samples.loop_s)) for samples in (beside, alone))
    if not before or not after:
        return 1.0
    longer = ratio_of_medians(before, after)
    return longer.value if longer.low > 1.0 else 1.0


def slowed_by(beside: Samples, alone: Samples, hand_over_s: float, count: int) -> Interval:
    """By how much rounds took longer beside a candidate than alone: of either sort of contents, the worse one.

    A kind of contents takes what it takes, and the rounds beside had another mixture of kinds than those alone: each
    round is held against the median of its own kind's rounds alone.
    """
    before, after = (side.device_ms or side.call_ms(hand_over_s, count) for side in (beside, alone))
    usual = {kind: median(each) for kind, each in grouped(alone.kinds, after).items()}

    def of_its_kind(figures: Sequence[float], samples: Samples, nominal: bool) -> list[float]:
        rounds = zip(figures, samples.kinds, samples.nominal, strict=True)
        return [ms / usual[kind] for ms, kind, of in rounds if of == nominal and usual.get(kind)]

    factors = []
    for nominal in (True, False):
        then, now = of_its_kind(before, beside, nominal), of_its_kind(after, alone, nominal)
        if then and now:
            factors.append(ratio_of_medians(then, now))
    return max(factors, key=lambda one: one.low, default=Interval(value=1.0, low=1.0, high=1.0))


def conditions(candidate: Sequence[Reading], reference: Sequence[Reading]) -> Conditions | None:
    """The device's state over the rounds of both sides; None without readings."""
    readings = [*candidate, *reference]
    if not candidate or not reference:
        return None
    clocks = [reading.sm_mhz for reading in readings]
    mine, theirs = (median([reading.sm_mhz for reading in side]) for side in (candidate, reference))
    throttle = sorted({reason for reading in readings for reason in reading.throttle})
    return Conditions(
        samples=len(readings),
        sm_mhz=median(clocks),
        sm_mhz_lowest=min(clocks),
        sm_mhz_highest=max(clocks),
        memory_mhz=median([reading.memory_mhz for reading in readings]),
        temperature_c=median([reading.temperature_c for reading in readings]),
        power_w=median([reading.power_w for reading in readings]),
        throttle=tuple(throttle),
        disturbed=abs(mine - theirs) > CLOCK_DRIFT * max(mine, theirs, 1.0)
        or any(reason in HARD_THROTTLE for reason in throttle),
    )
