"""One by one: what calls come to that are shown one by one, or have a round each, beside those of rounds of several.

Whatever such a call costs besides, it costs either side: what the candidate takes longer than the reference there, a
call of it takes longer. A candidate may do the calls of a round in one on some contents alone, so that each kind of
contents is held against the rounds, and one that says less has more rounds until it says so for sure.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from harness.judge.samples import Samples, grouped, longer_besides
from harness.judge.statistics import (
    PERCENTILES,
    SURE_PERCENTILES,
    median,
    percentile,
    ratio_by_difference,
    ratio_by_relative_differences,
)
from harness.schema.record import Interval

STEPS_SLACK = 0.03
"""By so much, beyond the noise of single calls, calls may look better where the contents of all are there at once: else
what they take one by one is stated. The noise of rounds hides nothing: of two figures that agree the surer one is as
good."""
ENOUGH_STEPS = 16
"""Of so many rounds of calls one by one the upper end of an interval counts: five of them move it, of twice as many a
third."""
FEW_STEPS_SLACK = 0.1
"""The same of fewer rounds, whose middle counts and which tell bands apart, no figures: of 29 honest calls of 9 to 12
us such rounds said more than 3% less in ten, and more than 10% less in five (H200, November 2026)."""
SORT_STEPS = 5
"""Of these one sort of contents counts alone, where it is slower for sure, once there were so many of either."""
KIND_STEPS = 12
"""So many rounds of calls one by one, or of one call, a kind of contents has that says less than the rounds, and counts
alone by an interval of 99%: of eight rounds and 95% chance had 5 of 9 honest ones slower whose contents a device shows,
which takes some ten times their call (H200, November 2026)."""
SURE_KIND_STEPS = 24
"""One that says less for sure after KIND_STEPS has as many more, which were not chosen by what they say: of seven kinds
one in some thirty honest measurements said so by chance (H200, November 2026)."""
SURE_STEPS = 32
"""Of so many rounds of calls one by one the later half counts alone where it says more than the first for sure: of 56
on an H200 the first 14 took one honest side 40 us longer a call, which had the middle of all say 0.86 (November 2026).
No call is shorter than its work."""
TELLS = 0.75
"""On a host an interval tells nothing that leaves open more than this share of a call, of the reference or of a faster
candidate: on two cores that others use, where calls of 0.3 ms took 0.2 to 7, there were such of [0.13, 24] and [2.0,
3.5, 102], and rounds that did 90 calls as one stood as 6.3 (November 2026). Then nothing is called faster than the low
end. Nor are calls of SHORT_MS on a device that cannot come one by one: in rounds of one call those of 40 us said [0.4,
25], and four in one stood as 10.9 for 1.2 (H200, November 2026)."""
LIMIT_ON_HOST = 3.0
"""A call one by one on a host may take so many times less than in rounds; what takes no longer than an empty one has a
loop of its own (two cores, November 2026)."""
SHORT_MS = 1.0
"""Calls of the reference that take no longer come one by one on a device, where they can."""
OWN_LOOP_S = 2e-5
"""So much less a call takes where a candidate has a loop of its own in the place of the worker's, which calls nothing
by Python: calls of 57 us took 42, of which 33 are none of the call's (2 cores, November 2026). Where rounds say more
than calls one by one can explain it is added to these."""
SHORTEST_CALL_S = 2e-6
"""Less than any call takes from idle to idle: a bound for what noise of the hand-over may leave."""
APART, DEVIATIONS = 0.03, 3.0
"""A call of the reference takes something else on a kind of contents where its rounds say so by this share, and by so
many times what rounds of a kind scatter by."""
FAST_END = 25
"""The percentile of a candidate's rounds of a kind that its others are held against: a lucky one is no fast end."""
ALIKE_ALONE = 1.25
"""Calls alone of any kind that take no more than so many times those of a kind bound what those take: some vary."""


