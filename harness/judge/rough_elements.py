"""Rough elements: how many elements may be out of tolerance where the reference's own error is not the same everywhere.

A maximum over an output tells what the reference is off by where all elements are alike. Here it is asked whether
elements at which the reference itself is exact were excused by its error at others: where few of its own errors are
many times the median, and where some are next to none.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch

from harness.judge.error_tally import Chunk, Tally
from harness.judge.output_scale import MATTERS, SAMPLED, Own, Scale, slack, some_places, some_sizes
from harness.judge.tensors import at_places

MANY_TIMES, OFTEN, A_FEW = 16.0, 3.0, 8
"""Where the largest own error is more than twice so many times the median one, few elements are that rough, and excuse
no others: a candidate may be beyond what is usual, so many times, at so many times as many elements and a few; as many
as those of the reference, or of a sample of how its rounding may fall: one that adds more exactly has fewer. Of
normally distributed errors the largest of 10^8 is 8.5 times the median, of Laplace's 27 times."""
NEARLY_NONE, MORE_OFTEN = 64.0, 0.05
"""Elements at which the reference is off by less than the median by this factor may be ones that its error does not
reach. There a candidate may be out of the ordinary tolerance no more often than elsewhere, by this share: by chance
both are far off at once the less often there."""
_ANYTHING = 1e30
"""So much as no error is: elements that may be off by this are held to their own tolerance elsewhere."""


class RoughElements:
    """Counts, chunk after chunk, the elements of an output that are beyond what the reference is off by at most others.

    `like` and `exact` are the reference as written and float64, `of` their scale, `known` what the reference was off by
    in earlier trials, which counts where there is no float64. `ordinary` is what an element may be off by besides
    `rtol` of its size if the reference has no error.
    """

    def __init__(
        self, like: torch.Tensor, exact: torch.Tensor, of: Scale, known: Own, *, rtol: float, ordinary: float
    ) -> None:
        self._elements = like.numel()
        self._few: _FewAreRough | None = None
        self._exact: _SomeAreExact | None = None
        self.usual = max(of.reference_error, (known.usual or known.relative) * of.mean)
        """What most elements of the reference are off by at most."""
        if max(of.reference_error, known.relative * of.mean) <= MATTERS * rtol * of.mean:
            return
        middle = _median_error(like, exact)
        usual = (known.usual or known.relative) * of.mean if middle is None else MANY_TIMES * middle
        if 2 * usual < (known.relative * of.mean if middle is None else of.reference_error):
            base = ordinary + slack(usual, rtol * of.mean)
            most = Tally(rtol, base, 1, upto=of.upto, large=_ANYTHING, usual=of.usual, rare=_ANYTHING)
            self._few = _FewAreRough(most, self._elements, known.rough if middle is None else None)
            self.usual = usual
        if middle:
            self._exact = _SomeAreExact(Tally(rtol, ordinary, 1), self._elements, middle / NEARLY_NONE)

    def add(self, chunk: Chunk, samples: Sequence[torch.Tensor], tally: Tally) -> None:
        """Count a chunk in, which `tally` has counted.

        `samples` are what the reference says where one unit of its rounding falls otherwise.
        """
        is_within = self._exact is not None and self._exact.holds_all(tally, chunk.further)
        if self._few is None and (self._exact is None or (is_within and chunk.want.numel() == self._elements)):
            return
        chunk = replace(chunk, written=chunk.written.to(chunk.want.dtype))
        if self._few is not None:
            self._few.add(chunk, samples)
        if self._exact is not None:
            self._exact.add(chunk, is_within=is_within)

    @property
    def share(self) -> float:
        """Which share of the reference's elements is off by more than what is usual allows."""
        return self._few.share if self._few is not None else 0.0

    def beyond(self, forgiven: int) -> Tally | None:
        """What too many elements are beyond; None where they are not. So many may be whatever the reference is."""
        if self._few is not None and self._few.is_broken(forgiven):
            return self._few.most
        if self._exact is not None and self._exact.is_broken():
            return self._exact.beyond
        return None


@dataclass
class _FewAreRough:
    """What is beyond the usual error. `known`: the share of the reference's, where no float64 tells it.

    `rough` counts the reference's elements, `sampled` those of each of its samples.
    """

    most: Tally
    elements: int
    known: float | None
    rough: int = 0
    sampled: Counter[int] = field(default_factory=Counter)

    def add(self, chunk: Chunk, samples: Sequence[torch.Tensor]) -> None:
        self.most.add(chunk)
        want = chunk.want
        allowed = self.most.allowed(want)
        self.rough += int(((chunk.written - want).abs_() > allowed).sum())
        if chunk.further is not None:
            allowed += chunk.further
        for number, sample in enumerate(samples):
            self.sampled[number] += int(((sample.to(want.dtype) - want).abs_() > allowed).sum())

    @property
    def share(self) -> float:
        return self.rough / self.elements if self.known is None else self.known

    def is_broken(self, forgiven: int) -> bool:
        usual = max(self.share * self.elements, *self.sampled.values(), 0)
        return self.most.mismatched > max(OFTEN * usual, forgiven) + A_FEW


@dataclass
class _SomeAreExact:
    """What is out of the ordinary tolerance where the reference is off by no more than `nearly`, and elsewhere."""

    beyond: Tally
    elements: int
    nearly: float
    exact: int = 0
    outside: int = 0

    def holds_all(self, tally: Tally, further: torch.Tensor | None) -> bool:
        """Whether no element that was counted so far can be out of the ordinary tolerance: all use little of more."""
        plain = further is None and math.isinf(tally.usual) and math.isinf(tally.upto)
        return plain and not tally.mismatched and tally.share * tally.base <= self.beyond.base

    def add(self, chunk: Chunk, *, is_within: bool) -> None:
        """Count a chunk in. `is_within`: none of its elements is out of the ordinary tolerance."""
        got, want, further = chunk.got, chunk.want, chunk.further
        close = (chunk.written - want).abs_() <= self.nearly
        self.exact += int(close.sum())
        if is_within:
            return
        allowed = self.beyond.allowed(want)
        if further is not None:
            allowed += further
        error = (got - want).abs_()
        if not bool((error <= allowed).all()):
            self.beyond.add(replace(chunk, got=torch.where(close, got, want)))
            self.outside += int(((error > allowed) & ~close).sum())

    def is_broken(self) -> bool:
        """Whether that is more often so there than elsewhere."""
        rate = self.outside / (self.elements - self.exact) if self.elements > self.exact else 0.0
        return self.beyond.mismatched > (rate + MORE_OFTEN) * self.exact + A_FEW


def _median_error(like: torch.Tensor, exact: torch.Tensor) -> float | None:
    """The median of the errors of the reference that are not 0; None where nothing tells them."""
    if like.data_ptr() == exact.data_ptr():
        return None
    few = like.numel() <= SAMPLED
    errors = like.double() - exact.double() if few else _some_errors(like, exact)
    sizes = some_sizes(errors)
    return float(sizes.median()) if len(sizes) else 0.0


def _some_errors(like: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """What the reference is off by at some random elements."""
    at = some_places(exact)
    return at_places(like, at).double() - at_places(exact, at).double()
