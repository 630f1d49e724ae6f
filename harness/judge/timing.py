"""Timing: rounds of candidate and reference in turn, by the judge's own monotonic clock.

One round: fresh contents for N input sets are written where no subject sees them; the subject is woken and answers;
the clock starts. Only now contents are copied to where the subject sees them, on a device by one kernel, after which
the last cache is written over. The subject calls its model once per set, waits for its device and says *done*. Then
everything of it is told to stop. On a device elements of every output are read after whatever it still had queued for
them, and the clock stops; on the host it stops once every task rests. What is verified are those outputs, of the last
call and of random ones, which are drawn now. A round that cannot be verified does not count. What outputs
lie in is then overwritten. Rounds alternate ABBA, so that drift cancels, and whose turn comes first is drawn. Contents
and the order of the slots never repeat.

The contents of a block of four rounds are what `get_inputs` draws, or one of the other kinds of the trials. Where a
candidate is better on either sort than on the other by more than chance, what is stated is the worse one: it looks at
the values.

A round costs something beyond its calls: showing contents, the hand-over, on a GPU the switches between the judge's
context and the worker's (about 0.15 ms each on an H200), stopping, reading. That cost is measured on the reference,
whose process runs no candidate code, and taken off both sides: on a GPU what the reference's rounds take beyond the
span between two device events, one before its first call and one after its last; where there are none, what empty
rounds take. N is chosen so that it stays a small part of a round.

Empty rounds would not do on a GPU: two processes that waited some milliseconds for the device find their caches taken
by others, and the round costs 0.02 to 0.4 ms more than one that is over at once (H200, November 2026).

When the rounds are over the candidate is ended, and the reference is timed alone: what it takes then, and what its
rounds cost beyond its calls, no candidate can have lengthened. The smaller figures count.
"""

import itertools
import math
import random
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

from harness.backends.reading import Reading
from harness.judge.failure import SubjectFailed
from harness.judge.inputs import Contents, InputSets
from harness.judge.statistics import (
    FEW_RESAMPLES,
    RESAMPLES,
    conclusion,
    longer_at_least,
    longer_on_average_at_least,
    median,
    median_ratio,
    ratio_by_difference,
    ratio_of_medians,
    with_repeatability,
)
from harness.judge.subject import Subject, Unsettled
from harness.judge.together import Together
from harness.schema.record import Conditions, Interval, Timing, TraceWhen

ROUND_S, BOTH_ROUNDS_S = 4e-3, 16e-3
"""What a round of the faster side should last at least, and one of either side together. On a host that others use too
the hand-over varies by 0.1 ms from round to round, and drawing contents takes time in proportion: longer rounds tell
more a second. Where one side takes many times longer that is paid for by waiting, and less will do."""
MAX_SETS = 256
MIN_ROUNDS = 10
MAX_ROUNDS = 500
WARM_UP_ROUNDS = 2
EMPTY_ROUNDS = 8
INTERVAL_WIDTH = 0.01
"""Rounds stop once the interval of the speed-up is narrower than this share of it."""
LAUNCH_WIDTH, LAUNCH_PATIENCE = 0.03, 3.0
"""Launch-bound calls whose interval is wider than this when their time is spent get so many times of it: what a launch
takes varies by a tenth from round to round on a host that others use too, whatever the rounds' length."""
MOST_UNSETTLED = 3
"""So many rounds of a measurement may have outputs that lie where nothing was known when the clock stopped: a caching
allocator settles within one. They are repeated and do not count."""
SINGLE_CALLS = 30
SINGLES_AT_ONCE = 10
STEPPED_ROUNDS, STEPS = (16, 64), 48
"""On a host calls are told apart by showing contents call by call: in so many rounds of a side, at least and at most,
of up to so many calls. Only the last is held and verified, and nothing knows before which that is: one that leaves out
half of its calls in half of the rounds, without which no median moves, passes in less than 1% of all cases."""
STEPS_SLACK = 0.03
"""By so much, beyond the noise of both, calls may look better where the contents of all are there at once: else what
they take one by one is stated."""
STEPS_WIDTH, STEPS_SHARE = 0.05, 0.5
"""There are more of these rounds until the interval of what they say is narrower than that share of it, or lies above
that of the other rounds, or until they took this share of the time for rounds."""
ALONE_ROUNDS = 8
"""So many of the base kind of contents, and of the others together; of each of these `ROUNDS_OF_A_KIND` at least."""
ROUNDS_OF_A_KIND = 2
QUICK_ROUNDS, QUICK_WIN = 4, 1.5
"""A quick measurement ends after so many rounds of either side, once the interval of the speed-up lies between two of
QUICK_BANDS. What looks like more than QUICK_WIN is measured fully, or noise would be what is rewarded."""
QUICK_BANDS = (0.0, 0.2, 0.33, 0.5, 0.8, 1.0, 1.25, 1.5)
PAUSE_FACTOR, PAUSE_S = 2.0, 1e-3
"""A candidate that takes longer than the reference to answer between its rounds, by this factor and so much, does
something else there: it heats the device, say, whose clock falls in the reference's rounds too."""
SLOWED, SLOWED_LAUNCH_MS, SLOWED_ROUND_MS = 0.02, 2e-3, 0.5
"""Once the reference takes longer beside the candidate than alone, by more than this share and so many milliseconds a
call and beyond the noise of both, its time alone counts. A launch takes about a microsecond less where no third process
uses the device (H200, 7 us instead of 8); on a host without one it is so many milliseconds a round, because processes
share its cores. What is left below is what a candidate that slows the reference can gain."""
VALUES_SLACK = 0.03
"""By so much, beyond the noise of both, one sort of contents may look better before the other counts alone."""
KIND_ROUNDS, MUCH_WORSE = 8, 0.25
"""A kind of contents counts alone once it had so many rounds. One that looks worse by more than the slack gets them,
and where it does by more than this share up to three times the time for that."""
ASIDE = 0.02
"""What a candidate on a host works besides its rounds, beyond the reference and the noise, counts with them once
it is more than this share of a round."""
SHORTEST_CALL_S = 2e-6
"""Less than any call takes from idle to idle: a bound for what noise of the hand-over may leave."""
WAKE_S = 3e-4
"""How long subject and judge are awake before a short round: a core that slept runs slower at first."""
LAUNCH_BOUND_S = 1e-4
"""Calls shorter than this are timed one at a time as well: there a launch costs what matters to a user."""
CLOCK_DRIFT = 0.02
"""How far the clocks of the two sides' rounds may lie apart before the measurement counts as disturbed."""
HARD_THROTTLE = ("hw-slowdown", "hw-thermal", "hw-power-brake", "sw-thermal")
"""Reasons for a lowered clock that come from outside of what is measured. A power cap comes from the load itself."""


