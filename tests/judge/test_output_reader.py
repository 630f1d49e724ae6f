"""Outputs of calls that came one by one, put together from what was read of each."""

from types import SimpleNamespace

import pytest
import torch

from harness.judge.output_reader import OutputReader
from harness.judge.snapshot import Kept, Source
from harness.transport.values import MappingValue, TensorValue

PLAIN = TensorValue(dtype="float32", shape=(2, 3), strides=(3, 1), offset=0, device="cpu")
FLAT = TensorValue(dtype="float32", shape=(4,), strides=(1,), offset=64, device="cpu")
OUTPUT = MappingValue(items={"b": FLAT, "a": PLAIN})
WORDS = torch.arange(6.0), torch.arange(10.0, 14.0)


@pytest.fixture
def reader() -> OutputReader:
    hardware = SimpleNamespace(device=torch.device("cpu"), apart=False)
    nothing = SimpleNamespace()
    return OutputReader(nothing, hardware=hardware, inputs=nothing, opened=nothing, memory_bytes=1 << 20)


def kept(leaf: TensorValue, words: torch.Tensor) -> Kept:
    return Kept(Source(0, leaf.offset), leaf, words.view(torch.uint8))


def test_an_output_is_put_together_as_another_is_laid_out(reader):
    told = reader.put_together(OUTPUT, [kept(PLAIN, WORDS[0]), kept(FLAT, WORDS[1])])  # by the keys in order
    assert list(told) == ["b", "a"]
    assert torch.equal(told["a"], WORDS[0].view(2, 3))
    assert torch.equal(told["b"], WORDS[1])


def test_elements_that_were_picked_out_are_told_with_their_places(reader):
    places = torch.tensor([1, 3])
    some = Kept(Source(0, 0), PLAIN, WORDS[0][places].view(torch.uint8).view(2, 4), places)
    told = reader.put_together(PLAIN, [some])
    assert torch.equal(told.places, places)
    assert torch.equal(told.values, WORDS[0][places])
