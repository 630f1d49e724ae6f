"""Kept: what the memory of an output held when the clock stopped, read while its owner was frozen.

Whoever is asked for outputs afterwards is awake again and could still finish them. So what is verified is what was
kept. Of large outputs that is some elements at random places, enough for work that was left for later to show.
"""

import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

import torch

from harness.judge.subject import Sampled
from harness.wire.memory import element_size, read_places, read_process
from harness.wire.values import TensorValue

PLACES = 1 << 13
"""Elements that are kept of a large output: leaving one in a thousand for later shows in 9997 of 10000 cases."""
_ROOM = 1.5
"""Outputs whose sizes depend on their inputs may be so much larger than the one described last."""


@dataclass(frozen=True)
class Source:
    """Memory from an output's address on. `handle` names the device allocation, "" elsewhere.

    `mapped` is that memory as far as the judge has it mapped itself, a uint8 tensor; None where it is the worker's own.
    """

    pid: int
    address: int
    handle: str = ""
    mapped: torch.Tensor | None = None

    def read(self, size: int) -> torch.Tensor:
        """A copy of the first `size` bytes, fewer where the judge has no more mapped.

        Raises OSError where the worker has less.
        """
        if self.mapped is not None:
            return self.mapped[:size].clone()
        copy = torch.empty(size, dtype=torch.uint8)
        read_process(self.pid, self.address, copy)
        return copy

    def read_at(self, offsets: torch.Tensor, width: int) -> torch.Tensor:
        """`width` bytes at each of the offsets, one a row. Raises OSError where they are not mapped."""
        if self.mapped is not None:
            at = offsets.to(self.mapped.device)[:, None] + torch.arange(width, device=self.mapped.device)
            return self.mapped[at]
        rows = torch.empty(len(offsets), width, dtype=torch.uint8)
        read_places(self.pid, [self.address + offset for offset in offsets.tolist()], rows)
        return rows


@dataclass(frozen=True)
class Kept:
    """All bytes of an output, or where `places` is set one row of bytes for each of these flat indices of `layout`."""

    source: Source
    layout: TensorValue
    data: torch.Tensor
    places: torch.Tensor | None = None

    def covers(self, leaf: TensorValue) -> bool:
        """Whether an output of this layout is in what was kept."""
        if self.places is None:
            return self.data.numel() >= leaf.span * element_size(leaf.dtype)
        mine = self.layout
        return (mine.dtype, mine.shape, mine.strides) == (leaf.dtype, leaf.shape, leaf.strides)

    def unchanged(self) -> bool:
        """Whether memory that the judge has mapped still holds the same."""
        if self.places is None:
            size = self.layout.span * element_size(self.layout.dtype)
            return torch.equal(self.source.read(size), self.data[:size])
        return torch.equal(self.source.read_at(*_offsets(self.layout, self.places)), self.data)

    def sampled(self) -> Sampled:
        """The elements that were kept."""
        assert self.places is not None
        dtype = getattr(torch, self.layout.dtype)
        return Sampled(tuple(self.layout.shape), self.places, self.data.reshape(-1).view(dtype))


def keep(source: Source, layout: TensorValue, *, whole: bool) -> Kept:
    """What an output that is laid out like this holds now. Raises OSError where there is no memory."""
    if not whole:
        # Not torch's own generator: that drew the inputs, which tell its state.
        chance = torch.Generator().manual_seed(secrets.randbits(62))
        places = torch.randint(0, layout.elements, (PLACES,), generator=chance)
        return Kept(source, layout, source.read_at(*_offsets(layout, places)), places)
    size = layout.span * element_size(layout.dtype)
    try:
        return Kept(source, layout, source.read(int(size * _ROOM)))
    except OSError:
        return Kept(source, layout, source.read(size))


def _offsets(layout: TensorValue, places: torch.Tensor) -> tuple[torch.Tensor, int]:
    """Where elements of these flat indices lie, in bytes, and how wide one is."""
    width = element_size(layout.dtype)
    places, offsets = places.clone(), torch.zeros_like(places)
    for size, stride in zip(reversed(layout.shape), reversed(layout.strides), strict=True):
        offsets += places % size * stride
        places //= size
    return offsets * width, width


@dataclass(frozen=True)
class Mapping:
    """A range of a process's addresses, and the offset in the file that it shows."""

    start: int
    end: int
    offset: int


def mappings_of(pid: int, descriptor: int) -> list[Mapping]:
    """Where a process has mapped the file behind a descriptor of ours, by the kernel's account and not its own."""
    file = os.fstat(descriptor)
    device = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}"
    line = re.compile(rf"^([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) {device} {file.st_ino} ", re.MULTILINE)
    found = line.findall(Path(f"/proc/{pid}/maps").read_text(errors="replace"))
    return [Mapping(*(int(number, 16) for number in numbers)) for numbers in found]
