"""Reach: which bytes of memory a tensor takes, without what lies between its elements where that is much.

Addresses cost a worker nothing: rows of an output may lie a gigabyte apart, in memory that was never touched. What is
written to such an output touches only pages that its owner touches by writing its elements.
"""

from collections.abc import Iterable, Sequence

from harness.transport.memory import element_size
from harness.transport.values import TensorValue

GAP_BYTES = 4096
"""What lies between two elements and is no more than this is taken with them: the smallest page."""

Range = tuple[int, int]
"""Where bytes begin, and how many there are."""


def extent(leaf: TensorValue) -> int:
    """How many bytes it reaches over, from its first element to its last.

    Raises ValueError for a dtype that torch does not have, and for other strides than dimensions, of empty ones too:
    what is read of further rounds goes by them.
    """
    width = element_size(leaf.dtype)
    if len(leaf.shape) != len(leaf.strides):
        raise ValueError("shape and strides differ in length")
    return leaf.span * width if leaf.elements else 0


def parts(leaf: TensorValue, most: int) -> tuple[Range, ...] | None:
    """What it takes from its first element on, in order, with gaps of up to GAP_BYTES; () for an empty one.

    None where that is more than `most` parts, or where elements that lie far apart lie among others.
    """
    if not leaf.elements:
        return ()
    width = element_size(leaf.dtype)
    block = reach = width
    count, apart = 1, list[tuple[int, int]]()
    for stride, size in sorted((stride * width, size) for size, stride in zip(leaf.shape, leaf.strides, strict=True)):
        if not apart and stride <= block + GAP_BYTES:
            reach = block = block + (size - 1) * stride
        elif size > 1:
            count *= size
            if stride < reach or count > most:
                return None
            reach += (size - 1) * stride
            apart.append((stride, size))
    starts = [0]
    for stride, size in reversed(apart):
        starts = [start + index * stride for start in starts for index in range(size)]
    return tuple((start, block) for start in starts)


def merged(ranges: Iterable[Range]) -> Sequence[Range]:
    """The same bytes, each once, in order."""
    found: list[Range] = []
    for start, size in sorted(ranges):
        if found and start <= found[-1][0] + found[-1][1]:
            before, reach = found[-1]
            found[-1] = before, max(reach, start + size - before)
        else:
            found.append((start, size))
    return found
