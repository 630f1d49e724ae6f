"""Settled: outputs that are the reference as written but for its last digits, about which float64 is not asked."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import torch

from harness.judge.correctness import RTOL, Agreement, Disagreement, Expected
from harness.judge.criteria import Leaf, first_broken
from harness.judge.error_tally import REDUCIBLE, Tally, spread_of
from harness.judge.output_scale import FEWEST_SMALL, GAP, LEAST, SAMPLED, SMALL_SHARE, Scale
from harness.judge.sampled import compare_kept, kept_of
from harness.judge.subject import Sampled
from harness.judge.tensors import ascending
from harness.schema.record import ToleranceName

SETTLES = 0.01
"""What uses no more than this share of the tolerance around the reference as written agrees with float64 as well: there
it is off by what the reference is, for which the tolerance has room twice, and by so much more."""
MOST_ALIKE = 1 << 14
"""Elements of an output that is settled together with those of other calls, at most."""


def settled_as_written(output: Any, expected: Expected, tolerance: ToleranceName) -> Agreement | None:
    """How an output agrees that is the reference as written but for its last digits; None where it is not.

    No error lies all over it, and nothing is excused by the reference's own.
    """
    found = compare_kept(output, replace(expected, exact=expected.like, known=(), others=()), tolerance)
    if isinstance(found, Disagreement) or found.of_tolerance > SETTLES or found.spread:
        return None
    return replace(found, own=())


# ---- of several calls ------------------------------------------------------------------------------------------------


class Kept(NamedTuple):
    """The kept elements of an output, and of the reference as written: of one dimension, one length and one dtype."""

    got: torch.Tensor
    want: torch.Tensor


def kept_alike(output: Any, expected: Expected) -> Kept | None:
    """What `settled_together` is asked of. None where an output is several tensors, another than expected, or large."""
    like = expected.like
    if not (expected.may_widen and isinstance(output, Sampled | torch.Tensor) and isinstance(like, torch.Tensor)):
        return None
    got, want = (side.detach() for side in kept_of(output, like))
    if got.device != want.device or first_broken("leaf", Leaf(got, want, "output")) is not None:
        return None
    if want.dtype not in REDUCIBLE or want.numel() > MOST_ALIKE:
        return None
    want = want.flatten()
    is_copy = isinstance(output, Sampled)
    return Kept(got.reshape(-1), want if is_copy else want.clone())  # a reference may write over what it returned


def settled_together(kept: Sequence[Kept], tolerance: ToleranceName) -> list[Agreement | None]:
    """How the outputs of several calls agree, as `settled_as_written` has it, by one question to the device.

    None too where larger elements may be marks (`output_scale`), of which that tells more.
    """
    found: dict[int, Agreement | None] = {}
    alike: dict[tuple[int, torch.dtype], list[int]] = {}
    for place, (_, want) in enumerate(kept):
        alike.setdefault((len(want), want.dtype), []).append(place)
    for places in alike.values():
        rows = _figures([kept[place] for place in places], tolerance)
        found.update((place, _agreement(of, kept[place])) for place, of in zip(places, rows, strict=True))
    return [found[place] for place in range(len(kept))]


class _Figures(NamedTuple):
    """Of an output: its largest error and share of the tolerance, and the mean size of what is expected; the roots of
    the sums of squares of its errors and of that; 1 where sizes lie in two groups so far apart that the larger ones may
    be marks.
    """

    widest: float = 0.0
    share: float = 0.0
    mean: float = 0.0
    error: float = 0.0
    size: float = 0.0
    apart: float = 0.0


def _figures(kept: Sequence[Kept], tolerance: ToleranceName) -> list[_Figures]:
    """Those of outputs of one length and dtype."""
    (count,), rtol = kept[0].want.shape, RTOL[kept[0].want.dtype]
    if not count:
        return [_Figures()] * len(kept)
    got, want = (torch.stack(side).to(torch.float32) for side in zip(*kept, strict=True))
    error, sizes = (got - want).abs_(), want.abs()
    norm = partial(torch.linalg.vector_norm, dim=1, dtype=torch.float64)
    mean = norm(sizes, 1) / count
    base = rtol * (mean if tolerance == "scaled" else torch.ones_like(mean))
    share = (error / torch.add(base.float()[:, None], sizes, alpha=rtol)).amax(dim=1)
    none = (sizes <= LEAST).sum(dim=1)
    fewest = FEWEST_SMALL if count <= SAMPLED else 1
    some = ((count - none) * SMALL_SHARE).ceil().clamp_(min=fewest).long()
    ordered = ascending(sizes)
    is_some = torch.arange(1, count, device=sizes.device) >= (none + some)[:, None]
    apart = ((ordered[:, 1:] > GAP * ordered[:, :-1]) & is_some).any(dim=1)
    columns = (error.amax(dim=1), share, mean, norm(error, 2), norm(sizes, 2), apart)
    rows = torch.stack([column.double() for column in columns], dim=1).tolist()  # which waits for a device once
    return [_Figures(*row) for row in rows]


def _agreement(of: _Figures, kept: Kept) -> Agreement | None:
    if of.widest == 0.0:
        return Agreement()
    if not of.share <= SETTLES or of.apart:
        return None
    tally = Tally(0.0, 0.0, 1, widest=of.widest, square=of.error**2)
    if spread_of(tally, Scale(square=of.size**2), len(kept.want), kept.want.dtype):
        return None
    return Agreement(relative=of.widest / of.mean if of.mean else 0.0, of_tolerance=of.share)
