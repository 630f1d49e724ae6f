"""By ties: outputs that are the reference's once equal elements come in another order.

Which of equal elements `topk` and its like name is open (`ties`). So a candidate that is out of tolerance is held
against what the reference says with an order of its ties that is told from what the candidate says (`tie_orders`).
However that order was come by, the reference has to say in it all that the candidate does: no guess excuses what no
order explains.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from harness.judge.correctness import Agreement, Disagreement, Expected
from harness.judge.question import Question, TimeForDoubts
from harness.judge.sampled import compare_kept
from harness.judge.tensors import plain, same
from harness.judge.tie_orders import (
    ORDERS,
    Agreeing,
    Order,
    Run,
    Shown,
    cannot_be,
    comparable,
    marked,
    named,
    order_of,
    shown,
    told,
)
from harness.judge.ties import Choice, Wishes
from harness.schema.record import ToleranceName

SEARCH_S = 3.0
"""Of one call orders are tried for so many seconds of the judge's CPU time, and no more than `ORDERS`."""

IN_VAIN = 3
"""Where rounding explained so many calls on contents of a kind, one after the other, and ties none, it is not asked."""


class ByTies:
    """What the order of ties explains of one candidate."""

    def __init__(self, tolerance: ToleranceName, time: TimeForDoubts) -> None:
        self._tolerance, self._time = tolerance, time
        self._may_ask = True
        self._usual = [0, 1]
        self._shown: list[Shown] = []
        self._seen: list[Shown] = []
        self._in_vain: Counter[str] = Counter()

    def hold_again(
        self, output: Any, expected: Expected, question: Question, found: Disagreement
    ) -> Agreement | Disagreement:
        """Compare again, with equal elements in the order that the candidate seems to have them in.

        Once the time for doubts is spent a call is as it was found.
        """
        may_ask = self._may_ask and question.oracle.repeats and self._in_vain[question.kind] < IN_VAIN
        if not may_ask or self._time.is_spent:
            return found
        again, question.has_doubts = None, True
        with self._time.spent():
            again = self._found(_Call(output, expected, question, self._tolerance))
        self._in_vain[question.kind] = 0 if again is not None else self._in_vain[question.kind] + 1
        if again is None:
            return found
        return replace(again, spread=0.0, reduced=0.0, own=())

    def names_what_cannot_be(self, output: Any, expected: Expected) -> bool:
        """Whether indices that it is known to show name no element, or one twice: rounding does no such thing."""
        return bool(self._seen) and cannot_be(self._seen, told(output, expected.like))

    def _found(self, call: "_Call") -> Agreement | None:
        """How the candidate agrees in some order of ties; None where it does in none that was tried.

        What was right in calls before comes first.
        """
        if self._shown and (again := call.agreement(Order(named(self._shown, call.told)))) is not None:
            return again
        runs = []
        for order in tuple(self._usual):
            again = call.agreement(order_of(order))
            if again is not None:
                self._usual.sort(key=lambda one: one != order)
                return again
            if not call.choices:
                self._may_ask = call.choices is None
                return None
            runs.append(Run(order, call.outputs, call.choices))
        return self._told(call, runs)

    def _told(self, call: "_Call", runs: list[Run]) -> Agreement | None:
        """The same in an order that the outputs tell: what they show first, else what they agree with by parts."""
        self._seen = which = shown(runs, call.told)
        names = named(which, call.told)
        again = call.agreement(Order(names, marked(runs, call.told)))
        if again is not None:
            self._shown = which
        elif len(names) < len(runs[0].choices) and not same(*(run.outputs for run in runs)):
            agreeing = Agreeing(call.told)
            agreeing.look(runs)
            agreeing.look(call.runs(range(2, ORDERS), until=time.process_time() + SEARCH_S))
            again = call.agreement(Order({**agreeing.named, **names}, agreeing.ranks))
        return again


class _Call:
    """One call's outputs, and the reference asked of its inputs again: `outputs` and `choices` are the last time's.

    `choices` are None where it could not be asked.
    """

    def __init__(self, output: Any, expected: Expected, question: Question, tolerance: ToleranceName) -> None:
        self._output, self._expected, self._tolerance = output, expected, tolerance
        self._question, self._inputs = question, question.given.inputs()
        self.told = told(output, expected.like)
        self.outputs: list[Any] = []
        self.choices: Sequence[Choice] | None = None

    def agreement(self, wishes: Wishes) -> Agreement | None:
        """How the candidate agrees with the reference in this order; None where it does not."""
        expected = self._in_order(self._expected, wishes)
        found = compare_kept(self._output, expected, self._tolerance) if expected and self.choices else None
        return found if isinstance(found, Agreement) else None

    def runs(self, orders: Sequence[int], until: float) -> Iterator[Run]:
        """The reference as written in these orders, as long as it is before `until`."""
        for order in orders:
            if time.process_time() > until:
                return
            if self._in_order(replace(self._expected, exact=self._expected.like), order_of(order)) is not None:
                yield Run(order, self.outputs, self.choices or ())

    def _in_order(self, expected: Expected, wishes: Wishes) -> Expected | None:
        asked = self._question.oracle.in_order(expected, self._inputs, wishes, seed=self._question.seed)
        if asked is None:
            self.outputs, self.choices = [], None
            return None
        self.outputs, self.choices = [comparable(value) for value in plain(asked[0].like)], asked[1]
        return asked[0]
