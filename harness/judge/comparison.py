"""Comparison: a candidate's outputs held against what the reference says, call after call, with what doubts there are.

A call that is the reference as written but for its last digits is right, and float64 is not asked about it (`settled`).
One that is out of tolerance (`correctness`), and is not the reference as written to the bit, is asked about three
times before it is wrong: whether another order of equal elements explains it (`by_ties`), whether tf32 in convolutions
does (`by_tf32`), and whether rounding does (`moved_by_rounding`), unless a row of it settles that nothing does
(`witness`). One that agrees is asked whether it is as exact as the reference (`fewer_bits`).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from harness.judge.bench import Bench
from harness.judge.by_tf32 import ByTf32
from harness.judge.by_ties import ByTies
from harness.judge.correctness import Agreement, Disagreement, Expected, compare
from harness.judge.failure import WrongAnswer
from harness.judge.fewer_bits import FewerBits
from harness.judge.known_error import KnownError
from harness.judge.moved_by_rounding import MovedByRounding
from harness.judge.question import CannotBeTimed, Question, TimeForDoubts
from harness.judge.sampled import compare_kept, is_as_written
from harness.judge.settled import Kept, settled_as_written, settled_together
from harness.judge.tensors import same
from harness.judge.witness import is_wrong_by_a_row
from harness.schema.audit import Audit
from harness.schema.record import ToleranceName
from harness.schema.verdict import Correct, ErrorSummary, Wrong

_DETAIL = 2_000  # characters of what a disagreement says: names of types and keys are as long as a candidate likes


class Comparison:
    """All that was compared of one candidate, and what came of it. `trials` counts the outputs, `has_agreed` says
    whether any was right, `settles` the kinds of contents of which the last that was held was settled as it is.

    `leave_out` is called with each kind of contents of which nothing can be told (`MovedByRounding`).
    """

    def __init__(
        self, audit: Audit, bench: Bench, tolerance: ToleranceName, *, leave_out: Callable[[str], None]
    ) -> None:
        self._trim = bench.clock.trim
        self._time = time = TimeForDoubts(self._trim)
        self._tolerance = tolerance
        self._by_tf32 = ByTf32(tolerance, time, on_gpu=bench.device.type == "cuda")
        self._by_ties = ByTies(tolerance, time)
        self._moved = MovedByRounding(tolerance, time, unstable=audit.unstable, leave_out=leave_out)
        self._agreement = Agreement()
        self._bitwise: bool | None = None
        self.fewer_bits = FewerBits()
        self.known_error = KnownError(audit.own_errors)
        self.trials = 0
        self.has_agreed = False
        self.settles: set[str] = set()

    def hold(self, output: Any, expected: Expected, question: Question) -> Agreement:
        """Compare one call's outputs, once more where tf32, ties or rounding may explain what differs.

        Raises WrongAnswer, and CannotBeTimed where there is no time left to ask about calls that follow.
        """
        self.trials += 1
        settled = settled_as_written(output, expected, self._tolerance) if expected.may_widen else None
        if settled is not None:
            self.settles.add(question.kind)
            return self._agreed(settled)
        self.settles.discard(question.kind)
        expected = self._widened(expected, question)
        found = compare_kept(output, expected, self._tolerance)
        if isinstance(found, Agreement):
            self._by_tf32.ask(output, expected, question, found)
        elif found.reason in ("values", "non-finite"):
            found = self._hold_in_doubt(output, expected, question, found)
        if isinstance(found, Disagreement):
            detail = found.detail[:_DETAIL] + question.hint
            raise WrongAnswer(Wrong(reason=found.reason, detail=detail, trial=question.trial, mismatch=found.mismatch))
        if self.by_tf32 or (found.reduced and self._is_nearer(output, expected, question)):
            found = replace(found, spread=0.0, reduced=0.0)
        self.known_error.learn(found.own, question.kind)
        return self._agreed(found)

    def settle(self, kept: Sequence[Kept]) -> list[bool]:
        """Which of several calls are right by these elements of each alone. Each of the others is to be held, which
        says of its kind whether those that follow settle.
        """
        found = settled_together(kept, self._tolerance)
        for agreement in filter(None, found):
            self.trials += 1
            self._agreed(agreement)
        return [agreement is not None for agreement in found]

    def _agreed(self, found: Agreement) -> Agreement:
        """Take down how a call's outputs agree."""
        self.has_agreed = True
        self._agreement = self._agreement | found
        return found

    def _widened(self, expected: Expected, question: Question) -> Expected:
        """What is expected with float64, or with what is known of the reference's error where there is none."""
        if expected.may_widen:
            if question.widened is None:
                inputs = question.given.inputs()
                question.widened = question.oracle.widened(expected, inputs, seed=question.seed, quick=question.timed)
            expected = question.widened
        if not question.timed:
            self.known_error.note_trial(expected, question.kind)
        return self.known_error.beside(expected, question.kind)

    def _hold_in_doubt(
        self, output: Any, expected: Expected, question: Question, found: Disagreement
    ) -> Agreement | Disagreement:
        """Compare again with what explains it. What is the reference as written to the bit is right as it is.

        A timed call for which no time is left is asked about all the same, as the last one: else who used that time up
        could answer anything. It is wrong where nothing explains it, and raises CannotBeTimed where something does.
        """
        if is_as_written(output, expected):
            return Agreement()
        is_last = question.timed and self._time.is_spent and not self._moved.is_passed_over(output, expected, question)
        if is_last:
            self._time.begin_anew()
        again = self._explained(output, expected, question, found)
        if is_last and isinstance(again, Agreement):
            raise CannotBeTimed
        return again

    def _explained(
        self, output: Any, expected: Expected, question: Question, found: Disagreement
    ) -> Agreement | Disagreement:
        """Compare again with what ties, tf32 and rounding explain."""
        again = self._by_ties.hold_again(output, expected, question, found)
        if isinstance(again, Agreement) or self._is_settled(output, expected, question, found):
            return again
        if found.reason == "values":
            again = self._by_tf32.hold_again(output, expected, question, found)
        if isinstance(again, Agreement):
            return again
        moved = self._moved.hold_again(output, expected, question, again)
        may_be = isinstance(moved, Disagreement) or not self._by_ties.names_what_cannot_be(output, expected)
        return moved if may_be else again

    def _is_settled(self, output: Any, expected: Expected, question: Question, found: Disagreement) -> bool:
        """Whether a row alone tells that neither tf32 nor rounding explains what differs; asked in trials."""
        settled = False
        if not (question.timed or self._time.is_spent):
            with self._time.spent():
                settled = is_wrong_by_a_row(output, expected, question, found)
        return settled

    def _is_nearer(self, output: Any, expected: Expected, question: Question) -> bool:
        """Whether it is the reference as written that has an error all over, and not the output."""
        return self._by_tf32.is_nearer(output, expected, question, may_ask=not self._agreement.reduced)

    def hold_all(self, outputs: Sequence[Any], expected: Expected, question: Question) -> Agreement:
        """Compare outputs of calls on equal inputs with the reference, and with each other. How the first agrees."""
        found = self.hold(outputs[0], expected, question)
        for again in outputs[1:]:
            bitwise = same(outputs[0], again)
            if bitwise:  # of which the same would be said, if there is time to ask it again
                self.trials += 1
            else:
                self._hold_again(again, outputs[0], expected, question)
            self.note_repeated(bitwise=bitwise)
        return found

    def _hold_again(self, again: Any, first: Any, expected: Expected, question: Question) -> None:
        """Hold outputs against the reference, and against those of an equal call, which agree with it.

        What the time for doubts no longer tells of these was told of the first, from which they may not be apart then.
        """
        try:
            self.hold(again, expected, question)
        except WrongAnswer as wrong:
            if not self._time.is_spent or self.are_apart(first, again):
                raise WrongAnswer(not_repeatable(wrong.verdict)) from None

    def hold_left(self, arguments: list[Any], expected: Expected, question: Question) -> None:
        """Hold what a call left in its arguments against what the reference left there, where it changes them.

        Raises WrongAnswer.
        """
        found = None if expected.left is None else compare(arguments, expected.left, self._tolerance)
        if isinstance(found, Disagreement) and found.reason in ("values", "non-finite"):
            named = found.detail[:_DETAIL].replace("output[", "input[", 1)
            detail = f"left its inputs otherwise than the reference does, {named}"
            raise WrongAnswer(
                Wrong(reason="inputs-changed", detail=detail, trial=question.trial, mismatch=found.mismatch)
            )

    def note_repeated(self, *, bitwise: bool) -> None:
        """Take down whether two right outputs of calls on equal inputs are equal to the bit."""
        self._bitwise = bitwise and self._bitwise is not False

    def are_apart(self, first: Any, again: Any) -> bool:
        """Whether two outputs differ from each other by more than one may from the reference."""
        return isinstance(compare(again, Expected(like=first, exact=first), self._tolerance), Disagreement)

    def ask_fewer_bits(self, found: Agreement, output: Any, expected: Expected, question: Question) -> None:
        """Ask whether an error all over an output that agrees is a smaller type's, until one was."""
        if not found.spread or self._agreement.reduced:
            return
        if self.fewer_bits.are_told(output, expected, question):
            self._agreement = self._agreement | Agreement(reduced=found.spread)

    def let_go(self, question: Question) -> None:
        """Give the device back what doubts about a call took, which may be most of what is free there."""
        question.widened = None
        if question.has_doubts:
            question.forget()
            self._trim()

    @property
    def by_tf32(self) -> float:
        """A relative error that is allowed only because PyTorch takes convolutions in tf32 on a GPU, else 0."""
        return self._by_tf32.relative

    @property
    def reduced(self) -> float:
        """The relative error of `Agreement.reduced`; 0 where it is that of convolutions in tf32, flagged as such."""
        return 0.0 if self.by_tf32 else self._agreement.reduced

    def correct(self, *, by_name: bool) -> Correct:
        """The verdict where nothing was wrong. `by_name`: the candidate was given the reference's weights."""
        found = self._agreement
        return Correct(
            trials=self.trials,
            error=ErrorSummary(
                relative=found.relative,
                reference_relative=max(found.reference_relative, self.known_error.relative),
                of_tolerance=found.of_tolerance,
                oracle=self.known_error.weakest,
            ),
            repeatable=None if self._bitwise is None else "bitwise" if self._bitwise else "within-tolerance",
            left_out=tuple(self._moved.left_out),
            weights="by-name" if by_name else "by-seed",
        )


def not_repeatable(wrong: Wrong) -> Wrong:
    """The verdict on an answer that was right before, on the same inputs."""
    detail = f"a second call on the same inputs gave another answer. {wrong.detail}"
    return wrong.model_copy(update={"reason": "not-repeatable", "detail": detail})
