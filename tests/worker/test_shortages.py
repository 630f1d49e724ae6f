"""What a candidate ran short of has a word of its own on the wire, whoever says so: Python, torch or C++."""

import errno
import os
import threading
from typing import get_args

import pytest
import torch

from harness.schema.verdict import Reason, Wrong
from harness.transport.worker_messages import Raised
from harness.worker.serve import _kind


def _no_such_thread() -> RuntimeError:
    """What the interpreter says where a thread cannot be had, with a stack that no machine has."""
    before = threading.stack_size(1 << 62)
    try:
        threading.Thread(target=print).start()
    except RuntimeError as error:
        return error
    finally:
        threading.stack_size(before)
    raise AssertionError("it started")


def _no_such_tensor() -> RuntimeError:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 50)
    return caught.value


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (_no_such_thread(), "processes"),
        (BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)), "processes"),
        (RuntimeError("Resource temporarily unavailable"), "processes"),  # std::system_error of std::thread
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), "open-files"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "disk"),
        (OSError(errno.EFBIG, os.strerror(errno.EFBIG)), "disk"),
        (MemoryError(), "out-of-memory"),
        (_no_such_tensor(), "out-of-memory"),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 4096.00 GiB."), "device-memory"),
        (RuntimeError("CUDA error: out of memory"), "device-memory"),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), "device"),
        (PermissionError(errno.EACCES, os.strerror(errno.EACCES)), "exception"),
        (RuntimeError("no such kernel"), "exception"),
    ],
)
def test_a_shortage_has_a_word_of_its_own(error: Exception, kind: str) -> None:
    assert _kind(error) == kind


def test_every_word_but_that_of_builds_is_a_reason_of_a_verdict() -> None:
    words = set(get_args(Raised.model_fields["kind"].annotation))
    assert words - {"build", "data-race"} <= set(get_args(Reason))
    assert "data-race" in get_args(Wrong.model_fields["reason"].annotation)
