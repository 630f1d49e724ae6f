"""The judge's way to read and overwrite another process's memory."""

import ctypes
import fcntl
import mmap
import os
import signal

import pytest
import torch

from harness.transport import memory
from harness.transport.memory import overwrite_process, read_process, view
from harness.transport.values import TensorValue


@pytest.fixture
def child_with_tensor():
    """A forked child that holds a tensor; its pid and the tensor's address (equal to ours: it is a fork)."""
    tensor = torch.arange(1000, dtype=torch.float32)
    pid = os.fork()
    if pid == 0:
        signal.pause()
        os._exit(0)
    yield pid, tensor
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def test_memory_of_another_process_is_read_without_its_help(child_with_tensor):
    pid, tensor = child_with_tensor
    copy = torch.empty(4000, dtype=torch.uint8)
    read_process(pid, tensor.data_ptr(), copy)
    assert torch.equal(copy.view(torch.float32), tensor)


def test_an_unmapped_address_is_an_error(child_with_tensor):
    pid, _ = child_with_tensor
    with pytest.raises(OSError, match=r"."):
        read_process(pid, 4096, torch.empty(8, dtype=torch.uint8))


def test_a_process_that_is_gone_is_an_error():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    with pytest.raises(ProcessLookupError):
        read_process(pid, 4096, torch.empty(8, dtype=torch.uint8))


def test_what_is_more_than_one_call_moves_is_read_in_several(child_with_tensor, monkeypatch):
    pid, tensor = child_with_tensor
    monkeypatch.setattr(memory, "_CHUNK", 999)
    copy = torch.empty(4000, dtype=torch.uint8)
    read_process(pid, tensor.data_ptr(), copy)
    assert torch.equal(copy.view(torch.float32), tensor)


@pytest.mark.parametrize("at_once", [1 << 20, 7])
def test_ranges_of_another_process_are_overwritten_and_nothing_beside_them(child_with_tensor, monkeypatch, at_once):
    pid, tensor = child_with_tensor
    monkeypatch.setattr(memory, "_PATTERN_BYTES", at_once)
    start = tensor.data_ptr()
    overwrite_process(pid, [(start + 4, 8), (start + 100, 0), (start + 400, 3600)], 0xFF)
    copy = torch.empty(4000, dtype=torch.uint8)
    read_process(pid, start, copy)
    found, kept = copy.view(torch.float32), torch.ones(1000, dtype=torch.bool)
    kept[1:3] = kept[100:] = False
    assert found[~kept].isnan().all()
    assert torch.equal(found[kept], tensor[kept])


def test_memory_that_is_read_only_cannot_be_overwritten(child_with_tensor):
    pid, _ = child_with_tensor
    page = torch.frombuffer(mmap.mmap(-1, mmap.PAGESIZE), dtype=torch.uint8)
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(page.data_ptr()), mmap.PAGESIZE, mmap.PROT_READ) == 0
    for where in (page.data_ptr(), 4096):
        with pytest.raises(OSError, match="Bad address"):
            overwrite_process(os.getpid(), [(where, 8)], 0)
    with pytest.raises(OSError, match="Bad address"):
        overwrite_process(pid, [(4096, 8)], 0)


def test_whether_a_process_may_be_read_is_known_without_an_address_of_it(child_with_tensor):
    pid, _ = child_with_tensor
    assert memory.may_read_process(pid)
    assert not memory.may_read_process(2**22 + 1)  # nobody


def test_an_arena_keeps_its_size_whatever_a_peer_does_with_its_descriptor():
    arena = memory.HostArena(1 << 20)
    descriptor = arena.descriptor()
    for size in (0, 1 << 21):
        with pytest.raises(PermissionError):
            os.ftruncate(descriptor, size)
    with pytest.raises(PermissionError):
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
    arena.bytes().fill_(1)
    os.close(descriptor)
    arena.close()


def test_a_tensor_may_have_more_elements_than_32_bits_count():
    value = TensorValue(dtype="int16", shape=(2**16, 2**17), strides=(0, 0), offset=0)
    found = view(torch.tensor([1, 2], dtype=torch.uint8), value, 0)
    assert found.numel() == value.elements == 2**33
    assert found[2**16 - 1, 2**17 - 1] == 513


@pytest.mark.parametrize(
    "shape",
    [(0, 2**62, 2**62), (2**62, 2**62), (2**40, 2**40, 0), (2**62, 2)],
    ids=lambda shape: "x".join(map(str, shape)),
)
def test_a_shape_that_no_tensor_can_have_is_an_error(shape):
    value = TensorValue(dtype="uint8", shape=shape, strides=(0,) * len(shape), offset=0)
    with pytest.raises(ValueError, match="no tensor of uint8 can have the shape"):
        view(torch.zeros(1, dtype=torch.uint8), value, 0)
