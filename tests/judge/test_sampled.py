"""Large outputs are compared at the places that were kept of them."""

import pytest
import torch

from harness.judge.correctness import Agreement, Expected, compare
from harness.judge.sampled import at_kept_places, lies_so, nearest
from harness.judge.subject import Sampled


def sampled(tensor, places):
    return Sampled(tuple(tensor.shape), torch.tensor(places), tensor.reshape(-1)[places].clone())


def verdict(output, like):
    exact = [one.double() for one in like] if isinstance(like, list) else like.double()
    return compare(*at_kept_places(output, Expected(like, exact)))


def test_kept_elements_are_held_against_their_own():
    right = torch.randn(7, 9, 5).transpose(0, 2)
    assert isinstance(verdict(sampled(right, [0, 17, 314]), right), Agreement)
    wrong = right.clone()
    wrong[0, 3, 3] += 1  # at 3 * 7 + 3 of 5 x 9 x 7
    assert verdict(sampled(wrong, [0, 24, 314]), right).reason == "values"


def test_of_several_ways_to_read_an_output_the_one_counts_that_is_nearest_to_what_is_expected():
    right = torch.randn(4, 4)
    ways = [right.t().contiguous(), right + 1e-4, torch.zeros(4, 4), torch.randn(2, 8)]
    assert nearest(ways, Expected(right, right.double())) is ways[1]
    nested = [[way, way[0]] for way in ways]
    assert nearest(nested, Expected([right, right[0]], [right.double(), right[0].double()])) is nested[1]
    of_some = [sampled(way, [1, 2, 7]) for way in ways[:2]]
    assert nearest(of_some, Expected(right, right.double())) is of_some[1]
    zeros = torch.zeros(100)
    zeros[:60] = 1.0
    most, few = sampled(torch.zeros(100), list(range(100))), sampled(zeros, [1, 70])
    assert nearest([most, few], Expected(zeros, zeros.double())) is few  # though more of the other are near


def test_the_one_element_of_an_output_of_no_dimensions_is_held_against_its_own():
    right = torch.tensor(2.5)
    assert isinstance(verdict(sampled(right, [0]), right), Agreement)
    assert verdict(sampled(right + 1, [0]), right).reason == "values"


def test_one_sampled_output_among_others_is_narrowed_alone():
    right = [torch.randn(8), torch.randn(4, 4)]
    assert isinstance(verdict([right[0], sampled(right[1], [3])], right), Agreement)


@pytest.mark.parametrize(("other", "reason"), [(torch.zeros(3, 2), "shape"), (torch.zeros(2, 3).half(), "dtype")])
def test_another_shape_or_dtype_is_named(other, reason):
    assert verdict(sampled(other, [1]), torch.zeros(2, 3)).reason == reason


def test_kept_elements_of_memory_that_is_shared_are_no_output_where_the_reference_writes_each():
    right = torch.ones(5, 7)
    expanded = Sampled((5, 7), torch.tensor([3, 9]), torch.ones(2), (1, 0))
    assert verdict(expanded, right).reason == "structure"
    assert isinstance(verdict(expanded, torch.ones(5, 1).expand(5, 7)), Agreement)
    assert isinstance(verdict(Sampled((5, 7), torch.tensor([3, 9]), torch.ones(2), (1, 5)), right), Agreement)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.int64])
def test_a_single_number_is_an_output_like_any(dtype):
    right = torch.tensor(3.0).to(dtype)
    kept = Sampled((), torch.zeros(1, dtype=torch.int64), right.reshape(1).clone())
    wrong = Sampled((), torch.zeros(1, dtype=torch.int64), torch.tensor([6.0]).to(dtype))
    for like in (right, right.reshape(1)):
        shape = tuple(like.shape)
        assert isinstance(verdict(Sampled(shape, kept.places, kept.values), like), Agreement)
        assert verdict(Sampled(shape, wrong.places, wrong.values), like).reason == "values"


@pytest.mark.parametrize(
    "dtype",
    [
        torch.float8_e4m3fn,
        torch.float8_e5m2,
        torch.bfloat16,
        torch.float16,
        torch.float64,
        torch.complex64,
        torch.bool,
        torch.uint8,
        torch.uint16,
        torch.uint64,
        torch.int8,
        torch.int64,
    ],
)
def test_outputs_of_any_dtype_are_told_apart(dtype):
    """torch compares no floats of one byte, which ended the judge."""
    right = torch.tensor([0.0, 1.0, 2.0, 1.0, 4.0, 1.0, 0.0, 1.0]).to(dtype)
    wrong = torch.tensor([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0]).to(dtype)
    expected = Expected(right, right)
    assert nearest([wrong, right], expected) is right
    assert lies_so(right, expected)
    assert not lies_so(wrong, expected)