@dataclass(frozen=True)
class Plan:
    """How much to measure. `budget_s` bounds the rounds (see LAUNCH_PATIENCE), `bytes_budget` the sets and outputs.

    `quick`: end once it is known in which band the speed-up lies, but for wins.
    `singles`: time short calls one at a time as well; `trace`: when to look which kernels ran. `memory_bytes` is what
    the device had free before anything of this was laid out: where that does not hold the outputs of both subjects,
    one gives its own back before the other's turn.
    """

    budget_s: float = 2.0
    bytes_budget: int = 8 << 30
    singles: bool = False
    trace: TraceWhen = "never"
    memory_bytes: int = 1 << 62
    quick: bool = False


class Device(Protocol):
    """What a clock needs of the device, apart from the subjects."""

    def evict(self) -> None:
        """Write over the last cache, and wait until the judge's own work is done."""

    def touch(self) -> None:
        """Have the device do a trifle, after whatever runs there now, and wait for it."""

    def awake(self) -> AbstractContextManager[None]:
        """Keep what the subjects run on from going to sleep between their rounds."""

    def trim(self) -> None:
        """Give memory that the judge keeps for later back to the device."""

    def settle(self) -> None:
        """Wait until nothing else uses the device, a few seconds at most."""

    def read(self) -> Reading | None:
        """Its state now; None where nothing tells."""


@dataclass
class Samples:
    """Figures of one side's rounds, in the order taken: seconds, device milliseconds of one call, the device's state.

    `nominal` says whether a round's contents were of the base kind: what `get_inputs` draws, where that varies. `kinds`
    names what they were. `aside_s` is how long the side worked around each round, on a host, besides it.
    """

    round_s: list[float] = field(default_factory=list)
    device_ms: list[float] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    nominal: list[bool] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    aside_s: list[float] = field(default_factory=list)

    def beyond_events_s(self, calls: int) -> list[float]:
        """Seconds that each round of so many calls took beyond the span between its device events."""
        return [seconds - ms * calls / 1e3 for seconds, ms in zip(self.round_s, self.device_ms, strict=True)]

    def call_ms(self, hand_over_s: float, calls: int) -> list[float]:
        """Milliseconds of one call. No less than a tenth of what was measured, should the hand-over be overrated."""
        return [max(seconds - hand_over_s, seconds / 10) / calls * 1e3 for seconds in self.round_s]

    def last(self, rounds: int) -> "Samples":
        """Those of the last rounds alone."""
        return Samples(
            self.round_s[-rounds:],
            self.device_ms[-rounds:],
            self.readings[-rounds:],
            self.nominal[-rounds:],
            self.kinds[-rounds:],
            self.aside_s[-rounds:],
        )

    def mhz(self) -> float:
        """The median clock of the device; 0 where nothing told."""
        return median([reading.sm_mhz for reading in self.readings]) if self.readings else 0.0


@dataclass
class Side:
    """One of two that take turns: a subject, and the sets that it alone has attached."""

    subject: Subject
    sets: InputSets


@dataclass(frozen=True)
class Written:
    """What a round's call was given: the slot, the contents that the judge wrote there, and their kind."""

    slot: int
    contents: Contents
    kind: str


