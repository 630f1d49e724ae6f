"""Tensors of any size and layout, taken piece by piece.

An operation on the whole of a tensor takes memory of the tensor's size, and torch's own counts of some end at 2^31
elements. A piece is flat and has at most so many elements; offsets count elements in row-major order.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

PIECE = 1 << 27
"""Elements that are drawn or compared bit for bit at once."""


def at_places(value: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """The elements at flat indices in row-major order, int64, of a tensor of one dimension or more, however it lies.

    Those beyond a tensor begin again at its first element: an output whose shape goes by the contents is looked at
    where that of another call had elements, and on a device an index out of range would end the process.
    `torch.unravel_index` would import what torch compiles with (0.4 s, torch 2.13) to check its arguments.
    """
    if value.is_contiguous() and value.numel():
        return value.view(-1)[places % value.numel()]
    index = []
    for size in reversed(value.shape):
        index.append(places % size)
        places = places // size
    return value[tuple(reversed(index))]


def ascending(value: torch.Tensor) -> torch.Tensor:
    """The elements of the last dimension in order, NaN last; on a host by numpy, in a tenth of torch's time."""
    if value.is_cuda:
        return value.sort().values
    return torch.from_numpy(np.sort(value.numpy()))


def leaves(value: Any) -> list[torch.Tensor]:
    """The tensors in a nested value, in order; of a dict by its keys, as `transport.values.tensors` has them."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = _by_key(value)
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in leaves(item)]
    return []


def _by_key(value: dict[Any, Any]) -> list[Any]:
    return [value[key] for key in sorted(value, key=str)]


def mapped(value: Any, change: Callable[[Any], Any], kinds: type | tuple[type, ...] = torch.Tensor) -> Any:
    """A nested value with `change` of each tensor, or of each of `kinds`, in its place, in the order of `leaves`."""
    if isinstance(value, kinds):
        return change(value)
    if isinstance(value, dict):
        changed = {key: mapped(value[key], change, kinds) for key in sorted(value, key=str)}
        return {key: changed[key] for key in value}
    if isinstance(value, list | tuple):
        items = [mapped(item, change, kinds) for item in value]
        return items if isinstance(value, list) else tuple(items)
    return value


def in_each(inputs: Sequence[Any], change: Callable[[torch.Tensor], Any]) -> list[Any]:
    """Arguments with `change` of each tensor in its place, also within lists and dicts, in the order of `leaves`.

    The list is a new one, and so are those within that hold tensors; an argument without any stays as it is.
    """
    return [mapped(value, change) if leaves(value) else value for value in inputs]


def plain(value: Any) -> list[Any]:
    """The values in a nested value that are neither lists, tuples nor dicts, in the order of `leaves`."""
    if isinstance(value, dict):
        value = _by_key(value)
    return [one for item in value for one in plain(item)] if isinstance(value, list | tuple) else [value]


def size_of(value: Any) -> int:
    """Bytes that the tensors of a nested value take, each element counted."""
    return sum(leaf.numel() * leaf.element_size() for leaf in leaves(value))


def storages(value: Any) -> set[int]:
    """Where the memory begins that the tensors of a nested value lie in."""
    plain = (leaf for leaf in leaves(value) if leaf.numel() and leaf.layout is torch.strided)
    return {leaf.untyped_storage().data_ptr() for leaf in plain}


def views(value: torch.Tensor, limit: int = PIECE) -> Iterator[torch.Tensor]:
    """Views of at most `limit` elements that make up `value` in row-major order. Where they end its shape decides."""
    if value.numel() <= limit:
        yield value
    elif rows := limit * len(value) // value.numel():
        yield from value.split(rows)
    else:
        for row in value:
            yield from views(row, limit)


def pieces(*values: torch.Tensor, limit: int = PIECE) -> Iterator[tuple[int, tuple[torch.Tensor, ...]]]:
    """Tensors of one shape side by side: the offset of a piece, and that piece of each as a flat tensor.

    Nothing is copied of a contiguous tensor, of others a piece at a time. A parameter's pieces are plain tensors.
    """
    values = tuple(value.detach() for value in values)
    if all(value.is_contiguous() for value in values):
        values = tuple(value.view(-1) for value in values)
    offset = 0
    for parts in zip(*(views(value, limit) for value in values), strict=True):
        yield offset, tuple(part.reshape(-1) for part in parts)
        offset += parts[0].numel()


def index_of(offset: int, shape: Sequence[int]) -> tuple[int, ...]:
    """The index of the element at an offset."""
    index = []
    for size in reversed(shape):
        offset, place = divmod(offset, size)
        index.append(place)
    return tuple(reversed(index))


def overlap(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether elements of a tensor lie over each other in memory, or between each other, as no plain layout has them.

    False where every dimension steps over all that those of smaller strides reach.
    """
    if 0 in shape:
        return False
    reach = 0
    for stride, size in sorted((stride, size) for size, stride in zip(shape, strides, strict=True) if size > 1):
        if stride <= reach:
            return True
        reach += (size - 1) * stride
    return False


def same(one: Any, other: Any) -> bool:
    """Whether two nested values are equal: tensors bit for bit, the rest as Python says, with NaN equal to itself."""
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and same_bits(one, other)
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return isinstance(other, list | tuple) and len(one) == len(other) and all(map(same, one, other))
    return bool(type(one) is type(other) and (one == other or (one != one and other != other)))


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors are equal bit for bit: NaN equals itself, and -0.0 differs from 0.0."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    one, other = (value.resolve_conj().resolve_neg() for value in (one, other))
    return all(_same_bytes(*parts) for _, parts in pieces(one, other))


def _same_bytes(one: torch.Tensor, other: torch.Tensor) -> bool:
    """The same of two pieces, eight bytes at a time where that can be: torch compares bytes one by one."""
    if not one.numel():
        return True
    # One element counts as contiguous whatever its stride, and is no bytes then.
    mine, theirs = (part.contiguous().as_strided(part.shape, (1,)).view(torch.uint8) for part in (one, other))
    whole = mine.numel() // 8 * 8
    if any(part.storage_offset() % 8 for part in (mine, theirs)):
        return torch.equal(mine, theirs)
    return torch.equal(mine[:whole].view(torch.int64), theirs[:whole].view(torch.int64)) and torch.equal(
        mine[whole:], theirs[whole:]
    )
