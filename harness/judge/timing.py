"""Timing: rounds of candidate and reference in turn, by the judge's own monotonic clock.

One round: the judge writes fresh contents into N input sets while the subject is frozen, wakes the subject, shows it
the contents, evicts them from the last cache and says *go*; the subject calls its model once per set, waits for its
device and says *done*; the judge has the device do a trifle of its own, and only then the clock stops: what a subject
left running on the device came first, and counts. Then it is frozen again. Rounds alternate ABBA, so that drift
cancels, and whose turn comes first is drawn. Contents and the order of the slots never repeat, and the last output and
random ones of randomly chosen rounds are compared as they stood when the clock stopped.

A round costs something beyond its calls: the hand-over, and on a GPU the switches between the judge's context and
the worker's (about 0.15 ms each on an H200). That cost is measured on the reference, whose process runs no candidate
code, and taken off both sides. On a GPU it is what the reference's rounds take beyond the span between two device
events, one before its first call and one after its last; where there are none, what empty rounds take. N is chosen so
that it stays a small part of a round.

Empty rounds would not do on a GPU: two processes that waited some milliseconds for the device find their caches taken
by others, and the round costs 0.02 to 0.4 ms more than one that is over at once (H200, November 2026).
"""

import math
import random
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Protocol

from harness.judge.failure import SubjectFailed
from harness.judge.inputs import Contents, InputSets
from harness.judge.statistics import conclusion, median_ratio, with_repeatability
from harness.judge.subject import Subject, Unsettled
from harness.schema.record import Conditions, Timing, TraceWhen

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
VERIFIED_SHARE = 0.5
MOST_UNSETTLED = 3
"""So many verified rounds of a measurement may have outputs that lie where nobody could know when the clock stopped: a
caching allocator settles within one. They are repeated and do not count."""
SINGLE_CALLS = 15
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

    `singles`: time short calls one at a time as well; `trace`: when to look which kernels ran. `memory_bytes` is what
    the device had free before anything of this was laid out: where that does not hold the outputs of both subjects,
    one gives its own back before the other's turn.
    """

    budget_s: float = 2.0
    bytes_budget: int = 8 << 30
    singles: bool = False
    trace: TraceWhen = "never"
    memory_bytes: int = 1 << 62


@dataclass(frozen=True)
class Reading:
    """The device's state at one moment: MHz, degrees Celsius, watts, and why its clock is lowered, if it is."""

    sm_mhz: float
    memory_mhz: float
    temperature_c: float
    power_w: float
    throttle: tuple[str, ...] = ()


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

    def read(self) -> Reading | None:
        """Its state now; None where nothing tells."""


@dataclass
class Samples:
    """One figure a round, in the order taken: its seconds, device milliseconds of one call, the device's state."""

    round_s: list[float] = field(default_factory=list)
    device_ms: list[float] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)

    def beyond_events_s(self, calls: int) -> list[float]:
        """Seconds that each round of so many calls took beyond the span between its device events."""
        return [seconds - ms * calls / 1e3 for seconds, ms in zip(self.round_s, self.device_ms, strict=True)]

    def call_ms(self, hand_over_s: float, calls: int) -> list[float]:
        """Milliseconds of one call. No less than a tenth of what was measured, should the hand-over be overrated."""
        return [max(seconds - hand_over_s, seconds / 10) / calls * 1e3 for seconds in self.round_s]


@dataclass(frozen=True)
class Written:
    """What a round's call was given: the slot, and the contents that the judge wrote there."""

    slot: int
    contents: Contents


Verify = Callable[[Subject, dict[int, Written], int], None]
"""Raises where the outputs of these calls of the subject's last round, run under that seed, are not right."""


@dataclass(frozen=True)
class Measured:
    """The timing, and the median seconds that the judge's own eviction took before the rounds of one side, the longer.

    What a candidate keeps the device busy with may stop for its own rounds and go on in the other's.
    """

    timing: Timing
    evict_s: float


def sets_for(candidate_s: float, reference_s: float, set_bytes: int, output_bytes: int, plan: Plan) -> int:
    """How many input sets a round needs: enough calls of so many seconds to outweigh the hand-over, within memory."""
    wanted = math.ceil(max(ROUND_S / min(candidate_s, reference_s), BOTH_ROUNDS_S / (candidate_s + reference_s)))
    affordable = plan.bytes_budget // max(1, set_bytes + output_bytes)
    return max(1, min(wanted, affordable, MAX_SETS))