@dataclass(frozen=True)
class InRounds:
    """What rounds of several calls say: the speed-up, and the milliseconds of a call of the reference, in those that
    are stated and by kind of contents.
    """

    speedup: float = math.inf
    reference_ms: float = math.inf
    usual_ms: Mapping[str, float] = field(default_factory=dict)

    def usual_of(self, kind: str) -> float:
        return self.usual_ms.get(kind, self.reference_ms)

    @property
    def least(self) -> float:
        """No call takes less than this share of the reference's."""
        return SHORTEST_CALL_S * 1e3 / self.reference_ms

    @property
    def limit(self) -> float:
        """A speed-up of so much and more says nothing: it is of a call that takes next to nothing."""
        return 0.99 / self.least


def usual_by_kind(kinds: Sequence[str], figures: Sequence[float]) -> dict[str, float]:
    """What a round of each kind comes to: what all do, but for a kind that is apart from all beyond the noise."""
    by_kind = grouped(kinds, figures)
    usual = {kind: median(each) for kind, each in by_kind.items()}
    scatter = [abs(figure - usual[kind]) for kind, figure in zip(kinds, figures, strict=True) if len(by_kind[kind]) > 1]
    whole, noise = median(figures), median(scatter) if scatter else math.inf

    def is_apart(kind: str) -> bool:
        least = DEVIATIONS * noise / math.sqrt(len(by_kind[kind]))
        return abs(usual[kind] - whole) > max(APART * whole, least)

    return {kind: own if is_apart(kind) else whole for kind, own in usual.items()}


def by_singles(singles: tuple[Samples, Samples], beside: InRounds) -> tuple[float, float, Interval]:
    """What a call of the reference and one of the candidate take where it is alone, in ms, and the speed-up by that: of
    a kind of contents alone where that says less than the rounds for sure.

    Of rounds of one call those of the base kind count, and the device's events say what a call of the reference takes
    where they span less than its calls in rounds. Of calls shown one by one one sort of contents counts alone, too.
    """
    mine, theirs = singles
    if theirs.device_ms:  # whatever a candidate says of its own
        whole, usual_ms = _by_rounds_of_one(singles, beside, "")
        least = [_by_rounds_of_one(singles, beside, kind, SURE_PERCENTILES)[0] for kind in _of_enough(mine)]
    else:
        relative, usual_ms = _relative(singles, beside), beside.reference_ms
        whole = _of_all(mine, relative, beside)
        of_kinds = ([at for at, kind in enumerate(mine.kinds) if kind == one] for one in _of_enough(mine))
        least = [_by_steps(relative, rounds, beside, SURE_PERCENTILES) for rounds in of_kinds]
    less = [one for one in least if _is_less(one, beside)]
    hides_none = len(mine.round_s) < ENOUGH_STEPS or _is_less(whole, beside)  # whose upper end would leave it open
    found = min([whole, *less] if hides_none or not less else less, key=lambda one: one.value)
    return usual_ms, usual_ms / found.value, found


def _is_less(said: Interval, beside: InRounds) -> bool:
    """Whether an interval is less than what the rounds say for sure."""
    return said.high * (1 + STEPS_SLACK) < beside.speedup


def suspect(
    singles: tuple[Samples, Samples], kinds: Sequence[str], beside: InRounds, *, by: float = STEPS_SLACK
) -> str | None:
    """The kind of contents of fewer than KIND_STEPS rounds that says less than the rounds so far, by this share, or of
    fewer than SURE_KIND_STEPS and for sure; of several the one that had the fewest, and of these the one that says
    least.
    """
    mine, theirs = singles
    relative = [] if theirs.device_ms else _relative(singles, beside)
    found: dict[str, tuple[int, float]] = {}
    for kind in kinds:
        had = [at for at, one in enumerate(mine.kinds) if one == kind]
        if not 0 < len(had) < SURE_KIND_STEPS:
            continue
        if theirs.device_ms:
            said = _by_rounds_of_one(singles, beside, kind, SURE_PERCENTILES)[0]
        else:
            said = _by_steps(relative, had, beside, SURE_PERCENTILES)
        most = said.value if len(had) < KIND_STEPS else said.high
        if most * (1 + by) < beside.speedup:
            found[kind] = (len(had), said.value)
    return min(found, key=lambda kind: found[kind], default=None)


