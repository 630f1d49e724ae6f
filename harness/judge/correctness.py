"""Correctness: whether a candidate's outputs are the reference's, element by element.

The allowed error of an element is

    rtol * |expected| + rtol * mean |expected| + slack
    slack = min(8 * e, 2 * e + rtol * mean |expected|)    e: the largest error of the reference as written, by float64

where elements at which that error is of the size of the output itself do not count: what rounding alone moves so far is
left to `conditioning`, element by element, once a candidate is out of this tolerance. The tolerance
scales with the output: an output of the order of 1e-6 is not compared with 1e-2, and where float32 itself
is far from float64 (long sums that cancel) a candidate that adds in another order is not blamed for it. Where the
reference itself computes in tf32 the slack is about twice its error, and bfloat16 cannot hide behind it. `rtol` is 1e-4
for float32 and 1e-2 for half and bfloat16, KernelBench's tolerances of the same precisions. float64 outputs
are held to 1e-10, integers and bools to equal bits. The test is `not (error <= allowed)`, so that NaN never passes;
where the reference as written is infinite or NaN, as half is past 65504, what it says is right as well. Of complex
numbers both parts are held to what the magnitude of the parts allows.

With the tolerance `kernelbench` the second term is rtol alone, which is torch.allclose with atol = rtol as KernelBench
calls it (kernelbench/eval.py, get_tolerance_for_precision), with the reference's own error still allowed for.
"""

import cmath
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import torch

from harness.judge.conditioning import NEAREST_FAR, Movable, Other, forgiven
from harness.judge.criteria import Leaf, described, first_broken
from harness.judge.error_tally import Chunk, Tally, reduced_of, spread_of
from harness.judge.output_scale import Own, Scale, most_of, scale_of, slack
from harness.judge.rough_elements import RoughElements
from harness.judge.tensors import index_of, leaves, pieces, same_bits
from harness.schema.record import ToleranceName
from harness.schema.verdict import Difference, Mismatch

RTOL = {torch.float64: 1e-10, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 1e-2}
RTOL_OTHER_FLOATS = 5e-2  # 8-bit floats: half a unit in the last place is 2**-4 or coarser
_CHUNK = 1 << 25  # elements compared at once: bounds the temporaries to about 1 GB


@dataclass(frozen=True)
class Expected:
    """What the reference says. `exact` is float64 where it was affordable, else the reference as written.

    `like` holds the reference's outputs as written: they define structure, shapes and dtypes. `known`: its own error in
    earlier trials, for where `exact` cannot tell, of each output, or one of all. What one output is off by says nothing
    of another. `others`: what the reference says where its rounding falls
    otherwise, once that was asked; of the structure and the shapes of `like`. Of more than `NEAREST_FAR` units they say
    what elements may be that the others did not move; so many as `missed` says of each output, in the order of `plain`,
    may be something else besides. `left`: what the arguments hold after a call, of a reference that changes them.
    `may_widen`: float64 was left out, and may be asked once the reference as written does not settle it.
    """

    like: Any
    exact: Any
    known: tuple[Own, ...] = ()
    others: tuple[Other, ...] = ()
    missed: tuple[int, ...] = ()
    left: "Expected | None" = None
    may_widen: bool = False


@dataclass(frozen=True)
class Agreement:
    """How close all outputs are. Figures as in `ErrorSummary`.

    `spread` is the root of the mean squared error of an output in float32, half or bfloat16 over that of its values,
    where the error lies all over it and, in float32, is more than twice the reference's, else 0; `reduced` the same of
    float32 where it is larger than float32 arithmetic explains (see `_reduced`). `unstable` is the share of an output's
    elements that rounding alone moves so far that nothing can be told of them, where `Expected.others` were given.
    `own` is the reference's of each output; of several comparisons it is none.
    """

    relative: float = 0.0
    reference_relative: float = 0.0
    of_tolerance: float = 0.0
    spread: float = 0.0
    reduced: float = 0.0
    unstable: float = 0.0
    own: tuple[Own, ...] = field(default=(), compare=False)

    def __or__(self, other: "Agreement") -> "Agreement":
        return Agreement(
            max(self.relative, other.relative),
            max(self.reference_relative, other.reference_relative),
            max(self.of_tolerance, other.of_tolerance),
            max(self.spread, other.spread),
            max(self.reduced, other.reduced),
            max(self.unstable, other.unstable),
        )