Draw = Callable[[str, int], Together | Sequence[Contents]]
"""Makes the contents of a round: of a kind, for so many calls."""
Mark = Callable[[Side, Sequence[Written]], frozenset[int]]
"""Calls of a round that is about to begin that are to be verified whatever `choose` picks."""
Verify = Callable[[Subject, dict[int, Written], int], None]
"""Raises where the outputs of these calls of the subject's last round, run under that seed, are not right."""


@dataclass(frozen=True)
class Measured:
    """The timing, what it came from, and the median seconds that the judge's own eviction took before rounds.

    `evict_s` is that of the side where it took longer: what a candidate keeps the device busy with may stop for its own
    rounds and go on in the other's. `singles`: rounds of one call of either side. `paused`: whether the candidate took
    longer between its rounds than the reference between its own.
    """

    timing: Timing
    evict_s: float
    mine: Samples
    theirs: Samples
    singles: tuple[Samples, Samples] | None = None
    paused: bool = False


def sets_for(candidate_s: float, reference_s: float, set_bytes: int, output_bytes: int, plan: Plan) -> int:
    """How many input sets a round needs: enough calls of so many seconds to outweigh the hand-over, within memory."""
    wanted = math.ceil(max(ROUND_S / min(candidate_s, reference_s), BOTH_ROUNDS_S / (candidate_s + reference_s)))
    affordable = plan.bytes_budget // max(1, set_bytes + output_bytes)
    return max(1, min(wanted, affordable, MAX_SETS))


def measure(
    candidate: Side,
    reference: Side,
    *,
    draw: Draw,
    base: str = "nominal",
    kinds: Sequence[str] = (),
    device: Device,
    plan: Plan,
    tight: bool = False,
    verify: Verify | None = None,
    intact: Callable[[Side, Sequence[int]], None] = lambda reference, slots: None,
    choose: Callable[[int, int], Iterable[int]] = lambda calls, rounds: (),
    mark: Mark = lambda side, written: frozenset(),
    proceed: Callable[[], None] = lambda: None,
) -> Measured:
    """Time two subjects side by side, each with sets of its own attached.

    `draw` makes the contents of a round of a kind: `base`, or one of `kinds`, which half of the rounds have where
    there are any. `verify` is asked about the calls that `choose` picks of a round of so many calls when so many rounds
    have been taken, and those that `mark` named before; where it is None nothing is verified.
    `intact` is asked about slots that the reference saw.
    `tight`: what both need does not fit into memory. `proceed` is called between blocks of rounds, and raises where
    no caller waits for the rest. Raises `SubjectFailed` where a subject fails.
    """
    with device.awake():
        clock = _Clock(candidate, base, draw, device, verify, intact, choose)
        clock.mark = mark
        turns = _Turns(clock, candidate, reference, (base, *kinds), plan, tight=tight)
        turns.warm_up()
        turns.split()
        quick = plan.quick and turns.tell_quickly()
        if not quick:
            turns.take_singles()
            started = time.monotonic()
            while not turns.suffice(time.monotonic() - started):
                proceed()
                turns.block()
            turns.take_steps(plan.budget_s * STEPS_SHARE)
        evict_s = max(median(seconds) for seconds in clock.evict_s.values())
        timing = _timing(turns.mine, turns.theirs, turns.hand_over_s(), turns.count, turns.singles)
        timing = timing.model_copy(update={"mode": "quick" if quick else "full"})
        return Measured(timing, evict_s, turns.mine, turns.theirs, turns.singles, clock.paused(candidate, reference))


