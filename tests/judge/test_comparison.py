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


WRITTEN = torch.randn(256, generator=torch.Generator().manual_seed(3))


def asked_for_float64(bench, *outputs, timed=False, exact=None):
    """How often an oracle was asked to widen what is expected, for outputs of one call."""
    asked = []

    def widened(expected, inputs, *, seed, quick):
        asked.append((seed, quick))
        return Expected(like=expected.like, exact=expected.like if exact is None else exact)

    comparison = Comparison(Audit(), bench, "scaled", leave_out=lambda kind: None)
    oracle = SimpleNamespace(repeats=True, widened=widened)
    question = Question(oracle, "nominal", SimpleNamespace(inputs=list), 7, timed=timed)
    comparison.hold_all(outputs, Expected(like=WRITTEN, exact=WRITTEN, may_widen=True), question)
    assert comparison.has_agreed
    assert comparison.trials == len(outputs)
    comparison.let_go(question)
    assert question.widened is None
    return asked


def test_float64_is_not_asked_about_what_is_the_reference_as_written_but_for_its_last_digits(bench):
    assert asked_for_float64(bench, WRITTEN.clone(), WRITTEN.clone()) == []


@pytest.mark.parametrize("timed", [False, True])
def test_it_is_asked_once_a_call_about_what_is_further_off(bench, timed):
    exact = WRITTEN.double() + 1e-5
    assert asked_for_float64(bench, WRITTEN + 1e-5, WRITTEN + 2e-5, timed=timed, exact=exact) == [(7, timed)]