@dataclass(frozen=True)
class Witness:
    """The element that is furthest out of tolerance: of which tensor, in the order of `leaves`, and at which index.

    `allowed` says what elements may be off by at most, by what is expected of them, in whichever comparison: random
    elements tell the scale of an output. However far off the reference turns out to be itself, none may be off by more
    than `most`, where rounding does not move it.
    """

    index: tuple[int, ...]
    allowed: Callable[[torch.Tensor], torch.Tensor]
    most: float
    place: int = 0


@dataclass(frozen=True)
class Disagreement:
    """Why the outputs are not the reference's; `witness` is there where one element alone shows it.

    `unexplained` counts the elements of that output that are out of tolerance and that no sample of `Expected.others`
    tells of. Of those that are rougher than is usual, and within tolerance, it says nothing.
    """

    reason: Difference
    detail: str
    mismatch: Mismatch | None = None
    witness: Witness | None = None
    unexplained: int = field(default=0, compare=False)


def compare(actual: Any, expected: Expected, tolerance: ToleranceName = "scaled") -> Agreement | Disagreement:
    """Hold `actual` against the reference: structure first, then dtype and shape, then every element."""
    agreement = Agreement()
    pairs: list[_Pair] = []
    others = tuple(other.outputs for other in expected.others)
    for pair in _pairs(actual, expected.like, expected.exact, others, "output"):
        if isinstance(pair, Disagreement):
            return pair
        broken = first_broken("leaf", Leaf(pair[0], pair[1], pair[-1]))
        if broken is not None:
            return Disagreement(*broken)
        pairs.append(pair)
    units = tuple(other.units for other in expected.others)
    own: list[Own] = []
    for place, one in enumerate(pairs):
        missed = expected.missed[place] if expected.missed else 0
        terms = _Terms(tolerance, known_of(expected.known, place), units, missed)
        found = _compare_leaf(*one, terms)
        if isinstance(found, Disagreement):
            before = leaves([like for _, like, *_ in pairs[:place]])
            return replace(found, witness=found.witness and replace(found.witness, place=len(before)))
        agreement = agreement | found
        own.extend(found.own or (Own(),))
    return replace(agreement, own=tuple(own))


def known_of(known: tuple[Own, ...], place: int) -> Own:
    """Of `Expected.known` that of the output at a place."""
    if len(known) == 1:
        return known[0]
    return known[place] if place < len(known) else Own()


def all_finite(value: Any) -> bool:
    """Whether every floating or complex tensor in a nested value is finite throughout."""
    return not_finite(value) == 0


def not_finite(value: Any) -> int:
    """How many elements of floating and complex tensors in a nested value, and how many floats, are not finite."""
    if isinstance(value, torch.Tensor):
        if not (value.is_floating_point() or value.is_complex()):
            return 0
        return sum(_not_finite(chunk) for _, (chunk,) in pieces(value, limit=_CHUNK))
    if isinstance(value, dict):
        return sum(not_finite(item) for item in value.values())
    if isinstance(value, list | tuple):
        return sum(not_finite(item) for item in value)
    return int(isinstance(value, float) and not math.isfinite(value))


def _not_finite(chunk: torch.Tensor) -> int:
    """How many elements are not. What adds up to a finite number has none, and most do: one pass instead of seven."""
    if chunk.element_size() == 1:  # of an 8-bit float torch does not say whether it is finite
        chunk = chunk.float()
    wide = torch.promote_types(chunk.dtype, torch.float32)
    if cmath.isfinite(chunk.sum(dtype=wide).item()):
        return 0
    return int((~chunk.isfinite()).sum())


_T = TypeVar("_T")
_Pair = tuple[Any, Any, Any, tuple[Any, ...], str]
"""What a candidate says of an output, the reference as written, float64, what else it may be, and the output's name."""


