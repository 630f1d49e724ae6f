"""Comparison: exact structure, a tolerance that scales, and no pardon for NaN."""

import math

import pytest
import torch

from harness.judge import correctness
from harness.judge.correctness import Agreement, Disagreement, Expected, compare
from harness.judge.subject import Elsewhere, Opaque


def held(actual, like, exact=None):
    return compare(actual, Expected(like=like, exact=like if exact is None else exact))


@pytest.fixture(params=[1 << 26, 7])
def chunk(request, monkeypatch):
    """Comparing in one piece and in many gives the same."""
    monkeypatch.setattr(correctness, "_CHUNK", request.param)


@pytest.mark.usefixtures("chunk")
def test_equal_tensors_agree_whatever_is_in_them():
    value = torch.tensor([0.0, -0.0, 1.0, math.inf, -math.inf, math.nan, 1e-38, 3e38] * 3)
    assert held(value.clone(), value) == Agreement()


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize(("got", "want"), [(math.nan, 1.0), (math.inf, 1.0), (1.0, math.nan), (-math.inf, math.inf)])
def test_a_non_finite_element_only_passes_where_the_reference_has_it(got, want):
    like = torch.ones(20)
    like[13] = want
    actual = torch.ones(20)
    actual[13] = got
    found = held(actual, like)
    assert isinstance(found, Disagreement)
    assert found.mismatch.worst_index == (13,)
    assert found.mismatch.mismatched == 1


@pytest.mark.usefixtures("chunk")
def test_the_worst_of_several_wrong_elements_is_named():
    like = torch.arange(60, dtype=torch.float32).view(6, 10) + 1
    actual = like.clone()
    actual[1, 2] += 1
    actual[4, 5] += 30
    actual[5, 9] += 2
    found = held(actual, like).mismatch
    assert (found.mismatched, found.elements, found.worst_index) == (3, 60, (4, 5))
    assert (found.actual, found.expected) == (76.0, 46.0)


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e6, 1e12])
def test_the_tolerance_scales_with_the_output(scale):
    like = torch.linspace(-1, 1, 1001) * scale
    assert isinstance(held(like * (1 + 1e-6), like), Agreement)
    assert isinstance(held(like * 1.01, like), Disagreement)
    assert isinstance(held(torch.zeros_like(like), like), Disagreement)


def test_where_the_reference_is_far_from_float64_a_candidate_may_be_as_far():
    exact = torch.ones(100, dtype=torch.float64)
    like = (exact + 1e-3).float()
    assert isinstance(held((exact - 1e-3).float(), like, exact), Agreement)
    assert isinstance(held((exact - 1e-2).float(), like, exact), Disagreement)


@pytest.mark.parametrize(
    ("dtype", "step"), [(torch.float16, 2e-3), (torch.bfloat16, 8e-3), (torch.float32, 1e-6), (torch.float64, 1e-13)]
)
def test_each_precision_has_its_own_tolerance(dtype, step):
    like = torch.ones(64, dtype=dtype)
    assert isinstance(held(like * (1 + step), like), Agreement)
    assert isinstance(held(like * (1 + 40 * RATIO[dtype]), like), Disagreement)


RATIO = {torch.float16: 1e-2, torch.bfloat16: 1e-2, torch.float32: 1e-4, torch.float64: 1e-10}


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.bool])
def test_integers_and_bools_are_compared_exactly(dtype):
    like = torch.ones(3, 4, dtype=dtype)
    actual = like.clone()
    assert held(actual, like) == Agreement()
    actual[2, 1] = 0
    assert held(actual, like).mismatch.worst_index == (2, 1)


def test_complex_numbers_are_compared_by_both_parts():
    like = torch.complex(torch.ones(5), torch.ones(5))
    assert isinstance(held(like.clone(), like), Agreement)
    assert isinstance(held(like.conj(), like), Disagreement)


@pytest.mark.parametrize(
    ("actual", "like", "reason"),
    [
        ([torch.ones(2)], (torch.ones(2),), "structure"),
        ((torch.ones(2),), (torch.ones(2), torch.ones(2)), "structure"),
        ({"a": torch.ones(2)}, {"b": torch.ones(2)}, "structure"),
        (torch.ones(2), 1.0, "structure"),
        (1, 1.0, "structure"),
        (1.5, 1.0, "values"),
        ("a", "b", "values"),
        (Opaque("Lazy"), torch.ones(2), "structure"),
        (Elsewhere("cpu"), torch.ones(2), "device"),
        (torch.ones(2, 1), torch.ones(2), "shape"),
        (torch.ones(0), torch.ones(0, 3), "shape"),
        (torch.ones(2).half(), torch.ones(2), "dtype"),
    ],
)
def test_structure_is_exact(actual, like, reason):
    found = held(actual, like)
    assert isinstance(found, Disagreement)
    assert found.reason == reason


def test_nested_outputs_are_compared_leaf_by_leaf():
    like = {"loss": 0.5, "parts": (torch.ones(3), [torch.zeros(())], None, True)}
    assert isinstance(held(like, like), Agreement)
    worse = {"loss": 0.5, "parts": (torch.ones(3), [torch.ones(())], None, True)}
    assert held(worse, like).mismatch.output == "output['parts'][1][0]"


def test_a_strided_output_is_compared_in_its_own_order():
    like = torch.arange(12.0).view(3, 4)
    assert isinstance(held(like.t().contiguous().t(), like), Agreement)
