"""By tf32: outputs that are the reference's once its convolutions are computed in tf32, or once none of them is.

PyTorch lets convolutions of float32 be taken in tf32 on a GPU, by sizes and layouts, and never on a CPU. A candidate
may be as far off as that leaves everywhere, and is flagged where nothing else excuses it.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import torch

from harness.judge.correctness import RTOL, Agreement, Disagreement, Expected
from harness.judge.question import Question, TimeForDoubts
from harness.judge.sampled import compare_kept, is_as_written
from harness.schema.record import ToleranceName


class ByTf32:
    """What tf32 explains of one candidate. `relative` is a relative error that it alone allows, else 0."""

    def __init__(self, tolerance: ToleranceName, time: TimeForDoubts, *, on_gpu: bool) -> None:
        self._tolerance, self._time, self._on_gpu = tolerance, time, on_gpu
        self._is_nearer = False
        self.relative = 0.0

    def hold_again(
        self, output: Any, expected: Expected, question: Question, found: Disagreement
    ) -> Agreement | Disagreement:
        """Compare again with what tf32 leaves of the reference's convolutions, whatever it is that computed them here.

        What agrees with them in tf32 alone is flagged; what agrees with them without it is nearer to the truth than the
        reference as written. Once the time for doubts is spent a call is as it was found.
        """
        if self._time.is_spent:
            return found
        with self._time.spent():
            for tf32 in (True,) if expected.exact is not expected.like else (False, True):
                again = self._in_class(output, expected, question, tf32=tf32)
                if isinstance(again, Agreement):
                    self.relative = max(self.relative, again.relative) if tf32 else self.relative
                    return replace(again, spread=0.0, reduced=0.0, own=())
        return found

    def ask(self, output: Any, expected: Expected, question: Question, found: Agreement) -> None:
        """Ask in trials on a GPU, until it was found once, whether what agrees does so only because of tf32.

        What is the reference as written to the bit does so because of nothing.
        """
        if not self._on_gpu or question.timed or self.relative or found.relative <= RTOL[torch.float32]:
            return
        if is_as_written(output, expected):
            return
        with suppress(torch.OutOfMemoryError):
            if isinstance(self._in_class(output, expected, question, tf32=False), Disagreement):
                self.relative = found.relative

    def is_nearer(self, output: Any, expected: Expected, question: Question, *, may_ask: bool) -> bool:
        """Whether an error all over an output is that of a reference as written, which took tf32 and has no float64.

        Once it was, it is not asked again: tf32 in convolutions is what the reference has as well. Nor where it may
        not be asked: only that counts then.
        """
        can_be = self._on_gpu and expected.exact is expected.like
        if can_be and not self._is_nearer and may_ask:
            with suppress(torch.OutOfMemoryError):
                exact = self._in_class(output, expected, question, tf32=False, is_exact=True)
                self._is_nearer = isinstance(exact, Agreement) and not exact.reduced
        return can_be and self._is_nearer

    def _in_class(
        self, output: Any, expected: Expected, question: Question, *, tf32: bool, is_exact: bool = False
    ) -> Agreement | Disagreement | None:
        """Compare with the own error of the reference with its convolutions in tf32, or without any.

        `is_exact`: with that in the place of what is expected. None where it has none that may be, or where that
        cannot be told.
        """
        oracle = question.oracle
        if not oracle.repeats:
            return None
        like = oracle.in_class(expected.like, question.given.inputs(), seed=question.seed, tf32=tf32)
        if like is None:
            return None
        other = replace(expected, like=like, exact=like if is_exact else expected.exact)
        return compare_kept(output, other, self._tolerance)
