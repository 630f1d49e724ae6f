"""Rounds: one at a time, by the judge's own monotonic clock. When which is taken, and how many, is `timing`'s.

One round: fresh contents for N input sets are written where no subject sees them; the subject is woken and answers;
the clock starts. Only now contents are copied to where the subject sees them, on a device by one kernel, after which
the last cache is written over. The subject calls its model once per set, waits for its device and says *done*. Then
everything of it is told to stop. On a device elements of every output are read after whatever it still had queued for
them, and the clock stops; on the host it stops once every task rests. What is verified are those outputs, of the last
call and of random ones, which are drawn now. A round that cannot be verified does not count. What outputs lie in is
then overwritten.
"""

import math
import operator
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple, Protocol

from harness.backends.reading import Reading
from harness.judge.between_rounds import Between, BetweenRounds
from harness.judge.failure import LaidOutAnew, SubjectFailed
from harness.judge.inputs import Contents, InputSets
from harness.judge.question import SHAPES_VARY, CannotBeTimed
from harness.judge.samples import Samples
from harness.judge.statistics import median, percentile
from harness.judge.subject import Stepped, Subject, Unsettled
from harness.judge.together import Together

EMPTY_ROUNDS = 8
"""So many empty rounds tell what one costs, where nothing else does."""
SPUN_ROUNDS = 6
"""So many rounds of a length tell what that costs, after one that does not count."""
VERIFIED_STEPS = 6
"""So many of the calls before the last are verified where they come one by one: who leaves out half of the calls of a
round, without which its median does not move, passes in less than 1% of all cases."""
MOST_UNSETTLED = 3
"""So many rounds of a measurement may have outputs that lie where nothing was known when the clock stopped: a caching
allocator settles within one. They are repeated and do not count."""
PAUSE_FACTOR, PAUSE_S = 2.0, 1e-3
"""A candidate that takes longer than the reference to answer between its rounds, by this factor and so much, does
something else there: it heats the device, say, whose clock falls in the reference's rounds too."""
TOUCH_S = 5e-4
"""So much longer, and by PAUSE_FACTOR, a trifle takes the device where a kernel of the candidate's waits there for its
next call: time slices take turns of some 2 ms (H200)."""
BUSY_AT = 80
"""The percentile that tells: the upper end of what calls one by one say is moved by a third of them."""
QUIET = 25
"""The percentile of the calls of a round that come one by one on a host which stands for them: what a busy host does to
half of them is no time of theirs, and who leaves out a quarter of them in half of the rounds is told all the same."""
EMPTY_STEPS = 8
"""So many empty calls tell what one costs that comes one by one on a host, of which the first is none and the last does
not count."""
MOST_BESIDES = 0.9
"""The share of calls whose answers count: a host takes its time for some."""
COLD_STEPS, COLD_SHARE = 3, 4
"""So many calls of a round that come one by one do not count, but no more than the most divided by that: after other
work on the device the first takes 0.2 ms longer, the second a quarter and the third some per cent (H200)."""
MOST_PAUSED_S, PAUSED_TIMES = 10.0, 4.0
"""One that was waited for between its rounds for so long in all, and so many times as long as the reference, has
failed: the device is held meanwhile."""
MOST_BETWEEN_S, COPIED_TIMES, SLOWED_TIMES = 40.0, 4.0, 4.0
"""Once the rounds of a measurement on a device lay so far apart nothing is timed: what a candidate left running
there slows all that the judge does between them. Usual are some 4 ms each, hundreds of them. Where memory is copied it
may be so many times that: a round of 4 GiB takes 0.6 s of copies. What it leaves may slow the reference's rounds
instead, or how contents are drawn: of these counts what is more than so many times what its calls take where there is
no candidate, and what drawing has taken at least."""
SLOW_SINGLES_S = 5.0
"""Single calls of a candidate that take so long together, and PAUSED_TIMES as long as the reference's and as its calls
in rounds, have failed: it waits for what it left running, say."""
FEWEST_SINGLES, MOST_SINGLE_S = 8, 0.25
"""What single calls of the reference take besides is what it takes to write and to verify them, milliseconds: where so
many took so much on average, nothing is timed. Kernels that span on made it 0.4 s (H200, November 2026)."""


