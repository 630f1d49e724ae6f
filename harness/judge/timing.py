"""Timing: rounds of candidate and reference in turn, by the judge's own monotonic clock.

What one round is, `rounds` says; what they come to, `round_figures`. Rounds alternate ABBA, so that drift cancels, and
whose turn comes first is drawn. Contents and the order of the slots never repeat.

The contents of two neighbouring rounds are what `get_inputs` draws, or one of the other kinds of the trials. Where a
candidate is better on either sort than on the other by more than chance, what is stated is the worse one: it looks at
the values.

A round costs something beyond its calls: showing contents, the hand-over, on a GPU the switches between the judge's
context and the worker's (about 0.15 ms each on an H200), stopping, reading. That cost is measured on the reference,
whose process runs no candidate code, and taken off both sides: on a GPU what the reference's rounds take beyond the
span between two device events, one before its first call and one after its last; where there are none, what empty
rounds take. N is chosen so that it stays a small part of a round.

Empty rounds would not do on a GPU: two processes that waited some milliseconds for the device find their caches taken
by others, and the round costs 0.02 to 0.4 ms more than one that is over at once (H200, November 2026).

Nor is it the same for a round of 4 ms and one of 25: what the judge does when a round is over takes 0.1 to 0.3 ms
more after a longer one (H200, November 2026). So rounds of the reference's process in which the device does nothing for
as long as either side's rounds take tell by how much, and that is added to those of the shorter side.

When the rounds are over the candidate is ended, and the reference is timed alone (`reference_alone`).
"""

import itertools
import math
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from harness.judge.alone_before import AloneBefore
from harness.judge.failure import SubjectFailed
from harness.judge.one_by_one import (
    SHORT_MS,
    STEPS_SLACK,
    SURE_STEPS,
    InRounds,
    by_singles,
    suspect,
)
from harness.judge.round_figures import (
    KIND_ROUNDS,
    LAUNCH_BOUND_S,
    VALUES_SLACK,
    in_rounds_of,
    may_be_uneven,
    stated_of,
    timing_of,
)
from harness.judge.rounds import Alike, Clock, Device, Draw, Mark, Side, Verify, VerifySteps
from harness.judge.samples import Samples, grouped
from harness.judge.statistics import FEW_RESAMPLES, median, percentile
from harness.schema.record import Interval, Timing, TraceWhen

