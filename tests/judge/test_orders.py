"""Trials of emulated candidates in several orders of threads: which outputs are a race, and which are only wrong."""

from collections.abc import Callable

import pytest
import torch

from harness.judge.failure import RaceFound, SubjectFailed
from harness.judge.judge import Finding
from harness.schema.verdict import Correct, Failed, Wrong
from harness.transport.worker_messages import Order

SOURCE = """
import torch
class Model(torch.nn.Module):
    def forward(self, x): return x * 2
def get_inputs(): return [torch.rand(8, 16)]
def get_init_inputs(): return []
"""
GENERATOR = torch.Generator().manual_seed(0)
Judge = Callable[..., tuple[Finding, list[Order]]]


def test_each_trial_is_called_in_three_orders_one_of_which_is_watched(judge_in_orders: Judge) -> None:
    finding, orders = judge_in_orders(SOURCE, lambda x, order: x * 2)
    assert isinstance(finding.verdict, Correct)
    assert finding.verdict.repeatable == "bitwise"
    *orders, last = orders  # of two calls, whose outputs may share no memory
    assert (last.kind, last.watch) == ("ascending", "nothing")
    trials = [orders[i : i + 3] for i in range(0, len(orders), 3)]
    assert len(trials) > 3
    for trial in trials:
        assert [order.kind for order in trial[:2]] == ["ascending", "descending"]
        assert trial[2].kind in ("by-warps", "by-threads")
        assert sorted(order.watch for order in trial) == ["faults", "nothing", "nothing"]
    assert {trial[2].kind for trial in trials} == {"by-warps", "by-threads"}
    assert len({order.seed for trial in trials for order in trial[1:]}) == 2 * len(trials)


@pytest.mark.parametrize("right", ["ascending", "descending", None])
def test_outputs_that_differ_between_orders_are_a_race(judge_in_orders: Judge, right: str | None) -> None:
    def answer(x: torch.Tensor, order: Order) -> torch.Tensor:
        return x * 2 if order.kind == right else x * 2 + len(order.kind)

    finding, _ = judge_in_orders(SOURCE, answer)
    assert isinstance(finding.verdict, Wrong)
    assert finding.verdict.reason == "data-race"
    assert "should be" not in finding.verdict.detail


def test_outputs_that_differ_by_chance_are_no_race(judge_in_orders: Judge) -> None:
    finding, _ = judge_in_orders(SOURCE, lambda x, order: x * 2 + torch.randint(1, 1 << 20, (1,), generator=GENERATOR))
    assert isinstance(finding.verdict, Wrong)
    assert finding.verdict.reason == "values"


def test_an_answer_that_is_right_only_at_first_is_not_repeatable(judge_in_orders: Judge) -> None:
    calls = iter(range(1000))
    finding, _ = judge_in_orders(SOURCE, lambda x, order: x * (2 if next(calls) < 1 else 3))
    assert isinstance(finding.verdict, Wrong)
    assert finding.verdict.reason == "not-repeatable"


def test_what_is_wrong_in_the_same_way_in_every_order_is_only_wrong(judge_in_orders: Judge) -> None:
    finding, _ = judge_in_orders(SOURCE, lambda x, order: x * 3)
    assert isinstance(finding.verdict, Wrong)
    assert finding.verdict.reason == "values"


def test_rounding_that_differs_between_orders_is_no_race(judge_in_orders: Judge) -> None:
    finding, _ = judge_in_orders(SOURCE, lambda x, order: x * 2 * (1 + 1e-7 * len(order.kind)))
    assert isinstance(finding.verdict, Correct)
    assert finding.verdict.repeatable == "within-tolerance"


def test_a_race_that_was_seen_is_wrong_with_its_words(judge_in_orders: Judge) -> None:
    def answer(x: torch.Tensor, order: Order) -> torch.Tensor:
        if order.watch == "faults":
            raise RaceFound("data race on shared memory (candidate.py:7)")
        return x * 2

    finding, _ = judge_in_orders(SOURCE, answer)
    assert isinstance(finding.verdict, Wrong)
    assert (finding.verdict.reason, finding.verdict.trial) == ("data-race", "nominal")
    assert finding.verdict.detail == "data race on shared memory (candidate.py:7)"


def test_a_race_is_explained_by_looking_strictly(judge_in_orders: Judge) -> None:
    def answer(x: torch.Tensor, order: Order) -> torch.Tensor:
        if order.watch == "strictly":
            raise RaceFound("it reads what another block writes")
        return x * 2 if order.kind == "ascending" else x

    finding, _ = judge_in_orders(SOURCE, answer)
    assert isinstance(finding.verdict, Wrong)
    assert finding.verdict.detail == "it reads what another block writes"


def test_an_access_out_of_bounds_explains_inputs_that_were_changed(judge_in_orders: Judge) -> None:
    def answer(x: torch.Tensor, order: Order) -> torch.Tensor:
        if order.watch == "faults":
            raise SubjectFailed("out-of-bounds", "past the end")
        return x.mul_(2)

    finding, _ = judge_in_orders(SOURCE, answer)
    assert isinstance(finding.verdict, Failed)
    assert finding.verdict.reason == "out-of-bounds"


def test_inputs_that_were_changed_without_a_fault_are_that(judge_in_orders: Judge) -> None:
    finding, _ = judge_in_orders(SOURCE, lambda x, order: x.mul_(2).clone())
    assert isinstance(finding.verdict, Wrong)
    assert finding.verdict.reason == "inputs-changed"


def test_calls_that_would_take_too_long_are_not_made(judge_in_orders: Judge) -> None:
    finding, orders = judge_in_orders(SOURCE, lambda x, order: x * 2, orders_s=1e-9)
    assert isinstance(finding.verdict, Correct)
    assert {order.kind for order in orders} == {"ascending"}
