"""CUDA's account of calls that failed unnoticed: a launch of 2048 threads a block runs nothing, and is no exception."""

import ctypes
from collections.abc import Callable

import torch


def last_error_of_cuda() -> Callable[[], int]:
    """Asks CUDA's runtime for the number of the last call of this thread that failed, 0 where none did.

    Always 0 where the library that torch has loaded is not found under its usual name.
    """
    version = (torch.version.cuda or "0").split(".")[0]
    try:
        peek = ctypes.CDLL(f"libcudart.so.{version}").cudaPeekAtLastError
    except (OSError, AttributeError):
        return lambda: 0
    peek.restype = ctypes.c_int
    return lambda: int(peek())
