"""What is kept of outputs is what was there, whatever is written afterwards."""

import mmap
import os

import pytest
import torch

from harness.pipeline.kept import PLACES, Source, keep, mappings_of
from harness.wire.memory import HostArena
from harness.wire.values import TensorValue


def layout_of(tensor):
    return TensorValue(
        dtype=str(tensor.dtype).removeprefix("torch."),
        shape=tuple(tensor.shape),
        strides=tensor.stride(),
        offset=tensor.data_ptr(),
    )


def source_of(tensor, *, mapped):
    raw = tensor.untyped_storage()
    everything = torch.empty(0, dtype=torch.uint8).set_(raw)
    return Source(os.getpid(), tensor.data_ptr(), "", everything if mapped else None)


@pytest.mark.parametrize("mapped", [False, True])
def test_all_of_a_small_output_is_kept(mapped):
    output = torch.randn(30, 40)
    kept = keep(source_of(output, mapped=mapped), layout_of(output), whole=True)
    before = output.clone()
    output.zero_()
    assert torch.equal(kept.data[: output.numel() * 4].view(torch.float32), before.reshape(-1))
    assert not kept.unchanged()


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.complex64])
def test_of_a_large_output_elements_are_kept_wherever_its_rows_lie(mapped, dtype):
    room = torch.randn(64, 1000).to(dtype)
    output = room[:, :50].t()
    found = keep(source_of(room, mapped=mapped), layout_of(output), whole=False).sampled()
    assert found.shape == (50, 64)
    assert len(found.places) == PLACES
    assert torch.equal(found.values, output.reshape(-1)[found.places])


def test_a_larger_output_than_the_last_is_covered_up_to_a_point():
    room = torch.zeros(100_000)
    kept = keep(source_of(room, mapped=True), layout_of(room[:1000]), whole=True)
    assert kept.covers(layout_of(room[:1400]))
    assert not kept.covers(layout_of(room[:1600]))


def test_memory_that_is_not_there_is_not_kept():
    with pytest.raises(OSError, match=r"Bad address|not mapped"):
        keep(Source(os.getpid(), 64), layout_of(torch.zeros(4)), whole=True)
    with pytest.raises(OSError, match=r"Bad address|not mapped"):
        keep(Source(os.getpid(), 64), layout_of(torch.zeros(4)), whole=False)


def test_every_mapping_of_an_arena_is_found():
    arena = HostArena(1 << 16)
    descriptor = arena.descriptor()
    again = mmap.mmap(descriptor, 4096, offset=8192)
    found = mappings_of(os.getpid(), descriptor)
    os.close(descriptor)
    assert arena.bytes().data_ptr() in {one.start for one in found}
    assert 8192 in {one.offset for one in found}
    again.close()
    arena.close()
