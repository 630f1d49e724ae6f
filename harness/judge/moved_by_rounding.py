"""Moved by rounding: outputs that are out of tolerance where rounding alone moves the reference's as far.

A sign, an argmax, a threshold: two honest kernels differ there by the size of the output. So one that is out of
tolerance is held once more, with what `Oracle.otherwise` says of the very contents that it had.
"""

import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch

from harness.judge.conditioning import AGAIN, FAR, MISSED, MOST, SCALES, Other
from harness.judge.correctness import Agreement, Disagreement, Expected, compare, known_of
from harness.judge.oracle import FEWEST_OTHERS
from harness.judge.question import Question, TimeForDoubts
from harness.judge.sampled import at_kept_places, compare_kept
from harness.judge.sums import Sums
from harness.judge.tensors import leaves, plain
from harness.judge.witness import is_wrong_by_most, is_wrong_by_one
from harness.schema.record import ToleranceName
from harness.schema.verdict import Mismatch

DOUBT_S = 3.0
"""How rounding moves the reference is asked of one call for so many seconds of the judge's CPU time."""
USUAL = 2.0
"""What is out of tolerance in calls that are glanced at may be so many times the share of an output that it was, at
most, in those that were asked, and no more than half of the rest besides. Where it is more, the call is asked as well:
one that was left out is out of tolerance nearly all over."""


