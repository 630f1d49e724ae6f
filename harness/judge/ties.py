"""Ties: operators of which PyTorch leaves open which of equal elements they name, or in which order.

By its documentation `topk`, `sort` and `argsort` that are not stable, `median`, `nanmedian`, `kthvalue` and `mode` with
a dimension may name any of them, and of `cummax` and `cummin` it says nothing. `argmax`, `argmin`, `max` and `min` name
the first, and a stable sort keeps their order. The reference computed under `InOrder` names those that are wished,
wherever that is a right answer, and is otherwise what it always is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from harness.judge.operator_mode import OperatorMode, arguments_of
from harness.judge.tensors import leaves, same

_RANKED = frozenset({"topk", "sort"})
_PICKED = frozenset({"median", "nanmedian", "kthvalue", "mode"})
_RUNNING = frozenset({"cummax", "cummin"})


@dataclass(frozen=True)
class Wish:
    """What one operator is to name. `rank`: of equal elements those of the least rank, and these first.

    `named`: indices in the place of those that the operator returns, -1 where any will do; they go before ranks.
    `rank` is of the shape of its operand with the dimension along which it goes as the last one, or of that dimension
    alone; without one the first of equal elements come first.
    """

    rank: torch.Tensor | None = None
    named: torch.Tensor | None = None


@dataclass(frozen=True)
class Choice:
    """What one operator named: its `indices`, of an operand of this shape, along a dimension of it.

    Those of an operator that leaves the dimension out of its outputs have it, of size 1. `once`: it names no element
    twice.
    """

    indices: torch.Tensor
    shape: torch.Size
    dim: int
    once: bool = True

    def is_alike(self, other: "Choice") -> bool:
        """Whether the other one names as much, of an operand of that shape along that dimension."""
        mine, theirs = ((one.indices.shape, one.shape, one.dim) for one in (self, other))
        return mine == theirs


def same_choices(some: Sequence[Choice], others: Sequence[Choice]) -> bool:
    """Whether as many operators named the same."""
    return same([one.indices for one in some], [one.indices for one in others])


Wishes = Callable[[int, torch.Tensor], Wish]
"""The wish for the operator of a number, in the order in which they run; it is given the operand as `Wish.rank` is."""


class InOrder(OperatorMode):
    """While it is entered, operators that leave a choice among equal elements open choose as they are wished to.

    `choices` are those that they made, in the order in which they ran.
    """

    def __init__(self, wishes: Wishes) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._wishes = wishes
        self.choices: list[Choice] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        given = arguments_of(func, args, kwargs)
        if not _leaves_open(func.overloadpacket.__name__, given, out):
            return out
        value, dim = given["self"].detach(), given["dim"] % given["self"].dim()
        along, wide = value.movedim(dim, -1), given.get("keepdim", True)
        wish = self._wishes(len(self.choices), along)
        own = out[1] if wide else out[1].unsqueeze(dim)
        named = wish.named
        if named is None or named.shape != own.shape:
            named = torch.full_like(own, -1)
        own, named = own.movedim(dim, -1), named.movedim(dim, -1)
        asked = _Asked(func.overloadpacket.__name__, given, _flat(along), _flat(own), _flat(named), wish.rank)
        indices = _by_rows(asked).reshape(own.shape)
        values, indices = along.gather(-1, indices).movedim(-1, dim), indices.movedim(-1, dim)
        self.choices.append(Choice(indices, value.shape, dim, once=asked.name in _RANKED))
        found = (values, indices) if wide else (values.squeeze(dim), indices.squeeze(dim))
        return type(out)(found) if type(out) in (tuple, list) else found


def _leaves_open(name: str, given: dict[str, Any], out: Any) -> bool:
    """Whether an operator returned values and indices of which PyTorch says no more than that they are equal."""
    if name not in _RANKED | _PICKED | _RUNNING or given.get("stable") or "dim" not in given or "out" in given:
        return False
    found = leaves(out)
    return len(found) == 2 and given["self"].dim() > 0 and found[1].numel() > 0


_AT_ONCE = 1 << 22
"""Elements of rows that are put in order at once: it takes some ten integers for each."""


@dataclass(frozen=True)
class _Asked:
    """Rows of an operator's operand, what it named in each by itself, and what is wished, as `Wish` has it."""

    name: str
    given: dict[str, Any]
    value: torch.Tensor
    own: torch.Tensor
    named: torch.Tensor
    rank: torch.Tensor | None

    def rows(self, some: slice) -> "_Asked":
        rank = self.rank if self.rank is None or self.rank.dim() == 1 else _flat(self.rank)[some]
        return replace(self, value=self.value[some], own=self.own[some], named=self.named[some], rank=rank)


def _flat(value: torch.Tensor) -> torch.Tensor:
    return value.reshape(-1, value.shape[-1])