ROUND_S, BOTH_ROUNDS_S = 4e-3, 16e-3
"""What a round of the faster side should last at least, and one of either side together. On a host that others use too
the hand-over varies by 0.1 ms from round to round, and drawing contents takes time in proportion: longer rounds tell
more a second. Where one side takes many times longer that is paid for by waiting, and less will do."""
MAX_SETS = 256
COPIED_BYTES = 4 << 30
"""A round of more would be mostly copies: each byte crosses the host four times."""
MIN_ROUNDS = 10
MAX_ROUNDS = 500
WARM_UP_ROUNDS = 2
INTERVAL_WIDTH = 0.02
"""Rounds stop once the interval of the speed-up is narrower than this share of it. A wider one would say enough where
it lies far from 1, but fewer rounds do not show what slows the reference by some per cent."""
LAUNCH_WIDTH, LAUNCH_PATIENCE = 0.03, 3.0
"""Launch-bound calls whose interval is wider than this when their time is spent get so many times of it: what a launch
takes varies by a tenth from round to round on a host that others use too, whatever the rounds' length."""
SINGLE_CALLS, MORE_SINGLE_CALLS = 32, 64
"""So many of either side, and so many more where they say that a call is slower than it is in rounds: what a call costs
beyond it varies by as much as it takes, and one time in ten chance says so (H100, November 2026)."""
LONG_CALL_S, LONG_SINGLES = 0.01, 8
"""Where so many of a candidate took longer than that each, no more are needed: what they take besides varies by some
tenths of a millisecond. They tell themselves: in rounds before these it may sleep."""
SINGLES_WIDTH = 0.08
"""Nor are more where they say the speed-up within this share of it: calls of milliseconds are soon told."""
SINGLES_AT_ONCE = 8
STEPPED_ROUNDS, STEPS = (16, 64), 48
"""On a host calls are told apart by showing contents call by call: in so many rounds of a side, at least and at most,
of up to so many calls. The last is held and verified, and nothing knows before which that is, be it the first. Where
what others were read of cannot be verified as well (`rounds.VERIFIED_STEPS`) one that leaves out half of its calls in a
third of SURE_STEPS rounds, without which no interval moves, passes in less than 1% of all cases, and in five of 16 in
3%: on a device, where they say less than the others, there are as many."""
STEPPED_CALL_S = SHORT_MS / 1e3
"""On a device as well where a call of the reference takes no longer. What a round of one call takes besides varies by
some tenths of a millisecond."""
STEPS_WIDTH, STEPS_SHARE, STEPS_AT_ONCE = 0.05, 0.5, 8
"""There are so many more of these rounds until the interval of what they say is narrower than that share of it, or lies
above that of the other rounds, or until they took this share of the time for rounds; on a device LAUNCH_PATIENCE times
that where they say less than the others, for then it is they that are stated."""
QUICK_ROUNDS, QUICK_WIN, QUICK_WIDTH = 4, 1.5, 0.2
"""A quick measurement ends after so many rounds of either side, once the interval of the speed-up lies between two of
QUICK_BANDS, or around the border of two is narrower than that share of it, as a band is. What would be called faster
has each kind of contents timed first, or the chance of the first two would decide which kinds count. What is more than
QUICK_WIN is measured fully, and so is what may be once the time is over, or noise would be what is rewarded."""
QUICK_STEPS, FEW_STEPS, QUICK_STEP_CALLS = (10, 34), 4, 24
"""So many rounds of either side whose calls come one by one, at least and at most, of up to so many calls, say whether
a short call is as fast alone, too. Fewer where a quick measurement calls it no faster than the reference, unless they
say less by a band."""
QUICK_STEPS_SLACK = 0.25
"""By so much less a kind of contents says there that has more of them: bands are told apart."""
QUICK_BANDS = (0.0, 0.2, 0.33, 0.5, 0.8, 1.0, 1.25, 1.5)
QUICK_SHARE, QUICK_TIME, QUICK_SLACK, MOST_QUICK_SLACK = 0.35, 0.25, 0.1, 0.25
"""Rounds of a quick measurement are so much shorter, and the time for them all so much, where no kind of contents looks
worse and it can be no win. One looks so by that slack there, or by what rounds scatter up to the last, which is a band:
bands are told apart, and not figures. It then has all rounds until it had KIND_ROUNDS, with which it counts alone."""
SURE_ROUNDS, MUCH_WORSE = 2 * KIND_ROUNDS, 0.25
"""A kind of contents of fewer rounds than this that looks worse than the rest gets them: of several kinds one may do so
by chance, on a host whose speed changes from second to second. Where it does by more than that share it gets up to
three times the time for that."""
MOST_SLACK, DEVIATIONS = 0.05, 3.0
"""A single round looks worse where it is by more than VALUES_SLACK and, where rounds scatter, by so many times the
median deviation of the rest: MOST_SLACK at most, or a candidate could hide what depends on values in a scatter of its
own."""
SLOWED_AT_MOST, MOST_HAND_OVER_S = 2.0, 0.01
"""So many times what a call of the reference takes without a candidate, and so much besides, its rounds count at most
as time for rounds."""
FAST_END = 20
"""The percentile of the reference's rounds that those of a kind are held against while it is asked whether a candidate
looks worse there."""