class MovedByRounding:
    """What rounding explains of one candidate.

    `unstable` is the share of an output that it decides on with nominal inputs, as far as the audit knows. `leave_out`
    is called with each kind of contents of which it decides on most of an output: nothing is told by such trials.
    """

    def __init__(
        self,
        tolerance: ToleranceName,
        time: TimeForDoubts,
        *,
        unstable: float,
        leave_out: Callable[[str], None],
    ) -> None:
        self._tolerance, self._time, self._leave_out = tolerance, time, leave_out
        self._unstable = {"nominal": unstable}
        self._usual: dict[tuple[str, int], float] = {}
        self._is_rare = False
        self.left_out: list[str] = []
        """The kinds of contents of which nothing can be told."""

    def hold_again(
        self, output: Any, expected: Expected, question: Question, found: Disagreement
    ) -> Agreement | Disagreement:
        """Compare again, with what rounding alone moves of the reference's outputs on these very contents.

        Once the time for that is spent a call is as it was found.
        """
        if self.is_passed_over(output, expected, question):
            return Agreement()
        if not question.oracle.repeats:
            return found
        if self._time.is_spent:
            return self._as_before(expected, question, found)
        again: Agreement | Disagreement | None = None
        with self._time.spent():
            again = self._compare_moved(output, expected, question, found)
            if isinstance(again, Agreement):
                again = self._compare_sums(output, expected, question, found) or again
        if again is None:
            return found
        if isinstance(again, Disagreement):
            return again
        self._note_usual(output, expected, question)
        self._unstable[question.kind] = max(self._unstable.get(question.kind, 0.0), again.unstable)
        if again.unstable > MOST and question.kind not in self.left_out:
            self.left_out.append(question.kind)
            self._leave_out(question.kind)
        return again

    def is_passed_over(self, output: Any, expected: Expected, question: Question) -> bool:
        """Whether a call is glanced at, and no more of it is out of tolerance than rounding explained in others."""
        return question.glance and self._is_usual(output, expected, question)

    def _as_before(self, expected: Expected, question: Question, found: Disagreement) -> Agreement | Disagreement:
        """What is said of a trial that nobody has time to ask about.

        It is left out where rounding decided on the reference's one output on every other kind of inputs.
        """
        nothing_told = len(leaves(expected.like)) == 1 and min(self._unstable.values()) > MOST
        if question.timed or found.reason != "values" or not nothing_told:
            return found
        self._unstable[question.kind] = 1.0
        if question.kind not in self.left_out:
            self.left_out.append(question.kind)
        return Agreement(unstable=1.0)

    # ---- with samples of how rounding falls --------------------------------------------------------------------

    def _compare_moved(
        self, output: Any, expected: Expected, question: Question, found: Disagreement
    ) -> Agreement | Disagreement | None:
        """Compare with what the reference says where its rounding falls otherwise; None where that cannot be asked.

        The fewest samples first. Where they explain hardly anything of what was found more may still: elements of one
        row, or all, may go by one sum that few samples tip over. Where they took all the time there are no more.
        """
        if question.otherwise is None:
            given, question.has_doubts = question.given.inputs(), True
            question.otherwise = question.oracle.otherwise(expected.like, given, seed=question.seed)
            if question.otherwise is None:
                return None
            question.coming = question.otherwise.samples(until=time.process_time() + DOUBT_S)
        if not question.timed and self._is_settled(output, expected, question, found):
            return found
        again: Agreement | Disagreement = found
        for most in (FEWEST_OTHERS, len(SCALES)):
            had = len(question.others)
            question.others += tuple(itertools.islice(question.coming, max(0, most - had)))
            if again is not found and len(question.others) == had:
                break
            again = self._compare_with(output, expected, question, question.others)
            if isinstance(again, Agreement):
                break
        if isinstance(again, Disagreement) and _few(again.mismatch):
            return self._compare_further(output, expected, question, again)
        return again

    def _is_settled(self, output: Any, expected: Expected, question: Question, found: Disagreement) -> bool:
        """Whether few elements tell that no sample would explain the others."""
        assert question.otherwise is not None
        if not _few(found.mismatch):
            return is_wrong_by_most(output, expected, question.otherwise, found)
        return not question.row_was_asked and is_wrong_by_one(output, expected, question.otherwise, found)

    def _compare_further(
        self, output: Any, expected: Expected, question: Question, found: Disagreement
    ) -> Agreement | Disagreement:
        """Compare once more where few elements are left: no sample moved them, and a further one may.

        What no sample tells of either is held against what the others tell of each sample in the same way: where noise
        is rare and large (a softmax that tips over) there are such elements in every honest output. Where that was so
        in one call, further samples are not asked first in those that follow. Where all that leaves some, more of the
        first sort are taken.
        """
        assert question.otherwise is not None
        again = self._with_missed(output, expected, question, found, question.others) if self._is_rare else found
        if isinstance(again, Agreement):
            return again
        both = (*question.others, *self._further(question))
        again = self._compare_with(output, expected, question, both)
        if isinstance(again, Disagreement):
            again = self._with_missed(output, expected, question, again, both)
            self._is_rare |= isinstance(again, Agreement)
        if isinstance(again, Disagreement):
            question.others += tuple(question.otherwise.further(AGAIN, until=time.process_time() + DOUBT_S))
            again = self._compare_with(output, expected, question, (*question.others, *question.further))
        return again if isinstance(again, Agreement) else found

    def _compare_sums(
        self, output: Any, expected: Expected, question: Question, found: Disagreement
    ) -> Disagreement | None:
        """Whether sums of what rounding explains element by element are not explained, by further samples either."""
        others = question.others
        if self._sums_apart(output, self._moved(expected, question, others)) is None:
            return None
        others += self._further(question)
        apart = self._sums_apart(output, self._moved(expected, question, others))
        return replace(found, detail=apart, witness=None) if apart else None

    def _sums_apart(self, output: Any, expected: Expected) -> str | None:
        """In words, of which output sums are not explained."""
        output, expected = at_kept_places(output, expected)
        for actual, alone in zip(plain(output), each_alone(expected), strict=True):
            off = compare(actual, replace(alone, others=()), self._tolerance)
            if not isinstance(off, Disagreement) or off.witness is None:
                continue
            apart = Sums(alone.like, alone.exact, alone.others, off.witness.allowed).apart(actual)
            if apart is not None:
                dim, untold, of = apart
                return (
                    f"{untold:,} of {of:,} sums of an output along dimension {dim} are not what rounding makes of them"
                )
        return None

    def _further(self, question: Question) -> tuple[Other, ...]:
        """Samples by many units of rounding."""
        assert question.otherwise is not None
        if not question.further:
            question.further = tuple(question.otherwise.further(FAR, until=time.process_time() + DOUBT_S))
        return question.further

    def _with_missed(
        self, output: Any, expected: Expected, question: Question, found: Disagreement, others: tuple[Other, ...]
    ) -> Agreement | Disagreement:
        """Compare once more where hardly more elements are untold of than of a sample by the others, in each output.

        What is untold of a sample in one output excuses nothing in another.
        """
        if not found.unexplained:
            return found
        _, narrowed = at_kept_places(output, self._moved(expected, question, others))
        missed = tuple(math.ceil(MISSED * most) for most in unexplained_of_each(narrowed, self._tolerance))
        if found.unexplained > max(missed):
            return found
        return self._compare_with(output, replace(expected, missed=missed), question, others)

    def _compare_with(
        self, output: Any, expected: Expected, question: Question, others: tuple[Other, ...]
    ) -> Agreement | Disagreement:
        return compare_kept(output, self._moved(expected, question, others), self._tolerance)

    def _moved(self, expected: Expected, question: Question, others: tuple[Other, ...]) -> Expected:
        """What is expected with these samples, and with float64 where that was had with them."""
        assert question.otherwise is not None
        moved = replace(expected, others=others)
        if question.otherwise.exact is not None:
            moved = replace(moved, exact=question.otherwise.exact, known=())
        return moved

    # ---- what is usual -----------------------------------------------------------------------------------------

    def _note_usual(self, output: Any, expected: Expected, question: Question) -> None:
        """Remember how much of an output was out of tolerance that rounding explains."""
        for place, share in enumerate(out_of_tolerance(output, expected, self._tolerance) or ()):
            self._usual[question.kind, place] = max(share, self._usual.get((question.kind, place), 0.0))

    def _is_usual(self, output: Any, expected: Expected, question: Question) -> bool:
        """Whether no more of an output is out of tolerance than rounding explained in other calls on such contents."""
        shares = out_of_tolerance(output, expected, self._tolerance)
        usual = (self._usual.get((question.kind, place), 0.0) for place in itertools.count())
        return shares is not None and all(
            share <= min(USUAL * most, (1 + most) / 2) for share, most in zip(shares, usual, strict=False)
        )