def _longer(speedup: Interval, share: float) -> Interval:
    """By calls of the candidate that are longer by this share of one of the reference's."""
    low, value, high = (1 / (1 / one + share) for one in (speedup.low, speedup.value, speedup.high))
    return Interval(value=value, low=low, high=high)


def steps_slack(rounds: int) -> float:
    """What calls may look better by, where so many rounds of them came one by one."""
    return STEPS_SLACK if rounds >= ENOUGH_STEPS else FEW_STEPS_SLACK


def capped(
    speedup: Interval,
    single: Interval,
    *,
    one_by_one: bool,
    rounds: int,
    on_host: bool = False,
    beside: InRounds,
) -> Interval:
    """The speed-up where single calls say what they do. Where each was a round no more than they leave open at most;
    few rounds of calls that came one by one leave open what one of them was, be it false: they say what most do. Where
    it is they that are stated on a host, with OWN_LOOP_S more of each.

    Where many leave open anything on a host it is no more than 1, or what they are sure of, and so it is of short calls
    on a device that had a round each.
    """
    must_tell = rounds >= ENOUGH_STEPS if on_host else not one_by_one and beside.reference_ms <= SHORT_MS
    limit = beside.limit / (LIMIT_ON_HOST if on_host else 1.0)
    if must_tell and _opens(single, limit) > TELLS:
        sure = single.low if single.low < limit else 1.0
        most = min(speedup.value, max(sure, min(1.0, single.high)))
        return Interval(
            value=most, low=min(single.low, speedup.low, most), high=max(most, min(single.high, speedup.high))
        )
    if one_by_one:
        most = single.high if rounds >= ENOUGH_STEPS else single.value
        if most * (1 + steps_slack(rounds)) >= speedup.value:
            return speedup
        return _longer(single, OWN_LOOP_S * 1e3 / beside.reference_ms) if on_host else single
    if single.high >= speedup.low:
        return speedup
    cap = single.high
    return Interval(value=min(speedup.value, cap), low=min(single.low, cap), high=cap)


def _opens(single: Interval, limit: float) -> float:
    """The share of a call, of the reference or of a faster candidate, that an interval leaves open: all of it where its
    upper end is what no call can take less than.
    """
    highest = math.inf if single.high >= limit else single.high
    return max(1.0, single.value) * (1 / single.low - 1 / highest)


def steps_no_longer_than_alone(
    beside: Samples, alone: Samples, mine: Samples, *, allowed: float = 0.0, by_core: float = 1.0
) -> Samples:
    """Rounds of the reference whose calls came one by one beside a candidate, none longer than the longest alone of
    those that take as long as its kind of contents, and this share of it: what a candidate leaves on the device may
    slow these apart from all others. A slower core of the host excuses it, `by_core`.

    So does what the candidate's own calls took longer in the round next to it, `mine`, than its fast ones of the kind:
    a host that is slower for some seconds slows both, and who slows both gains nothing, as it is the difference that
    counts.
    """
    fast = {kind: percentile(each, FAST_END) for kind, each in grouped(mine.kinds, mine.round_s).items()}
    longest, within = _longest_alike(beside, alone, times=ALIKE_ALONE), (1 + allowed) * by_core
    rounds = zip(beside.kinds, beside.round_s, mine.round_s, longest, strict=True)
    cut = [min(its_s, most_s * within + max(0.0, own_s - fast[kind])) for kind, its_s, own_s, most_s in rounds]
    return replace(beside, round_s=cut)


def singles_no_longer_than_alone(beside: Samples, alone: Samples, more_s: float) -> Samples:
    """Rounds of one call of the reference beside a candidate, none more than so many seconds longer than the longest
    alone that took no more than that longer than those of its kind of contents.
    """
    longest = _longest_alike(beside, alone, more_s=more_s)
    cut = [min(seconds, most_s + more_s) for seconds, most_s in zip(beside.round_s, longest, strict=True)]
    return replace(beside, round_s=cut)


def _longest_alike(beside: Samples, alone: Samples, *, times: float = 1.0, more_s: float = 0.0) -> list[float]:
    """For each round beside a candidate the longest alone of those that take no more than so many times what its kind
    of contents does, and so many seconds.
    """
    usual = {kind: median(each) for kind, each in grouped(alone.kinds, alone.round_s).items()}
    longest_s = max(alone.round_s)

    def most_s(kind: str) -> float:
        own_s = usual.get(kind, longest_s)
        return max(seconds for seconds in alone.round_s if seconds <= own_s * times + more_s)

    return [most_s(kind) for kind in beside.kinds]