def measure(
    candidate: Subject,
    reference: Subject,
    sets: InputSets,
    *,
    draw: Callable[[], Contents],
    device: Device,
    plan: Plan,
    tight: bool = False,
    verify: Verify | None = None,
    choose: Callable[[int], Iterable[int]] = lambda calls: (),
) -> Measured:
    """Time two subjects side by side; both have `sets` attached.

    `draw` makes the arguments of one call. `verify` is asked about the calls that `choose` picks of a round of so
    many calls; where it is None nothing is verified. `tight`: the outputs of both do not fit into memory. Raises
    `SubjectFailed` where a subject fails.
    """
    with device.awake():
        clock = _Clock(candidate, sets, draw, device, verify, choose)
        taken = {id(candidate): Samples(), id(reference): Samples()}
        last: Subject | None = None

        def one_round(subject: Subject, *, keep: bool = True, check: bool = False, look: bool = False) -> None:
            nonlocal last
            if tight and last is not subject:
                other = reference if subject is candidate else candidate
                other.release(trim=True)
                other.freeze()
                last = subject
                one_round(subject, keep=False, look=True)  # which asks for the memory anew
            last = subject
            clock.round(subject, taken[id(subject)] if keep else None, check=check, look=look)

        for _ in range(WARM_UP_ROUNDS):
            one_round(candidate, look=True)
            one_round(reference, look=True)
        has_events = bool(taken[id(reference)].device_ms)
        empty_s = None if has_events else clock.hand_over(candidate, reference, slots=sets.count)
        mine, theirs = taken[id(candidate)], taken[id(reference)] = Samples(), Samples()
        started = time.monotonic()
        chance = random.SystemRandom()
        first, second = candidate, reference
        while True:
            # Whose round came before tells in the next one, and so does the pause for the statistics: ABBA and then
            # BAAB share both out. Which of them comes first nobody can know, or he could leave work for the other.
            if len(mine.round_s) % 4 or chance.random() < 0.5:
                first, second = second, first
            for subject in (first, second, second, first):
                one_round(subject, check=chance.random() < VERIFIED_SHARE)
            rounds = len(mine.round_s)
            hand_over_s = median(theirs.beyond_events_s(sets.count)) if empty_s is None else empty_s
            mine_ms, theirs_ms = (samples.call_ms(hand_over_s, sets.count) for samples in (mine, theirs))
            speedup = median_ratio(theirs_ms, mine_ms)
            width = (speedup.high - speedup.low) / speedup.value
            short = plan.singles and median(mine_ms) < LAUNCH_BOUND_S * 1e3
            patience = LAUNCH_PATIENCE if short and width > LAUNCH_WIDTH else 1.0
            narrow = width <= INTERVAL_WIDTH
            late = time.monotonic() - started >= plan.budget_s * patience
            if rounds >= MIN_ROUNDS and (narrow or late or rounds >= MAX_ROUNDS):
                break
        stated = with_repeatability(speedup, median(mine_ms), median(theirs_ms))
        evict_s = max(median(seconds) for seconds in clock.evict_s.values())
        alone: list[float | None] = [None, None]
        if short:
            single_s = clock.hand_over(candidate, reference, slots=1)
            alone = [clock.single_calls(subject, single_s) for subject in (candidate, reference)]
        if tight:
            reference.release(trim=True)
        clock.split_round(candidate)
        timing = Timing(
            candidate_ms=median(mine_ms),
            reference_ms=median(theirs_ms),
            speedup=stated,
            conclusion=conclusion(stated),
            rounds=rounds,
            calls_per_round=sets.count,
            hand_over_ms=hand_over_s * 1e3,
            candidate_samples_ms=tuple(mine_ms),
            reference_samples_ms=tuple(theirs_ms),
            candidate_device_ms=median(mine.device_ms) if mine.device_ms else None,
            reference_device_ms=median(theirs.device_ms) if theirs.device_ms else None,
            candidate_single_ms=alone[0],
            reference_single_ms=alone[1],
            conditions=conditions(mine.readings, theirs.readings),
        )
        return Measured(timing, evict_s)


