"""Output scale: how large an output is, and how far off it the reference itself is, which the tolerance scales with.

Both are asked of an output as a whole, and apart of elements that say nothing of the others: marks, such as the -1e9 of
a mask, and what is many times as large as is usual.
"""

import math
import secrets
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import torch

from harness.judge.tensors import ascending, at_places, pieces

REFERENCE_ERROR_FACTOR, REDUCED_ERROR_FACTOR = 8.0, 2.0
MOST_OWN_ERROR, OWN_ERROR_TOLERANCES = 0.5, 500.0
"""An element at which the reference is off by more than so much of its size and the mean, or by so many rtol, says
nothing of what others may be off by: it is one that rounding moves (`conditioning`)."""


class Own(NamedTuple):
    """How far off a reference itself is: its largest error over the mean size of an output, and, of elements that are
    many times as large as is usual there, over their own size. 0 where they are off by no more than the others.

    `usual` is what most elements are off by at most, likewise, and `rough` the share that is off by more than that
    allows; `usual` is `relative`, or 0, where no few are off by much more than the rest.
    """

    relative: float = 0.0
    share: float = 0.0
    usual: float = 0.0
    rough: float = 0.0

    def __or__(self, other: "Own") -> "Own":
        return Own(*map(max, self, other))


def slack(error: float, tolerance: float) -> float:
    """What the reference's own error lets others be off by besides, in the output's units, as `tolerance` is."""
    return min(REFERENCE_ERROR_FACTOR * error, REDUCED_ERROR_FACTOR * error + tolerance)


@dataclass
class Scale:
    """How large the expected values and the reference's own errors are, where both are finite.

    `mean` is mean |exact|, `square` the sum of exact**2; `reference_error` the largest error of the reference as
    written, `reference_square` the sum of its squares; `largest` is the largest |exact|.
    Elements larger than `usual` do not count for `reference_error`: `share` is their largest error over their own size.
    Elements larger than `upto` do not count for `mean` and `reference_error`, and may be off by what `whole` says.
    """

    mean: float = 0.0
    square: float = 0.0
    reference_error: float = 0.0
    reference_square: float = 0.0
    largest: float = 0.0
    usual: float = math.inf
    share: float = 0.0
    upto: float = math.inf
    whole: "Scale | None" = None


def scale_of(
    like: torch.Tensor, exact: torch.Tensor, precision: torch.dtype, *, rtol: float, known: Own, limit: int
) -> Scale:
    """That of an output: the reference as written and float64, of equal shape, at most `limit` elements at once.

    `known` is what the reference was off by in earlier trials.
    """
    most = min(MOST_OWN_ERROR, OWN_ERROR_TOLERANCES * rtol)
    measured = partial(_measured, like, exact, precision, limit)

    def capped(upto: float) -> Scale:
        found = measured(upto=upto)
        if found.reference_error <= most * found.mean:
            return found
        return replace(found, reference_error=measured(most, found.mean, upto).reference_error)

    found, upto = capped(math.inf), _largest_of_the_small(exact)
    if found.largest > upto:
        small = capped(upto)
        if small.reference_square <= MOST_OWN_ERROR_OF_SMALL**2 * small.square:
            return replace(found, mean=small.mean, reference_error=small.reference_error, upto=upto, whole=found)
    if known.share or found.reference_error > MATTERS * rtol * found.mean:
        usual = USUAL * float(sizes.median()) if len(sizes := some_sizes(exact)) else math.inf
        if usual < found.largest:
            apart = measured(most, found.mean, usual=usual)
            if known.share or apart.reference_error < HARDLY * found.reference_error:
                return replace(found, reference_error=apart.reference_error, usual=usual, share=apart.share)
    return found


def most_of(of: Scale, rtol: float) -> float:
    """What the reference's own error can let an element of this output be off by at most, however large it is.

    It counts up to a share of an element's size and the mean, three times at most: for all elements, for those of more
    than the usual size, for marks; and its slack is twice that and a tolerance.
    """
    most = min(MOST_OWN_ERROR, OWN_ERROR_TOLERANCES * rtol)
    return 3 * (REDUCED_ERROR_FACTOR * most + 2 * rtol) * (of.largest + (of.whole or of).mean)


MATTERS = 0.1
"""An own error below this share of the tolerance widens it by less than a factor of two, whatever element it is of."""
USUAL, HARDLY = 16.0, 0.5
"""Elements of more than so many times the median size are told by themselves, where without them the largest error is
less than this share of it: what is off by a share of a quotient by nearly 0 says nothing of all others. Of normally
distributed numbers none in 10^20 is so large."""


