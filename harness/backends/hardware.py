"""Hardware: a device that a judge holds. What a clock needs of it, what is known of it, and how records name it.

A backend subclasses it. Implements `judge.rounds.Device`.
"""

import os
import platform
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import torch

import harness
from harness.backends.awake_core import AwakeCore
from harness.backends.rates import Rates, measure_rates
from harness.backends.reading import Reading
from harness.schema.problem import Precision
from harness.schema.record import Environment
from harness.transport.memory import Driver

_LOOKS = 5  # how many evictions the median is of


class CopyEngines(Protocol):
    """Copies between a device's memory and the host's that run beside kernels, in the order in which they are queued.

    Addresses on the device are this process's.
    """

    def room(self, size: int) -> torch.Tensor:
        """Host memory that can be copied to and from, uint8 of so many bytes."""

    def queue_write(self, host: int, device: int, size: int) -> None:
        """Have so many bytes copied to the device."""

    def queue_read(self, device: int, host: int, *, width: int, pitch: int, height: int) -> None:
        """Have `height` runs of `width` bytes, `pitch` bytes apart, copied to the host, one behind the other."""

    def wait(self) -> None:
        """Return when all that is queued is done, and be awake until then."""


class Hardware:
    """One device, held for the judge's lifetime.

    `apart` says whether its memory and its clock are apart from the host's, so that single calls can be timed, floors
    stated and accusations made of what ran beside. `identity` tells it from the other devices of this machine, whatever
    a process calls it. `arch` is what kernels are built for ("9.0"), None where nothing is. `name` is for people.
    """

    apart = False
    arch: str | None = None
    identity: str
    name: str

    def __init__(self, device: torch.device, cache_bytes: int, core: AwakeCore) -> None:
        self.device = device
        self._core = core
        self._cache_bytes = cache_bytes
        self._scratch = torch.empty(2 * cache_bytes, dtype=torch.uint8, device=device)
        self._rates: dict[Precision, Rates] = {}
        self._quiet_s = self._evict_s()

    # ---- what every backend says for itself --------------------------------------------------------------------

    def arena(self, size: int, *, copied: bool) -> Any:
        """Memory that the judge shares with one worker; `copied` where the device's own cannot be shared."""
        raise NotImplementedError

    def free_bytes(self) -> int:
        """Memory of the device that nothing uses now."""
        raise NotImplementedError

    def shares_memory(self) -> bool:
        """Whether judge and workers can map each other's memory on this device."""
        return True

    def ipc(self) -> Driver | None:
        """What opens memory that a worker allocated on the device, by its handle; None where that is the host's."""
        return None

    def copy_engines(self) -> CopyEngines | None:
        """What copies beside the kernels of other processes, without a switch to the judge's; None where nothing."""
        return None

    def wait(self) -> None:
        """Return when what the judge has queued on the device is done."""

    def touch(self) -> None:
        """Have the device do a trifle, after whatever runs there now, and wait for it."""

    def glance(self) -> float:
        """Seconds until a trifle is done that goes before whatever this process has queued on the device."""
        return 0.0

    def hold(self, seconds: float) -> None:
        """Have the device be busy for about so long with what changes nothing, and do not wait for it."""

    def trim(self) -> None:
        """Give memory that is kept for later back to the device."""

    def settle(self) -> None:
        """Wait until evictions take what they take on the idle device, a few seconds at most."""

    def was_shared(self, evict_s: float) -> bool:
        """Whether something else used the device while evictions took `evict_s`, and does no more."""
        return False

    def read(self) -> Reading | None:
        """Its state now; None where nothing tells."""
        return None

    def clocks(self) -> dict[str, float]:
        """Clocks in MHz now, and the highest that the device knows; empty where nothing tells."""
        return {}

    def driver(self) -> str | None:
        """The version of its driver."""
        return None

    def memory_peak(self) -> float:
        """Bytes per second that its memory can move at most; 0 where unknown."""
        return 0.0

    # ---- what is the same for all ------------------------------------------------------------------------------

    def evict(self) -> None:
        """Flush the last-level cache (on a GPU the L2) by writing over it, and wait for that."""
        self._scratch.fill_(1)
        self.wait()

    def awake(self) -> AbstractContextManager[None]:
        return self._core.spinning()

    def rates(self, precision: Precision) -> Rates:
        """What the device can do, measured at the first question. Ask while nothing else runs on it."""
        if precision not in self._rates:
            peak = self.memory_peak()
            self._rates[precision] = measure_rates(
                self.device, precision, cache_bytes=self._cache_bytes, memory_peak=peak
            )
            self.trim()
        return self._rates[precision]

    def knows_rates(self, precision: Precision) -> bool:
        """Whether `rates` has been asked before, and need not measure."""
        return precision in self._rates

    def environment(self) -> Environment:
        """The machine as records name it."""
        return Environment(
            harness=harness.__version__,
            python=platform.python_version(),
            torch=torch.__version__,
            cuda=torch.version.cuda,
            driver=self.driver(),
            gpu=self.name if self.apart else None,
            host=platform.node(),
            cpu=cpu_name(),
            cores=len(os.sched_getaffinity(0)),
        )

    def _evict_s(self) -> float:
        """The median of some evictions, in seconds."""
        seconds = []
        for _ in range(_LOOKS):
            started = time.monotonic()
            self.evict()
            seconds.append(time.monotonic() - started)
        return sorted(seconds)[_LOOKS // 2]


def cpu_name() -> str:
    """The processor's model, as Linux names it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