class Device(Protocol):
    """What a clock needs of the device, apart from the subjects."""

    def evict(self) -> None:
        """Write over the last cache, and wait until the judge's own work is done."""

    def touch(self) -> None:
        """Have the device do a trifle, after whatever runs there now, and wait for it."""

    def awake(self) -> AbstractContextManager[None]:
        """Keep what the subjects run on from going to sleep between their rounds."""

    def glance(self) -> float:
        """Seconds until a trifle is done that goes before whatever the judge itself has queued there."""

    def trim(self) -> None:
        """Give memory that the judge keeps for later back to the device."""

    def settle(self) -> None:
        """Wait until nothing else uses the device, a few seconds at most."""

    def read(self) -> Reading | None:
        """Its state now; None where nothing tells."""


@dataclass
class Side:
    """One of two that take turns: a subject, and the sets that it alone has attached."""

    subject: Subject
    sets: InputSets


class Written(NamedTuple):
    """What a round's call was given: the slot, the contents that the judge wrote there, and their kind."""

    slot: int
    contents: Contents
    kind: str


Draw = Callable[[str, int], Together | Sequence[Contents]]
"""Makes the contents of a round: of a kind, for so many calls."""
Mark = Callable[[Side, Sequence[Written]], frozenset[int]]
"""Calls of a round that is about to begin that are to be verified whatever `choose` picks."""
Alike = Callable[[dict[int, Written]], None]
"""Raises where the reference lays out its outputs of one of these calls otherwise than it did before."""
Verify = Callable[[Subject, dict[int, Written], int], None]
"""Raises where the outputs of these calls of the subject's last round, run under that seed, are not right."""


class Alone(NamedTuple):
    """A call that came alone: what it was given, its seed, and its output when it was answered, in every way in which
    that can be read (`Subject.step_outputs`).
    """

    written: Written
    seed: int
    outputs: Sequence[Any]


VerifySteps = Callable[[Sequence[Alone]], None]
"""Raises where the outputs of these calls were not right, Unsettled where nothing tells."""


