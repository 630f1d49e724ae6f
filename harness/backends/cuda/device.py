"""A GPU as a judge holds it, by torch's CUDA and by NVML."""

import time
from typing import Any

import torch

from harness.backends.awake_core import AwakeCore
from harness.backends.cuda.copy_engines import CudaCopies
from harness.backends.hardware import Hardware
from harness.backends.reading import Reading
from harness.errors import DeviceError
from harness.transport.memory import CopiedArena, DeviceArena, Driver, shares_device_memory

_BUSY_FACTOR, _BUSY_S = 2.0, 1e-3
"""An eviction that takes so many times longer, and so much longer, than on the idle device shared it. A switch between
two processes' contexts alone costs 0.15 ms on an H200, a time slice of another process's kernel 2 ms."""
_SETTLING_S, _SETTLED_FACTOR, _QUIET_EVICTIONS = 3.0, 1.2, 4
_QUIET_S, _QUIET_LOOKS = 0.4, 40
"""How long the device has to be quiet, looked at so often, before only the candidate can have been busy on it."""
_GOES_FIRST = -5
"""The priority of a stream whose kernels go before others; a device takes the highest that it has."""
_USUAL_KHZ = 1_700_000  # where torch does not tell the device's highest clock
_THROTTLE = {
    "nvmlClocksThrottleReasonSwPowerCap": "sw-power-cap",
    "nvmlClocksThrottleReasonHwSlowdown": "hw-slowdown",
    "nvmlClocksThrottleReasonHwThermalSlowdown": "hw-thermal",
    "nvmlClocksThrottleReasonHwPowerBrakeSlowdown": "hw-power-brake",
    "nvmlClocksThrottleReasonSwThermalSlowdown": "sw-thermal",
}


class CudaDevice(Hardware):
    """One GPU; `gpu` is as CUDA_VISIBLE_DEVICES names it, and the only one that this process sees.

    Timed workers run on `core`, where there is one. Raises DeviceError where the device cannot be used.
    """

    apart = True

    def __init__(self, gpu: str, core: int | None) -> None:
        awake = AwakeCore(core)  # forks, so before CUDA is initialised
        _open_device()
        properties = torch.cuda.get_device_properties(0)
        super().__init__(torch.device("cuda", 0), int(properties.L2_cache_size), awake)
        self._nvml = _nvml_handle(gpu)
        self._copies: CudaCopies | None = None
        self._first: torch.cuda.Stream | None = None
        self._glanced_at = torch.zeros(1, device=self.device)
        self._clock_hz = 1e3 * getattr(properties, "clock_rate", _USUAL_KHZ)
        self.name = torch.cuda.get_device_name(0)
        self.identity = f"gpu-{getattr(properties, 'uuid', None) or gpu}".replace("/", "-")
        self.arch = "{}.{}".format(*torch.cuda.get_device_capability(0))

    def arena(self, size: int, *, copied: bool) -> Any:
        return CopiedArena(size, self.device) if copied else DeviceArena(size, 0)

    def free_bytes(self) -> int:
        return int(torch.cuda.mem_get_info()[0])

    def shares_memory(self) -> bool:
        return shares_device_memory(0)

    def ipc(self) -> Driver:
        return Driver()

    def copy_engines(self) -> CudaCopies:
        if self._copies is None:
            self._copies = CudaCopies()
        return self._copies

    def wait(self) -> None:
        torch.cuda.synchronize()

    def touch(self) -> None:
        self._scratch[:1].fill_(2)
        self.wait()

    def glance(self) -> float:
        if self._first is None:
            self._first = torch.cuda.Stream(priority=_GOES_FIRST)
        started = time.monotonic()
        with torch.cuda.stream(self._first):
            self._glanced_at.fill_(1)
        self._first.synchronize()
        return time.monotonic() - started

    def hold(self, seconds: float) -> None:
        torch.cuda._sleep(int(seconds * self._clock_hz))

    def trim(self) -> None:
        torch.cuda.empty_cache()

    def settle(self) -> None:
        quiet, until = 0, time.monotonic() + _SETTLING_S
        while quiet < _QUIET_EVICTIONS and time.monotonic() < until:
            quiet = quiet + 1 if self._evict_s() < _SETTLED_FACTOR * self._quiet_s else 0

    def was_shared(self, evict_s: float) -> bool:
        """Whether evictions that took `evict_s` did not have the device to themselves, while for a while now they have.

        So it was the subject that is gone by now, and not another user of the device, which would show up again.
        """
        if not self._is_busy(evict_s):
            return False
        for _ in range(_QUIET_LOOKS):
            time.sleep(_QUIET_S / _QUIET_LOOKS)
            if self._is_busy(self._evict_s()):
                return False
        return True

    def _is_busy(self, evict_s: float) -> bool:
        return evict_s > _BUSY_FACTOR * self._quiet_s + _BUSY_S

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

    def memory_peak(self) -> float:
        """Two transfers a clock over its bus."""
        if self._nvml is None:
            return 0.0
        import pynvml

        try:
            mhz = pynvml.nvmlDeviceGetMaxClockInfo(self._nvml, pynvml.NVML_CLOCK_MEM)
            return 2e6 * float(mhz) * float(pynvml.nvmlDeviceGetMemoryBusWidth(self._nvml)) / 8
        except pynvml.NVMLError:
            return 0.0

    def clocks(self) -> dict[str, float]:
        reading = self.read()
        if reading is None:
            return {}
        import pynvml

        highest = pynvml.nvmlDeviceGetMaxClockInfo(self._nvml, pynvml.NVML_CLOCK_SM)
        return {"sm": reading.sm_mhz, "memory": reading.memory_mhz, "sm_max": highest}

    def driver(self) -> str | None:
        import pynvml

        try:
            pynvml.nvmlInit()
            return str(pynvml.nvmlSystemGetDriverVersion())
        except pynvml.NVMLError:
            return None


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
