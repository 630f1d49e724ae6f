"""Rounding: whether an error is what multiplying or adding in a smaller type leaves behind.

A sum of many positive terms is right to five or six digits in tf32 too, so the size of an error tells little there. Two
things tell more. Its pattern: the reference is computed in float64 with the operands of all that mixes elements rounded
to the smaller type, and how it then differs from float64 is what an honest error has nothing in common with. And its
size beside what float32 would leave in this very computation, which is measured (`accumulation`): operands that were
scaled by odd factors, or split in two, have no pattern that could be looked for.
"""

import math
import secrets
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch

from harness.judge.accumulation import CONVOLUTIONS, EXPLAINED, LEAST, MOVES, InFloat32, scatter, writes_in_place
from harness.judge.operator_mode import OperatorMode
from harness.judge.tensors import leaves, pieces

_FRACTION_BITS = {torch.float64: 52, torch.float32: 23}

COARSE: dict[str, tuple[int, bool]] = {
    "tf32 or half": (10, False),
    "truncated tf32": (10, True),
    "bfloat16": (7, False),
}
"""Bits of the fraction that are kept, and whether the rest is cut off, which tensor cores do with float32 operands that
were not converted, or rounded to nearest."""
EIGHT_BITS = ("float8 e4m3", "float8 e5m2", "int8", "int8 by rows")
"""What outputs of half and bfloat16 are asked about; of float32 the types in `COARSE`."""
ALIKE, ALIKE_HALF = 0.3, 0.15
"""Correlation of two errors from which on they have a common cause: a candidate that rounds the operands of a tenth of
what is summed has about that. Of n independent errors it is 1/sqrt(n), and six times that is asked for at least. An
output in half or bfloat16 is rounded itself, which has nothing in common with either and makes both less alike."""
LEAST_ELEMENTS = 400

_SMALL = (torch.float16, torch.bfloat16)
_MULTIPLIES = frozenset({"mul", "square", "pow", "addcmul"})


def mixes(func: Any) -> bool:
    """Whether an operator of ATen adds or multiplies elements with others of the same tensor.

    It does unless torch says that it goes element by element, or that it is a view, or it only moves numbers.
    """
    name = func.overloadpacket.__name__
    return not (torch.Tag.pointwise in func.tags or func.is_view or name in MOVES or name.rstrip("_") in MOVES)


class Operators(OperatorMode):
    """While it is entered, notes which operators of those that run, by number, are `products` and which other `sums`.

    A multiplication whose outputs are summed at once is a product, too.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.products: set[int] = set()
        self.sums: set[int] = set()
        self._count = 0
        self._made: dict[int, int] = {}  # the multiplication that wrote there last

    @property
    def ran(self) -> bool:
        """Whether anything did."""
        return self._count > 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        number, self._count = self._count, self._count + 1
        operands = [leaf for leaf in leaves(list(args)) if leaf.dtype == torch.float64]
        if operands and mixes(func):
            if len(operands) > 1:
                self.products.add(number)
            else:
                self.sums.add(number)
                self.products.update(self._made.get(leaf.untyped_storage().data_ptr(), number) for leaf in operands)
                self.products.discard(number)
        out = func(*args, **(kwargs or {}))
        if not func.is_view:
            multiplies = func.overloadpacket.__name__.rstrip("_") in _MULTIPLIES
            for leaf in leaves(out):
                if multiplies and not writes_in_place(func):
                    self._made[leaf.untyped_storage().data_ptr()] = number
                else:
                    self._made.pop(leaf.untyped_storage().data_ptr(), None)
        return out


class OperandsRounded(OperatorMode):
    """While it is entered, `change` rounds the operands of operators: of those numbered `at`, or of all that mix."""

    def __init__(self, change: Callable[[torch.Tensor], torch.Tensor], at: Iterable[int] | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._change, self._at = change, None if at is None else frozenset(at)
        self._count = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        number, self._count = self._count, self._count + 1
        if mixes(func) if self._at is None else number in self._at:
            written = 1 if writes_in_place(func) else 0
            args = (*args[:written], *(self._rounded(value) for value in args[written:]))
        return func(*args, **(kwargs or {}))

    def _rounded(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dtype == torch.float64 and value.numel():
            return self._change(value)
        if isinstance(value, list | tuple):
            return type(value)(self._rounded(item) for item in value)
        return value


class Convolutions(OperatorMode):
    """While it is entered, notes in `found` whether there are any; `in_tf32` rounds their operands to that."""

    def __init__(self, *, in_tf32: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found, self._in_tf32 = False, in_tf32

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func.overloadpacket.__name__ in CONVOLUTIONS:
            self.found = True
            if self._in_tf32:
                bits, _ = COARSE["tf32 or half"]
                args = (*(rounded(value, bits) for value in args[:2]), *args[2:])
        return func(*args, **(kwargs or {}))


def in_eight_bits(value: torch.Tensor, name: str) -> torch.Tensor:
    """A float64 tensor's values as one of `EIGHT_BITS` has them; int8 scaled by its largest value."""
    if name.startswith("float8"):
        return rounded(value, 3 if name.endswith("e4m3") else 2)
    by_rows = name == "int8 by rows" and value.dim() > 1
    largest = value.abs().amax(-1, keepdim=True) if by_rows else value.abs().max()
    step = largest.clamp_min(1e-300) / 127
    return (value / step).round_().mul_(step)