class Clock:
    """Runs rounds. What it writes and in which order nothing can know before it does."""

    def __init__(
        self,
        candidate: Side | None,
        base: str,
        draw: Draw,
        device: Device,
        *,
        verify: Verify | None = None,
        verify_steps: VerifySteps | None = None,
        intact: Callable[[Side, Sequence[int]], None] = lambda reference, slots: None,
        alike: Alike = lambda written: None,
        choose: Callable[[int, int], Iterable[int]] = lambda calls, rounds: (),
        mark: Mark = lambda side, written: frozenset(),
        reference_s: float = math.inf,
        own_seeds: bool = False,
        plain: bool = False,
    ) -> None:
        """`candidate` is the side that is verified, None once it is gone. `own_seeds`: each call that comes alone has
        one of its own. `plain`: outputs of the reference hold other things than tensors, so that of calls that come
        alone the last one is verified. `timing.measure` says the rest.
        """
        self._candidate, self._base, self._draw, self._device = candidate, base, draw, device
        self._verify, self._verify_steps, self._intact, self._alike = verify, verify_steps, intact, alike
        self._choose, self._mark = choose, mark
        self._reference_s, self._own_seeds, self._plain = reference_s, own_seeds, plain
        self._chance = random.SystemRandom()
        self._unsettled = self._unseen = 0
        self._began, self._drawn_s = math.inf, math.inf
        self.verifying_s = 0.0
        self._in_rounds_s = 0.0
        self._singles_s: list[float] = []
        self._calls_s: dict[int, list[float]] = {}
        self._touch_s: dict[int, list[float]] = {}
        self._one_by_one_s: dict[int, list[float]] = {}
        self.evict_s: dict[int, list[float]] = {}
        self.pause_s: dict[int, list[float]] = {}
        self._between = BetweenRounds(device)

    def round(self, side: Side, kind: str, samples: Samples | None, *, look: bool = False) -> None:
        """`samples` takes it down, and has it verified; `look` has it found out where outputs lie."""
        done = False
        while not done:
            order = self._order(side)
            written = self._write(side, order, kind)
            done = self._run(side, order, samples, written if samples is not None else [], kind, look=look)

    def empty_rounds(self, side: Side, *, after: Side | None = None, slots: int) -> list[float]:
        """Seconds of empty rounds, half of them after an empty one of another side.

        As it is in ABBA: a switch from the other's context costs more than one from its own. `slots` are written
        before, as for a round of so many calls: that costs something too.
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

    def beyond_spans(self, side: Side, spans_s: Sequence[float]) -> list[float]:
        """Median seconds that rounds of all calls take beyond a device that is busy for so long, for each of `spans_s`.

        Nothing is called in them: what differs from span to span is what waiting costs. For a side on a device, whose
        outputs were looked for before.
        """
        order = self._order(side)
        self._write(side, order, self._base)
        self._timed(side, order, order)
        beyond_s: list[list[float]] = [[] for _ in spans_s]
        for turn in range(SPUN_ROUNDS + 1):
            for span_s, found in zip(spans_s, beyond_s, strict=True):
                timed = self._timed(side, order, order, spin_ms=span_s * 1e3)
                assert timed is not None
                assert timed.device_ms is not None
                if turn:
                    found.append(timed.seconds - timed.device_ms / 1e3)
        side.subject.release()
        side.subject.freeze()
        return [median(found) for found in beyond_s]

    def single(self, side: Side, samples: Samples | None, *, kind: str | None = None, look: bool = False) -> None:
        """A round of one call, on contents of a kind, the base kind where none is said."""
        started, done, kind = time.monotonic(), False, kind or self._base
        while not done:
            order = self._order(side)[:1]
            written = self._write(side, order, kind)
            done = self._run(side, order, samples, written if samples is not None else [], kind, look=look)
        if samples is not None and side is not self._candidate and side.sets.on_device and not side.sets.is_copied:
            self._require_quick_singles(time.monotonic() - started)

    def require_explained(self, mine: Samples, theirs: Samples) -> None:
        """Raise SubjectFailed where single calls of the candidate take what neither those of the reference nor its
        calls in rounds explain.
        """
        calls = self._calls_s.get(id(self._candidate), ())
        if not calls or sum(mine.round_s) <= SLOW_SINGLES_S:
            return
        each_s, theirs_s = (sum(samples.round_s) / max(1, len(samples.round_s)) for samples in (mine, theirs))
        if each_s > PAUSED_TIMES * max(theirs_s, usual_s := median(calls)):
            detail = f"single calls of it took {each_s:.2g} s on average, and {usual_s:.2g} s each in rounds of several"
            raise SubjectFailed("timeout", detail)

    def _require_quick_singles(self, seconds: float) -> None:
        """Raise CannotBeTimed where single calls of the reference take longer than anything of its own explains."""
        self._singles_s.append(seconds)
        each_s = sum(self._singles_s) / len(self._singles_s)
        if len(self._singles_s) >= FEWEST_SINGLES and each_s > MOST_SINGLE_S + self._most_s(1):
            raise CannotBeTimed(
                f"the device was busy with other work: single calls of the reference took {each_s:.2g} s"
            )

    def stepped(
        self, side: Side, kind: str, samples: Samples, *, most: int, calls: int | None = None, copies: int = 1
    ) -> None:
        """A round in which contents of a kind are shown call by call, each once the call before is done. How many
        `calls` is drawn, and drawn anew for one that is repeated, where it is not said.

        What is taken down is the median of its calls in seconds, on a host what QUIET says: without the first, where
        there are more than two, and without the last. That one is held and verified, and some before it by what was
        read when they were answered; how many `calls` there are, of at most `most`, the side does not know before. So
        contents of the most are written: how long a side was stopped would else tell. Of a single call nothing is taken
        down: it is there because the first of several could else never be the last.

        On a host counts as work besides what it takes until the first is done, too, beyond a usual one, and all of it
        for each call that it can have been done for: half of the most, because less moves no median.

        On a device nothing is taken down of the first COLD_STEPS calls, and the last counts. Work besides is what a
        call takes until it is answered, once its output is there, which is looked at by so many `copies`.
        """
        done = False
        while not done:
            count = calls or self._chance.randint(1, most)
            if side.sets.on_device:
                done = self._stepped_on_device(side, kind, samples, count, most, copies)
            else:
                done = self._stepped(side, kind, samples, count, most)

    def empty_steps(self, reference: Side, *, most: int) -> float:
        """Seconds that a call takes on a host which comes one by one, besides itself: in a round of `stepped` in which
        no model is called, by the percentile that stands for it. 0 where contents are copied by messages.
        """
        if reference.sets.is_copied:
            return 0.0
        order = self._order(reference)[: min(most, EMPTY_STEPS)]
        written = self._write(reference, order, self._base)
        self._device.evict()
        self._wake(reference)
        seed, own_seeds = self._seeds(len(written))
        reference.subject.expect_steps(order, seed=None if own_seeds else seed, empty=True)
        seeds = own_seeds or [seed] * len(written)
        _, seconds = self._steps(reference, order, written, seeds, empty=True)
        reference.subject.release()
        reference.subject.freeze()
        return percentile(seconds[1:-1] or seconds[1:] or [0.0], QUIET)

    def _seeds(self, count: int) -> tuple[int, list[int]]:
        """One for all calls of a round, and one for each where they have their own."""
        own = [self._chance.getrandbits(62) for _ in range(count)] if self._own_seeds else []
        return self._chance.getrandbits(62), own

    def _stepped_on_device(self, side: Side, kind: str, samples: Samples, count: int, most: int, copies: int) -> bool:
        order = self._order(side)[:most]
        written = self._write(side, order, kind)[:count]
        subject, (seed, own_seeds) = side.subject, self._seeds(count)
        if not subject.copies_of_a_look():
            if side is self._candidate and side.sets.plain_of([0]) is None:
                raise SubjectFailed("protocol", "described outputs that no copy can look at, and others before")
            raise CannotBeTimed("what calls are given besides tensors was drawn anew for the first time after many")
        staged = side.sets.stage(order)[:count]
        self._device.evict()
        self._between.ends()
        self._wake(side)
        stepped = subject.steps(staged, seed=seed, own_seeds=own_seeds, copies=copies)
        self._in_rounds_s += sum(stepped.call_s) + sum(stepped.besides_s)
        self.pause_s[id(side)][-1] += stepped.waited_s
        self._took_one_by_one(side, list(map(operator.add, stepped.call_s, stepped.besides_s)))
        subject.settle()
        if stepped.anew and side is not self._candidate:
            raise CannotBeTimed(SHAPES_VARY)
        if stepped.anew:
            self._alike({0: written[len(stepped.call_s) - 1]})
            raise LaidOutAnew("named another number of outputs than it had described before")
        seeds = own_seeds or [seed] * count
        some = self._some_steps(count) if stepped.settled else []
        settled = self._verified_steps(side, written, seeds, some)
        if not stepped.settled:
            subject.survey([0])
        self._let_go(side)
        cold = min(COLD_STEPS, max(1, most // COLD_SHARE))
        self._touch_s.setdefault(id(side), []).append(stepped.touch_s)
        if not settled or self._must_settle(stepped):
            return False
        if count > cold:
            samples.round_s.append(median(stepped.call_s[cold:]))
            usual = sorted(stepped.besides_s[cold:])  # a mean: the judge looks now and then, so that it is one of two
            samples.aside_s.append(fmean(usual[: math.ceil(len(usual) * MOST_BESIDES)]))
            samples.loop_s.append(subject.loop_s())
            samples.nominal.append(kind == self._base)
            samples.kinds.append(kind)
        return True

    def _some_steps(self, count: int) -> list[int]:
        """Which calls that come one by one are verified, before the last of so many."""
        if self._plain:  # nothing says which numbers a call had
            return []
        return sorted(self._chance.sample(range(count - 1), min(VERIFIED_STEPS, count - 1)))

    def _verified_steps(
        self, side: Side, written: Sequence[Written], seeds: Sequence[int], some: Sequence[int]
    ) -> bool:
        """`_verified` of the last of calls that came one by one, and of some before it."""
        if not self._verify:
            return True
        with self._verifying():
            before: list[Alone] = []
            if self._verify_steps is not None and side is self._candidate:  # while memory is there to read them in
                outputs = side.subject.step_outputs(some)
                if len(outputs) < len(some):  # whatever it says that its outputs hold
                    return self._unsettled_round()
                before = [Alone(written[call], seeds[call], ways) for call, ways in outputs.items()]
            if not self._verified(side, {0: written[-1]}, seeds[-1]):
                return False
            try:
                if self._verify_steps is not None and before:
                    with self._asking_the_reference(len(before)):
                        self._verify_steps(before)
            except Unsettled:
                return self._unsettled_round()
        return True

    @contextmanager
    def _verifying(self) -> Iterator[None]:
        started = time.monotonic()
        yield
        self.verifying_s += time.monotonic() - started

    def _took_one_by_one(self, side: Side, seconds: Sequence[float]) -> None:
        """Raise SubjectFailed where the candidate's calls one by one take what neither the reference's nor its calls in
        rounds explain.
        """
        self._one_by_one_s.setdefault(id(side), []).extend(seconds)
        if side is not self._candidate or sum(self._one_by_one_s[id(side)]) <= SLOW_SINGLES_S:
            return
        mine_s = fmean(self._one_by_one_s.pop(id(side)))
        others = [fmean(taken) for taken in self._one_by_one_s.values()]
        usual = [median(taken) for taken in self._calls_s.values()]
        if mine_s > PAUSED_TIMES * max([*others, *usual, 0.0]):
            raise SubjectFailed("timeout", f"calls of it took {mine_s:.2g} s on average where they came one by one")

    def _must_settle(self, stepped: Stepped) -> bool:
        """Whether a round of the reference does not count yet, whose outputs lay where the judge could not see them.

        One of the candidate's was not verified then. After some the calls took until they were answered.
        """
        self._unseen += not stepped.settled
        return not stepped.settled and self._unseen <= MOST_UNSETTLED

    def _stepped(self, side: Side, kind: str, samples: Samples, count: int, most: int) -> bool:
        order = self._order(side)[:most]
        written = self._write(side, order, kind)[:count]
        subject, (seed, own_seeds) = side.subject, self._seeds(count)
        self._device.evict()
        subject.aside_s()
        started = time.monotonic()
        self._wake(side)
        subject.expect_steps(order, seed=None if own_seeds else seed)
        seeds = own_seeds or [seed] * count
        first_s, seconds = self._steps(side, order, written, seeds)
        is_told = not (side.sets.is_copied or self._plain)
        settled = self._verified_steps(side, written, seeds, [*self._some_steps(count), count - 1] if is_told else [])
        if not settled:
            subject.survey([0])
        subject.release()
        subject.freeze()
        if settled and count > 1:
            usual_s = percentile(seconds[1:-1] or seconds[:-1], QUIET)
            samples.round_s.append(usual_s)
            samples.aside_s.append((subject.aside_s() + first_s - started - usual_s) / ((most + 1) // 2))
            samples.nominal.append(kind == self._base)
            samples.kinds.append(kind)
        return settled

    def _steps(
        self,
        side: Side,
        order: Sequence[int],
        written: Sequence[Written],
        seeds: Sequence[int],
        *,
        empty: bool = False,
    ) -> tuple[float, list[float]]:
        """When the first call was over, and the seconds of each, from when its contents began to be shown. What it
        takes until the side is stopped after the last is none of these, and no more to be waited for.
        """
        first_s, seconds = 0.0, list[float]()
        for call, (slot, seed) in enumerate(zip(order, seeds, strict=False)):
            begins = time.monotonic()
            side.sets.reveal([slot])
            try:
                over_s = side.subject.step(slot, seed=seed, last=call == len(seeds) - 1)
            except LaidOutAnew:
                if side is not self._candidate:
                    raise CannotBeTimed(SHAPES_VARY) from None
                self._alike({0: written[call]})
                raise
            first_s = first_s or over_s
            seconds.append(over_s - begins)
            if not empty:
                self._took_one_by_one(side, [time.monotonic() - begins])
        return first_s, seconds

    def paused(self, candidate: Side, reference: Side) -> bool:
        """Whether the candidate's answers between rounds took longer than the reference's, or the device's between its
        calls.
        """
        mine, theirs = (median(self.pause_s[id(side)]) for side in (candidate, reference))
        return mine > PAUSE_FACTOR * theirs + PAUSE_S or self._kept_busy(candidate, reference)

    def _kept_busy(self, candidate: Side, reference: Side) -> bool:
        """Whether the device did other work while the candidate waited for a call."""
        mine_s, theirs_s = (self._touch_s.get(id(side)) for side in (candidate, reference))
        if not mine_s or not theirs_s:
            return False
        return percentile(mine_s, BUSY_AT) > PAUSE_FACTOR * median(theirs_s) + TOUCH_S

    def _require_answers(self) -> None:
        """Raise SubjectFailed where the candidate kept the judge waiting between its rounds."""
        if self._candidate is None:
            return
        sums = {side: sum(pauses) for side, pauses in self.pause_s.items()}
        mine_s = sums.pop(id(self._candidate), 0.0)
        if mine_s > MOST_PAUSED_S and mine_s > PAUSED_TIMES * (theirs_s := sum(sums.values())):
            waited = f"took {mine_s:.0f} s to answer between its rounds, for which the reference took {theirs_s:.1g} s"
            raise SubjectFailed("timeout", waited)

    def _require_room(self, side: Side) -> None:
        """Raise CannotBeTimed where what lies between rounds took too long on a device, whoever is at fault."""
        between_s = time.monotonic() - self._began - self._in_rounds_s
        most_s = MOST_BETWEEN_S * (COPIED_TIMES if side.sets.is_copied else 1.0)
        if side.sets.on_device and between_s > most_s:
            raise CannotBeTimed(f"the device was busy with other work for {between_s:.0f} s between rounds")

    @contextmanager
    def _asking_the_reference(self, calls: int) -> Iterator[None]:
        """What computing what is expected of so many calls takes is no other work: a reference may take long."""
        started = time.monotonic()
        try:
            yield
        finally:
            self._in_rounds_s += min(time.monotonic() - started, self._most_s(calls))

    def _most_s(self, calls: int) -> float:
        """What so many calls of the reference may take before more of it counts as other work."""
        return SLOWED_TIMES * self._reference_s * calls if calls else 0.0

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
        """All slots in an order that nothing can know: of a generator of its own, for the kernel's takes its time for
        hundreds.
        """
        order = list(range(side.sets.count))
        random.Random(self._chance.getrandbits(256)).shuffle(order)
        return order

    def _write(self, side: Side, order: Sequence[int], kind: str) -> list[Written]:
        started = time.monotonic()
        written = self._draw_and_write(side, order, kind)
        self._between.look(last=True)
        if order:
            seconds = time.monotonic() - started
            self._drawn_s = min(self._drawn_s, seconds / len(order))
            self._in_rounds_s += min(seconds, SLOWED_TIMES * self._drawn_s * len(order))
        return written

    def _draw_and_write(self, side: Side, order: Sequence[int], kind: str) -> list[Written]:
        self._between.look()
        drawn = self._draw(kind, len(order))
        self._between.look()
        if isinstance(drawn, Together):
            slots = sorted(order)  # one is drawn like another, and all slots in their order are one copy
            side.sets.write_together(slots, drawn.get())
            place = {slot: place for place, slot in enumerate(slots)}
            return [Written(slot, drawn.of(place[slot]), kind) for slot in order]
        written = []
        for slot, contents in zip(order, drawn, strict=True):
            side.sets.write(slot, contents.get())
            contents.forget()
            self._between.look()
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
        marked: frozenset[int] = frozenset()
        if written:
            with self._asking_the_reference(len(written)):
                marked = self._mark(side, written)
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
        self._let_go(side)
        if samples is not None and settled:
            samples.round_s.append(timed.seconds)
            samples.nominal.append(kind == self._base)
            samples.kinds.append(kind)
            samples.worked_s.append(timed.worked_s)
            samples.aside_s.append(side.subject.aside_s())
            samples.between_s.append(timed.between.seconds)
            samples.busy_s.append(timed.between.busy_s)
            samples.loop_s.append(side.subject.loop_s())
            if timed.device_ms is not None:
                samples.device_ms.append(timed.device_ms / len(order))
            reading = self._device.read()
            if reading is not None:
                samples.readings.append(reading)
        return settled

    def _let_go(self, side: Side) -> None:
        """Let go of a round's outputs, and hold the side. Raises where what lies between rounds took too long."""
        started = time.monotonic()
        side.subject.release()
        self.pause_s[id(side)][-1] += time.monotonic() - started - side.subject.loop_s()
        self._require_answers()
        side.subject.freeze()
        if side.sets.on_device and self._candidate is not None:
            self._between.begins(id(side))
        self._require_room(side)

    def _verified(self, side: Side, chosen: dict[int, Written], seed: int) -> bool:
        """Whether what was to be verified could be, and was right. The reference is asked alike, and believed."""
        assert self._verify is not None
        if side is not self._candidate:
            with suppress(Unsettled, LaidOutAnew):
                self._ask_alike(side, list(chosen))
            self._intact(side, [of.slot for of in chosen.values()])
            return True
        try:
            self._kept(side, chosen)
            with self._asking_the_reference(len(chosen)):
                self._verify(side.subject, chosen, seed)
        except (Unsettled, LaidOutAnew) as failed:
            self._alike(chosen)
            if isinstance(failed, LaidOutAnew):
                raise
            return self._unsettled_round()
        return True

    def _ask_alike(self, reference: Side, calls: Sequence[int]) -> None:
        """Ask the reference what a candidate is asked that is verified. On a device it is spared the reading, of which
        its process sees nothing there.
        """
        if reference.sets.on_device and not reference.sets.is_copied:
            reference.subject.spoil()
            reference.subject.survey(calls)
        else:
            self._kept(reference, calls)
            reference.subject.outputs(calls)

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

    def _timed(
        self, side: Side, order: Sequence[int], slots: Sequence[int], *, spin_ms: float | None = None
    ) -> "_Timed | None":
        """Show `slots`, evict, say go, wait, stop. None where it ran while it was stopped, with what it saw then.

        On a device what was queued before sees contents though the worker is stopped: they are shown while the clock
        runs, to a worker that is awake. On a host nothing follows the judge's copy while all tasks are stopped, which
        takes as long as a call may: there the clock starts once it is done, and the worker is woken while it runs.
        """
        seed = self._chance.getrandbits(62)
        subject, sets = side.subject, side.sets
        self._began = min(self._began, time.monotonic())
        subject.aside_s()
        subject.look_for(len(order))
        self._device.touch()  # drawing may still go on
        self._between.ends()
        between = self._between.taken(id(side))
        started = time.monotonic()
        self._device.evict()
        self.evict_s.setdefault(id(side), []).append(time.monotonic() - started)
        if sets.on_device:
            self._wake(side)
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
        result = subject.round(order, seed=seed, hold=True, spin_ms=spin_ms)
        if not result.gathered:
            self._device.touch()
        seconds = time.monotonic() - started
        subject.settle()
        if len(order) > 1:
            self._calls_s.setdefault(id(side), []).append(seconds / len(order))
        self._in_rounds_s += seconds if side is self._candidate else min(seconds, self._most_s(len(order)))
        worked_s = seconds if result.worked_s is None else min(seconds, result.worked_s)
        return _Timed(seconds, result.device_ms, seed, worked_s, between)


@dataclass(frozen=True)
class _Timed:
    """A round: its seconds by the judge's clock, its device milliseconds, what it was seeded with, the seconds of it
    that were work, and what lay before it.
    """

    seconds: float
    device_ms: float | None
    seed: int
    worked_s: float
    between: Between
