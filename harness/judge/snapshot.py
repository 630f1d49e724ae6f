"""Kept: what the memory of an output held when the clock stopped, read while its owner was frozen.

A worker that is asked for outputs afterwards is awake again and could still finish them. So what is verified is what
was kept. Of large outputs that is some elements at random places, enough for work that was left for later to show.

On the host nothing can change while all tasks of the worker are stopped, and outputs are copied once the clock has
stopped. A device goes on with what it was given before. There elements of every output of the round are gathered while
the clock runs: whatever the device still had to do for them was too late.
"""

import itertools
import os
import re
import secrets
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from collections.abc import Mapping as MappingOf
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from harness.judge.failure import SubjectFailed
from harness.judge.reach import merged
from harness.judge.subject import Sampled
from harness.judge.tensors import at_places, overlap, pieces
from harness.sandbox.processes import read_bytes
from harness.transport.memory import device_bytes, element_size, read_places, read_process
from harness.transport.values import TensorValue

_LARGEST = 1 << 62  # sums with any address stay below 2**63
PLACES = 1 << 13
"""Elements that are kept of a large output: leaving one in a thousand for later shows in 9997 of 10000 cases."""
MOSTLY = 0.99
"""Of an output of which more than this share is one value, half of the elements that are kept are other ones: of random
places none may tell."""
_FEWEST_SHARE = 0.95
"""So much of an output must lie in the words that were read, if it is laid out otherwise than those they were read of:
of what is left nothing is looked at, and a candidate may choose what that is."""
_ROOM = 1.5
"""Outputs whose sizes depend on their inputs may be so much larger than the one described last."""


