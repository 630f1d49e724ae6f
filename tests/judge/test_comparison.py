"""Comparison: what is asked of an output that is out of tolerance."""

from types import SimpleNamespace

import pytest
import torch

from harness.judge.comparison import Comparison
from harness.judge.correctness import Expected
from harness.judge.failure import WrongAnswer
from harness.judge.question import Question
from harness.judge.sampled import Sampled
from harness.schema.audit import Audit

LIKE = torch.tensor([0.5, -0.25, float("inf"), 0.0])
"""A reference as written of which float64 says something else throughout: its outputs are what rounding left."""
EXPECTED = Expected(like=LIKE, exact=torch.zeros(4, dtype=torch.float64))


def held(bench, output, *, timed=False):
    """The comparison that held an output; the reference can be asked nothing."""
    comparison = Comparison(Audit(), bench, "scaled", leave_out=lambda kind: None)
    oracle = SimpleNamespace(repeats=False, in_order=lambda expected, *_, **__: (expected, []))
    given = SimpleNamespace(inputs=list)
    comparison.hold(output, EXPECTED, Question(oracle, "nominal", given, 0, timed=timed))
    return comparison


@pytest.mark.parametrize("timed", [False, True])
def test_what_is_the_reference_as_written_to_the_bit_is_right_whatever_float64_says(bench, timed, monkeypatch):
    if not timed:
        monkeypatch.setattr("harness.judge.by_tf32.ByTf32.hold_again", lambda self, *given: given[-1])
    assert held(bench, LIKE.clone(), timed=timed).has_agreed
    places = torch.tensor([2, 0])
    sampled = Sampled(values=LIKE[places], places=places, shape=(4,), strides=(1,))
    assert held(bench, sampled, timed=timed).has_agreed


@pytest.mark.parametrize("place", range(4))
def test_and_what_differs_from_it_in_a_bit_is_not_right_for_that(bench, place):
    output = LIKE.clone()
    output.view(torch.int32)[place] ^= 1
    with pytest.raises(WrongAnswer):
        held(bench, output)
