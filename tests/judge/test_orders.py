"""Trials of emulated candidates in several orders of threads: which outputs are a race, and which are only wrong."""

from collections.abc import Callable

import pytest
import torch
from conftest import FunctionSubject

from harness.judge.audit import audit
from harness.judge.failure import RaceFound, SubjectFailed
from harness.judge.judge import Bench, Finding, judge
from harness.judge.problem import load_problem
from harness.judge.subject import Round
from harness.judge.timing import Plan
from harness.schema.verdict import Correct, Failed, Wrong
from harness.transport.worker_messages import Order

SOURCE = """
import torch
class Model(torch.nn.Module):
    def forward(self, x): return x * 2
def get_inputs(): return [torch.rand(8, 16)]
def get_init_inputs(): return []
"""
Answer = Callable[[torch.Tensor, Order], torch.Tensor]


class OrderedSubject(FunctionSubject):
    """Gives an answer that may depend on the order."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(lambda seed: lambda x: answer(x, self.order))
        self.order = Order(kind="alternating")
        self.orders: list[Order] = []

    def round(self, slots, *, seed: int, hold: bool = False, order: Order | None = None) -> Round:  # type: ignore[no-untyped-def]
        assert order is not None
        self.order = order
        self.orders.append(order)
        return super().round(slots, seed=seed, hold=hold)


def judged(answer: Answer, bench: Bench, *, orders_s: float = 1e6) -> tuple[Finding, OrderedSubject]:
    problem = load_problem("test", SOURCE, device=torch.device("cpu"))
    subject = OrderedSubject(answer)
    finding = judge(
        problem, subject, None, audit=audit(problem), bench=bench, plan=Plan(budget_s=0.1), orders_s=orders_s
    )
    return finding, subject


def test_each_trial_is_called_in_three_orders_one_of_which_is_watched(bench: Bench) -> None:
    finding, subject = judged(lambda x, order: x * 2, bench)
    assert isinstance(finding.verdict, Correct)
    assert finding.verdict.repeatable == "bitwise"
    trials = [subject.orders[i : i + 3] for i in range(0, len(subject.orders), 3)]
    assert len(trials) > 3
    for trial in trials:
        assert [order.kind for order in trial[:2]] == ["ascending", "descending"]
        assert trial[2].kind in ("by-warps", "by-threads")
        assert sorted(order.watch for order in trial) == ["faults", "nothing", "nothing"]
    assert {trial[2].kind for trial in trials} == {"by-warps", "by-threads"}
    assert len({order.seed for trial in trials for order in trial[1:]}) == 2 * len(trials)


@pytest.mark.parametrize("right", ["ascending", "descending", None])
def test_outputs_that_differ_between_orders_are_a_race(bench: Bench, right: str | None) -> None:
    def answer(x: torch.Tensor, order: Order) -> torch.Tensor:
        return x * 2 if order.kind == right else x * 2 + len(order.kind)

    finding, _ = judged(answer, bench)
    assert isinstance(finding.verdict, Wrong)
    assert finding.verdict.reason == "data-race"
    assert "should be" not in finding.verdict.detail


def test_what_is_wrong_in_the_same_way_in_every_order_is_only_wrong(bench: Bench) -> None:
    finding, _ = judged(lambda x, order: x * 3, bench)
    assert isinstance(finding.verdict, Wrong)
    assert finding.verdict.reason == "values"


def test_rounding_that_differs_between_orders_is_no_race(bench: Bench) -> None:
    finding, _ = judged(lambda x, order: x * 2 * (1 + 1e-7 * len(order.kind)), bench)
    assert isinstance(finding.verdict, Correct)
    assert finding.verdict.repeatable == "within-tolerance"


def test_a_race_that_was_seen_is_wrong_with_its_words(bench: Bench) -> None:
    def answer(x: torch.Tensor, order: Order) -> torch.Tensor:
        if order.watch == "faults":
            raise RaceFound("data race on shared memory (candidate.py:7)")
        return x * 2

    finding, _ = judged(answer, bench)
    assert isinstance(finding.verdict, Wrong)
    assert (finding.verdict.reason, finding.verdict.trial) == ("data-race", "nominal")
    assert finding.verdict.detail == "data race on shared memory (candidate.py:7)"


def test_a_race_is_explained_by_looking_strictly(bench: Bench) -> None:
    def answer(x: torch.Tensor, order: Order) -> torch.Tensor:
        if order.watch == "strictly":
            raise RaceFound("it reads what another block writes")
        return x * 2 if order.kind == "ascending" else x

    finding, _ = judged(answer, bench)
    assert isinstance(finding.verdict, Wrong)
    assert finding.verdict.detail == "it reads what another block writes"


def test_an_access_out_of_bounds_explains_inputs_that_were_changed(bench: Bench) -> None:
    def answer(x: torch.Tensor, order: Order) -> torch.Tensor:
        if order.watch == "faults":
            raise SubjectFailed("out-of-bounds", "past the end")
        return x.mul_(2)

    finding, _ = judged(answer, bench)
    assert isinstance(finding.verdict, Failed)
    assert finding.verdict.reason == "out-of-bounds"


def test_inputs_that_were_changed_without_a_fault_are_that(bench: Bench) -> None:
    finding, _ = judged(lambda x, order: x.mul_(2).clone(), bench)
    assert isinstance(finding.verdict, Wrong)
    assert finding.verdict.reason == "inputs-changed"


def test_calls_that_would_take_too_long_are_not_made(bench: Bench) -> None:
    finding, subject = judged(lambda x, order: x * 2, bench, orders_s=1e-9)
    assert isinstance(finding.verdict, Correct)
    assert {order.kind for order in subject.orders} == {"ascending"}