@dataclass(frozen=True)
class _Terms:
    """How an output is compared. `units` belong to the others of a pair, one each; `missed` is its own."""

    tolerance: ToleranceName
    known: Own = Own()  # noqa: RUF009  # a tuple
    units: tuple[float, ...] = ()
    missed: int = 0

    def split(self, others: tuple[_T, ...]) -> tuple[tuple[_T, ...], tuple[_T, ...]]:
        """The others of a pair that tell how far elements move, and those that tell what else some may be."""
        both = tuple(zip(others, self.units, strict=True))
        return (
            tuple(other for other, units in both if units <= NEAREST_FAR),
            tuple(other for other, units in both if units > NEAREST_FAR),
        )


def _pairs(actual: Any, like: Any, exact: Any, others: tuple[Any, ...], name: str) -> Iterator[_Pair | Disagreement]:
    if isinstance(like, dict):
        if not isinstance(actual, dict) or actual.keys() != like.keys():
            yield Disagreement("structure", f"{name} should be a dict with the keys {list(like)}, {described(actual)}")
            return
        for key in sorted(like, key=str):  # as `leaves` has them
            within = tuple(other[key] for other in others)
            yield from _pairs(actual[key], like[key], exact[key], within, f"{name}[{key!r}]")
    elif isinstance(like, list | tuple):
        kind = "list" if isinstance(like, list) else "tuple"
        if not isinstance(actual, list if kind == "list" else tuple) or len(actual) != len(like):
            yield Disagreement("structure", f"{name} should be a {kind} of {len(like)}, {described(actual)}")
            return
        for index, item in enumerate(like):
            within = tuple(other[index] for other in others)
            yield from _pairs(actual[index], item, exact[index], within, f"{name}[{index}]")
    else:
        yield actual, like, exact, others, name


def _as_parts(value: torch.Tensor) -> torch.Tensor:
    return torch.view_as_real(value.resolve_conj())


def _compare_leaf(
    actual: Any, like: Any, exact: Any, others: tuple[Any, ...], name: str, terms: _Terms
) -> Agreement | Disagreement:
    if isinstance(like, torch.Tensor):
        return _compare_tensor(actual, like, exact, others, name, terms)
    if isinstance(like, float):
        got, written, right, *rest = (
            torch.tensor(value, dtype=torch.float64) for value in (actual, like, exact, *others)
        )
        found = _compare_values(got, written, right, tuple(rest), name, rtol=1e-4, terms=terms)
        return replace(found, witness=None) if isinstance(found, Disagreement) else found  # it is no tensor's element
    said = (like, *terms.split(others)[0])
    numbers = all(isinstance(value, int) for value in (actual, *said))
    if actual != like and not (_lie_between(actual, min(said), max(said)) if numbers else actual in said):
        return Disagreement("values", f"{name} is {actual!r} and should be {like!r}")
    return Agreement()


def _lie_between(got: Any, low: Any, high: Any) -> Any:
    """Which integers, or whether one, lie between the least and the largest that is said of them, which are to differ,
    or beyond by as much as is between.
    """
    apart = high - low
    return (apart > 0) & (got >= low - apart) & (got <= high + apart)


def _compare_tensor(
    actual: torch.Tensor,
    like: torch.Tensor,
    exact: torch.Tensor,
    others: tuple[torch.Tensor, ...],
    name: str,
    terms: _Terms,
) -> Agreement | Disagreement:
    if not like.numel():
        return Agreement()
    actual, like, exact = actual.detach(), like.detach(), exact.detach()  # a reference may return a parameter
    others = tuple(other.detach() for other in others)
    if like.is_cuda and like.numel() <= ON_HOST:
        as_written = like.data_ptr() == exact.data_ptr()
        actual, like = actual.cpu(), like.cpu()
        exact, others = like if as_written else exact.cpu(), tuple(other.cpu() for other in others)
    if like.is_complex() or like.is_floating_point():
        rtol = RTOL.get(like.dtype.to_real(), RTOL_OTHER_FLOATS)
        return _compare_values(actual, like, exact, others, name, rtol=rtol, terms=terms)
    near, far = terms.split(others)
    return _compare_exactly(actual, like, (exact, *near) if near else (), far, name, terms.missed)


