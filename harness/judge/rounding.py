"""Rounding: whether an error is the one that multiplying or adding in a smaller type leaves behind.

A sum of many positive terms is right to five or six digits in tf32 too, so the size of an error tells little there. Its
pattern does: the reference is computed in float64 with the operands of every product and sum rounded to the smaller
type, and how it then differs from float64 is what an honest float32 error has nothing in common with.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from harness.judge.tensors import leaves, pieces

_FRACTION_BITS = 52  # of float64

COARSE: dict[str, tuple[int, bool]] = {
    "tf32 or half": (10, False),
    "truncated tf32": (10, True),
    "bfloat16": (7, False),
}
"""Bits of the fraction that are kept, and whether the rest is cut off, which tensor cores do with float32 operands that
were not converted, or rounded to nearest."""
ALIKE = 0.3
"""Correlation of two errors from which on they have a common cause: a candidate that rounds the operands of a tenth of
what is summed has about that. Of n independent errors it is 1/sqrt(n), and six times that is asked for at least."""
LEAST_ELEMENTS = 400

_PRODUCTS = frozenset({"mm", "addmm", "bmm", "baddbmm", "addbmm", "mv", "addmv", "dot", "linear", "convolution"})
_SUMS = frozenset({"sum", "mean", "cumsum", "var", "var_mean"})


class OperandsRounded(TorchDispatchMode):
    """While it is entered, the operands of every product and sum are rounded to `bits` of fraction."""

    def __init__(self, bits: int, *, cut: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._bits, self._cut = bits, cut

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func.overloadpacket.__name__ in _PRODUCTS | _SUMS:
            args = tuple(self._rounded(value) for value in args)
        return func(*args, **(kwargs or {}))

    def _rounded(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dtype == torch.float64:
            return rounded(value, self._bits, cut=self._cut)
        return value


def rounded(value: torch.Tensor, bits: int, *, cut: bool = False) -> torch.Tensor:
    """A float64 tensor with so many bits of fraction: to nearest, ties away from zero, or the rest cut off."""
    drop = _FRACTION_BITS - bits
    pattern = value.contiguous().view(torch.int64)
    if not cut:
        pattern = pattern + (1 << (drop - 1))
    return (pattern & -(1 << drop)).view(torch.float64)


def coarse(actual: Any, like: Any, in_float64: Callable[[TorchDispatchMode | None], Any]) -> str | None:
    """Which smaller type's rounding the error of `actual` is, by name; None where it is none, or not to be told.

    `like` is the reference as written: what it computes in a smaller type itself is no candidate's choice. `in_float64`
    computes the reference, under a mode where one is given, and may return None.
    """
    exact = in_float64(None)
    if exact is None:
        return None
    for name, (bits, cut) in COARSE.items():
        under = in_float64(OperandsRounded(bits, cut=cut))
        if under is None:
            return None
        for got, written, right, other in zip(*map(leaves, (actual, like, exact, under)), strict=True):
            if _alike(got, right, other) and not _alike(written, right, other):
                return name
    return None


def _alike(actual: torch.Tensor, exact: torch.Tensor, under: torch.Tensor) -> bool:
    """Whether two errors of a float32 output go together, beyond what both have as a share of the values."""
    if actual.dtype != torch.float32 or exact.dtype != torch.float64 or actual.shape != exact.shape:
        return False
    count, sums = 0, torch.zeros(4, 4, dtype=torch.float64, device=exact.device)
    for _, (got, right, other) in pieces(actual, exact, under):
        columns = torch.stack([torch.ones_like(right), right, got.to(right) - right, other - right])
        columns = columns[:, columns.isfinite().all(0)]
        count += columns.shape[1]
        sums += columns @ columns.T
    if count < LEAST_ELEMENTS:
        return False
    return _partial_correlation(sums.cpu()) > max(ALIKE, 6 / math.sqrt(count))


def _partial_correlation(sums: torch.Tensor) -> float:
    """Of the last two columns, once what the first two explain is taken off. `sums`: float64[4, 4], their products."""
    known, both = sums[:2, :2], sums[2:, 2:]
    left = both - sums[2:, :2] @ torch.linalg.pinv(known, hermitian=True) @ sums[:2, 2:]
    size = float(left[0, 0]) * float(left[1, 1])
    return float(left[0, 1]) / math.sqrt(size) if size > 0 else 0.0