def _by_rows(asked: _Asked) -> torch.Tensor:
    """What an operator names in each row."""
    step = max(1, _AT_ONCE // asked.value.shape[-1])
    starts = range(0, len(asked.value), step)
    return torch.cat([_indices(asked.rows(slice(start, start + step))) for start in starts])


def _indices(asked: _Asked) -> torch.Tensor:
    value, own, named = asked.value, asked.own, asked.named
    if asked.name in _RUNNING:
        places = torch.arange(value.shape[-1], device=value.device)
        may = (named >= 0) & (named <= places)
        right = may & (value.gather(-1, named.clamp(0, len(places) - 1)) == value.gather(-1, own))
        return torch.where(right, named, own)
    if asked.name in _PICKED:
        may = _frequent(value) if asked.name == "mode" else value == value.gather(-1, own)
        return _picked(may, own, asked.rank, named)
    right = _are_right(asked)
    if bool(right.all()):
        return named
    return torch.where(right, named, _ranked(asked))


def _are_right(asked: _Asked) -> torch.Tensor:
    """In which rows all is named, each element once, and of the values that the operator has there itself."""
    inside = asked.named.clamp(0, asked.value.shape[-1] - 1)
    once = inside.sort(-1)[0].diff(dim=-1).ne(0).all(-1, keepdim=True)
    theirs, own = asked.value.gather(-1, inside), asked.value.gather(-1, asked.own)
    if not asked.given.get("sorted", True):
        theirs, own = theirs.sort(-1)[0], own.sort(-1)[0]
    return once & ((asked.named == inside) & (theirs == own)).all(-1, keepdim=True)


def _ranked(asked: _Asked) -> torch.Tensor:
    """What is named by rank, and what is wished to be at its place, where an order was asked for."""
    ordered, order = _ordered(asked.value, asked.rank, descending=_descends(asked.given))
    if asked.given.get("sorted", True) and bool((asked.named >= 0).any()):
        order = _with_named(ordered, order, asked.named)
    return order[..., : asked.own.shape[-1]]


def _descends(given: dict[str, Any]) -> bool:
    return bool(given["largest"] if "largest" in given else given["descending"])


def _ordered(value: torch.Tensor, rank: torch.Tensor | None, *, descending: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """All values in order along the last dimension, equal ones by rank, and where they are."""
    if rank is None:
        ordered, order = value.sort(dim=-1, descending=descending, stable=True)
        return ordered, order
    by_rank = rank.expand(value.shape).argsort(dim=-1, stable=True)
    ordered, order = value.gather(-1, by_rank).sort(dim=-1, descending=descending, stable=True)
    return ordered, by_rank.gather(-1, order)


def _with_named(ordered: torch.Tensor, order: torch.Tensor, named: torch.Tensor) -> torch.Tensor:
    """`order` with what is named at its first places, where that is equal to what is there and named only once.

    What is left of each group of equal elements takes the places that are left of it, in order.
    """
    size, device = ordered.shape[-1], ordered.device
    places = torch.arange(size, device=device)
    group = torch.zeros_like(order)
    group[..., 1:] = (ordered[..., 1:] != ordered[..., :-1]).cumsum(-1)
    wanted = torch.full_like(order, -1)
    wanted[..., : named.shape[-1]] = named
    inside = wanted.clamp(0, size - 1)
    right = (wanted == inside) & (torch.zeros_like(order).scatter(-1, order, group).gather(-1, inside) == group)
    target = torch.where(right, inside, size)
    by = torch.full((*order.shape[:-1], size + 1), size, device=device, dtype=torch.int64)
    by.scatter_reduce_(-1, target, places.expand(order.shape), "amin")
    right &= by.gather(-1, target) == places
    is_named = (by[..., :size] < size).gather(-1, order)
    to = (2 * group + right).argsort(dim=-1, stable=True)
    taken = (2 * group + is_named).argsort(dim=-1, stable=True)
    return torch.where(right, wanted, torch.empty_like(order).scatter_(-1, to, order.gather(-1, taken)))


def _picked(may: torch.Tensor, own: torch.Tensor, rank: torch.Tensor | None, named: torch.Tensor) -> torch.Tensor:
    """One of those that may be named along the last dimension: what is named, else that of the least rank."""
    if rank is None:
        rank = torch.arange(may.shape[-1], device=may.device, dtype=torch.float64)
    least = torch.where(may, rank.double(), torch.inf).argmin(-1, keepdim=True)
    first = torch.where(may.any(-1, keepdim=True), least, own)  # of NaN none is equal
    inside = named.clamp(0, may.shape[-1] - 1)
    return torch.where((named == inside) & may.gather(-1, inside), named, first)


def _frequent(value: torch.Tensor) -> torch.Tensor:
    """Which elements are of a value that no other appears more often than, along the last dimension."""
    value = (value.float() if value.is_floating_point() and value.element_size() < 4 else value).contiguous()
    ordered = value.sort(-1)[0]
    times = torch.searchsorted(ordered, value, right=True) - torch.searchsorted(ordered, value)
    return times == times.amax(-1, keepdim=True)
