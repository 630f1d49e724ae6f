"""Measurement: how a candidate that is right so far is timed beside the reference, from a first guess to the reference
alone. The rounds themselves are `timing`'s, what is verified of them is `verification`'s.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from typing import Any

from harness.judge.bench import OnBench
from harness.judge.comparison import Comparison
from harness.judge.contents_by_kind import ContentsByKind
from harness.judge.failure import SubjectFailed
from harness.judge.inputs import Contents, InputSets, without_contents
from harness.judge.outputs_seen import OutputsSeen
from harness.judge.progress import Progress
from harness.judge.reference_alone import beside_and_alone
from harness.judge.rounds import Side
from harness.judge.subject import Subject, Trace
from harness.judge.timing import (
    MIN_ROUNDS,
    QUICK_ROUNDS,
    ROUND_S,
    Measured,
    Plan,
    measure,
    sets_for,
)
from harness.judge.together import MOST_BYTES, MOST_DEVICE_BYTES, TIMES_HELD, Together
from harness.judge.verification import Verification
from harness.judge.weights import Weights
from harness.transport.steps_page import MOST_TENSORS

MOST_ESTIMATES, MOST_TOO_FEW = 3, 2
"""So often the number of calls in a round is chosen anew where the candidate turns out to be so fast that there should
have been more than so many times as many: what a round costs beyond its calls would be most of it."""
TRACED_CALLS = 3
_TEMPORARIES = 3 << 30  # what comparing takes, and three processes' contexts

_Kinds = tuple[str, tuple[str, ...]]
"""The kind of contents that half of the rounds have, and those of the others."""


class Measurement:
    """Of one candidate, whose trials are over: `seen` is what they showed of outputs.

    `reference_s` is what a call of the reference takes, 0 where nothing tells.
    """

    def __init__(
        self,
        placed: OnBench,
        plan: Plan,
        *,
        progress: Progress,
        weights: Weights,
        contents: ContentsByKind,
        comparison: Comparison,
        seen: OutputsSeen,
        reference_s: float,
    ) -> None:
        self._placed, self._candidate, self._bench = placed, placed.candidate, placed.bench
        self._plan, self._progress, self._weights = plan, progress, weights
        self._contents, self._comparison = contents, comparison
        self._seen, self._reference_s = seen, reference_s
        self._slot_bytes = 0
        self._room = 0
        self._tight = False

    def take(
        self, open_reference: Callable[[], AbstractContextManager[Subject]], *, call_s: float
    ) -> tuple[Measured, Trace | None]:
        """Time the candidate, whose calls took `call_s` in trials, against the reference.

        A disturbed measurement is taken once more. Then a few calls under the candidate's own profiler, where that is
        wanted; then the candidate is ended, and the reference timed alone. All of it with the device for this judge
        alone. Raises WrongAnswer, SubjectFailed, and CannotBeTimed.
        """
        self._bench.take()
        with self._progress.phase("time"):
            self._comparison.fewer_bits.timing_begins()
            self._weights.use(0)
            kinds = self._contents.timed()
            drawn = self._contents.of(kinds[0]).get()
            example = without_contents(drawn)
            self._placed.take_away()
            call_s = self._estimate(drawn, call_s)
            del drawn
        with open_reference() as subject:
            with self._progress.phase("time"):
                for one in (self._candidate, subject):
                    one.spare(self._seen.spared.places)
                self._weights.give_first(subject)
                self._progress.stage = "time"
            for _ in range(MOST_ESTIMATES):
                count, self._tight = self._count(example, call_s)
                with self._two_sides(example, count, subject) as (candidate, reference):
                    measured = self._measure(candidate, reference, kinds)
                    call_s = measured.timing.candidate_ms / 1e3
                    if self._count(example, call_s)[0] > MOST_TOO_FEW * count:
                        self._placed.take_away()
                        continue  # it was slower when it was asked how long it takes
                    trace = self._trace(candidate.sets) if self._is_trace_wanted(measured) else None
                    return self._alone(measured, candidate, reference, kinds), trace
        raise SubjectFailed(
            "protocol", "was slower each time that it was asked how long it takes than when it was timed"
        )

    # ---- before the rounds -------------------------------------------------------------------------------------

    def _estimate(self, example: list[Any], call_s: float) -> float:
        """Seconds of one warm call, a first guess that the number of input sets is chosen by."""
        sets = self._placed.one_slot(example)

        def best_of(calls: int) -> float:
            seconds = []
            for _ in range(3):
                sets.write(0, example)
                self._placed.show()
                seconds.append(self._candidate.round([0] * calls, seed=0).seconds)
                self._candidate.release()
            return min(seconds)

        fits = self._plan.bytes_budget // max(1, self._seen.bytes)
        many = 1 if call_s > ROUND_S or fits < 5 else 5 if call_s > 1e-3 else 21
        one = best_of(1)
        estimate = one if many == 1 else (best_of(many) - one) / (many - 1)  # the difference is free of the hand-over
        self._placed.take_away()
        return max(estimate, 1e-6)

    def _count(self, example: list[Any], call_s: float) -> tuple[int, bool]:
        """How many sets a round has, and whether those leave no room for both sides beside each other."""
        slot_bytes = self._slot_bytes = InputSets.size_of(example)
        in_all = slot_bytes * self._bench.arena_copies
        count = sets_for(call_s, self._reference_s or call_s, in_all, self._seen.bytes, self._plan)
        # Besides, the judge draws the contents of one call, or computes one output, and compares.
        outputs, one = count * self._seen.bytes, max(slot_bytes, self._seen.bytes)
        taken = count * in_all + 2 * outputs + one + _TEMPORARIES
        self._room = self._plan.memory_bytes - taken if self._bench.device.type == "cuda" else 0
        return count, taken > self._plan.memory_bytes

    @contextmanager
    def _two_sides(self, example: list[Any], count: int, reference: Subject) -> Iterator[tuple[Side, Side]]:
        """Candidate and reference, each with sets of its own laid before it, as far as there is room for both."""
        self._candidate.release(trim=self._tight)
        self._bench.clock.trim()
        self._placed.sets = mine = InputSets(example, count, self._bench.make_arena)
        if self._tight:
            mine.put_away()
        theirs = InputSets(example, count, self._bench.make_arena, beside=mine)
        try:
            if self._tight:
                theirs.put_away()
            else:
                self._candidate.attach(mine)
                reference.attach(theirs)
            yield Side(self._candidate, mine), Side(reference, theirs)
            reference.detach()
        finally:
            theirs.close()

    # ---- rounds ------------------------------------------------------------------------------------------------

    def _measure(self, candidate: Side, reference: Side, kinds: _Kinds) -> Measured:
        """All rounds of both sides, and once more where they were disturbed."""
        with self._progress.phase("time"):
            measured = self._measure_once(candidate, reference, kinds)
            if measured.timing.conditions and measured.timing.conditions.disturbed:
                measured = self._measure_once(candidate, reference, kinds)
        return measured

    def _measure_once(self, candidate: Side, reference: Side, kinds: _Kinds) -> Measured:
        verification = Verification(
            self._comparison,
            self._weights,
            candidate.sets,
            form=self._seen.form,
            mostly_one_value=self._seen.mostly_one_value,
            least=QUICK_ROUNDS if self._plan.quick else MIN_ROUNDS,
            tight=self._tight,
        )
        return measure(
            candidate,
            reference,
            draw=self._draw,
            base=kinds[0],
            kinds=kinds[1],
            device=self._bench.clock,
            verify=verification.verify,
            verify_steps=verification.verify_steps,
            intact=verification.require_intact,
            alike=verification.require_forms,
            choose=verification.choose,
            mark=verification.mark,
            reference_s=self._reference_s or math.inf,
            proceed=self._bench.proceed,
            plan=self._rounds_plan(),
            tight=self._tight,
        )

    def _rounds_plan(self) -> Plan:
        """The plan, with what trials told of the reference."""
        return replace(
            self._plan,
            steps=not self._seen.mostly_one_value,
            own_seeds=self._weights.random,
            plain=self._seen.has_plain or len(self._seen.form or ()) > MOST_TENSORS,
            untold=frozenset({"narrow"} if self._seen.lost_narrow or self._seen.flat_narrow else ()),
        )

    def _draw(self, kind: str, calls: int) -> Together | list[Contents]:
        """The contents of a round, at once where they do not take much memory."""
        size = calls * self._slot_bytes
        is_small = size <= MOST_BYTES or (size <= MOST_DEVICE_BYTES and TIMES_HELD * size <= self._room)
        return self._contents.of_round(kind, calls, at_once=is_small and not self._tight)

    # ---- after the rounds --------------------------------------------------------------------------------------

    def _is_trace_wanted(self, measured: Measured) -> bool:
        return self._plan.trace == "always" or (self._plan.trace == "faster" and measured.timing.conclusion == "faster")

    def _trace(self, sets: InputSets) -> Trace | None:
        """A few calls under the candidate's own profiler.

        None where it fails at that: the profiler explains, and is not what a candidate was asked for.
        """
        with self._progress.phase("trace"), suppress(SubjectFailed):
            return self._candidate.trace([call % sets.count for call in range(TRACED_CALLS)])
        return None

    def _alone(self, measured: Measured, candidate: Side, reference: Side, kinds: _Kinds) -> Measured:
        """End the candidate, and hold what was measured against the reference alone."""
        with self._progress.phase("alone"):
            self._candidate.end()
            if self._tight:
                candidate.sets.put_away()
                reference.sets.lay_out()
                reference.subject.attach(reference.sets)
            base, others = kinds
            return beside_and_alone(
                measured,
                reference,
                draw=self._draw,
                base=base,
                kinds=others,
                device=self._bench.clock,
                plan=self._rounds_plan(),
            )
