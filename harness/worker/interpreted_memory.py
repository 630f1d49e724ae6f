"""Memory of interpreted kernels: what one launch of Triton's interpreter may touch, and which program wrote what.

Covered: accesses outside of every tensor that the launch was given; two programs of one launch of which one wrote what
the other reads or writes, with nothing that orders them. Not covered: an access that leaves one tensor and falls into
another of the same launch; races within one program; all races of a launch that uses an atomic, which may order its
programs; reads that come before the other program's write in the order of this call (another order shows them);
tensors above `MOST_WATCHED_BYTES`; launches that make pointers of numbers.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from harness.worker.faults import KernelFault

MOST_WATCHED_BYTES = 32 << 20
"""Of tensors that are larger than this nobody notes which program wrote them, as under emulated CUDA."""
Read = Callable[[Any, Any, Any, Any], Any]
"""Triton's own: pointers, mask, what to give where the mask is off, and the dtype, all NumPy's."""


class LaunchMemory:
    """The bytes that a launch's tensors span, as (begin, end) of addresses, and by whom they were written.

    `program` is the number of the program that runs, from 1. Methods take pointers as uint64 and a mask of equal shape,
    and raise KernelFault.
    """

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        merged = _merged(spans)
        self._begins = np.array([begin for begin, _ in merged], dtype=np.uint64)
        self._ends = np.array([end for _, end in merged], dtype=np.uint64)
        self._writers: dict[int, tuple[int, np.ndarray[Any, Any]] | None] = {}
        self.program = 0
        self.ordered = False
        """An atomic was seen: programs may wait for one another."""
        self.foreign = not merged
        """A pointer was made of a number: what it may point to is not known."""

    def load(self, pointers: Any, mask: Any, size: int) -> None:
        """A read of `size` bytes each."""
        active, region = self._active(pointers, mask, size, "load")
        writers = self._of(region, size, make=False)
        if writers is None or self.ordered:
            return
        by = writers[self._elements(active, region, size)]
        other = (by != 0) & (by != self.program)
        if other.any():
            self._race("reads", int(by[other][0]))

    def store(self, pointers: Any, mask: Any, values: Any, read: Read) -> None:
        """A write of `values`; one that changes nothing does not count. To be called before it is made."""
        size = values.dtype.itemsize
        active, region = self._active(pointers, mask, size, "store")
        writers = self._of(region, size, make=True)
        if writers is None or self.ordered:
            return
        before = read(pointers, mask, np.zeros_like(values), values.dtype)
        changed = (_bits(before) != _bits(values)).reshape(-1)[_flat(mask)]
        elements = self._elements(active, region, size)[changed]
        by = writers[elements]
        other = (by != 0) & (by != self.program)
        if other.any():
            self._race("writes", int(by[other][0]))
        writers[elements] = self.program

    def atomic(self, pointers: Any, mask: Any, size: int) -> None:
        """An atomic operation on `size` bytes each."""
        self._active(pointers, mask, size, "atomic operation")
        self.ordered = True

    def _active(self, pointers: Any, mask: Any, size: int, what: str) -> tuple[Any, int]:
        """The addresses that are accessed, and the one region that holds all of them; -1 where there is no such."""
        active = np.asarray(pointers, dtype=np.uint64).reshape(-1)[_flat(mask)]
        if not active.size or self.foreign:
            return active, -1
        regions = np.searchsorted(self._begins, active[[active.argmin(), active.argmax()]], side="right") - 1
        if regions[0] == regions[1] >= 0 and active.max() + np.uint64(size) <= self._ends[regions[0]]:
            return active, int(regions[0])
        each = np.searchsorted(self._begins, active, side="right") - 1
        outside = (each < 0) | (active + np.uint64(size) > self._ends[np.maximum(each, 0)])
        if outside.any():
            raise KernelFault("out-of-bounds", self._outside(int(active[outside][0]), int(outside.sum()), size, what))
        return active, -1

    def _outside(self, address: int, count: int, size: int, what: str) -> str:
        """What is told of an access out of bounds."""
        behind = [address - int(end) for end in self._ends if address + size > end]
        before = [int(begin) - address for begin in self._begins if address < begin]
        near = min((*behind, *before), key=abs, default=0)
        side = "behind" if near in behind else "before"
        return f"a {what} of {count} elements outside of every tensor of this launch, {abs(near)} bytes {side} one"

    def _of(self, region: int, size: int, *, make: bool) -> Any:
        """Who wrote each element of a region; None where that is not noted, or nobody has yet."""
        if region < 0:
            return None
        length = int(self._ends[region] - self._begins[region])
        if region not in self._writers:
            if not make:
                return None
            watched = length <= MOST_WATCHED_BYTES
            self._writers[region] = (size, np.zeros(length // size + 1, dtype=np.int32)) if watched else None
        known = self._writers[region]
        return known[1] if known is not None and known[0] == size else None

    def _elements(self, active: Any, region: int, size: int) -> Any:
        return ((active - self._begins[region]) // np.uint64(size)).astype(np.int64)

    def _race(self, does: str, other: int) -> None:
        detail = f"program {self.program - 1} {does} what program {other - 1} of the same launch wrote"
        raise KernelFault("data-race", detail)


def _flat(mask: Any) -> Any:
    return np.asarray(mask, dtype=bool).reshape(-1)


def _bits(values: Any) -> Any:
    """Floats as integers, so that values that are not a number compare."""
    values = np.ascontiguousarray(values)
    return values.view(f"u{values.dtype.itemsize}")


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order; those that overlap as one. Two that only touch stay two."""
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(span for span in spans if span[0] < span[1]):
        if merged and begin < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged
