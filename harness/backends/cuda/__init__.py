"""NVIDIA GPUs through CUDA."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from harness.backends.backend import Backend, TorchBuild

if TYPE_CHECKING:
    from harness.backends.hardware import Hardware


def visible_gpus() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    import pynvml

    try:
        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
    except pynvml.NVMLError:
        return []
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return [str(index) for index in range(count)]
    return [part.strip() for part in visible.split(",") if part.strip() and part.strip() != "-1"]


def _find() -> list[str | None]:
    return [*visible_gpus()]


def _only(handle: str | None) -> Mapping[str, str]:
    return {"CUDA_VISIBLE_DEVICES": handle or ""}


def _why_not(torch: TorchBuild) -> str:
    if torch.cuda is not None:
        return ""
    return "the torch that is installed is a CPU build: install a CUDA build, or use --device cpu"


def _open(handle: str | None, core: int | None) -> "Hardware":
    from harness.backends.cuda.device import CudaDevice

    assert handle is not None
    return CudaDevice(handle, core)


BACKEND = Backend(
    name="cuda",
    title="a GPU",
    find=_find,
    visibility=_only,
    open=_open,
    toolchains=("slim", "stock"),
    absent="there is no NVIDIA GPU here: use --device cpu, and see harness doctor",
    why_not=_why_not,
    is_gpu=True,
    nvcc=True,
)