def _by_rounds_of_one(
    singles: tuple[Samples, Samples], beside: InRounds, kind: str, ends: tuple[float, float] = PERCENTILES
) -> tuple[Interval, float]:
    """The speed-up by rounds of one call of a kind, of the base kind where that is "", and the reference's ms there."""
    mine, theirs = (_of_kind(samples, kind) for samples in singles)
    usual_ms = min(beside.usual_of(kind) if kind else beside.reference_ms, median(theirs.device_ms))
    _, found = ratio_by_difference(usual_ms / 1e3, theirs.round_s, mine.round_s, least=SHORTEST_CALL_S, ends=ends)
    return found, usual_ms


def _of_kind(samples: Samples, kind: str) -> Samples:
    wanted = [one == kind for one in samples.kinds] if kind else samples.nominal
    rounds = [at for at, is_wanted in enumerate(wanted) if is_wanted]
    return samples.at(rounds) if rounds else samples


def _of_enough(mine: Samples) -> list[str]:
    return sorted(kind for kind in set(mine.kinds) if mine.kinds.count(kind) >= KIND_STEPS)


def _relative(singles: tuple[Samples, Samples], beside: InRounds) -> list[float]:
    """By how much longer each call one by one was of the candidate, as a share of what it takes the reference.

    On a host that is what it took there, without what an empty call takes: a host may be twice as slow in these rounds
    as in those of several, and a difference that is more than a call in rounds would say nothing. On a device launches
    of several calls overlap, and a call in rounds takes less than one that comes alone.
    """
    mine, theirs = singles
    more_s = longer_besides(mine, theirs)
    if theirs.empty_s:  # by their fast end: a host that is busy takes 2 ms for some
        empty_s = percentile(theirs.empty_s, FAST_END)
        each = zip(mine.round_s, theirs.round_s, strict=True)
        calls = ((own_s + more_s - empty_s, its_s - empty_s) for own_s, its_s in each)
        return [max(own_s, SHORTEST_CALL_S) / max(its_s, SHORTEST_CALL_S) - 1.0 for own_s, its_s in calls]
    rounds = zip(mine.kinds, mine.round_s, theirs.round_s, strict=True)
    return [(own_s + more_s - its_s) * 1e3 / beside.usual_of(kind) for kind, own_s, its_s in rounds]


def _by_steps(
    relative: Sequence[float], rounds: Sequence[int], beside: InRounds, ends: tuple[float, float] = PERCENTILES
) -> Interval:
    return ratio_by_relative_differences([relative[at] for at in rounds], least=beside.least, ends=ends)


def _of_all(mine: Samples, relative: Sequence[float], beside: InRounds) -> Interval:
    """What all rounds say by the worse of their sorts; the later half of SURE_STEPS alone where it says more than the
    first for sure.
    """

    def said_by(part: range) -> Interval:
        return _worse_sort([_by_steps(relative, rounds, beside) for rounds in _sorts(mine, part)])

    count = len(mine.round_s)
    if count >= SURE_STEPS:
        first, later = said_by(range(count // 2)), said_by(range(count // 2, count))
        if later.low > first.high:
            return later
    return said_by(range(count))


def _sorts(mine: Samples, rounds: Sequence[int]) -> list[Sequence[int]]:
    """All of these rounds, and those of either sort of contents where both had some."""
    nominal = [at for at in rounds if mine.nominal[at]]
    others = [at for at in rounds if not mine.nominal[at]]
    sorts = [nominal, others] if min(len(nominal), len(others)) >= SORT_STEPS else []
    return [rounds, *sorts]


def _worse_sort(found: Sequence[Interval]) -> Interval:
    """What all rounds say, or that of two sorts which says less for sure."""
    whole, *sorts = found
    worse = [one for one, other in itertools.permutations(sorts, 2) if one.high < other.low]
    return next(iter(worse), whole)
