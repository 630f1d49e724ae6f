"""Hardware: the judge's device. What a clock needs of it, what is known of it, and how records name it."""

import os
import platform
import time
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

import harness
from harness.errors import DeviceError
from harness.judge.awake_core import AwakeCore
from harness.judge.roofline import Rates, measure_rates
from harness.judge.statistics import median
from harness.judge.timing import Reading
from harness.schema.problem import Precision
from harness.schema.record import Environment
from harness.transport.memory import shares_device_memory

_HOST_CACHE_BYTES = 64 << 20  # written over to empty the CPU's last cache; larger than most have
_BUSY_FACTOR, _BUSY_S = 2.0, 1e-3
"""An eviction that takes so many times longer, and so much longer, than on the idle device shared it with somebody. A
switch between two processes' contexts alone costs 0.15 ms on an H200, a slice of somebody else's kernel 2 ms."""
_SETTLING_S, _SETTLED_FACTOR, _QUIET_EVICTIONS = 3.0, 1.2, 4
_QUIET_S, _QUIET_LOOKS = 0.4, 40
"""How long the device has to be quiet, looked at so often, before nobody but the candidate can have been busy on it."""
_THROTTLE = {
    "nvmlClocksThrottleReasonSwPowerCap": "sw-power-cap",
    "nvmlClocksThrottleReasonHwSlowdown": "hw-slowdown",
    "nvmlClocksThrottleReasonHwThermalSlowdown": "hw-thermal",
    "nvmlClocksThrottleReasonHwPowerBrakeSlowdown": "hw-power-brake",
    "nvmlClocksThrottleReasonSwThermalSlowdown": "sw-thermal",
}


