"""The CPU as a judge holds it."""

from typing import Any

import torch

from harness.backends.awake_core import AwakeCore
from harness.backends.hardware import Hardware, cpu_name
from harness.transport.memory import CopiedArena, HostArena

CACHE_BYTES = 32 << 20
"""Half of what is written over to empty the last cache; that is larger than most have."""
MOST_BYTES = 6 << 30
"""What a host is said to have free: a bound that keeps the input sets small."""


class CpuDevice(Hardware):
    """The machine's CPU. Timed workers run on `core`, where there is one."""

    identity = "cpu"

    def __init__(self, core: int | None) -> None:
        super().__init__(torch.device("cpu"), CACHE_BYTES, AwakeCore(core))
        self.name = cpu_name()

    def arena(self, size: int, *, copied: bool) -> Any:
        return CopiedArena(size, self.device) if copied else HostArena(size)

    def free_bytes(self) -> int:
        return MOST_BYTES
