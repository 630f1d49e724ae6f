"""Timing: rounds of candidate and reference in turn, by the judge's own monotonic clock.

One round: the judge writes fresh contents into N input sets, evicts them from the last cache, says *go*; the subject
calls its model once per set, waits for its device and says *done*. Rounds alternate ABBA, so that drift cancels.
Contents never repeat, and the outputs of randomly chosen rounds are compared like those of any trial.

A round costs something even when it calls nothing: the hand-over, and on a GPU the switch from the judge's context
to the worker's (about 0.15 ms on an H200, within 3 microseconds when both sides wait awake; up to 0.6 ms, and
unsteady, when a core has to be woken). That cost is measured by empty rounds of the reference, whose process runs no
candidate code, and taken off both sides. N is chosen so that it stays a small part of a round.
"""

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from harness.judge.inputs import InputSets
from harness.judge.statistics import conclusion, ratio_of_medians
from harness.judge.subject import Subject
from harness.schema.record import Timing

ROUND_S = 4e-3
"""What a round should last at least, so that a hand-over known to a few microseconds is known well enough."""
MAX_SETS = 256
MIN_ROUNDS = 10
MAX_ROUNDS = 200
WARM_UP_ROUNDS = 2
EMPTY_ROUNDS = 8
INTERVAL_WIDTH = 0.01
"""Rounds stop once the interval of the speed-up is narrower than this share of it."""
VERIFIED_SHARE = 0.3


@dataclass(frozen=True)
class Plan:
    """How much to measure. `budget_s` bounds the rounds, `bytes_budget` what input sets and outputs may take."""

    budget_s: float = 2.0
    bytes_budget: int = 8 << 30


@dataclass
class Samples:
    """One figure a round, in the order taken: its seconds, and device milliseconds of one call."""

    round_s: list[float] = field(default_factory=list)
    device_ms: list[float] = field(default_factory=list)

    def call_ms(self, hand_over_s: float, calls: int) -> list[float]:
        """Milliseconds of one call. No less than a tenth of what was measured, should the hand-over be overrated."""
        return [max(seconds - hand_over_s, seconds / 10) / calls * 1e3 for seconds in self.round_s]


def sets_for(call_s: float, set_bytes: int, output_bytes: int, plan: Plan) -> int:
    """How many input sets a round needs: enough calls to outweigh the hand-over, within memory."""
    wanted = math.ceil(ROUND_S / max(call_s, 1e-7))
    affordable = plan.bytes_budget // max(1, set_bytes + output_bytes)
    return max(1, min(wanted, affordable, MAX_SETS))


def measure(
    candidate: Subject,
    reference: Subject,
    sets: InputSets,
    *,
    draw: Callable[[], list[Any]],
    evict: Callable[[], None],
    verify: Callable[[Subject, dict[int, list[Any]]], None],
    plan: Plan,
) -> Timing:
    """Time two subjects side by side; both have `sets` attached.

    `draw` makes the arguments of one call, `evict` empties the last cache and waits for the judge's own device,
    `verify` raises where the candidate's outputs of the round just run are not the reference's. Raises
    `SubjectFailed` where a subject fails.
    """
    slots = list(range(sets.count))
    empty_s: list[float] = []
    taken = {id(candidate): Samples(), id(reference): Samples()}

    def empty_round(*, after_candidate: bool) -> None:
        if after_candidate:
            candidate.round([])
        reference.attend()
        for slot in slots:
            sets.write(slot, draw())
        evict()
        empty_s.append(reference.round([]).seconds)
        reference.release()

    def one_round(subject: Subject, *, keep: bool, check: bool) -> None:
        subject.attend()
        written: dict[int, list[Any]] = {}
        chosen = random.SystemRandom().choice(slots)
        for slot in slots:
            fresh = draw()
            sets.write(slot, fresh)
            if check and slot == chosen:
                written[slot] = fresh
        evict()
        result = subject.round(slots)
        if check:
            verify(subject, written)
        subject.release()
        if keep:
            samples = taken[id(subject)]
            samples.round_s.append(result.seconds)
            if result.device_ms is not None:
                samples.device_ms.append(result.device_ms / len(slots))

    for _ in range(WARM_UP_ROUNDS):
        one_round(candidate, keep=False, check=False)
        one_round(reference, keep=False, check=False)
    for turn in range(EMPTY_ROUNDS):  # half of them after the other's round, as in ABBA: the switch costs more then
        empty_round(after_candidate=turn % 2 == 0)
    hand_over_s = _median(empty_s)
    started = time.monotonic()
    chance = random.SystemRandom()
    mine, theirs = taken[id(candidate)], taken[id(reference)]
    while True:
        # Whose round came before tells in the next one, and so does the pause for the statistics: ABBA and then BAAB
        # share both out.
        first, second = (candidate, reference) if len(mine.round_s) % 4 == 0 else (reference, candidate)
        for subject in (first, second, second, first):
            one_round(subject, keep=True, check=subject is candidate and chance.random() < VERIFIED_SHARE)
        rounds = len(mine.round_s)
        mine_ms, theirs_ms = (samples.call_ms(hand_over_s, len(slots)) for samples in (mine, theirs))
        speedup = ratio_of_medians(theirs_ms, mine_ms)
        narrow = speedup.high - speedup.low <= INTERVAL_WIDTH * speedup.value
        late = time.monotonic() - started >= plan.budget_s
        if rounds >= MIN_ROUNDS and (narrow or late or rounds >= MAX_ROUNDS):
            break
    one_round(candidate, keep=False, check=True)  # so that no run is without a verified round
    return Timing(
        candidate_ms=_median(mine_ms),
        reference_ms=_median(theirs_ms),
        speedup=speedup,
        conclusion=conclusion(speedup),
        rounds=rounds,
        calls_per_round=sets.count,
        hand_over_ms=hand_over_s * 1e3,
        candidate_samples_ms=tuple(mine_ms),
        reference_samples_ms=tuple(theirs_ms),
        candidate_device_ms=_median(mine.device_ms) if mine.device_ms else None,
        reference_device_ms=_median(theirs.device_ms) if theirs.device_ms else None,
    )


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