ON_HOST = 1 << 14
"""Tensors of a device of at most so many elements are compared on the host: each of some forty operations costs more to
start than it takes, and many are waited for: 1.3 ms a comparison there (H100, November 2026)."""


def _compare_exactly(
    actual: torch.Tensor,
    like: torch.Tensor,
    others: tuple[torch.Tensor, ...],
    far: tuple[torch.Tensor, ...],
    name: str,
    missed: int,
) -> Agreement | Disagreement:
    """Compare integers and bools bit for bit: a bool that is neither 0 nor 1 in memory was not written as one.

    Elements of which any of the others says something else may lie where these and `like` do, or beyond by as much as
    they are apart; some more may be what one of `far` says, `missed` of them something else.
    """
    if like.dtype == torch.bool:
        actual, like = actual.view(torch.uint8), like.view(torch.uint8)
        others, far = (tuple(other.view(torch.uint8) for other in several) for several in (others, far))
    count, worst, worst_at, unstable, once, unexplained = 0, -1.0, 0, 0, 0, 0
    for start, (got, want, *both) in pieces(actual, like, *others, *far, limit=_CHUNK):
        rest, further = both[: len(others)], both[len(others) :]
        times = sum(((other != want).int() for other in rest), torch.zeros((), dtype=torch.int32, device=want.device))
        unstable, once = unstable + int((times > 0).sum()), once + int((times == 1).sum())
        if same_bits(got, want):
            continue
        places = (got != want).nonzero().view(-1)
        said = torch.stack([value[places].double() for value in (want, *rest)])
        places = places[~_lie_between(got[places], said.amin(0), said.amax(0))]
        if not len(places):
            continue
        apart = (got[places].double() - want[places].double()).abs_()
        count += len(places)
        told = sum((got[places] == other[places] for other in further), torch.zeros_like(places, dtype=torch.bool))
        unexplained += int((~told).sum())
        at = int(apart.argmax())
        if float(apart[at]) > worst:
            worst, worst_at = float(apart[at]), start + int(places[at])
    if unexplained <= missed and count <= forgiven(once, len(others)):
        return Agreement(unstable=unstable / like.numel())
    index = index_of(worst_at, like.shape)
    found = _mismatch(name, like.numel(), count, index, actual[index].item(), like[index].item(), 0.0)
    return replace(found, witness=Witness(index, torch.zeros_like, 0.0), unexplained=unexplained)


def _compare_values(
    actual: torch.Tensor,
    like: torch.Tensor,
    exact: torch.Tensor,
    others: tuple[torch.Tensor, ...],
    name: str,
    *,
    rtol: float,
    terms: _Terms,
) -> Agreement | Disagreement:
    """Compare floating or complex tensors of equal shape, chunk by chunk, at least in float32, or in `exact`'s type.

    Of complex ones the parts are compared, as a last dimension of two; counts and indices are those of whole numbers.
    """
    parts = 1
    if like.is_complex():
        parts = 2
        actual, like, exact, *others_ = (_as_parts(value) for value in (actual, like, exact, *others))
        others = tuple(others_)
    precision = torch.float64 if exact.dtype == torch.float64 else torch.float32
    limit = _CHUNK // parts * parts
    of = scale_of(like, exact, precision, rtol=rtol, known=terms.known, limit=limit)
    ordinary = rtol * (of.mean if terms.tolerance == "scaled" else 1.0)
    near, far = terms.split(others)
    units = (units for units in terms.units if units <= NEAREST_FAR)
    movable = Movable(rtol, of.mean, tuple(zip(near, units, strict=True)))
    if near:
        movable.look(like, exact, precision, limit)
    tally = _tally(of, terms.known, rtol, ordinary, parts)
    rough = RoughElements(like, exact, of, terms.known, rtol=rtol, ordinary=ordinary)
    for start, (got, want, written, *rest) in pieces(actual, exact, like, *near, *far, limit=limit):
        got, want = got.to(precision), want.to(precision)
        further = movable.allowance(want, [written, *rest[: len(near)]]) if near else None
        chunk = Chunk(start, got, want, written, further)
        tally.add(chunk, rest[len(near) :])
        rough.add(chunk, [rest[place] for place in movable.of_one_unit], tally)
    spread = 0.0 if others else spread_of(tally, of, like.numel(), like.dtype)  # what rounding moves has no pattern
    reduced = reduced_of(spread, of) if like.dtype == torch.float32 else 0.0
    witness = _witness(tally, of, rtol, like.shape) if parts == 1 else None
    unexplained = tally.unexplained
    few = unexplained <= terms.missed and not tally.non_finite
    if tally.mismatched <= (movable.forgiven if few else 0):
        beyond = rough.beyond(movable.forgiven)
        if beyond is None:
            return replace(_agreement(tally, of, rough, movable), spread=spread, reduced=reduced)
        tally, witness = beyond, None
    index = index_of(tally.worst_at, like.shape)
    found, expected = (float(value[index]) for value in (actual, exact))
    if not math.isfinite(expected):
        expected = float(like[index])
    reason: Difference = "non-finite" if tally.non_finite else "values"
    allowed, elements = rtol * abs(expected) + tally.base, like.numel() // parts
    if parts == 2:
        name, index = f"{name}.{('real', 'imag')[index[-1]]}", index[:-1]
    mismatch = _mismatch(
        name, elements, tally.mismatched, index, found, expected, allowed, reason=reason, reduced=reduced
    )
    return replace(mismatch, witness=witness, unexplained=unexplained)


