"""Reading: an output in a worker's host memory is copied as large as it is, and not as far as it spreads.

Addresses cost a worker nothing. Two elements may lie 16 GB apart, in memory that was never touched, and a judge that
copied all that lies between would need it.
"""

import mmap
from dataclasses import dataclass

import torch

from harness.transport.memory import element_size, read_places, read_process, view
from harness.transport.values import TensorValue

_AT_ONCE_BYTES = 64 << 20
"""So much is copied by one read, whatever of it is output: one is faster than many."""
_FAR_BYTES = mmap.PAGESIZE
"""Where runs of elements lie further apart on average, each is read by itself: what lies between takes longer."""
_MOST_RUNS = 1 << 16
"""Of one read: their addresses are a list."""
_ADDRESSES = 1 << 62
"""Nothing is mapped from here on, and sums of what lies below stay within 64 bits, where others would wrap around."""
_SPREAD = 2  # spans of so many times the elements are copied as they are: slices of a padded buffer


def spreads(leaf: TensorValue) -> bool:
    """Whether an output lies so far apart that its elements are picked out."""
    width = element_size(leaf.dtype)
    return leaf.span * width > max(_AT_ONCE_BYTES, _SPREAD * leaf.elements * width)


def bytes_of_copy(leaf: TensorValue) -> int:
    """What a copy of the output takes."""
    return (leaf.elements if spreads(leaf) else leaf.span) * element_size(leaf.dtype)


def read_output(pid: int, address: int, leaf: TensorValue) -> torch.Tensor:
    """A copy of the tensor that `leaf` describes, from `address` of process `pid`.

    Raises OSError where that is not mapped or not ours to read, ValueError for a description that cannot be true, or
    for elements that lie over each other and far apart.
    """
    _require_addresses(address, leaf)
    if not spreads(leaf):
        copy = torch.empty(leaf.span * element_size(leaf.dtype), dtype=torch.uint8)
        read_process(pid, address, copy)
        return view(copy, leaf, 0)  # type: ignore[no-any-return]  # torch is imported late there
    repeated = [stride == 0 for stride in leaf.strides]
    dims = tuple(
        _Dimension(1 if again else size, stride)
        for again, size, stride in zip(repeated, leaf.shape, leaf.strides, strict=True)
    )
    if not _lie_apart(dims):
        raise ValueError(f"elements that lie over each other, over {leaf.span} elements' widths")
    found = torch.empty([dim.size for dim in dims], dtype=getattr(torch, leaf.dtype))
    _pick(pid, address, dims, found)
    return found.expand(leaf.shape)


def read_to_device(pid: int, address: int, leaf: TensorValue, room: torch.Tensor, device: torch.device) -> torch.Tensor:
    """The same, but on a device: a piece at a time over `room`, bytes of host memory that need not be mapped anew."""
    if spreads(leaf):
        return read_output(pid, address, leaf).to(device)
    _require_addresses(address, leaf)
    copy = torch.empty(leaf.span * element_size(leaf.dtype), dtype=torch.uint8, device=device)
    for start in range(0, copy.numel(), room.numel()):
        piece = room[: copy.numel() - start]
        read_process(pid, address + start, piece)
        copy[start : start + piece.numel()].copy_(piece)
    return view(copy, leaf, 0)  # type: ignore[no-any-return]  # torch is imported late there


def _require_addresses(address: int, leaf: TensorValue) -> None:
    if address + leaf.span * element_size(leaf.dtype) > _ADDRESSES:
        raise ValueError("elements beyond all addresses")


@dataclass(frozen=True)
class _Dimension:
    """How many elements, and how many elements' widths apart."""

    size: int
    stride: int

    @property
    def reach(self) -> int:
        return (self.size - 1) * self.stride


def _lie_apart(dims: tuple[_Dimension, ...]) -> bool:
    """Whether rows of any dimension end before the next one begins, so that no byte is read twice."""
    inside = 1
    for dim in sorted((dim for dim in dims if dim.size > 1), key=lambda dim: dim.stride):
        if dim.stride < inside:
            return False
        inside += dim.reach
    return True


def _pick(pid: int, address: int, dims: tuple[_Dimension, ...], into: torch.Tensor) -> None:
    """Fill `into`, a part of the output, which is halved where it lies until what is read at once is small."""
    width = into.element_size()
    span = 1 + sum(dim.reach for dim in dims)
    runs = into.numel() // _run(dims)
    if runs <= _MOST_RUNS and runs * _FAR_BYTES < span * width:
        _gather(pid, address, dims, into)
        return
    if span * width <= _AT_ONCE_BYTES:
        copy = torch.empty(span * width, dtype=torch.uint8)
        read_process(pid, address, copy)
        into.copy_(copy.view(into.dtype).as_strided(into.shape, [dim.stride for dim in dims]))
        return
    axis = max(range(len(dims)), key=lambda index: dims[index].reach)
    widest = dims[axis]
    half = widest.size // 2
    for first, size in ((0, half), (half, widest.size - half)):
        part = (*dims[:axis], _Dimension(size, widest.stride), *dims[axis + 1 :])
        _pick(pid, address + first * widest.stride * width, part, into.narrow(axis, first, size))


def _run(dims: tuple[_Dimension, ...]) -> int:
    """How many elements lie next to each other, without a gap."""
    run = 1
    for dim in sorted((dim for dim in dims if dim.size > 1), key=lambda dim: dim.stride):
        if dim.stride != run:
            break
        run *= dim.size
    return run


def _gather(pid: int, address: int, dims: tuple[_Dimension, ...], into: torch.Tensor) -> None:
    """Fill `into`, a part of the output, from its runs alone."""
    width = into.element_size()
    order = sorted(range(len(dims)), key=lambda index: (dims[index].stride, dims[index].size > 1), reverse=True)
    starts = torch.zeros(1, dtype=torch.int64)
    for dim in (dims[index] for index in order):
        if len(starts) * _run(dims) < into.numel():
            starts = (starts[:, None] + torch.arange(dim.size) * dim.stride).view(-1)
    rows = torch.empty(len(starts), _run(dims) * width, dtype=torch.uint8)
    read_places(pid, (address + starts * width).tolist(), rows)
    elements = rows.view(-1).view(into.dtype).view([dims[index].size for index in order])
    into.permute(order).copy_(elements)
