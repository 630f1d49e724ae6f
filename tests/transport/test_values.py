"""Values cross as data: what went in comes out, and tensors stay where they are."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from harness.transport.memory import HostArena, aligned, view
from harness.transport.values import (
    OpaqueValue,
    TensorValue,
    Value,
    decode,
    encode,
    packed_plain,
    tensors,
    unpacked_plain,
    with_plain,
)

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)
WIRE: TypeAdapter[Value] = TypeAdapter(Value)


def no_tensor(_):
    raise AssertionError("there is no tensor in it")


def crossed(value: Value) -> Value:
    return WIRE.validate_json(WIRE.dump_json(value))


@given(PLAIN)
def test_plain_values_come_out_as_they_went_in(value):
    back = decode(crossed(encode(value, no_tensor)), no_tensor)
    assert back == value
    assert type(back) is type(value)


def test_plain_values_of_calls_come_out_of_one_text_as_they_went_in():
    calls = [(3, -0.0, True, None, "mean"), (2**70, math.inf, 1e-310, torch.float16, torch.device("cpu"))]
    found = unpacked_plain(packed_plain(calls))
    assert [tuple(call) for call in found] == calls
    assert [[type(one) for one in call] for call in found] == [[type(one) for one in call] for call in calls]
    assert math.isnan(unpacked_plain(packed_plain([[math.nan]]))[0][0])


def test_plain_values_are_exchanged_around_the_same_tensors():
    kept = torch.rand(3)
    given = [kept, 1, {"b": (2.5, kept), "a": [None]}, "x"]
    found = with_plain(given, iter([7, "a", "b", "y"]))
    assert found == [kept, 7, {"b": ("b", kept), "a": ["a"]}, "y"]
    assert given[1:] == [1, {"b": (2.5, kept), "a": [None]}, "x"]
    with pytest.raises(StopIteration):
        with_plain([1, 2], iter([1]))


def test_infinity_nan_and_negative_zero_survive():
    back = decode(crossed(encode([math.inf, -math.inf, -0.0, math.nan], no_tensor)), no_tensor)
    assert back[:2] == [math.inf, -math.inf]
    assert math.copysign(1, back[2]) == -1
    assert math.isnan(back[3])


def test_dtypes_and_devices_have_a_form():
    assert decode(crossed(encode([torch.bfloat16, torch.device("cpu")], no_tensor)), no_tensor) == [
        torch.bfloat16,
        torch.device("cpu"),
    ]


class Lazy(torch.Tensor):
    """A tensor that would compute when it is looked at."""


@pytest.mark.parametrize("value", [object(), torch.zeros(2).as_subclass(Lazy), {1: 2}, {3, 4}, "\udcff", {"\ud800": 1}])
def test_what_has_no_form_is_only_named(value):
    encoded = encode(value, no_tensor)
    assert isinstance(encoded, OpaqueValue)
    with pytest.raises(ValueError, match="no form"):
        decode(encoded, no_tensor)


def test_tensors_are_described_and_listed_in_order():
    def place(tensor):
        return TensorValue(dtype="float32", shape=tuple(tensor.shape), strides=tuple(tensor.stride()), offset=8)

    encoded = encode({"a": (torch.zeros(2, 3), 1), "b": [torch.zeros(())]}, place)
    assert [leaf.shape for leaf in tensors(crossed(encoded))] == [(2, 3), ()]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64", "bool", "uint8", "complex64", "float64"])
def test_a_tensor_over_an_arena_is_shared_by_all_who_map_it(dtype):
    arena = HostArena(4096)
    other = HostArena(4096, arena.descriptor())
    value = TensorValue(dtype=dtype, shape=(2, 3), strides=(3, 1), offset=256)
    mine = view(arena.bytes(), value, value.offset)
    theirs = view(other.bytes(), value, value.offset)
    mine.fill_(1)
    assert torch.equal(mine, theirs)
    assert str(theirs.dtype) == f"torch.{dtype}"
    arena.close()
    other.close()


def test_a_view_that_reaches_outside_is_refused():
    arena = HostArena(4096)
    with pytest.raises(ValueError, match="reaches"):
        view(arena.bytes(), TensorValue(dtype="float32", shape=(1024,), strides=(1,), offset=4), 4)
    with pytest.raises(ValueError, match="reaches"):
        view(arena.bytes(), TensorValue(dtype="float32", shape=(2, 2), strides=(5000, 1), offset=0), 0)
    with pytest.raises(ValueError, match="no dtype"):
        view(arena.bytes(), TensorValue(dtype="nn", shape=(1,), strides=(1,), offset=0), 0)
    arena.close()


def test_strided_and_empty_tensors_have_their_span():
    assert TensorValue(dtype="float32", shape=(2, 3), strides=(10, 2), offset=0).span == 15
    assert TensorValue(dtype="float32", shape=(0, 3), strides=(3, 1), offset=0).span == 0
    assert TensorValue(dtype="float32", shape=(), strides=(), offset=0).span == 1
    assert aligned(1) == 256


def test_tensors_of_a_dict_come_by_its_keys_and_its_own_order_stays():
    """So that which tensor a place means is not the choice of the process that describes it."""
    asked = []

    def tensor(value):
        asked.append(len(value))
        return TensorValue(dtype="float32", shape=(len(value),), strides=(1,), offset=0)

    described = encode({"z": torch.zeros(1), "a": [torch.zeros(2), {"y": torch.zeros(3), "b": torch.zeros(4)}]}, tensor)
    assert asked == [2, 4, 3, 1]
    assert [leaf.shape[0] for leaf in tensors(described)] == asked
    assert list(described.items) == ["z", "a"]
