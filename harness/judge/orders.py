"""Orders: trials of an emulated candidate called again, with the threads of its kernels in other orders.

None of the orders that CUDA allows may decide on the outputs. In one of them every access to memory is watched.
"""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from harness.judge.comparison import Comparison, not_repeatable
from harness.judge.correctness import Expected
from harness.judge.failure import RaceFound, SubjectFailed, WrongAnswer
from harness.judge.question import Question
from harness.judge.subject import Subject
from harness.judge.tensors import same
from harness.schema.verdict import Wrong
from harness.transport.worker_messages import Order

ASCENDING = Order(kind="ascending")
_WATCHED_TIMES = 15
"""So many times as long a call may take at most while every access of emulated kernels is watched, mostly less."""
_RACE = "its outputs depend on the order in which threads run: they are others in the order {order!r} than ascending"


class Orders:
    """Of one candidate; `seconds` are to be spent on it, 0 where it is not emulated."""

    def __init__(self, candidate: Subject, comparison: Comparison, seconds: float) -> None:
        self._candidate, self._comparison = candidate, comparison
        self._left_s = seconds
        self._trials = 0

    @property
    def matter(self) -> bool:
        """Whether the candidate is emulated: then trials are in ascending order, and called again in others."""
        return bool(self._left_s)

    def allow(self, seconds: float) -> bool:
        """Whether there is time for further calls that take so long; always where the candidate is not emulated."""
        return not self.matter or seconds <= self._left_s

    def try_others(
        self, expected: Expected, question: Question, first: Any, wrong: Wrong | None, *, call_s: float
    ) -> None:
        """Call a trial again in two other orders.

        `first` is what it gave in ascending order within `call_s`, `wrong` what was found of that. Raises WrongAnswer,
        always where `wrong` is given, and SubjectFailed where what is watched shows a fault.
        """
        self._trials += 1
        for order in self._others():
            costs_s = call_s * (_WATCHED_TIMES if order.watch != "nothing" else 1)
            if costs_s > self._left_s:
                continue
            started = time.monotonic()
            again = self._again(expected, question, order)
            if wrong is not None and wrong.reason not in ("values", "non-finite"):
                continue  # looked for a fault that explains it
            other = self._wrong_by(again, expected, question)
            if (other is None) != (wrong is None) or (wrong and self._comparison.are_apart(first, again)):
                self._require_repeatable(expected, question, first, wrong, other)
                if call_s * _WATCHED_TIMES <= self._left_s:
                    self._explain_race(order, question.seed)
                shown = other or wrong
                mismatch = shown.mismatch if shown else None
                detail = _RACE.format(order=order.kind)
                raise WrongAnswer(Wrong(reason="data-race", detail=detail, trial=question.trial, mismatch=mismatch))
            if wrong is None:
                self._comparison.note_repeated(bitwise=same(first, again))
            self._left_s = max(1e-9, self._left_s - (time.monotonic() - started))
        if wrong is not None:
            raise WrongAnswer(wrong)

    def _others(self) -> tuple[Order, Order]:
        """Two orders besides the ascending one; the one that is watched changes from trial to trial."""
        first = self._trials % 2
        watch: tuple[Literal["faults", "nothing"], ...] = ("faults", "nothing")
        at_random: Literal["by-warps", "by-threads"] = "by-warps" if self._trials % 4 > 1 else "by-threads"
        return (
            Order(kind="descending", seed=secrets.randbits(63), watch=watch[first]),
            Order(kind=at_random, seed=secrets.randbits(63), watch=watch[1 - first]),
        )

    def _again(self, expected: Expected, question: Question, order: Order) -> Any:
        """What a trial's candidate gives once more, in this order."""
        if question.oracle.changes_inputs:
            question.given.write_anew()
        question.given.sets.reveal()
        self._candidate.release(poison=True)
        self._candidate.round([0], seed=question.seed, order=order)
        return self._candidate.outputs([0], like=expected.like)[0]

    def _wrong_by(self, output: Any, expected: Expected, question: Question) -> Wrong | None:
        """What is wrong with an output; None where nothing is."""
        try:
            self._comparison.hold(output, expected, question)
        except WrongAnswer as wrong:
            return wrong.verdict
        return None

    def _require_repeatable(
        self, expected: Expected, question: Question, first: Any, wrong: Wrong | None, other: Wrong | None
    ) -> None:
        """Raise WrongAnswer where ascending order gives something else again: it is by chance, and not by the order.

        `wrong` and `other` are what was found of the first answer and of that in another order, one of them at least.
        """
        if self._comparison.are_apart(first, self._again(expected, question, ASCENDING)):
            found = wrong or other
            assert found is not None
            raise WrongAnswer(found if wrong else not_repeatable(found))

    def _explain_race(self, order: Order, seed: int) -> None:
        """Raises RaceFound where watching every access shows which one it is."""
        for kind in (order.kind, ASCENDING.kind):
            with _unless_a_race():
                strictly = Order(kind=kind, seed=order.seed, watch="strictly")
                self._candidate.round([0], seed=seed, order=strictly)


@contextmanager
def _unless_a_race() -> Iterator[None]:
    """Let what the subject fails at pass, unless a race was found."""
    try:
        yield
    except RaceFound:
        raise
    except SubjectFailed:
        return