GAP = 2.0**10
"""Where the sizes of an output lie in two groups so many times apart the larger ones are marks, such as the -1e9 of a
mask, and say nothing of how far the smaller ones may be off."""
FEWEST_SMALL, SMALL_SHARE, SAMPLED = 100, 0.01, 1 << 12
"""What is smaller is a group where it is so many elements and this share of some random ones."""
MOST_OWN_ERROR_OF_SMALL = 0.05
"""And where the reference's own error is less than this share of it: else it is what rounding leaves of larger ones."""


def _largest_of_the_small(exact: torch.Tensor) -> float:
    """How large elements are that tell what an output's size is; infinite where all do."""
    sampled = exact.numel() > SAMPLED
    sizes = some_sizes(exact)
    least = max(1 if sampled else FEWEST_SMALL, math.ceil(SMALL_SHARE * len(sizes)))
    if len(sizes) < max(2, least):
        return math.inf
    apart = (sizes[least:] > GAP * sizes[least - 1 : -1]).nonzero()
    if len(apart):
        return float(sizes[least - 1 + int(apart[0])]) * math.sqrt(GAP)
    return float(sizes[-1]) * GAP if sampled else math.inf


def some_sizes(exact: torch.Tensor) -> torch.Tensor:
    """The finite sizes above 0 of some random elements, or of all where they are few, in order."""
    if exact.numel() > SAMPLED:
        exact = at_places(exact, some_places(exact))
    sizes = exact.detach().reshape(-1).double().abs()
    return ascending(sizes[sizes.isfinite() & (sizes > LEAST)])


LEAST = 2.0**-126
"""The smallest normal number of float32: what is smaller in float64 is no number there that others can be held to."""


def _measured(
    like: torch.Tensor,
    exact: torch.Tensor,
    precision: torch.dtype,
    limit: int,
    most: float = math.inf,
    mean: float = 0.0,
    upto: float = math.inf,
    usual: float = math.inf,
) -> Scale:
    """The sizes, with errors of at most the share `most` of |exact| + `mean`; larger ones count as none.

    Elements larger than `upto` are left out. Errors of elements larger than `usual` are told as a share of their size.
    """
    total, count, found = 0.0, like.numel(), Scale()
    has_error = like.data_ptr() != exact.data_ptr()
    for _, (right, written) in pieces(exact, like, limit=limit):
        want = right.to(precision)
        error = written.to(precision) - want if has_error else want.new_zeros(1)
        norms = _norms(want, error)
        if not all(map(math.isfinite, norms)):  # half that overflows says nothing of how large the rest is
            finite = want.isfinite() & error.isfinite()
            want, error = want.masked_fill(~finite, 0.0), error.masked_fill(~finite, 0.0)
            norms = _norms(want, error)
            count -= int((~finite).sum())
        found.largest = max(found.largest, norms[3])
        if math.isfinite(upto):
            small = want.abs() <= upto
            want, error = want.masked_fill(~small, 0.0), error.masked_fill(~small, 0.0)
            norms = _norms(want, error)
            count -= int((~small).sum())
        size, root, error_root, _, widest = norms
        if math.isfinite(most):
            error = error.abs()
            counted = error.masked_fill(error > most * (want.abs() + mean), 0.0)
            if math.isfinite(usual):
                rare = want.abs() > usual
                found.share = max(found.share, float((counted / want.abs()).masked_fill_(~rare, 0.0).max()))
                counted.masked_fill_(rare, 0.0)
            widest = float(counted.max())
        total += size
        found.square += root * root
        found.reference_error = max(found.reference_error, widest)
        found.reference_square += error_root * error_root
    found.mean = total / count if count else 0.0
    return found


def _norms(want: torch.Tensor, error: torch.Tensor) -> list[float]:
    """Of sizes the sum and the root of the sum of squares, of errors the latter, and the largest of either.

    A device is waited for once.
    """
    norm = torch.linalg.vector_norm
    sums = [norm(value, order, dtype=torch.float64) for value, order in ((want, 1), (want, 2), (error, 2))]
    largest = [norm(value, math.inf).double() for value in (want, error)]
    return torch.stack([*sums, *largest]).tolist()


def some_places(value: torch.Tensor, count: int = SAMPLED) -> torch.Tensor:
    """Flat indices of random elements."""
    chance = torch.Generator(value.device).manual_seed(secrets.randbits(62))
    return torch.randint(0, value.numel(), (count,), generator=chance, device=value.device)