def out_of_tolerance(output: Any, expected: Expected, tolerance: ToleranceName) -> list[float] | None:
    """Which share of each tensor's elements is out of tolerance; None where something else is wrong as well."""
    output, expected = at_kept_places(output, expected)
    if any(not isinstance(one, torch.Tensor) for one in plain(output)):
        return None
    shares = []
    for actual, alone in zip(plain(output), each_alone(expected), strict=True):
        found = compare(actual, replace(alone, others=()), tolerance)
        if isinstance(found, Disagreement) and (found.reason != "values" or found.mismatch is None):
            return None
        mismatch = found.mismatch if isinstance(found, Disagreement) else None
        shares.append(mismatch.mismatched / mismatch.elements if mismatch else 0.0)
    return shares


def each_alone(expected: Expected) -> Iterator[Expected]:
    """What is expected of each output by itself, in the order of `plain`: one out of tolerance would hide the next."""
    units = [other.units for other in expected.others]
    said = (expected.like, expected.exact, *(other.outputs for other in expected.others))
    for place, (like, exact, *values) in enumerate(zip(*map(plain, said), strict=True)):
        others = tuple(itertools.starmap(Other, zip(values, units, strict=True)))
        yield Expected(like, exact, known=(known_of(expected.known, place),), others=others)


def unexplained_of_each(expected: Expected, tolerance: ToleranceName) -> list[int]:
    """Of each output the most elements of a sample by one unit of rounding that no other sample tells of."""
    counts = []
    for alone in each_alone(expected):
        most, others = 0, alone.others
        for number, one in enumerate(others):
            if one.units <= 1:
                rest = replace(alone, others=(*others[:number], *others[number + 1 :]))
                found = compare(one.outputs, rest, tolerance)
                most = max(most, found.unexplained if isinstance(found, Disagreement) else 0)
        counts.append(most)
    return counts


def _few(left: Mismatch | None) -> bool:
    """Whether so few elements are left that they may be ones that no sample moved."""
    return left is not None and left.mismatched <= max(32, left.elements // 100)