_Numbers = np.ndarray[Any, np.dtype[np.int64]]


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

    def as_laid_out(self, leaf: TensorValue) -> "Kept | None":
        """What was kept, as part of an output of this layout; None where it tells nothing of that.

        Outputs may be laid out otherwise than those before: what was read of one are words of its memory.
        """
        if self.places is None:
            return self if self.data.numel() >= leaf.span * element_size(leaf.dtype) else None
        mine = self.layout
        if (mine.dtype, mine.shape, mine.strides) == (leaf.dtype, leaf.shape, leaf.strides):
            return self
        if element_size(mine.dtype) != element_size(leaf.dtype) or overlap(mine.shape, mine.strides):
            return None
        offsets, width = offsets_of(mine, self.places)
        flat, there = _elements_at(leaf, offsets // width)
        covered = len(flat) / len(offsets) * mine.elements / leaf.elements  # places are drawn evenly from all elements
        return Kept(self.source, leaf, self.data[there], flat) if covered >= _FEWEST_SHARE else None

    def unchanged(self) -> bool:
        """Whether memory that the judge has mapped still holds the same."""
        if self.places is None:
            size = self.layout.span * element_size(self.layout.dtype)
            return torch.equal(self.source.read(size), self.data[:size])
        return torch.equal(self.source.read_at(*offsets_of(self.layout, self.places)), self.data)

    def sampled(self) -> Sampled:
        """The elements that were kept."""
        assert self.places is not None
        dtype = getattr(torch, self.layout.dtype)
        shape, strides = tuple(self.layout.shape), tuple(self.layout.strides)
        return Sampled(shape, self.places, self.data.reshape(-1).view(dtype), strides)


@dataclass(frozen=True)
class Places:
    """Flat indices of an output's elements, and how many elements' widths from its start each lies.

    Of one dimension where they are the same of every call, else a row for each call.
    """

    flat: torch.Tensor
    elements: torch.Tensor


def _nearly_all(output: torch.Tensor) -> torch.Tensor | None:
    """The value that nearly all elements of a large tensor have, by a random sample; None where there is none."""
    if output.numel() <= PLACES or output.is_complex():
        return None
    index = torch.randint(0, output.numel(), (PLACES,), generator=_chance(output.device), device=output.device)
    values, counts = at_places(output, index).unique(return_counts=True)
    return values[counts.argmax()] if float(counts.max()) >= MOSTLY * PLACES else None


def _chance(device: torch.device) -> torch.Generator:
    """Not torch's own generator: that drew the inputs, which tell its state."""
    return torch.Generator(device).manual_seed(secrets.randbits(62))


def _comparable(output: torch.Tensor) -> torch.Tensor:
    """The same elements as torch compares and counts them: floats of eight bits by their bits."""
    eight_bits = output.is_floating_point() and output.element_size() == 1
    return output.view(torch.uint8) if eight_bits else output


def mostly_one_value(output: torch.Tensor) -> bool:
    """Whether random elements of a large tensor tell little, because nearly all have one value."""
    return _nearly_all(_comparable(output)) is not None


def rare_places(output: torch.Tensor) -> torch.Tensor | None:
    """Random places of a large tensor, half as many as are kept, where it is not what nearly all of it is.

    None where there are none, or where nearly all of it is no one value. Flat indices, int64, on its device.
    """
    output = _comparable(output)
    most = _nearly_all(output)
    if most is None:
        return None
    found = [start + (part != most).nonzero().view(-1) for start, (part,) in pieces(output)]
    rare = torch.cat(found)
    if not len(rare):
        return None
    wanted = PLACES // 2
    some = rare[torch.randint(0, len(rare), (wanted,), generator=_chance(rare.device), device=rare.device)]
    if len(rare) <= wanted:
        some[: len(rare)] = rare
    return some


def places_of(
    layout: TensorValue, device: torch.device, calls: int, wanted: MappingOf[int, torch.Tensor | None]
) -> Places:
    """`places_in` for each of so many calls, half of them those that are wanted of a call."""
    plain = places_in(layout, device)
    rows = {
        call: places
        for call, places in wanted.items()
        if call < calls and places is not None and layout.elements > PLACES and int(places.max()) < layout.elements
    }
    if not rows:
        return plain
    flat = plain.flat.expand(calls, PLACES).clone()
    for call, places in rows.items():
        flat[call, : len(places)] = places.to(device)
    offsets, width = offsets_of(layout, flat)
    return Places(flat, offsets // width)


def places_in(layout: TensorValue, device: torch.device) -> Places:
    """All elements of a small output, random ones of a large one; on the device."""
    if layout.elements <= PLACES:
        flat = torch.arange(layout.elements, device=device)
    else:
        flat = torch.randint(0, layout.elements, (PLACES,), generator=_chance(device), device=device)
    offsets, width = offsets_of(layout, flat)
    return Places(flat, offsets // width)


@dataclass(frozen=True)
class Allocation:
    """Device memory of a worker that the judge has mapped: its range there, its handle, and `raw` here (uint8)."""

    base: int
    size: int
    handle: str
    raw: torch.Tensor

    def holds(self, address: int, size: int) -> bool:
        return self.base <= address and address + size <= self.base + self.size


@dataclass(frozen=True)
class _Rows:
    """Elements at `places` of one output, as in `Places`. `words` has a row for each of `calls`, which ascend.

    `addresses` are those of the outputs in the worker, `at` says which of `allocations` holds each.
    """

    layout: TensorValue
    places: torch.Tensor
    words: torch.Tensor
    calls: _Numbers
    addresses: _Numbers
    allocations: Sequence[Allocation]
    at: _Numbers

    def of(self, call: int) -> Kept | None:
        row = int(np.searchsorted(self.calls, call))
        if row == len(self.calls) or self.calls[row] != call:
            return None
        places = self.places if self.places.dim() == 1 else self.places[call]
        address, held = int(self.addresses[row]), self.allocations[self.at[row]]
        source = Source(0, address, held.handle, held.raw[address - held.base :])
        elements = self.words[row].contiguous().view(torch.uint8).view(len(places), -1)
        return Kept(source, self.layout, elements, places)


@dataclass(frozen=True)
class Gathered:
    """Elements of the outputs of a round."""

    rows: tuple[_Rows, ...]

    def of(self, call: int) -> dict[int, list[Kept]]:
        """What was kept of a call's outputs, by address; once for each layout that they were read by."""
        found: dict[int, list[Kept]] = {}
        for kept in filter(None, (rows.of(call) for rows in self.rows)):
            found.setdefault(kept.source.address, []).append(kept)
        return found


def gather(
    addresses: Sequence[Sequence[int]],
    layout: Sequence[TensorValue],
    places: Sequence[Places],
    allocations: Sequence[Allocation],
) -> Gathered:
    """Copy the elements at `places` of every call's outputs, as if all were laid out like `layout`, as they are now.

    A few launches for each output, however many calls and allocations there are: the clock runs. Does not wait for the
    device. An output is left out where nothing is mapped for all of that layout, and a call that has not as many.
    """
    calls = np.array([call for call, named in enumerate(addresses) if len(named) == len(layout)], dtype=np.int64)
    found: list[_Rows] = []
    ordered = sorted(allocations, key=lambda one: one.base)
    if not len(calls) or not ordered:
        return Gathered(())
    bases = np.array([one.base for one in ordered], dtype=np.int64)
    ends = np.array([one.base + one.size for one in ordered], dtype=np.int64)
    here = np.array([one.raw.data_ptr() for one in ordered], dtype=np.int64)
    lowest = int(here.min())
    table = np.array([addresses[call] for call in calls], dtype=np.int64).reshape(len(calls), len(layout))
    for index, (leaf, where) in enumerate(zip(layout, places, strict=True)):
        width = element_size(leaf.dtype)
        if not leaf.elements or leaf.span * width > _LARGEST:
            continue
        named = table[:, index]
        at = np.searchsorted(bases, named, side="right") - 1
        mapped = here[at] + (named - bases[at])  # of what lies below all bases nothing is taken
        held = (at >= 0) & (named + leaf.span * width <= ends[at]) & ((mapped - lowest) % width == 0)
        if not held.any():
            continue
        # What is copied from memory that is not pinned is staged before this returns: nothing has to be waited for.
        first = torch.from_numpy((mapped[held] - lowest) // width).to(where.flat.device, non_blocking=True)
        elements = where.elements
        if elements.dim() > 1 and len(elements) > held.sum():  # other places of each call
            elements = elements[calls[held].tolist()]
        words = _everything_from(ordered, lowest, width)[first[:, None] + elements]
        found.append(_Rows(leaf, where.flat, words, calls[held], named[held], ordered, at[held]))
    return Gathered(tuple(found))


def _everything_from(allocations: Sequence[Allocation], lowest: int, width: int) -> torch.Tensor:
    """All addresses from the lowest to the highest that is mapped, as one tensor of words of so many bytes.

    What lies between allocations may be mapped or not: only what was looked up before may be read.
    """
    size = max(one.raw.data_ptr() + one.raw.numel() for one in allocations) - lowest
    everything: torch.Tensor = device_bytes(lowest, size // width * width, 0)
    return everything.view(_WORDS[width])


_WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.complex128}
"""A type of each width of an element, to move them by."""


def kept_words(source: Source, layout: TensorValue, words: torch.Tensor, elements: torch.Tensor) -> Kept:
    """What was read of an output at words of its memory, counted in elements' widths from its start; a row each.

    Words that hold no element are left out. Of dimensions whose elements are the same memory the first one tells.
    """
    flat, there = _elements_at(layout, words, once(layout))
    return Kept(source, layout, elements[there], flat)


def once(layout: TensorValue) -> list[int]:
    """The shape of a tensor without what is the same memory again."""
    return [1 if stride == 0 else size for size, stride in zip(layout.shape, layout.strides, strict=True)]


def keep(source: Source, layout: TensorValue, *, whole: bool, wanted: torch.Tensor | None = None) -> Kept:
    """What an output that is laid out like this holds now, also at the places that are `wanted` where not all is kept.

    Raises OSError where there is no memory.
    """
    if not whole:
        places = places_of(layout, torch.device("cpu"), 1, {0: wanted}).flat.reshape(-1)
        return Kept(source, layout, source.read_at(*offsets_of(layout, places)), places)
    size = layout.span * element_size(layout.dtype)
    try:
        return Kept(source, layout, source.read(int(size * _ROOM)))
    except OSError:
        return Kept(source, layout, source.read(size))


def _elements_at(
    layout: TensorValue, words: torch.Tensor, shape: Sequence[int] | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """The flat indices of the elements that lie at these words of memory, and which words have one.

    Of a layout whose elements overlap, or lie so that none can be told from its word, that is none. `shape` has of each
    dimension how much of it is looked for.
    """
    rest, flat = words.clone(), torch.zeros_like(words)
    there = torch.ones_like(words, dtype=torch.bool)
    weight, dimensions = 1, []
    looked = layout.shape if shape is None else shape
    for size, stride, some in zip(*map(reversed, (layout.shape, layout.strides, looked)), strict=True):
        dimensions.append((stride, some, weight))
        weight *= size
    for stride, size, of_one in sorted(dimensions, reverse=True):
        if size == 1:
            continue
        if stride == 0:
            return flat[:0], torch.zeros_like(there)
        index = rest // stride
        there &= index < size
        flat += index * of_one
        rest -= index * stride
    there &= rest == 0
    return flat[there], there


def offsets_of(layout: TensorValue, places: torch.Tensor) -> tuple[torch.Tensor, int]:
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


def shown_twice(pid: int, ranges: Sequence[tuple[int, int]]) -> bool:
    """Whether a process shows any page at two addresses of one of these ranges (start, end).

    Elements there lie over each other, whatever their strides say: only pages of a file, one in memory among them, can
    be mapped more than once, and the kernel names file and offset of each mapping.
    """
    maps = _shown_again(pid)
    return any(_overlap_each_other(parts) for each in ranges for parts in _parts_of_files(maps, [each]).values())


def share_pages(pid: int, calls: Iterable[Sequence[tuple[int, int]]]) -> bool:
    """Whether a process shows any page at an address of one of these calls and at one of another.

    Those of each call are ranges (start, end), and no address is in two of all.
    """
    maps = _shown_again(pid)
    shown: dict[str, list[tuple[int, int]]] = {}
    for ranges in calls:
        for file, parts in _parts_of_files(maps, ranges).items():
            once = merged((first, last - first) for first, last in parts)
            shown.setdefault(file, []).extend((first, first + size) for first, size in once)
    return any(map(_overlap_each_other, shown.values()))


_Shown = tuple[int, int, str, int]
"""Where a mapping begins and ends, which file it shows and from which offset on."""
_FILE_MAPPED = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) (\S+ [1-9][0-9]*) ", re.MULTILINE)


def _shown_again(pid: int) -> Sequence[_Shown]:
    """A process's mappings of files of which it shows some part twice, in order; seldom any."""
    maps = [
        (int(start, 16), int(end, 16), file, int(offset, 16))
        for start, end, offset, file in _FILE_MAPPED.findall(_maps_of(pid))
    ]
    parts: dict[str, list[tuple[int, int]]] = {}
    for start, end, file, offset in maps:
        parts.setdefault(file, []).append((offset, offset + end - start))
    twice = {file for file, shown in parts.items() if _overlap_each_other(shown)}
    return [each for each in maps if each[2] in twice]


def _parts_of_files(maps: Sequence[_Shown], ranges: Iterable[tuple[int, int]]) -> dict[str, list[tuple[int, int]]]:
    """Which parts of files these ranges show, mapping by mapping."""
    found: dict[str, list[tuple[int, int]]] = {}
    for start, end in ranges:
        first = bisect_right(maps, start, key=lambda each: each[1])  # both ends ascend: the kernel tells them in order
        behind = bisect_left(maps, end, key=lambda each: each[0])
        for low, high, file, offset in maps[first:behind]:
            found.setdefault(file, []).append((offset + max(low, start) - low, offset + min(high, end) - low))
    return found


def _overlap_each_other(parts: Sequence[tuple[int, int]]) -> bool:
    return any(one[1] > following[0] for one, following in itertools.pairwise(sorted(parts)))


_MAPPED = re.compile(r"([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+)")
"""What a line of a mapping begins with, up to what it shows. Few of some thousand lines are looked for."""


def mappings_of(pid: int, descriptor: int) -> list[Mapping]:
    """Where a process has mapped the file behind a descriptor of ours, in order, by the kernel's account."""
    file = os.fstat(descriptor)
    name = f" {os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x} {file.st_ino} "
    maps, found, at = _maps_of(pid), [], -1
    while (at := maps.find(name, at + 1)) >= 0:
        line = _MAPPED.match(maps, maps.rfind("\n", 0, at) + 1)
        if line is not None and line.end() == at:  # else a path that looks so
            found.append(Mapping(*(int(number, 16) for number in line.groups())))
    return found


_MOST_MAPS_BYTES = 1 << 24
"""65,530 mappings, as many as the kernel gives a process, have some 100 bytes each."""


def _maps_of(pid: int) -> str:
    """What the kernel says of a process's mappings, a line each: only what ends a line is escaped in names of files.

    Raises SubjectFailed where it is more than anybody needs: each question would take seconds, and gigabytes.
    """
    text = read_bytes(f"/proc/{pid}/maps", _MOST_MAPS_BYTES)
    if len(text) > _MOST_MAPS_BYTES:
        raise SubjectFailed("protocol", f"has files mapped by names of more than {_MOST_MAPS_BYTES >> 20} MiB together")
    return text.decode("ascii", "replace")
