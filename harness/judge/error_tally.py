"""Error tally: what comparing an output chunk after chunk comes to, and whether that is the error of a smaller type."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from harness.judge.output_scale import REFERENCE_ERROR_FACTOR, Scale


@dataclass(frozen=True)
class Chunk:
    """Elements of an output that are compared at once, from an offset on: flat tensors of one length.

    What a candidate `got`, what is expected (`want`), what the reference as `written` says, and what rounding lets each
    be off by besides (`further`), None where that was not asked.
    """

    start: int
    got: torch.Tensor
    want: torch.Tensor
    written: torch.Tensor
    further: torch.Tensor | None = None


@dataclass
class Tally:
    """What comparing chunk after chunk came to.

    An element may be off by `rtol` |expected| + `base`; `parts` neighbours make one element, which counts once.
    `largest` is the largest error that is allowed, `widest` the largest of all; `square` the sum of all their squares.
    `unexplained` are those of the mismatched that no further sample of the reference has either.
    """

    rtol: float
    base: float
    parts: int
    mismatched: int = 0
    unexplained: int = 0
    non_finite: int = 0
    worst: float = -1.0
    worst_at: int = 0
    share: float = 0.0
    largest: float = 0.0
    widest: float = 0.0
    square: float = 0.0
    upto: float = math.inf
    large: float = 0.0
    usual: float = math.inf
    rare: float = 0.0

    def add(self, chunk: Chunk, far: Sequence[torch.Tensor] = ()) -> None:
        """Count a chunk in; `far` is what else some of its elements may be.

        Nearly all chunks agree, and those are done after few passes over memory.
        """
        got, want, further = chunk.got, chunk.want, chunk.further
        error, allowed = (got - want).abs_(), self._allowed(want, further)
        norm = torch.linalg.vector_norm(error, dtype=torch.float64)
        found = torch.stack([error.max().double(), norm, error.div_(allowed).max().double()])
        largest, root, share = found.tolist()  # which waits for a device once
        if math.isfinite(largest):
            self.widest = max(self.widest, largest)
            self.square += root * root  # infinite where that overflows, and no exception
            if share <= 1.0:
                self.largest, self.share = max(self.largest, largest), max(self.share, share)
                return
        written = chunk.written.to(want.dtype)
        if not bool(want.isfinite().all()):
            want = torch.where(want.isfinite(), want, written)
            allowed = self._allowed(want, further)
        error = (got - want).abs_()
        same = (got == want) | (~written.isfinite() & ((got == written) | (got.isnan() & written.isnan())))
        if further is not None:
            same |= further.isposinf()
        excess = error.div_(allowed).masked_fill_(same, 0.0).nan_to_num_(nan=math.inf, posinf=math.inf)
        bad = ~(excess <= 1.0)
        self.mismatched += int(bad.view(-1, self.parts).any(1).sum())
        self.unexplained += int((bad & ~self._said(got, want, far)).sum())
        self.non_finite += int((bad & ~got.isfinite() & want.isfinite()).sum())
        at = int(excess.argmax())
        if float(excess[at]) > self.worst:
            self.worst, self.worst_at = float(excess[at]), chunk.start + at
        within = excess.masked_fill(bad, 0.0)
        self.share = max(self.share, float(within.max()))
        self.largest = max(self.largest, float((within * allowed).nan_to_num_(0.0, 0.0, 0.0).max()))

    def _said(self, got: torch.Tensor, want: torch.Tensor, far: Sequence[torch.Tensor]) -> torch.Tensor:
        """Which elements lie where further samples have them: between these, or beyond by half of what is between."""
        if not far:
            return torch.zeros_like(got, dtype=torch.bool)
        low, high = want, want
        for other in far:
            value = other.to(want.dtype)
            low, high = torch.minimum(low, value), torch.maximum(high, value)
        slack = (high - low).mul_(0.5)
        return (got >= low - slack) & (got <= high + slack)

    def allowed(self, want: torch.Tensor) -> torch.Tensor:
        """What elements of a chunk may be off by."""
        return self._allowed(want, None)

    def _allowed(self, want: torch.Tensor, further: torch.Tensor | None) -> torch.Tensor:
        sizes = want.abs()
        allowed = torch.add(sizes.new_tensor(self.base), sizes, alpha=self.rtol, out=sizes)
        if math.isfinite(self.usual):  # and what is larger by so much of its own size
            allowed += want.abs().masked_fill_(want.abs() <= self.usual, 0.0).mul_(self.rare)
        if math.isfinite(self.upto):  # what is larger may be off by what is usual of all
            allowed += (want.abs() > self.upto).to(allowed.dtype).mul_(self.large)
        return allowed if further is None else allowed.add_(further)


REDUCED_FROM, REDUCED_TO = 5e-5, 2e-2
"""Root mean square relative errors that tf32, half and bfloat16 leave behind: their units in the last place are 2**-11,
2**-11 and 2**-8, of which rounding two operands leaves about 0.8. float32 stays below a tenth of the lower bound
even in sums of 1e5 terms that cancel."""


REDUCIBLE = (torch.float32, torch.float16, torch.bfloat16)
"""Outputs of these may have the error of a smaller type all over them."""
SPREAD_FROM, SPREAD_FACTOR = 3e-7, 2.0
"""An error below two roundings of float32, or below twice the reference's own, is not asked where it comes from."""


def spread_of(tally: Tally, of: Scale, elements: int, dtype: torch.dtype) -> float:
    """The relative error, where it lies all over the output and is not the reference's own; else 0.

    In half and bfloat16 the rounding of the output itself hides whose it is.
    """
    if not of.square or dtype not in REDUCIBLE:
        return 0.0
    mine, theirs = math.sqrt(tally.square / of.square), math.sqrt(of.reference_square / of.square)
    everywhere = tally.widest * math.sqrt(elements) <= 50 * math.sqrt(tally.square)
    least = max(SPREAD_FROM, SPREAD_FACTOR * theirs) if dtype == torch.float32 else SPREAD_FROM
    return mine if everywhere and mine >= least else 0.0


def reduced_of(spread: float, of: Scale) -> float:
    """An error all over the output, where its size is that of a smaller floating type; else 0."""
    if not spread:
        return 0.0
    theirs = math.sqrt(of.reference_square / of.square)
    return spread if max(REDUCED_FROM, REFERENCE_ERROR_FACTOR * theirs) <= spread <= REDUCED_TO else 0.0