_CHANGES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {}


def rounded(value: torch.Tensor, bits: int, *, cut: bool = False) -> torch.Tensor:
    """A tensor in float64 or float32 with so many bits of fraction: to nearest, ties away from zero, or cut off."""
    drop = _FRACTION_BITS[value.dtype] - bits
    pattern = value.contiguous().view(torch.int64 if value.dtype == torch.float64 else torch.int32)
    if not cut:
        pattern = pattern + (1 << (drop - 1))
    return (pattern & -(1 << drop)).view(value.dtype)


_CHANGES.update({name: partial(rounded, bits=bits, cut=cut) for name, (bits, cut) in COARSE.items()})
_CHANGES.update({name: partial(in_eight_bits, name=name) for name in EIGHT_BITS})

MORE = "fewer bits than float32"
"""What an error is called that is too large for float32 and has no pattern that is known."""


def coarse(
    actual: Any, like: Any, in_float64: Callable[[OperatorMode], Any], operators: Operators | None = None
) -> str | None:
    """Which smaller type's rounding the error of `actual` is, by name; None where it is none, or not to be told.

    `like` is the reference as written: what it computes in a smaller type itself is no candidate's choice. `in_float64`
    computes the reference under a mode, and may return None. `operators` is told what the reference is made of; where
    nothing in it mixes elements there is nothing to tell.
    """
    operators = operators or Operators()
    exact = in_float64(operators)
    if exact is None or not operators.products | operators.sums:
        return None
    triples = list(zip(*map(leaves, (actual, like, exact)), strict=True))
    small = any(got.dtype in _SMALL for got, _, _ in triples)
    wide = any(got.dtype == torch.float32 for got, _, _ in triples)
    everything = operators.products | operators.sums
    names: list[str] = [*(COARSE if wide else ()), *(EIGHT_BITS if small else ())]
    for name in names:
        for at in {frozenset(operators.products or everything), frozenset(everything)}:
            under = in_float64(OperandsRounded(_CHANGES[name], at)) if at else None
            if under is None:
                continue
            for (got, written, right), other in zip(triples, leaves(under), strict=True):
                mine = (got.dtype in _SMALL) == (name in EIGHT_BITS)
                if mine and _alike(got, right, other) and not _alike(written, right, other):
                    return name
    return MORE if wide and _unexplained(triples, in_float64) else None


def _unexplained(triples: list[tuple[Any, Any, Any]], in_float64: Callable[[OperatorMode], Any]) -> bool:
    """Whether an error of a float32 output is larger than float32 leaves in any order, in all of it."""
    mode = InFloat32(secrets.randbits(62))
    try:
        under = in_float64(mode)
    except torch.OutOfMemoryError:
        return False
    if under is None or not mode.understood or not mode.sums:
        return False
    for (got, written, right), other in zip(triples, leaves(under), strict=True):
        if got.dtype != torch.float32 or right.dtype != torch.float64 or right.numel() < LEAST_ELEMENTS:
            continue
        explained = EXPLAINED * max(scatter(other - right, right), scatter(written.double() - right, right))
        size = float(torch.linalg.vector_norm(right)) / math.sqrt(right.numel())
        if scatter(got.double() - right, right) > max(explained, LEAST * size):
            return True
    return False


def _alike(actual: torch.Tensor, exact: torch.Tensor, under: torch.Tensor) -> bool:
    """Whether two errors of an output go together, beyond what both have as a share of the values."""
    if actual.dtype not in (torch.float32, *_SMALL) or exact.dtype != torch.float64 or actual.shape != exact.shape:
        return False
    count, sums = 0, torch.zeros(4, 4, dtype=torch.float64, device=exact.device)
    for _, (got, right, other) in pieces(actual, exact, under):
        columns = torch.stack([torch.ones_like(right), right, got.to(right) - right, other - right])
        columns = columns[:, columns.isfinite().all(0)]
        count += columns.shape[1]
        sums += columns @ columns.T
    if count < LEAST_ELEMENTS:
        return False
    least = ALIKE if actual.dtype == torch.float32 else ALIKE_HALF
    return _partial_correlation(sums.cpu()) > max(least, 6 / math.sqrt(count))


def _partial_correlation(sums: torch.Tensor) -> float:
    """Of the last two columns, once what the first two explain is taken off. `sums`: float64[4, 4], their products."""
    known, both = sums[:2, :2], sums[2:, 2:]
    left = both - sums[2:, :2] @ torch.linalg.pinv(known, hermitian=True) @ sums[:2, 2:]
    size = float(left[0, 0]) * float(left[1, 1])
    return float(left[0, 1]) / math.sqrt(size) if size > 0 else 0.0