def _agreement(tally: Tally, of: Scale, rough: RoughElements, movable: Movable) -> Agreement:
    """How close an output is, but for where its errors lie."""
    relative, theirs, usual = (
        error / of.mean if of.mean else 0.0 for error in (tally.largest, of.reference_error, rough.usual)
    )
    own = Own(theirs, of.share, usual, rough.share)
    return Agreement(relative, theirs, tally.share, unstable=movable.share, own=(own,))


def _witness(tally: Tally, of: Scale, rtol: float, shape: Sequence[int]) -> Witness:
    return Witness(index_of(tally.worst_at, shape), partial(_at_most, tally, of), tally.base + most_of(of, rtol))


def _at_most(tally: Tally, of: Scale, want: torch.Tensor) -> torch.Tensor:
    """What elements may be off by, also where other random elements tell which ones are marks, or rare."""
    return 2 * (tally.allowed(want) + tally.large + tally.rare * of.largest)


def _tally(of: Scale, known: Own, rtol: float, ordinary: float, parts: int) -> Tally:
    """What an element may be off by, of an output of this scale whose reference is known to be off by so much."""
    own = slack(max(of.reference_error, known.relative * of.mean), rtol * of.mean)
    large = 0.0 if of.whole is None else rtol * of.whole.mean + slack(of.whole.reference_error, rtol * of.whole.mean)
    rare = slack(max(of.share, known.share), rtol)
    return Tally(rtol, ordinary + own, parts, upto=of.upto, large=large, usual=of.usual, rare=rare)


def _mismatch(
    name: str,
    elements: int,
    count: int,
    index: tuple[int, ...],
    actual: float,
    expected: float,
    tolerance: float,
    *,
    reason: Difference = "values",
    reduced: float = 0.0,
) -> Disagreement:
    got, want = (f"{value:.9g}" if isinstance(value, float) else str(value) for value in (actual, expected))
    return Disagreement(
        reason,
        f"{name}: {count:,} of {elements:,} elements differ; worst at {list(index)}: "
        f"{got} should be {want} within {tolerance:.3g}"
        + (f". The error throughout, {reduced:.1e}, is that of tf32 or half arithmetic" if reduced else ""),
        Mismatch(
            output=name,
            elements=elements,
            mismatched=count,
            worst_index=index,
            actual=_number(actual),
            expected=_number(expected),
            tolerance=tolerance,
        ),
    )


def _number(value: float) -> float | str:
    """What a float cannot say crosses as text: JSON has no infinity and no NaN, and large integers would be rounded."""
    return float(value) if math.isfinite(value) and float(value) == value else str(value)
