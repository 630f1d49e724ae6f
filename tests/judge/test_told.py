"""Of which elements the trials tell anything, and on which contents the rest is asked for."""

import pytest
import torch

from harness.judge.inputs import KINDS, STRESS
from harness.judge.told import UNTOLD, Told


def asked(function, shape=(16, 2000)) -> Told:
    """What nominal contents and those of every kind tell of a function."""
    told = Told()
    for draw in (torch.rand, *(lambda *of, kind=kind: KINDS[kind](torch.empty(*of)) for kind in STRESS), torch.rand):
        expected = function(draw(*shape))
        if torch.isfinite(expected).all():
            told.learn(expected)
    return told


def test_products_that_vanish_are_untold_until_their_factors_lie_near_one():
    def products(x):
        return torch.cumprod(x, 1)

    told = asked(products)
    assert told.leaves_out
    told.learn(products(KINDS["units"](torch.empty(16, 2000))))
    assert not told.leaves_out


@pytest.mark.parametrize(
    "function",
    [torch.relu, torch.tanh, lambda x: torch.softmax(x, 1), lambda x: x.argmax(1), torch.mean, lambda x: x > 0],
)
def test_functions_of_every_value_are_told(function):
    assert not asked(function).leaves_out


def test_what_is_filled_in_is_untold_whatever_is_asked():
    told = asked(lambda x: torch.triu(x @ x.T))
    assert told.leaves_out
    told.learn(torch.triu(torch.rand(16, 16)))
    assert told.leaves_out


def test_of_a_large_output_random_places_are_looked_at():
    told = Told()
    for _ in range(2):
        output = torch.zeros(1 << 16)
        output[: int((1 - 2 * UNTOLD) * len(output))].uniform_()
        told.learn(output)
    assert told.leaves_out


def test_numbers_near_one_have_either_sign():
    drawn = KINDS["units"](torch.empty(10_000))
    assert 0.9 < drawn.abs().min() < drawn.abs().max() < 1.1
    assert 0.4 < (drawn > 0).double().mean() < 0.6
