"""Which bytes of memory a tensor takes."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from harness.judge.reach import GAP_BYTES, extent, merged, parts
from harness.transport.values import TensorValue


def leaf(shape, strides, dtype="float32"):
    return TensorValue(dtype=dtype, shape=shape, strides=strides, offset=0)


FAR = 1 << 20


@pytest.mark.parametrize(
    ("shape", "strides", "expected"),
    [
        ((4, 32), (32, 1), [(0, 512)]),
        ((32, 4), (1, 32), [(0, 512)]),
        ((), (), [(0, 4)]),
        ((4, 0), (1, 1), []),
        ((2, 32), (FAR, 1), [(0, 128), (4 * FAR, 128)]),
        ((2, 32), (32 + GAP_BYTES // 4, 1), [(0, 256 + GAP_BYTES)]),
        ((2, 32), (33 + GAP_BYTES // 4, 1), [(0, 128), (132 + GAP_BYTES, 128)]),
        ((2, 2, 8), (FAR, 4 * FAR, 1), [(at * 4 * FAR, 32) for at in (0, 1, 4, 5)]),
        ((9, 2, 8), (0, FAR, 1), [(0, 32), (4 * FAR, 32)]),
        ((1, 8), (FAR, 1), [(0, 32)]),
        ((1 << 42, 2), (0, 31), [(0, 128)]),
    ],
)
def test_what_a_tensor_takes_is_its_elements_and_small_gaps(shape, strides, expected):
    assert list(parts(leaf(shape, strides), 100)) == expected


def test_more_parts_than_may_be_and_elements_far_apart_among_others_are_told_as_none():
    assert parts(leaf((101, 8), (FAR, 1)), 100) is None
    assert parts(leaf((1 << 21, 1 << 21), (5000, 5000)), 1 << 16) is None
    assert parts(leaf((8, 8), (FAR, FAR + 8)), 100) is None


@given(st.lists(st.tuples(st.integers(1, 4), st.sampled_from([0, 1, 3, 64, 1500, 9000])), max_size=4))
def test_every_element_lies_in_a_part_and_no_part_begins_or_ends_without_one(dims):
    layout = leaf(tuple(size for size, _ in dims), tuple(stride for _, stride in dims))
    found = parts(layout, 1000)
    if found is None:
        return
    places = itertools.product(*(range(size) for size, _ in dims))
    taken = {sum(at * stride for at, (_, stride) in zip(place, dims, strict=True)) * 4 for place in places}
    assert all(sum(start <= at and at + 4 <= start + size for start, size in found) == 1 for at in taken)
    assert all(start in taken and start + size - 4 in taken for start, size in found)
    assert found[-1][0] + found[-1][1] == extent(layout)
    assert list(found) == sorted(found)


def test_an_extent_is_that_of_torch_s_own_strides():
    value = torch.empty(5, 7, 3)[:, 2:4]
    assert extent(leaf(tuple(value.shape), value.stride())) == (4 * 21 + 3 + 2 + 1) * 4


def test_ranges_that_lie_over_each_other_are_one():
    assert merged([(10, 5), (0, 3), (12, 1), (14, 6), (30, 0), (3, 2)]) == [(0, 5), (10, 10), (30, 0)]