class _Turns:
    """Rounds of two sides in turn, and what they came to. `kinds`: the base kind of contents, then the others."""

    def __init__(
        self, clock: "_Clock", candidate: Side, reference: Side, kinds: Sequence[str], plan: Plan, *, tight: bool
    ) -> None:
        self._clock, self._candidate, self._reference = clock, candidate, reference
        self._base, self._others = kinds[0], kinds[1:]
        self._plan, self._tight = plan, tight
        self._chance = random.SystemRandom()
        self._last: Side | None = None
        self._first, self._second = candidate, reference
        self._coming: list[str] = []
        self._bag: list[str] = []
        self._empty_s: float | None = None
        self.count = candidate.sets.count
        self.mine, self.theirs = Samples(), Samples()
        self.singles: tuple[Samples, Samples] | None = None

    def warm_up(self) -> None:
        """Rounds that do not count; where the reference has no events of a device, also what an empty one takes."""
        warm = Samples()
        for _ in range(WARM_UP_ROUNDS):
            self._round(self._candidate, self._base, look=True)
            self._round(self._reference, self._base, warm, look=True)
        if not warm.device_ms:
            after = None if self._tight else self._candidate
            self._empty_s = self._clock.hand_over(self._reference, after=after, slots=self.count)

    def split(self) -> None:
        """A round in two parts: before the others, so that nothing tells which of those is the last.

        The reference's are held against what it takes once the candidate is gone, and hosts change within a second.
        """
        self._turn_to(self._candidate)
        self._clock.split_round(self._candidate)

    def take_singles(self) -> None:
        """Rounds of one call each, as a user waits for one, in turn; on a device, before the others."""
        if not self._plan.singles or self.count == 1 or self._empty_s is not None:
            return
        self.singles = (Samples(), Samples())
        at_once = SINGLES_AT_ONCE if self._tight else 1
        for _ in range(SINGLE_CALLS // at_once):
            self._singles(self.singles, at_once)

    def take_steps(self, most_s: float) -> None:
        """The same on a host, after the others, by rounds that show contents call by call."""
        if not self._plan.singles or self.count == 1 or self._empty_s is None:
            return
        self.singles = (Samples(), Samples())
        started = time.monotonic()
        least, most = STEPPED_ROUNDS
        while (taken := len(self.singles[0].round_s)) < most:
            late = time.monotonic() - started > most_s
            if taken >= least and (late or (taken % 8 == 0 and self._steps_tell(self.singles))):
                return
            calls = self._chance.randint(2, min(STEPS, self.count))
            for side, samples in zip((self._candidate, self._reference), self.singles, strict=True):
                self._turn_to(side)
                if self._tight:
                    self._clock.single(side, None, look=True)  # which asks for the memory anew
                self._clock.stepped(side, samples, calls)

    def _steps_tell(self, singles: tuple[Samples, Samples]) -> bool:
        timing = _timing(self.mine, self.theirs, self.hand_over_s(), self.count, singles)
        single, in_rounds = timing.single_speedup, timing.reference_ms / timing.candidate_ms
        assert single is not None
        return single.low >= in_rounds or single.high - single.low <= STEPS_WIDTH * single.value

    def _singles(self, singles: tuple[Samples, Samples], at_once: int) -> None:
        """So many single calls of either side."""
        for side, samples in zip((self._candidate, self._reference), singles, strict=True):
            self._turn_to(side)
            for _ in range(at_once):
                if self._tight:
                    self._clock.single(side, None, look=True)  # which asks for the memory anew
                self._clock.single(side, samples)

    def block(self) -> None:
        """Four rounds with contents of one kind.

        Whose round came before tells in the next one, and so does the pause for the statistics: ABBA and then BAAB
        share both out. Which of them comes first nothing can know, or it could leave work for the other.
        """
        if len(self.mine.round_s) % 4 or self._chance.random() < 0.5:
            self._first, self._second = self._second, self._first
        kind = self._next_kind()
        for side in (self._first, self._second, self._second, self._first):
            self._round(side, kind, self.mine if side is self._candidate else self.theirs)

    def _next_kind(self) -> str:
        """The base kind and one of the others in turn, in an order that nothing can know.

        Of the others each comes once before one comes again, but for one that looks worse than the rest.
        """
        if not self._coming:
            if not self._bag:
                self._bag = self._chance.sample(self._others, len(self._others))
            suspect = self._suspect()
            other = [suspect] if suspect in self._others else [self._bag.pop()] if self._bag else []
            self._coming = [self._base, *(kind for kind in other if kind is not None)]
            self._chance.shuffle(self._coming)
        return self._coming.pop()

    def _suspect(self, by: float = VALUES_SLACK) -> str | None:
        """A kind of too few rounds to count alone that so far looks worse than the rest by more than this share."""
        if not self.mine.kinds:
            return None
        hand_over_s = self.hand_over_s()
        mine, theirs = (samples.call_ms(hand_over_s, self.count) for samples in (self.mine, self.theirs))
        ratios: dict[str, list[float]] = {}
        for kind, below, above in zip(self.mine.kinds, mine, theirs, strict=True):
            ratios.setdefault(kind, []).append(above / below)
        for kind, of_kind in ratios.items():
            rest = [ratio for other, of_other in ratios.items() if other != kind for ratio in of_other]
            few = 2 <= len(of_kind) < KIND_ROUNDS and len(rest) >= 2
            if few and median(rest) > median(of_kind) * (1 + by):
                return kind
        return None

    def _round(self, side: Side, kind: str, samples: Samples | None = None, *, look: bool = False) -> None:
        self._turn_to(side)
        if self._tight:
            self._clock.round(side, kind, None, look=True)  # which asks for the memory anew
        self._clock.round(side, kind, samples, look=look)

    def _turn_to(self, side: Side) -> None:
        """Let a side have its turn. Where memory is tight the other gives its own back for that."""
        if self._tight and self._last is not side:
            _take_over(side, self._reference if side is self._candidate else self._candidate)
        self._last = side

    def hand_over_s(self) -> float:
        """What a round of `count` calls takes beyond them."""
        return median(self.theirs.beyond_events_s(self.count)) if self._empty_s is None else self._empty_s

    def tell_quickly(self) -> bool:
        """Take rounds until it is known in which band the speed-up lies. False where it has to be measured fully."""
        started = time.monotonic()
        while time.monotonic() - started < self._plan.budget_s or len(self.mine.round_s) < QUICK_ROUNDS:
            self.block()
            if len(self.mine.round_s) < QUICK_ROUNDS:
                continue
            stated = _timing(self.mine, self.theirs, self.hand_over_s(), self.count, None).speedup
            if stated.high > QUICK_WIN:
                return False
            if self._suspect() is None and in_one_band(stated):
                return True
        return False

    def suffice(self, taken_s: float) -> bool:
        """Whether the rounds so far tell enough, or all that they may in the time that they have taken."""
        rounds = len(self.mine.round_s)
        if rounds < MIN_ROUNDS:
            return False
        hand_over_s = self.hand_over_s()
        speedup, _ = _stated(self.mine, self.theirs, hand_over_s, self.count, resamples=FEW_RESAMPLES)
        width = (speedup.high - speedup.low) / speedup.value
        short = (
            self._plan.singles
            and self._empty_s is None
            and median(self.mine.call_ms(hand_over_s, self.count)) < LAUNCH_BOUND_S * 1e3
        )
        much_worse = self._suspect(MUCH_WORSE) is not None
        patience = LAUNCH_PATIENCE if much_worse or (short and width > LAUNCH_WIDTH) else 1.0
        covered = self._suspect() is None and {self._base, *self._others} <= set(self.mine.kinds)
        return (
            (covered and width <= INTERVAL_WIDTH) or taken_s >= self._plan.budget_s * patience or rounds >= MAX_ROUNDS
        )


def in_one_band(speedup: Interval) -> bool:
    """Whether an interval lies between two neighbours of QUICK_BANDS."""
    return any(low <= speedup.low and speedup.high <= high for low, high in itertools.pairwise(QUICK_BANDS))


def beside_and_alone(
    measured: Measured,
    reference: Side,
    *,
    draw: Draw,
    base: str = "nominal",
    kinds: Sequence[str] = (),
    device: Device,
) -> Measured:
    """What was measured, held against what the reference takes now that the candidate is gone.

    Where it takes less, that counts, and so does what its rounds cost beyond its calls: no candidate can have had a
    hand in either. Clocks that rose meanwhile are allowed for. Raises `SubjectFailed` where the reference fails.
    """
    with device.awake():
        clock = _Clock(None, base, draw, device, None, lambda reference, slots: None, lambda calls, rounds: ())
        alone = Samples()
        device.settle()  # the driver clears the memory of a process that has ended
        clock.round(reference, base, None, look=True)
        for turn in range(max(ALONE_ROUNDS, ROUNDS_OF_A_KIND * len(kinds))):
            if turn < ALONE_ROUNDS:
                clock.round(reference, base, alone)
            if kinds:
                clock.round(reference, kinds[turn % len(kinds)], alone)
        count = reference.sets.count
        empty_s = None if alone.device_ms else clock.hand_over(reference, slots=count)
    timing = measured.timing
    alone_s = median(alone.beyond_events_s(count)) if empty_s is None else empty_s
    hand_over_s = min(timing.hand_over_ms / 1e3, alone_s)
    mine, beside = measured.mine, measured.theirs
    alone_ms = median(alone.call_ms(hand_over_s, count))
    allowed = SLOWED + (SLOWED_LAUNCH_MS if alone.device_ms else SLOWED_ROUND_MS / count) / alone_ms
    slowed = _slowed(beside, alone, hand_over_s, count)
    if slowed.value > 1 + allowed and (not alone.device_ms or timing.reference_ms < LAUNCH_BOUND_S * 1e3):
        # What launching takes changes with the host from one second to the next: only rounds just before can tell.
        mine, beside = mine.last(ALONE_ROUNDS), beside.last(ALONE_ROUNDS)
        slowed = _slowed(beside, alone, hand_over_s, count)
    factor = _beyond(slowed, allowed, beside, alone)
    timing = _timing(mine, beside, hand_over_s, count, measured.singles, slowed=factor)
    found = {"reference_alone_ms": alone_ms, "mode": measured.timing.mode}
    return replace(measured, timing=timing.model_copy(update=found))


def _beyond(slowed: Interval, allowed: float, beside: Samples, alone: Samples) -> float:
    """By how much the reference was slowed; 1 where noise, or a clock of the device that rose since, explains it."""
    clocks = max(1.0, alone.mhz() / beside.mhz()) if beside.mhz() else 1.0
    return slowed.value / clocks if slowed.low / clocks > 1 + allowed else 1.0


def _slowed(beside: Samples, alone: Samples, hand_over_s: float, count: int) -> Interval:
    """By how much rounds took longer beside a candidate than alone: of either sort of contents, the worse one.

    A kind of contents takes what it takes, and the rounds beside had another mixture of kinds than those alone: each
    round is held against the median of its own kind's rounds alone.
    """
    before, after = (side.device_ms or side.call_ms(hand_over_s, count) for side in (beside, alone))
    usual = {
        kind: median([ms for ms, of in zip(after, alone.kinds, strict=True) if of == kind]) for kind in {*alone.kinds}
    }

    def of_its_kind(figures: Sequence[float], samples: Samples, nominal: bool) -> list[float]:
        rounds = zip(figures, samples.kinds, samples.nominal, strict=True)
        return [ms / usual[kind] for ms, kind, of in rounds if of == nominal and kind in usual]

    factors = []
    for nominal in (True, False):
        then, now = of_its_kind(before, beside, nominal), of_its_kind(after, alone, nominal)
        if then and now:
            factors.append(ratio_of_medians(then, now))
    return max(factors, key=lambda one: one.low)


def _take_over(side: Side, other: Side) -> None:
    """Have one side give all of its memory back before the other's turn."""
    other.subject.release(trim=True)
    other.subject.detach()
    other.subject.freeze()
    other.sets.put_away()
    side.sets.lay_out()
    side.subject.attach(side.sets)


def _aside(mine: Samples, theirs: Samples) -> float:
    """Seconds a round that the candidate worked longer than the reference, besides: beyond the noise of both, in most
    rounds or, where it is much in few, on average.

    0 where that is no more than ASIDE of a round. It may make memory ready there, which its calls then need not.
    """
    if not mine.aside_s or not theirs.aside_s:
        return 0.0
    more_s = max(
        longer_at_least(mine.aside_s, theirs.aside_s), longer_on_average_at_least(mine.aside_s, theirs.aside_s)
    )
    return more_s if more_s > ASIDE * median(mine.round_s) else 0.0


def _stated(
    mine: Samples, theirs: Samples, hand_over_s: float, count: int, *, resamples: int = RESAMPLES
) -> tuple[Interval, list[int]]:
    """The speed-up, and the rounds that it was taken from: those of the worst sort of contents alone, where one is.

    Held against the rest are what `get_inputs` draws, the others together, and each kind of `KIND_ROUNDS` rounds.
    """
    mine_ms, theirs_ms = (samples.call_ms(hand_over_s, count) for samples in (mine, theirs))

    def over(rounds: list[int]) -> Interval:
        return median_ratio([theirs_ms[at] for at in rounds], [mine_ms[at] for at in rounds], resamples=resamples)

    def median_over(rounds: list[int]) -> float:
        return median([theirs_ms[at] / mine_ms[at] for at in rounds])

    everything = list(range(len(mine_ms)))
    sorts = [[at for at in everything if mine.nominal[at] == nominal] for nominal in (True, False)]
    for kind in sorted(set(mine.kinds)):
        of_kind = [at for at in everything if mine.kinds[at] == kind]
        if len(of_kind) >= KIND_ROUNDS:
            sorts.append(of_kind)
    found: list[tuple[Interval, list[int]]] = []
    for worse in sorts:
        better = sorted(set(everything) - set(worse))
        if not better or not worse or median_over(better) <= median_over(worse) * (1 + VALUES_SLACK):
            continue  # what follows takes long, and an interval holds its median
        if over(better).low > over(worse).high * (1 + VALUES_SLACK):
            found.append((over(worse), worse))
    return min(found, key=lambda one: one[0].value) if found else (over(everything), everything)


def _timing(
    mine: Samples,
    theirs: Samples,
    hand_over_s: float,
    count: int,
    singles: tuple[Samples, Samples] | None,
    *,
    slowed: float = 1.0,
) -> Timing:
    """What the rounds come to. `slowed`: by how much the reference's rounds took longer than they would have alone.

    `singles` are rounds of one call: what the candidate takes longer there than the reference, a call of it does. What
    it works longer than the reference around its rounds counts with them.
    """
    more_s = _aside(mine, theirs)
    mine = replace(mine, round_s=[seconds + more_s for seconds in mine.round_s])
    _, rounds = _stated(mine, theirs, hand_over_s, count)
    mine_ms = [mine.call_ms(hand_over_s, count)[at] for at in rounds]
    theirs_ms = [theirs.call_ms(hand_over_s, count)[at] / slowed for at in rounds]
    speedup = median_ratio(theirs_ms, mine_ms)
    single = alone_ms = None
    if singles is not None:
        alone_s, single = ratio_by_difference(
            median(theirs_ms) / 1e3,
            singles[1].round_s,
            singles[0].round_s,
            least=SHORTEST_CALL_S,
            at=25 if mine.device_ms else 50,
        )
        alone_ms = alone_s * 1e3
    if single is not None and not mine.device_ms and single.high * (1 + STEPS_SLACK) < speedup.low:
        speedup = single
    elif single is not None and mine.device_ms and single.high < speedup.low:  # what single calls leave open at most
        cap = single.high
        speedup = Interval(value=min(speedup.value, cap), low=min(single.low, cap), high=cap)
    stated = with_repeatability(speedup, median(mine_ms), median(theirs_ms))
    return Timing(
        candidate_ms=median(mine_ms),
        reference_ms=median(theirs_ms),
        speedup=stated,
        conclusion=conclusion(stated),
        rounds=len(rounds),
        calls_per_round=count,
        hand_over_ms=hand_over_s * 1e3,
        candidate_samples_ms=tuple(mine_ms),
        reference_samples_ms=tuple(theirs_ms),
        candidate_device_ms=median(mine.device_ms) if mine.device_ms else None,
        reference_device_ms=median(theirs.device_ms) if theirs.device_ms else None,
        candidate_single_ms=alone_ms,
        reference_single_ms=median(theirs_ms) if alone_ms is not None else None,
        single_speedup=single,
        depends_on_values=len(rounds) < len(mine.round_s),
        reference_slowed=slowed,
        conditions=conditions(mine.readings, theirs.readings),
    )


class _Clock:
    """Runs rounds. What it writes and in which order nothing can know before it does."""

    def __init__(
        self,
        candidate: Side | None,
        base: str,
        draw: Draw,
        device: Device,
        verify: Verify | None,
        intact: Callable[[Side, Sequence[int]], None],
        choose: Callable[[int, int], Iterable[int]],
    ) -> None:
        self._candidate, self._base, self._draw, self._device = candidate, base, draw, device
        self._verify, self._intact, self._choose = verify, intact, choose
        self._chance = random.SystemRandom()
        self._unsettled = 0
        self.mark: Mark = lambda side, written: frozenset()
        self.evict_s: dict[int, list[float]] = {}
        self.pause_s: dict[int, list[float]] = {}

    def round(self, side: Side, kind: str, samples: Samples | None, *, look: bool = False) -> None:
        """`samples` takes it down, and has it verified; `look` has it found out where outputs lie."""
        done = False
        while not done:
            order = self._order(side)
            written = self._write(side, order, kind)
            done = self._run(side, order, samples, written if samples is not None else [], kind, look=look)

    def hand_over(self, side: Side, *, after: Side | None = None, slots: int) -> float:
        """Median seconds of an empty round, half of them after an empty one of another side."""
        return median(self._empty_rounds(side, after, slots))

    def _empty_rounds(self, side: Side, after: Side | None, slots: int) -> list[float]:
        """As it is in ABBA: a switch from the other's context costs more than one from its own.

        `slots` are written before, as for a round of so many calls: that costs something too.
        """
        seconds = []
        for turn in range(EMPTY_ROUNDS):
            if turn % 2 == 0 and after is not None:
                self._empty(after, slots)
            seconds.append(self._empty(side, slots))
        return seconds

    def _empty(self, side: Side, slots: int) -> float:
        timed = None
        while timed is None:
            order = self._order(side)[:slots]
            self._write(side, order, self._base)
            timed = self._timed(side, [], order)
        side.subject.release()
        side.subject.freeze()
        return timed.seconds

    def single(self, side: Side, samples: Samples | None, *, look: bool = False) -> None:
        """A round of one call."""
        done = False
        while not done:
            order = self._order(side)[:1]
            written = self._write(side, order, self._base)
            done = self._run(side, order, samples, written if samples is not None else [], self._base, look=look)

    def stepped(self, side: Side, samples: Samples, calls: int) -> None:
        """A round on a host in which contents are shown call by call, each once the call before is done.

        What is taken down is the median of its calls in seconds: without the first, where there are more than two, and
        without the last. That one is held and verified; how many `calls` there are the side does not know before.
        """
        while not self._stepped(side, samples, calls):
            pass

    def _stepped(self, side: Side, samples: Samples, count: int) -> bool:
        order = self._order(side)[:count]
        written = self._write(side, order, self._base)
        subject, seed = side.subject, self._chance.getrandbits(62)
        self._device.evict()
        seconds: list[float] = []
        started = time.monotonic()
        for call, slot in enumerate(order):
            last = call == count - 1
            side.sets.reveal([slot])
            if not call:
                if not subject.rests():
                    return False
                self._wake(side)
            subject.round([slot], seed=seed, hold=last)
            started, before = time.monotonic(), started
            seconds += [started - before] if not last else []
        settled = self._verified(side, {0: written[-1]}, seed) if self._verify else True
        if not settled:
            subject.survey([0])
        subject.release()
        subject.freeze()
        if settled:
            samples.round_s.append(median(seconds[1:] or seconds))
        return settled

    def paused(self, candidate: Side, reference: Side) -> bool:
        """Whether the candidate's answers between rounds took longer than the reference's."""
        mine, theirs = (median(self.pause_s[id(side)]) for side in (candidate, reference))
        return mine > PAUSE_FACTOR * theirs + PAUSE_S

    def split_round(self, side: Side) -> None:
        """A verified round whose second half gets other contents once its first half is done.

        A candidate that computed the whole round on its first call has outputs of contents that are no longer there.
        """
        done = False
        while not done:
            order = self._order(side)
            half = len(order) // 2
            self._write(side, order, self._base)
            if half:
                self._run(side, order[:half], None, [], self._base)
            rest = order[half:]
            done = self._run(side, rest, None, self._write(side, rest, self._base), self._base)

    def _order(self, side: Side) -> list[int]:
        order = list(range(side.sets.count))
        self._chance.shuffle(order)
        return order

    def _write(self, side: Side, order: Sequence[int], kind: str) -> list[Written]:
        drawn = self._draw(kind, len(order))
        if isinstance(drawn, Together):
            side.sets.write_together(order, drawn.get())
            return [Written(slot, drawn.of(call), kind) for call, slot in enumerate(order)]
        written = []
        for slot, contents in zip(order, drawn, strict=True):
            side.sets.write(slot, contents.get())
            contents.forget()
            written.append(Written(slot, contents, kind))
        return written

    def _run(
        self,
        side: Side,
        order: Sequence[int],
        samples: Samples | None,
        written: Sequence[Written],
        kind: str,
        *,
        look: bool = False,
    ) -> bool:
        """One round on what is written. False where it was to be verified and could not be, or was seen before it
        began: it does not count.
        """
        marked = self.mark(side, written) if written else frozenset()
        timed = self._timed(side, order, order)
        if timed is None:
            return False
        settled = True
        if written and self._verify:
            taken = len(samples.round_s) if samples is not None else 0
            chosen = {call: written[call] for call in sorted({*self._choose(len(order), taken), *marked})}
            settled = self._verified(side, chosen, timed.seed)
        else:
            side.subject.spoil()
        if look or not settled:
            side.subject.survey(range(len(order)))
        started = time.monotonic()
        side.subject.release()
        self.pause_s[id(side)][-1] += time.monotonic() - started
        side.subject.freeze()
        if samples is not None and settled:
            samples.round_s.append(timed.seconds)
            samples.nominal.append(kind == self._base)
            samples.kinds.append(kind)
            if not side.sets.on_device:
                samples.aside_s.append(side.subject.aside_s())
            if timed.device_ms is not None:
                samples.device_ms.append(timed.device_ms / len(order))
            reading = self._device.read()
            if reading is not None:
                samples.readings.append(reading)
        return settled

    def _verified(self, side: Side, chosen: dict[int, Written], seed: int) -> bool:
        """Whether what was to be verified could be, and was right. The reference is asked alike, and believed."""
        assert self._verify is not None
        if side is not self._candidate:
            with suppress(Unsettled):
                self._kept(side, chosen)
                side.subject.outputs(list(chosen))
            self._intact(side, [of.slot for of in chosen.values()])
            return True
        try:
            self._kept(side, chosen)
            self._verify(side.subject, chosen, seed)
        except Unsettled:
            return self._unsettled_round()
        return True

    def _kept(self, side: Side, chosen: Iterable[int]) -> None:
        """Keep what is to be verified, and leave nothing of any output for the rounds to come."""
        try:
            side.subject.snapshot(list(chosen))
        finally:
            side.subject.spoil()

    def _unsettled_round(self) -> bool:
        """Count a round that tells nothing; there may be few."""
        self._unsettled += 1
        if self._unsettled > MOST_UNSETTLED:
            detail = "its outputs, or what it started, could not be held as they were when the clock stopped"
            raise SubjectFailed("protocol", detail) from None
        return False

    def _wake(self, side: Side) -> None:
        started = time.monotonic()
        side.subject.wake()
        self.pause_s.setdefault(id(side), []).append(time.monotonic() - started)

    def _timed(self, side: Side, order: Sequence[int], slots: Sequence[int]) -> "_Timed | None":
        """Show `slots`, evict, say go, wait, stop. None where it ran while it was stopped, with what it saw then.

        On a device what was queued before sees contents though the worker is stopped: they are shown while the clock
        runs, to a worker that is awake. On a host nothing follows the judge's copy while all tasks are stopped, which
        takes as long as a call may: there the clock starts once it is done, and the worker is woken while it runs.
        """
        seed = self._chance.getrandbits(62)
        subject, sets = side.subject, side.sets
        subject.aside_s()
        subject.look_for(len(order))
        self._device.touch()  # drawing may still go on
        started = time.monotonic()
        self._device.evict()
        self.evict_s.setdefault(id(side), []).append(time.monotonic() - started)
        if sets.on_device:
            self._wake(side)
            _stay_awake(WAKE_S)
            self._device.touch()
            started = time.monotonic()
            sets.reveal(slots)
            self._device.evict()
        else:
            sets.reveal(slots)
            if not subject.rests():
                return None
            self._device.touch()
            started = time.monotonic()
            self._wake(side)
        result = subject.round(order, seed=seed, hold=True)
        self._device.touch()
        seconds = time.monotonic() - started
        subject.settle()
        return _Timed(seconds, result.device_ms, seed)


@dataclass(frozen=True)
class _Timed:
    """A round: its seconds by the judge's clock, its device milliseconds, and what it was seeded with."""

    seconds: float
    device_ms: float | None
    seed: int


def _stay_awake(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


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
