"""Backends: kinds of devices that candidates run on, one folder each, and the table of them.

To add one, add a folder with a `Backend` and a `Hardware`, and a row here.
"""

from harness.backends import cpu, cuda, emulated
from harness.backends.backend import Backend, TorchBuild

BACKENDS: dict[str, Backend] = {each.BACKEND.name: each.BACKEND for each in (cuda, cpu, emulated)}
"""By the kind of device that records name, in the order in which `--device auto` tries them."""


def backend_for(chosen: Backend, *, in_cuda: bool) -> Backend:
    """The backend that a candidate runs on where `chosen` was asked for: another one where its CUDA is emulated."""
    return BACKENDS[chosen.emulation] if in_cuda and chosen.emulation else chosen


__all__ = ["BACKENDS", "Backend", "TorchBuild", "backend_for"]
