"""The judge's way to read another process's memory."""

import os
import signal

import pytest
import torch

from harness.wire.memory import read_process


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