@dataclass(frozen=True)
class Plan:
    """How much to measure. `budget_s` bounds the rounds (see LAUNCH_PATIENCE), `bytes_budget` the sets and outputs.

    `copied`: contents and outputs are copied over the host, so that a round has `COPIED_BYTES` at most.
    `quick`: end once it is known in which band the speed-up lies, but for wins.
    `singles`: time short calls one at a time as well, `steps`: on a device by showing contents one by one, which tells
    nothing where nearly all of an output is one value, as on the kinds of contents `untold` alone; `own_seeds`: each of
    these has its own, since the reference draws random numbers; `plain`: its outputs hold more than tensors, or more of
    these than are told; `alone_before`: what it took alone after candidates before, of which quick timing makes use;
    `trace`: when to look which kernels ran. `memory_bytes` is what the device had free before anything of this was laid
    out: where that does not hold the outputs of both subjects, one gives its own back before the other's turn.
    """

    budget_s: float = 2.0
    bytes_budget: int = 8 << 30
    copied: bool = False
    singles: bool = False
    trace: TraceWhen = "never"
    memory_bytes: int = 1 << 62
    quick: bool = False
    steps: bool = True
    own_seeds: bool = False
    plain: bool = False
    untold: frozenset[str] = frozenset()
    alone_before: AloneBefore | None = None


@dataclass(frozen=True)
class Measured:
    """The timing, what it came from, and the median seconds that the judge's own eviction took before rounds.

    `evict_s` is that of the side where it took longer: what a candidate keeps the device busy with may stop for its own
    rounds and go on in the other's. `singles`: rounds of one call of either side. `paused`: whether the candidate took
    longer between its rounds than the reference between its own. `empty_s`: seconds of empty rounds, on a host.
    `copies`: by how many a look at outputs was taken where calls came one by one on a device, else 0.
    """

    timing: Timing
    evict_s: float
    mine: Samples
    theirs: Samples
    singles: tuple[Samples, Samples] | None = None
    paused: bool = False
    empty_s: Sequence[float] = ()
    copies: int = 0


def sets_for(candidate_s: float, reference_s: float, set_bytes: int, output_bytes: int, plan: Plan) -> int:
    """How many input sets a round needs: enough calls of so many seconds to outweigh the hand-over, within memory."""
    share = QUICK_SHARE if plan.quick else 1.0
    least = max(ROUND_S / min(candidate_s, reference_s), BOTH_ROUNDS_S / (candidate_s + reference_s))
    wanted = math.ceil(share * least)
    budget = min(plan.bytes_budget, COPIED_BYTES) if plan.copied else plan.bytes_budget
    affordable = budget // max(1, set_bytes + output_bytes)
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
    verify_steps: VerifySteps | None = None,
    intact: Callable[[Side, Sequence[int]], None] = lambda reference, slots: None,
    alike: Alike = lambda written: None,
    choose: Callable[[int, int], Iterable[int]] = lambda calls, rounds: (),
    mark: Mark = lambda side, written: frozenset(),
    reference_s: float = math.inf,
    proceed: Callable[[], None] = lambda: None,
) -> Measured:
    """Time two subjects side by side, each with sets of its own attached.

    `draw` makes the contents of a round of a kind: `base`, or one of `kinds`, which half of the rounds have where
    there are any. `verify` is asked about the calls that `choose` picks of a round of so many calls when so many rounds
    have been taken, and those that `mark` named before; where it is None nothing is verified.
    `intact` is asked about slots that the reference saw, `alike` about calls whose outputs lie otherwise than before.
    `tight`: what both need does not fit into memory. `reference_s`: what a call of the reference takes where there is
    no candidate, which bounds what slows it meanwhile. `proceed` is called between blocks of rounds, and raises where
    no caller waits for the rest. Raises `SubjectFailed` where a subject fails, and CannotBeTimed where other work keeps
    the device.
    """
    with device.awake():
        clock = Clock(
            candidate,
            base,
            draw,
            device,
            verify=verify,
            verify_steps=verify_steps,
            intact=intact,
            alike=alike,
            choose=choose,
            mark=mark,
            reference_s=reference_s,
            own_seeds=plan.own_seeds,
            plain=plan.plain,
        )
        turns = _Turns(clock, candidate, reference, (base, *kinds), plan, tight=tight, reference_s=reference_s)
        quick = turns.take(proceed)
        evict_s = max(median(seconds) for seconds in clock.evict_s.values())
        timing = timing_of(turns.mine, turns.theirs, turns.hand_over_s(), turns.count, turns.singles)
        timing = timing.model_copy(update={"mode": "quick" if quick else "full"})
        paused = clock.paused(candidate, reference)
        return Measured(timing, evict_s, turns.mine, turns.theirs, turns.singles, paused, turns.empty_s, turns.copies)


