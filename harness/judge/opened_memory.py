"""Opened memory: allocations of a worker on the device, mapped into the judge by the driver's handles."""

from collections.abc import Sequence

from harness.backends.hardware import Hardware
from harness.errors import DeviceError
from harness.judge.reach import merged
from harness.judge.snapshot import Allocation
from harness.transport.memory import device_bytes
from harness.transport.worker_messages import DeviceHandle


class OpenedMemory:
    """Those of one worker that are mapped. They stay so, because opening takes long and torch keeps its own."""

    def __init__(self, hardware: Hardware) -> None:
        self._hardware, self._driver = hardware, hardware.ipc()
        self._opened: dict[str, Allocation] = {}

    @property
    def allocations(self) -> list[Allocation]:
        """All, by their addresses in the worker."""
        return list(self._opened.values())

    def open(self, entry: DeviceHandle) -> Allocation:
        """Where the allocation is mapped here. What the worker says of its size is held against the driver's account.

        Raises ValueError for a handle that cannot be what the worker says.
        """
        assert self._driver is not None
        if entry.handle not in self._opened:
            stale = [known for known, held in self._opened.items() if _overlap(held, entry)]
            for known in stale:  # the worker gave that memory back and got other memory at its address
                self._close(known)
            try:
                mapped = self._driver.open_ipc(bytes.fromhex(entry.handle))
            except DeviceError as error:
                raise ValueError(f"a device handle that cannot be opened: {error}") from error
            raw = device_bytes(mapped, there := self._driver.size_at(mapped), 0)
            self._opened[entry.handle] = Allocation(entry.base, entry.size, entry.handle, raw)
            if entry.size > there:
                self._close(entry.handle)
                raise ValueError(f"a device handle to {there} bytes that claims to be of {entry.size}")
        held = self._opened[entry.handle]
        if (held.base, held.size) != (entry.base, entry.size):
            raise ValueError("a device handle that was of other memory before")
        return held

    def overwrite(self, ranges: Sequence[tuple[int, int]], byte: int) -> None:
        """Fill what is mapped of these ranges, addresses in the worker and bytes, and wait for it.

        Outputs of a round lie side by side as a rule: what touches within an allocation is filled at once.
        """
        for held in self._opened.values():
            for address, extent in merged(one for one in ranges if held.holds(*one)):
                held.raw[address - held.base : address - held.base + extent].fill_(byte)
        self._hardware.wait()

    def close(self) -> None:
        """Unmap all."""
        for handle in list(self._opened):
            self._close(handle)

    def _close(self, handle: str) -> None:
        assert self._driver is not None
        self._hardware.wait()
        self._driver.close_ipc(self._opened.pop(handle).raw.data_ptr())


def _overlap(one: Allocation, other: DeviceHandle) -> bool:
    return one.base < other.base + other.size and other.base < one.base + one.size
