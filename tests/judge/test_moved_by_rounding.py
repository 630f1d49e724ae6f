"""Outputs that rounding moves seldom and far: what samples of it leave untold."""

from types import SimpleNamespace

import pytest
import torch

from harness.judge.conditioning import Other
from harness.judge.correctness import Agreement, Disagreement, Expected
from harness.judge.moved_by_rounding import MovedByRounding
from harness.judge.oracle import Otherwise
from harness.judge.question import Question, TimeForDoubts

ELEMENTS, SELDOM = 1 << 16, 1e-3
EXACT = torch.linspace(1, 2, ELEMENTS, dtype=torch.float64)


def output(chance, *, seldom=SELDOM):
    """What an honest kernel says: any element may be anything, few are, and others every time."""
    drawn = torch.Generator().manual_seed(chance)
    moved = torch.rand(ELEMENTS, generator=drawn, dtype=torch.float64) < seldom
    return torch.where(moved, torch.rand(ELEMENTS, generator=drawn, dtype=torch.float64), EXACT).float()


def held(actual, *, seldom=SELDOM):
    """What is said of it where each sample is such a kernel's."""

    def sample(units, chance):
        return Other(output(chance % 10_000, seldom=seldom), units)

    otherwise = Otherwise(EXACT, sample(4.0, 1), sample)
    oracle = SimpleNamespace(repeats=True, otherwise=lambda *_, **__: otherwise)
    question = Question(oracle, "nominal", SimpleNamespace(inputs=list), 0, timed=True)
    moved = MovedByRounding("scaled", TimeForDoubts(lambda: None), unstable=0.0, leave_out=lambda _: None)
    expected = Expected(output(2, seldom=seldom), EXACT)
    return moved.hold_again(actual, expected, question, Disagreement("values", "off"))


def test_elements_that_are_untold_of_each_sample_as_well_are_right():
    assert isinstance(held(output(20_000)), Agreement)


def test_and_no_more_than_a_few_times_as_many():
    actual = output(20_000)
    actual[::64] = 0.5
    assert isinstance(held(actual), Disagreement)


@pytest.mark.parametrize("places", [[5], [5, 9, 1000, 30_000]])
def test_where_rounding_moves_nothing_one_is_wrong(places):
    actual = output(20_000, seldom=0)
    actual[places] = 0.5
    assert isinstance(held(actual, seldom=0), Disagreement)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_is_wrong_however_few_are(value):
    actual = output(20_000)
    actual[77] = value
    assert isinstance(held(actual), Disagreement)
