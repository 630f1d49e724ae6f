"""The CPU: inline C++ and pure PyTorch run as they are; candidates in CUDA go to the backend that emulates it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from harness.backends.backend import Backend
from harness.schema import EMULATED

if TYPE_CHECKING:
    from harness.backends.hardware import Hardware


def hide_gpus(handle: str | None) -> Mapping[str, str]:
    """The environment of a process that sees no GPU."""
    del handle
    return {"CUDA_VISIBLE_DEVICES": ""}


def open_cpu(handle: str | None, core: int | None) -> "Hardware":
    """Hold the CPU."""
    from harness.backends.cpu.device import CpuDevice

    del handle
    return CpuDevice(core)


def one_without_handle() -> list[str | None]:
    """There is one, and nothing has to name it."""
    return [None]


BACKEND = Backend(
    name="cpu",
    title="a CPU",
    find=one_without_handle,
    visibility=hide_gpus,
    open=open_cpu,
    toolchains=("slim", "stock"),
    absent="there is no CPU",
    numbered=False,
    builds_cuda=False,
    emulation=EMULATED,
)