class Hardware:
    """One device, held for the judge's lifetime. Implements `judge.timing.Device`."""

    def __init__(self, gpu: str | None, core: int | None = None) -> None:
        """`gpu` is as CUDA_VISIBLE_DEVICES names it; None is the CPU. Timed workers run on `core`, where there is one.

        Raises DeviceError where the device cannot be used.
        """
        self.gpu = gpu
        self._core = AwakeCore(core)
        self.device = torch.device("cuda", 0) if gpu is not None else torch.device("cpu")
        if gpu is not None:
            _open_device()
            self._cache_bytes = int(torch.cuda.get_device_properties(0).L2_cache_size)
        else:
            self._cache_bytes = _HOST_CACHE_BYTES // 2
        self._scratch = torch.empty(2 * self._cache_bytes, dtype=torch.uint8, device=self.device)
        self._nvml = _nvml_handle(gpu) if gpu is not None else None
        self._rates: dict[Precision, Rates] = {}
        self._quiet_s = self._evict_s()

    def evict(self) -> None:
        self._scratch.fill_(1)
        self._wait()

    def touch(self) -> None:
        if self.device.type == "cuda":
            self._scratch[:1].fill_(2)
            self._wait()

    def awake(self) -> AbstractContextManager[None]:
        return self._core.spinning()

    def read(self) -> Reading | None:
        if self._nvml is None:
            return None
        import pynvml

        try:
            reasons = pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(self._nvml)
            return Reading(
                sm_mhz=pynvml.nvmlDeviceGetClockInfo(self._nvml, pynvml.NVML_CLOCK_SM),
                memory_mhz=pynvml.nvmlDeviceGetClockInfo(self._nvml, pynvml.NVML_CLOCK_MEM),
                temperature_c=pynvml.nvmlDeviceGetTemperature(self._nvml, pynvml.NVML_TEMPERATURE_GPU),
                power_w=pynvml.nvmlDeviceGetPowerUsage(self._nvml) / 1e3,
                throttle=tuple(name for bit, name in _THROTTLE.items() if reasons & getattr(pynvml, bit, 0)),
            )
        except pynvml.NVMLError:
            return None

    def rates(self, precision: Precision) -> Rates:
        """What the device can do, measured at the first question. Ask while nothing else runs on it."""
        if precision not in self._rates:
            rates = measure_rates(self.device, precision, cache_bytes=self._cache_bytes)
            self._rates[precision] = replace(rates, fill=max(rates.fill, self._memory_peak()))
            self.trim()
        return self._rates[precision]

    def _memory_peak(self) -> float:
        """Bytes per second that the memory can move at most: two transfers a clock over its bus; 0 where unknown."""
        if self._nvml is None:
            return 0.0
        import pynvml

        try:
            mhz = pynvml.nvmlDeviceGetMaxClockInfo(self._nvml, pynvml.NVML_CLOCK_MEM)
            return 2e6 * float(mhz) * float(pynvml.nvmlDeviceGetMemoryBusWidth(self._nvml)) / 8
        except pynvml.NVMLError:
            return 0.0

    def trim(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def settle(self) -> None:
        """Wait until evictions take what they take on the idle device, a few times in a row."""
        quiet, until = 0, time.monotonic() + _SETTLING_S
        while self.device.type == "cuda" and quiet < _QUIET_EVICTIONS and time.monotonic() < until:
            quiet = quiet + 1 if self._evict_s() < _SETTLED_FACTOR * self._quiet_s else 0

    def was_shared(self, evict_s: float) -> bool:
        """Whether evictions that took `evict_s` did not have the device to themselves, while for a while now they have.

        So it was the subject that is gone by now, and not another user of the device, who would show up again.
        """
        if self.device.type != "cuda" or not self._is_busy(evict_s):
            return False
        for _ in range(_QUIET_LOOKS):
            time.sleep(_QUIET_S / _QUIET_LOOKS)
            if self._is_busy(self._evict_s()):
                return False
        return True

    def _is_busy(self, evict_s: float) -> bool:
        return evict_s > _BUSY_FACTOR * self._quiet_s + _BUSY_S

    def shares_memory(self) -> bool:
        """Whether judge and workers can map each other's memory on this device."""
        return self.device.type != "cuda" or shares_device_memory(0)

    def free_bytes(self) -> int:
        """Device memory that nobody uses now; on a CPU a bound that keeps the input sets small."""
        if self.device.type == "cuda":
            return int(torch.cuda.mem_get_info()[0])
        return 6 << 30

    @property
    def arch(self) -> str | None:
        """The GPU's capability ("9.0")."""
        if self.device.type != "cuda":
            return None
        major, minor = torch.cuda.get_device_capability(0)
        return f"{major}.{minor}"

    @property
    def identity(self) -> str:
        """What tells it from the other devices of this machine, whatever a process calls it: a GPU's UUID, or "cpu"."""
        if self.device.type != "cuda":
            return "cpu"
        uuid = getattr(torch.cuda.get_device_properties(0), "uuid", None)
        return f"gpu-{uuid or self.gpu}".replace("/", "-")

    def knows_rates(self, precision: Precision) -> bool:
        """Whether `rates` has been asked before, and need not measure."""
        return precision in self._rates

    @property
    def name(self) -> str:
        return torch.cuda.get_device_name(0) if self.device.type == "cuda" else _cpu_name()

    def environment(self) -> Environment:
        """The machine as records name it."""
        on_gpu = self.device.type == "cuda"
        return Environment(
            harness=harness.__version__,
            python=platform.python_version(),
            torch=torch.__version__,
            cuda=torch.version.cuda,
            driver=_driver_version() if on_gpu else None,
            gpu=self.name if on_gpu else None,
            host=platform.node(),
            cpu=_cpu_name(),
            cores=len(os.sched_getaffinity(0)),
        )

    def clocks(self) -> dict[str, float]:
        """Clocks in MHz now, and the highest that the GPU knows; empty where NVML does not tell."""
        reading = self.read()
        if reading is None:
            return {}
        import pynvml

        highest = pynvml.nvmlDeviceGetMaxClockInfo(self._nvml, pynvml.NVML_CLOCK_SM)
        return {"sm": reading.sm_mhz, "memory": reading.memory_mhz, "sm_max": highest}

    def _evict_s(self) -> float:
        seconds = []
        for _ in range(5):
            started = time.monotonic()
            self.evict()
            seconds.append(time.monotonic() - started)
        return median(seconds)

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()


def _nvml_handle(gpu: str) -> Any:
    """NVML's handle of a GPU; None where NVML does not know it."""
    import pynvml

    try:
        pynvml.nvmlInit()
        if gpu.isdecimal():
            return pynvml.nvmlDeviceGetHandleByIndex(int(gpu))
        return pynvml.nvmlDeviceGetHandleByUUID(gpu)
    except pynvml.NVMLError:
        return None


def _open_device() -> None:
    try:
        torch.cuda.init()
        torch.zeros(1, device="cuda")
    except RuntimeError as error:
        raise DeviceError(f"the GPU cannot be used: {str(error).splitlines()[0]}; see harness doctor") from error


def _cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _driver_version() -> str | None:
    import pynvml

    try:
        pynvml.nvmlInit()
        return str(pynvml.nvmlSystemGetDriverVersion())
    except pynvml.NVMLError:
        return None
