"""Opened memory: allocations of a worker on the device, mapped into the judge by the driver's handles."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Sequence
from functools import partial

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
        self._in_order: list[Allocation] = []
        """The same by address: none lies over another, and how many there are is the worker's choice."""
        self._due: tuple[Sequence[tuple[int, int]], int] = ((), 0)

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
            for stale in self._among(entry.base, entry.size):  # given back, and got anew as other memory
                self._close(stale.handle)
            try:
                mapped = self._driver.open_ipc(bytes.fromhex(entry.handle))
            except DeviceError as error:
                raise ValueError(f"a device handle that cannot be opened: {error}") from error
            raw = device_bytes(mapped, there := self._driver.size_at(mapped), 0)
            self._opened[entry.handle] = Allocation(entry.base, entry.size, entry.handle, raw)
            insort(self._in_order, self._opened[entry.handle], key=lambda held: held.base)
            if entry.size > there:
                self._close(entry.handle)
                raise ValueError(f"a device handle to {there} bytes that claims to be of {entry.size}")
        held = self._opened[entry.handle]
        if (held.base, held.size) != (entry.base, entry.size):
            raise ValueError("a device handle that was of other memory before")
        return held

    def mark(self, ranges: Sequence[tuple[int, int]], byte: int) -> None:
        """What is to be overwritten, and with what: addresses in the worker and bytes."""
        self._due = (ranges, byte)

    def unmark(self) -> None:
        """Forget it: other code of the worker's has run, and may keep something there."""
        self._due = ((), 0)

    def fills(self) -> list[Callable[[], object]]:
        """What overwrites what is mapped of what was marked, each by one launch that is not waited for.

        They are to be called soon: nothing is looked up any more. Outputs of a round lie side by side as a rule: what
        touches within an allocation is filled at once.
        """
        ranges, byte = self._due
        self.unmark()
        within: dict[str, list[tuple[int, int]]] = {}
        for one in ranges:
            for held in self._among(*one):
                if held.holds(*one):
                    within.setdefault(held.handle, []).append(one)
        parts = [(self._opened[handle], part) for handle, several in within.items() for part in merged(several)]
        return [partial(held.raw[at - held.base : at - held.base + size].fill_, byte) for held, (at, size) in parts]

    def holding(self, address: int, size: int) -> Allocation | None:
        """What is opened that holds all of these addresses of the worker."""
        return next((held for held in self._among(address, size) if held.holds(address, size)), None)

    def close(self) -> None:
        """Unmap all."""
        self.unmark()
        for handle in list(self._opened):
            self._close(handle)

    def _among(self, address: int, size: int) -> list[Allocation]:
        """What is opened of these addresses."""
        first = bisect_right(self._in_order, address, key=lambda held: held.base + held.size)
        behind = bisect_left(self._in_order, address + size, key=lambda held: held.base)
        return self._in_order[first:behind]

    def _close(self, handle: str) -> None:
        assert self._driver is not None
        self._hardware.wait()
        held = self._opened.pop(handle)
        del self._in_order[bisect_left(self._in_order, held.base, key=lambda known: known.base)]
        self._driver.close_ipc(held.raw.data_ptr())