class _Clock:
    """Runs rounds. What it writes and in which order nobody can know before it does."""

    def __init__(
        self,
        candidate: Subject,
        sets: InputSets,
        draw: Callable[[], Contents],
        device: Device,
        verify: Verify | None,
        choose: Callable[[int], Iterable[int]],
    ) -> None:
        self._candidate, self._sets, self._draw, self._device = candidate, sets, draw, device
        self._verify, self._choose = verify, choose
        self._chance = random.SystemRandom()
        self._unsettled = 0
        self.evict_s: dict[int, list[float]] = {}

    def round(self, subject: Subject, samples: Samples | None, *, check: bool, look: bool) -> None:
        """`check` has its outputs verified; `look` has it found out where they lie, of both sides alike."""
        done = False
        while not done:
            order = self._order()
            calls = set(self._choose(len(order))) if check and self._verify else set()
            written = self._write(order, keep=calls)
            done = self._run(subject, order, samples, written, look=look)

    def hand_over(self, candidate: Subject, reference: Subject, *, slots: int) -> float:
        """Median seconds of an empty round of the reference, half of them after an empty one of the candidate.

        So it is in ABBA: a switch from the other's context costs more than one from its own. `slots` are written
        before, as for a round of so many calls: that costs something too.
        """
        seconds = []
        for turn in range(EMPTY_ROUNDS):
            if turn % 2 == 0:
                self._timed(candidate, [])
                candidate.release()
                candidate.freeze()
            self._write(self._order()[:slots], keep=())
            seconds.append(self._timed(reference, [])[0])
            reference.release()
            reference.freeze()
        return median(seconds)

    def single_calls(self, subject: Subject, hand_over_s: float) -> float:
        """Milliseconds of a call that is alone in its round, from idle to idle, as a user waits for it.

        The lower quartile: who else is on the machine can only make it longer.
        """
        samples = Samples()
        for _ in range(SINGLE_CALLS):
            order = self._order()[:1]
            self._write(order, keep=())
            self._run(subject, order, samples, {})
        lower_quartile = sorted(samples.round_s)[SINGLE_CALLS // 4]
        return max(lower_quartile - hand_over_s, SHORTEST_CALL_S) * 1e3

    def split_round(self, subject: Subject) -> None:
        """A verified round whose second half gets other contents once its first half is done.

        Whoever computed the whole round on its first call now has outputs of contents that are no longer there.
        """
        done = False
        while not done:
            order = self._order()
            self._write(order, keep=())
            half = len(order) // 2
            if half:
                self._run(subject, order[:half], None, {})
            rest = order[half:]
            calls = set(self._choose(len(rest))) if self._verify else set()
            done = self._run(subject, rest, None, self._write(rest, keep=calls))

    def _order(self) -> list[int]:
        order = list(range(self._sets.count))
        self._chance.shuffle(order)
        return order

    def _write(self, order: Sequence[int], *, keep: Iterable[int]) -> dict[int, Written]:
        written = {}
        for call, slot in enumerate(order):
            contents = self._draw()
            self._sets.write(slot, contents.get())
            if call in keep:
                written[call] = Written(slot, contents)
                contents.spare()
        return written

    def _run(
        self,
        subject: Subject,
        order: Sequence[int],
        samples: Samples | None,
        written: dict[int, Written],
        *,
        look: bool = False,
    ) -> bool:
        """One round on what is written. False where it was to be verified and could not be: it does not count."""
        seconds, device_ms, seed = self._timed(subject, order)
        settled = True
        if written and self._verify:
            subject.snapshot(sorted(written))
            if subject is self._candidate:
                settled = self._verified(written, seed)
            else:
                _ask_alike(subject, written)
        if look or not settled:
            subject.survey(range(len(order)))
        subject.release()
        subject.freeze()
        if samples is not None and settled:
            samples.round_s.append(seconds)
            if device_ms is not None:
                samples.device_ms.append(device_ms / len(order))
            reading = self._device.read()
            if reading is not None:
                samples.readings.append(reading)
        return settled

    def _verified(self, written: dict[int, Written], seed: int) -> bool:
        """Whether what was to be verified could be, and was right."""
        assert self._verify is not None
        try:
            self._verify(self._candidate, written, seed)
        except Unsettled:
            self._unsettled += 1
            if self._unsettled > MOST_UNSETTLED:
                detail = "its outputs lay elsewhere or otherwise each time, so that they could not be read in time"
                raise SubjectFailed("protocol", detail) from None
            return False
        return True

    def _timed(self, subject: Subject, order: Sequence[int]) -> tuple[float, float | None, int]:
        """Evict, say go, wait: the seconds of the round, its device milliseconds, and the seed it ran under."""
        seed = self._chance.getrandbits(62)
        self._device.touch()
        if self._sets.hidden:  # the subject's core wakes up meanwhile; there is nothing yet to begin early with
            subject.wake()
            _stay_awake(WAKE_S)
            self._sets.reveal()
        started = time.monotonic()
        self._device.evict()
        self.evict_s.setdefault(id(subject), []).append(time.monotonic() - started)
        if not self._sets.hidden:
            subject.wake()
        result = subject.round(order, seed=seed)
        done = time.monotonic()
        self._device.touch()
        tail_s = time.monotonic() - done
        subject.freeze()
        return result.seconds + tail_s, result.device_ms, seed


def _ask_alike(subject: Subject, written: Iterable[int]) -> None:
    """Ask the reference what the candidate is asked about outputs, so that the two processes are equally warm."""
    with suppress(Unsettled):
        for call in written:
            subject.outputs([call])


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


def median(values: Sequence[float]) -> float:
    """The median of at least one value."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