class _Turns:
    """Rounds of two sides in turn, and what they came to. `kinds`: the base kind of contents, then the others."""

    def __init__(
        self,
        clock: Clock,
        candidate: Side,
        reference: Side,
        kinds: Sequence[str],
        plan: Plan,
        *,
        tight: bool,
        reference_s: float = math.inf,
    ) -> None:
        self._clock, self._candidate, self._reference = clock, candidate, reference
        self._base, self._others = kinds[0], kinds[1:]
        self._plan, self._tight = plan, tight
        self._reference_s = self._known_s = reference_s
        self._chance = random.SystemRandom()
        self._last: Side | None = None
        self._first, self._second = candidate, reference
        self._bag: list[str] = []
        self.empty_s: Sequence[float] = ()
        self._proceed: Callable[[], None] = lambda: None
        self.count, self.copies = candidate.sets.count, 0
        self._looks: dict[int, int] = {}
        self.mine, self.theirs = Samples(), Samples()
        self.singles: tuple[Samples, Samples] | None = None

    def take(self, proceed: Callable[[], None]) -> bool:
        """All rounds. Whether few told enough; `proceed` is called between blocks of the others."""
        self._proceed = proceed
        self.warm_up()
        self.split()
        if self._plan.quick and self.tell_quickly():
            self.take_steps_quickly()
            return True
        self.take_singles()
        started = time.monotonic()
        while not self.suffice(time.monotonic() - started):
            proceed()
            self.block()
        self.confirm_singles()
        self.take_steps(self._plan.budget_s * STEPS_SHARE)
        return False

    def warm_up(self) -> None:
        """Rounds that do not count; where the reference has no events of a device, also what an empty one takes."""
        warm = Samples()
        for _ in range(WARM_UP_ROUNDS):
            self._round(self._candidate, self._base, look=True)
            self._round(self._reference, self._base, warm, look=True)
        self._known_s = min([self._reference_s, *(ms / 1e3 for ms in warm.device_ms)])
        if not warm.device_ms:
            after = None if self._tight else self._candidate
            self.empty_s = self._clock.empty_rounds(self._reference, after=after, slots=self.count)

    def split(self) -> None:
        """A round in two parts: before the others, so that nothing tells which of those is the last.

        The reference's are held against what it takes once the candidate is gone, and hosts change within a second.
        """
        self._turn_to(self._candidate)
        self._clock.split_round(self._candidate)

    def take_singles(self) -> None:
        """Rounds of one call each, as a user waits for one, in turn; on a device, before the others.

        Not where calls can come one by one without a round for each.
        """
        if not self._plan.singles or self.count == 1 or self._takes_steps():
            return
        self.singles = (Samples(), Samples())
        self._singles(self.singles, SINGLE_CALLS, width=SINGLES_WIDTH)

    def confirm_singles(self) -> None:
        """More of them where they say less than the rounds, and some of the other kinds of contents."""
        if self.singles is None:
            return
        timing = timing_of(self.mine, self.theirs, self.hand_over_s(), self.count, self.singles)
        assert timing.single_speedup is not None
        if timing.single_speedup.high < timing.reference_ms / timing.candidate_ms:
            self._singles(self.singles, MORE_SINGLE_CALLS)
        if self._known_s > STEPPED_CALL_S:  # of shorter calls too few rounds of one call tell nothing
            self._confirm_kinds(self.singles)

    def _confirm_kinds(self, singles: tuple[Samples, Samples]) -> None:
        """Single calls of the other kinds of contents: of one that says less than the rounds as many as tell."""
        beside, at_once = self._in_rounds(), SINGLES_AT_ONCE // 2 if self._tight else 1
        for other in self._others:
            self._singles_of(other, singles, at_once)
        while (less := suspect(singles, self._others, beside)) is not None:
            self._proceed()
            self._singles_of(less, singles, at_once)

    def take_steps(self, most_s: float) -> None:
        """The same on a host, and of short calls on a device, after the others, by rounds that show contents call by
        call.
        """
        if not self._plan.singles or self.count == 1 or self.singles is not None:
            return
        if self._takes_steps():
            self._take_steps(STEPPED_ROUNDS, most_s, most_steps(self.count))
        else:  # no more: what calls are given besides tensors was drawn anew since
            self.singles = (Samples(), Samples())
            self._singles(self.singles, SINGLE_CALLS, width=SINGLES_WIDTH)

    def take_steps_quickly(self) -> None:
        """Few of these on a device, after a quick measurement; where calls do not come one by one, single ones of what
        it calls faster.
        """
        if not self._plan.singles or self.count == 1 or self.empty_s:
            return
        if self._takes_steps():
            self._take_steps(QUICK_STEPS, math.inf, most_steps(self.count, quick=True))
        elif self._in_rounds().speedup > 1.0:
            self.singles = (Samples(), Samples())
            self._singles(self.singles, SINGLE_CALLS, width=SINGLES_WIDTH)

    def _take_steps(self, rounds: tuple[int, int], most_s: float, most_calls: int) -> None:
        self.singles = (Samples(), Samples())
        started, (least, most), beside = time.monotonic(), rounds, self._in_rounds()
        verified_s = self._clock.verifying_s
        others = [kind for kind in self._others if kind not in self._plan.untold]
        is_quick = most_s == math.inf
        if not is_quick:  # each twice: one round may be what a host made it
            least = max(least, 4 * len(others))
        self.copies = 0 if self.empty_s else self._copies_of_a_look()
        in_turn = self._kinds_in_turn(others)
        while (taken := min(len(samples.round_s) for samples in self.singles)) < most:
            kind = None
            if taken >= least or (is_quick and self._few_steps_suffice(beside)):
                taken_s = time.monotonic() - started
                if taken_s - (self._clock.verifying_s - verified_s) <= most_s * LAUNCH_PATIENCE:
                    by = QUICK_STEPS_SLACK if is_quick else STEPS_SLACK
                    kind = suspect(self.singles, others, beside, by=by)
                if kind is None and self._steps_suffice(taken, taken_s, most_s):
                    return
            self._proceed()
            self._step_of_both(kind or next(in_turn), most_calls)

    def _few_steps_suffice(self, beside: InRounds) -> bool:
        """Whether a quick measurement that calls nothing faster has rounds enough that say no less, by a band."""
        assert self.singles is not None
        enough = len(self.singles[1].round_s) >= FEW_STEPS and beside.speedup <= 1.0
        return enough and by_singles(self.singles, beside)[2].value * (1 + QUICK_STEPS_SLACK) >= beside.speedup

    def _kinds_in_turn(self, others: Sequence[str]) -> Iterator[str]:
        """The base kind and another in an order that nothing can know; of the others each before one comes again."""
        while True:
            for other in self._chance.sample(others, len(others)) or [self._base]:
                yield from self._chance.sample([self._base, other], 2)

    def _step_of_both(self, kind: str, most_calls: int) -> None:
        """A round of either side whose calls come one by one, which comes first is drawn."""
        assert self.singles is not None
        both = list(zip((self._candidate, self._reference), self.singles, strict=True))
        self._chance.shuffle(both)
        for side, samples in both:
            taken = len(samples.round_s)
            self._turn_to(side)
            if self._tight:
                self._clock.single(side, None, look=True)  # which asks for the memory anew
            while len(samples.round_s) == taken:  # each of another number: one is stopped in the other's turn
                self._clock.stepped(side, kind, samples, most=most_calls, copies=self.copies)
            if self.empty_s and side is self._reference:
                samples.empty_s.append(self._clock.empty_steps(side, most=most_calls))

    def _steps_suffice(self, taken: int, taken_s: float, most_s: float) -> bool:
        """Whether so many rounds tell enough, or all that they may in the time that they have taken."""
        if most_s == math.inf or (self.empty_s and taken_s > most_s):
            return True
        if taken % STEPS_AT_ONCE:
            return False
        assert self.singles is not None
        told, less = self._steps_tell(self.singles)
        are_few = less and taken < SURE_STEPS and not self.empty_s
        return told or (taken_s > most_s * (LAUNCH_PATIENCE if less else 1.0) and not are_few)

    def _in_rounds(self) -> InRounds:
        """What the rounds of several calls say."""
        hand_over_s = self.hand_over_s()
        timing = timing_of(self.mine, self.theirs, hand_over_s, self.count, None)
        return in_rounds_of(timing.speedup.value, timing.reference_samples_ms, self.theirs, hand_over_s, self.count)

    def _takes_steps(self) -> bool:
        """Whether contents of several calls are shown one by one."""
        if self.empty_s:
            return True
        is_short = self._known_s <= STEPPED_CALL_S and most_steps(self.count) > 1
        return is_short and self._plan.steps and self._copies_of_a_look() > 0

    def _copies_of_a_look(self) -> int:
        """As many as the side needs whose outputs need more: a look of either side takes as long. 0 where the
        reference's cannot be looked at; SubjectFailed where the candidate's alone cannot.

        Of a side that gave its memory back it is what was known when it had its turn.
        """
        mine, theirs = (
            self._looks.get(id(side), side.subject.copies_of_a_look()) for side in (self._candidate, self._reference)
        )
        is_alone = self._candidate.sets.plain_of([0]) is None  # else it is what its calls are given, which is drawn
        if theirs and not mine and is_alone:  # which verification would tell, of a round that is verified
            raise SubjectFailed("protocol", "described outputs that no copy can look at, unlike the reference's")
        return max(mine, theirs) if mine and theirs else 0

    def _steps_tell(self, singles: tuple[Samples, Samples]) -> tuple[bool, bool]:
        """Whether they tell enough, and whether they say less than the rounds: then they are what is stated."""
        timing = timing_of(self.mine, self.theirs, self.hand_over_s(), self.count, singles)
        single, in_rounds = timing.single_speedup, timing.reference_ms / timing.candidate_ms
        assert single is not None
        told = single.low >= in_rounds or _width(single) <= STEPS_WIDTH
        return told, single.value * (1 + STEPS_SLACK) < in_rounds

    def _singles(self, singles: tuple[Samples, Samples], calls: int, *, width: float = 0.0) -> None:
        """So many single calls of either side; no more than LONG_SINGLES where all of the candidate's are long, or,
        where that is asked, once they say the speed-up within a share of it, `width`.

        ABBA: what is verified before a call moves it.
        """
        at_once = SINGLES_AT_ONCE if self._tight else 1
        for turn in range(calls // (2 * at_once)):
            are_few = 2 * at_once * turn < LONG_SINGLES
            if not are_few and (
                min(singles[0].round_s) > LONG_CALL_S or (width and width_of_singles(singles) <= width)
            ):
                return
            self._singles_of(self._base, singles, at_once)
            self._clock.require_explained(*singles)

    def _singles_of(self, kind: str, singles: tuple[Samples, Samples], at_once: int) -> None:
        """Twice so many single calls of either side on contents of a kind."""
        both = list(zip((self._candidate, self._reference), singles, strict=True))
        self._chance.shuffle(both)
        for side, samples in (*both, *reversed(both)):
            self._turn_to(side)
            for _ in range(at_once):
                if self._tight:
                    self._clock.single(side, None, look=True)  # which asks for the memory anew
                self._clock.single(side, samples, kind=kind)

    def block(self) -> None:
        """Four rounds: one of either side with contents of one kind, and one with those of another.

        Whose round came before tells in the next one, and so does the pause for the statistics: ABBA and then BAAB
        share both out. Which of them comes first nothing can know, or it could leave work for the other.
        """
        if len(self.mine.round_s) % 4 or self._chance.random() < 0.5:
            self._first, self._second = self._second, self._first
        one, other = self._next_kinds()
        for side, kind in ((self._first, one), (self._second, one), (self._second, other), (self._first, other)):
            self._round(side, kind, self.mine if side is self._candidate else self.theirs)

    def _next_kinds(self) -> list[str]:
        """The base kind and one of the others, in an order that nothing can know.

        A quick measurement has the base kind once before it has had all others.
        """
        hurries = self._plan.quick and self._base in self.mine.kinds and not self._covers_all_kinds()
        if self._plan.quick and not hurries and (kind := self._quick_suspect()) is not None:
            return [kind, kind]  # until it had rounds enough to count alone
        kinds = [self._next_other() if hurries else self._base, self._next_other()]
        self._chance.shuffle(kinds)
        return kinds

    def _next_other(self) -> str:
        """Of the others each comes once before one comes again, but, once all were timed, for one that looks worse than
        the rest. The base kind where there are none.
        """
        suspect = self._suspect() if self._covers_all_kinds() else None
        if suspect is not None and suspect != self._base:
            return suspect
        if not self._bag:
            self._bag = self._chance.sample(self._others, len(self._others))
        return self._bag.pop() if self._bag else self._base

    def _suspect(self, by: float = VALUES_SLACK, most: float = MOST_SLACK, *, in_each: bool = False) -> str | None:
        """The kind of too few rounds to be sure of that so far looks worse than the rest by more than this share, of
        several the one that had the fewest, and of these the one that looks worst: where the reference itself is slower
        on some kinds, these look worse too, and would keep the others from theirs.

        In most of its rounds, or `in_each`: of several kinds of two rounds, one nearly always looks so in most. Where
        it had one round, or `in_each`, by what rounds scatter, up to `most`.
        """
        if not self.mine.kinds:
            return None
        hand_over_s = self.hand_over_s()
        mine, theirs = (samples.call_ms(hand_over_s, self.count) for samples in (self.mine, self.theirs))
        theirs = self._as_fast_ones(theirs)
        ratios = grouped(self.mine.kinds, [above / below for below, above in zip(mine, theirs, strict=True)])
        found: dict[str, tuple[int, float]] = {}
        for kind, of_kind in ratios.items():
            rest = [ratio for other, of_other in ratios.items() if other != kind for ratio in of_other]
            if len(of_kind) >= SURE_ROUNDS or len(rest) < 2:
                continue
            usual, looks = median(rest), max(of_kind) if in_each else median(of_kind)
            may_scatter = in_each or len(of_kind) == 1
            scatter = median([abs(ratio / usual - 1) for ratio in rest]) if may_scatter else 0.0
            if usual > looks * (1 + max(by, min(most, DEVIATIONS * scatter))):
                found[kind] = (-len(of_kind), usual / looks)
        return max(found, key=lambda kind: found[kind], default=None)

    def _round(self, side: Side, kind: str, samples: Samples | None = None, *, look: bool = False) -> None:
        self._turn_to(side)
        if self._tight:
            self._clock.round(side, kind, None, look=True)  # which asks for the memory anew
            self._looks[id(side)] = side.subject.copies_of_a_look()
        self._clock.round(side, kind, samples, look=look)

    def _turn_to(self, side: Side) -> None:
        """Let a side have its turn. Where memory is tight the other gives its own back for that."""
        if self._tight and self._last is not side:
            _take_over(side, self._reference if side is self._candidate else self._candidate)
        self._last = side

    def hand_over_s(self) -> float:
        """What a round of `count` calls takes beyond them."""
        return median(self.empty_s or self.theirs.beyond_events_s(self.count))

    def tell_quickly(self) -> bool:
        """Take rounds until it is known in which band the speed-up lies, or until there is no time left for them.

        False where it has to be measured fully.
        """
        started, is_open = time.monotonic(), False
        while (
            time.monotonic() - started < (1.0 if is_open else QUICK_TIME) * self._plan.budget_s
            or len(self.mine.round_s) < QUICK_ROUNDS
        ):
            self.block()
            if len(self.mine.round_s) < QUICK_ROUNDS:
                continue
            stated = timing_of(
                self.mine, self.theirs, self.hand_over_s(), self.count, None, resamples=FEW_RESAMPLES
            ).speedup
            if stated.low > QUICK_WIN:
                return False
            is_open = stated.high > QUICK_WIN or self._quick_suspect() is not None
            told = in_one_band(stated) or _width(stated) <= QUICK_WIDTH
            if told and not is_open and (stated.low <= 1.0 or self._covers_all_kinds()):
                return True
        return not is_open and (stated.low <= 1.0 or self._covers_all_kinds())

    def _quick_suspect(self) -> str | None:
        """The kind of contents that looks worse, to a quick measurement, and had too few rounds to count alone."""
        kind = self._suspect(QUICK_SLACK, MOST_QUICK_SLACK, in_each=True)
        return None if kind is None or self.mine.kinds.count(kind) >= KIND_ROUNDS else kind

    def _covers_all_kinds(self) -> bool:
        """Whether every kind of contents was timed."""
        return {self._base, *self._others} <= set(self.mine.kinds)

    def suffice(self, taken_s: float) -> bool:
        """Whether the rounds so far tell enough, or all that they may in the time that they have taken."""
        rounds = len(self.mine.round_s)
        if rounds < MIN_ROUNDS:
            return False
        hand_over_s = self.hand_over_s()
        speedup, stated = stated_of(self.mine, self.theirs, hand_over_s, self.count, resamples=FEW_RESAMPLES)
        width = _width(speedup)
        short = (
            self._plan.singles
            and not self.empty_s
            and median(self.mine.call_ms(hand_over_s, self.count)) < LAUNCH_BOUND_S * 1e3
        )
        much_worse = self._suspect(MUCH_WORSE) is not None
        patience = LAUNCH_PATIENCE if much_worse or (short and width > LAUNCH_WIDTH) else 1.0
        covered = self._suspect() is None and self._covers_all_kinds()
        spent = taken_s >= self._plan.budget_s * patience and self._may_end()
        even = replace(self.theirs, worked_s=self._as_fast_ones(self.theirs.worked_s))
        told = covered and width <= INTERVAL_WIDTH and not may_be_uneven(self.mine, even, stated)
        return told or spent or rounds >= MAX_ROUNDS

    def _as_fast_ones(self, theirs: list[float]) -> list[float]:
        """Figures of the reference's rounds, on a device none longer than the fast ones: those that a candidate slows
        would hide that it is slower there, or works for others.
        """
        if not theirs or not self.theirs.device_ms:
            return theirs
        most = percentile(theirs, FAST_END) * (1 + VALUES_SLACK)
        return [min(figure, most) for figure in theirs]

    def _may_end(self) -> bool:
        """Whether each kind was timed and none looks worse, or most rounds took their time: in few, or between them, a
        side may sleep, and rounds of the reference that a candidate slows take no more time than without it.
        """
        theirs_s = MOST_HAND_OVER_S + SLOWED_AT_MOST * self._reference_s * self.count
        usual_s = median(self.mine.round_s) + min(median(self.theirs.round_s), theirs_s)
        is_even = self._covers_all_kinds() and self._suspect() is None
        return is_even or usual_s * len(self.mine.round_s) >= self._plan.budget_s


def _width(speedup: Interval) -> float:
    return (speedup.high - speedup.low) / speedup.value


def most_steps(count: int, *, quick: bool = False) -> int:
    """Of how many calls rounds are at most whose calls come one by one, where others are of so many."""
    return min(QUICK_STEP_CALLS if quick else STEPS, count)


def width_of_singles(singles: tuple[Samples, Samples]) -> float:
    """How wide the interval of the speed-up by single calls is, as a share of it."""
    _, _, speedup = by_singles(singles, InRounds())  # before there are rounds of several the device's events say
    return _width(speedup)


def in_one_band(speedup: Interval) -> bool:
    """Whether an interval lies between two neighbours of QUICK_BANDS."""
    return any(low <= speedup.low and speedup.high <= high for low, high in itertools.pairwise(QUICK_BANDS))


def _take_over(side: Side, other: Side) -> None:
    """Have one side give all of its memory back before the other's turn."""
    other.subject.release(trim=True)
    other.subject.detach()
    other.subject.freeze()
    other.sets.put_away()
    side.sets.lay_out()
    side.subject.attach(side.sets)
