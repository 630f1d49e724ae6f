"""Outputs that rounding moves seldom and far: what samples of it leave untold."""

import itertools
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from harness.judge.conditioning import FAR, SCALES, Other
from harness.judge.correctness import Agreement, Disagreement, Expected, compare
from harness.judge.moved_by_rounding import MovedByRounding, unexplained_of_each
from harness.judge.oracle import Otherwise
from harness.judge.question import Question, TimeForDoubts

ELEMENTS, SELDOM = 1 << 16, 1e-3
EXACT = torch.linspace(1, 2, ELEMENTS, dtype=torch.float64)


def output(chance, *, seldom=SELDOM):
    """What an honest kernel says: any element may be anything, few are, and others every time."""
    drawn = torch.Generator().manual_seed(chance)
    moved = torch.rand(ELEMENTS, generator=drawn, dtype=torch.float64) < seldom
    return torch.where(moved, torch.rand(ELEMENTS, generator=drawn, dtype=torch.float64), EXACT).float()


def held_beside(actual, sampled, exact):
    """What is said of outputs where each sample is what `sampled` makes of the next number."""
    chances = itertools.count(10)
    otherwise = Otherwise(exact, Other(sampled(1), 4.0), lambda units, _: Other(sampled(next(chances)), units))
    oracle = SimpleNamespace(repeats=True, otherwise=lambda *_, **__: otherwise)
    question = Question(oracle, "nominal", SimpleNamespace(inputs=list), 0, timed=True)
    moved = MovedByRounding("scaled", TimeForDoubts(lambda: None), unstable=0.0, leave_out=lambda _: None)
    return moved.hold_again(actual, Expected(sampled(2), exact), question, Disagreement("values", "off"))


def held(actual, *, seldom=SELDOM):
    """What is said of one output where each sample is such a kernel's."""
    return held_beside(actual, partial(output, seldom=seldom), EXACT)


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


def signs(chance):
    """Signs of which some lie so near 0 that samples by four units of rounding move them, and few by one."""
    drawn = torch.Generator().manual_seed(chance)
    return torch.sign(EXACT - 1.5 + 3e-4 * torch.randn(ELEMENTS, generator=drawn, dtype=torch.float64)).float()


@pytest.mark.parametrize("seldom", [2, 100])
def test_few_elements_that_all_but_late_samples_leave_are_asked_further_samples(seldom):
    """Of a row that decides on eight all move or none, so that nothing that moved alone forgives any."""
    before = 10 + len(SCALES) - 1 + len(FAR)

    def sampled(chance):
        value = EXACT.float()
        if chance >= before and chance % seldom == 0:
            value[:8] = 0.5
        return value

    actual = EXACT.float()
    actual[:8] = 0.5
    assert isinstance(held_beside(actual, sampled, EXACT), Agreement if seldom == 2 else Disagreement)


@pytest.mark.parametrize("kind", [tuple, list])
@pytest.mark.parametrize("first", [output, lambda chance: EXACT.float()])
def test_each_output_of_several_is_held_against_its_own_samples(kind, first):
    def both(chance):
        return kind((first(chance), output(chance + 7)))

    assert isinstance(held_beside(both(20_000), both, kind((EXACT, EXACT))), Agreement)


@pytest.mark.parametrize("is_first", [True, False])
def test_what_is_untold_of_one_output_excuses_nothing_in_another(is_first):
    def both(chance):
        return (output(chance), signs(chance)) if is_first else (signs(chance), output(chance))

    exact = tuple(EXACT if value.min() >= 0 else (EXACT - 1.5).sign() for value in both(1))
    rare, steady = output(20_000), (EXACT - 1.5).sign().float()
    actual = (rare, steady) if is_first else (steady, rare)
    assert isinstance(held_beside(actual, both, exact), Agreement)
    steady[-8:] = -1
    assert isinstance(held_beside(actual, both, exact), Disagreement)


def test_elements_of_a_sample_that_are_only_rougher_than_is_usual_excuse_none_out_of_tolerance():
    like, rough = EXACT.clone(), EXACT.clone()
    like += torch.linspace(-1e-7, 1e-7, ELEMENTS, dtype=torch.float64)
    like[:3] += 0.01
    rough[500:1500] += 2e-3
    exact_elsewhere = tuple(Other(EXACT.float(), units) for units in (4.0, 1.0, 4.0))
    expected = Expected(like.float(), EXACT, others=(Other(rough.float(), 1.0), *exact_elsewhere))
    assert isinstance(compare(rough.float(), replace(expected, others=exact_elsewhere)), Disagreement)
    assert unexplained_of_each(expected, "scaled") == [0]
