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

import math
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import torch

from harness.judge.conditioning import NEAREST_FAR, Movable, Other, forgiven
from harness.judge.criteria import Leaf, described, first_broken
from harness.judge.tensors import at_places, index_of, pieces, same_bits
from harness.schema.record import ToleranceName
from harness.schema.verdict import Difference, Mismatch

RTOL = {torch.float64: 1e-10, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 1e-2}
RTOL_OTHER_FLOATS = 5e-2  # 8-bit floats: half a unit in the last place is 2**-4 or coarser
REFERENCE_ERROR_FACTOR, REDUCED_ERROR_FACTOR = 8.0, 2.0
MOST_OWN_ERROR, OWN_ERROR_TOLERANCES = 0.5, 500.0
"""An element at which the reference is off by more than so much of its size and the mean, or by so many rtol, says
nothing of what others may be off by: it is one that rounding moves (`conditioning`)."""
_CHUNK = 1 << 25  # elements compared at once: bounds the temporaries to about 1 GB


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


@dataclass(frozen=True)
class Expected:
    """What the reference says. `exact` is float64 where it was affordable, else the reference as written.

    `like` holds the reference's outputs as written: they define structure, shapes and dtypes. `known`: its own error in
    earlier trials, for where `exact` cannot tell, of each output, or one of all. What one output is off by says nothing
    of another. `others`: what the reference says where its rounding falls
    otherwise, once that was asked; of the structure and the shapes of `like`. Of more than `NEAREST_FAR` units they say
    what elements may be that the others did not move. `left`: what the arguments hold after a call, of a reference
    that changes them.
    """

    like: Any
    exact: Any
    known: tuple[Own, ...] = ()
    others: tuple[Other, ...] = ()
    left: "Expected | None" = None


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
class Disagreement:
    """Why the outputs are not the reference's."""

    reason: Difference
    detail: str
    mismatch: Mismatch | None = None


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
        terms = _Terms(tolerance, known_of(expected.known, place), units)
        found = _compare_leaf(*one, terms)
        if isinstance(found, Disagreement):
            return found
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
        small = value.element_size() == 1  # of an 8-bit float torch does not say whether it is finite
        chunks = (chunk for _, (chunk,) in pieces(value, limit=_CHUNK))
        return sum(int((~(chunk.float() if small else chunk).isfinite()).sum()) for chunk in chunks)
    if isinstance(value, dict):
        return sum(not_finite(item) for item in value.values())
    if isinstance(value, list | tuple):
        return sum(not_finite(item) for item in value)
    return int(isinstance(value, float) and not math.isfinite(value))


_T = TypeVar("_T")
_Pair = tuple[Any, Any, Any, tuple[Any, ...], str]
"""What a candidate says of an output, the reference as written, float64, what else it may be, and the output's name."""


@dataclass(frozen=True)
class _Terms:
    """How outputs are compared. `units` belong to the others of a pair, one each."""

    tolerance: ToleranceName
    known: Own = Own()  # noqa: RUF009  # a tuple
    units: tuple[float, ...] = ()

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
        return _compare_values(got, written, right, tuple(rest), name, rtol=1e-4, terms=terms)
    if actual != like and all(other == like for other in terms.split(others)[0]):
        return Disagreement("values", f"{name} is {actual!r} and should be {like!r}")
    return Agreement()


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
    return _compare_exactly(actual, like, (exact, *near) if near else (), far, name)


ON_HOST = 1 << 14
"""Tensors of a device of at most so many elements are compared on the host: each of some forty operations costs more to
start than it takes, and many are waited for: 1.3 ms a comparison there (H100, November 2026)."""


def _compare_exactly(
    actual: torch.Tensor,
    like: torch.Tensor,
    others: tuple[torch.Tensor, ...],
    far: tuple[torch.Tensor, ...],
    name: str,
) -> Agreement | Disagreement:
    """Compare integers and bools bit for bit: a bool that is neither 0 nor 1 in memory was not written as one.

    Elements of which any of the others says something else may be anything, some more what one of `far` says.
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
        places = ((got != want) & (times == 0)).nonzero().view(-1)
        if not len(places):
            continue
        apart = (got[places].double() - want[places].double()).abs_()
        count += len(places)
        said = sum((got[places] == other[places] for other in further), torch.zeros_like(places, dtype=torch.bool))
        unexplained += int((~said).sum())
        at = int(apart.argmax())
        if float(apart[at]) > worst:
            worst, worst_at = float(apart[at]), start + int(places[at])
    if not unexplained and count <= forgiven(once, len(others)):
        return Agreement(unstable=unstable / like.numel())
    index = index_of(worst_at, like.shape)
    return _mismatch(name, like.numel(), count, index, actual[index].item(), like[index].item(), 0.0)


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
    of = _scale(like, exact, precision, rtol, terms.known)
    base = of.mean if terms.tolerance == "scaled" else 1.0
    error = max(of.reference_error, terms.known.relative * of.mean)
    slack = _slack(error, rtol * of.mean)
    large = 0.0 if of.whole is None else rtol * of.whole.mean + _slack(of.whole.reference_error, rtol * of.whole.mean)
    limit = _CHUNK // parts * parts
    near, far = terms.split(others)
    units = (units for units in terms.units if units <= NEAREST_FAR)
    movable = Movable(rtol, of.mean, tuple(zip(near, units, strict=True)))
    if near:
        movable.look(like, exact, precision, limit)
    rare = _slack(max(of.share, terms.known.share), rtol)
    tally = _Tally(rtol, rtol * base + slack, parts, upto=of.upto, large=large, usual=of.usual, rare=rare)
    for start, (got, want, written, *rest) in pieces(actual, exact, like, *near, *far, limit=limit):
        want = want.to(precision)
        further = movable.allowance(want, [written, *rest[: len(near)]]) if near else None
        tally.add(start, got.to(precision), want, written, further, rest[len(near) :])
    spread = 0.0 if others else _spread(tally, of, like.numel(), like.dtype)  # what rounding moves has no pattern
    reduced = _reduced(spread, of) if like.dtype == torch.float32 else 0.0
    if tally.mismatched <= (0 if tally.unexplained or tally.non_finite else movable.forgiven):
        relative, reference_relative = (
            error / of.mean if of.mean else 0.0 for error in (tally.largest, of.reference_error)
        )
        few = _few_are_rough(_Sides(actual, like, exact, near), movable, of, terms, rtol)
        if few.beyond is None:
            own = Own(reference_relative, of.share, few.usual / of.mean if of.mean else 0.0, few.rough)
            return Agreement(relative, reference_relative, tally.share, spread, reduced, movable.share, (own,))
        tally = few.beyond
    index = index_of(tally.worst_at, like.shape)
    found, expected = (float(value[index]) for value in (actual, exact))
    if not math.isfinite(expected):
        expected = float(like[index])
    reason: Difference = "non-finite" if tally.non_finite else "values"
    allowed, elements = rtol * abs(expected) + tally.base, like.numel() // parts
    if parts == 2:
        name, index = f"{name}.{('real', 'imag')[index[-1]]}", index[:-1]
    return _mismatch(name, elements, tally.mismatched, index, found, expected, allowed, reason=reason, reduced=reduced)


@dataclass
class _Few:
    """What most elements of a reference are off by at most, which share is by more, and what too many are beyond."""

    usual: float
    rough: float = 0.0
    beyond: "_Tally | None" = None


MANY_TIMES, OFTEN, A_FEW = 16.0, 3.0, 8
"""Where the largest own error is more than twice so many times the median one, few elements are that rough, and excuse
no others: a candidate may be beyond what is usual, so many times, at so many times as many elements and a few. Of
normally distributed errors the largest of 10^8 is 8.5 times the median, of Laplace's 27 times."""
NEARLY_NONE, MORE_OFTEN = 64.0, 0.05
"""Elements at which the reference is off by less than the median by this factor may be ones that its error does not
reach. There a candidate may be out of the ordinary tolerance no more often than elsewhere, by this share: by chance
both are far off at once the less often there."""
_ANYTHING = 1e30
"""So much as no error is: elements that may be off by this are held to their own tolerance elsewhere."""


def _few_are_rough(leaf: "_Sides", movable: Movable, of: "_Scale", terms: _Terms, rtol: float) -> _Few:
    """Whether elements at which the reference itself is exact were excused by its error at others.

    A maximum over an output tells what the reference is off by where all elements are alike. Here it is asked where
    they are not: where few of its own errors are many times the median, and where some are next to none. What rounding
    moves (`movable`) may be off by that besides. Where there is no float64 what is known of other trials tells how many
    may be beyond.
    """
    known = terms.known.usual or terms.known.relative
    found = _Few(usual=max(of.reference_error, known * of.mean))
    if max(of.reference_error, terms.known.relative * of.mean) <= MATTERS * rtol * of.mean:
        return found
    ordinary = rtol * (of.mean if terms.tolerance == "scaled" else 1.0)
    middle = _median_error(leaf)
    usual = known * of.mean if middle is None else MANY_TIMES * middle
    if 2 * usual < (terms.known.relative * of.mean if middle is None else of.reference_error):
        base = ordinary + _slack(usual, rtol * of.mean)
        most = _Tally(rtol, base, 1, upto=of.upto, large=_ANYTHING, usual=of.usual, rare=_ANYTHING)
        rough = 0
        for start, got, want, written, further in leaf.parts(movable):
            most.add(start, got, want, written, further, ())
            rough += int(((written - want).abs_() > most.allowed(want)).sum())
        found = _Few(usual, terms.known.rough if middle is None else rough / leaf.elements)
        if most.mismatched > max(OFTEN * found.rough * leaf.elements, movable.forgiven) + A_FEW:
            return replace(found, beyond=most)
    if middle:
        found = replace(found, beyond=_beyond_where_exact(leaf, movable, rtol, ordinary, middle / NEARLY_NONE))
    return found


def _beyond_where_exact(
    leaf: "_Sides", movable: Movable, rtol: float, ordinary: float, nearly: float
) -> "_Tally | None":
    """What is out of the ordinary tolerance where the reference is off by no more than `nearly`.

    None where that is no more often than elsewhere.
    """
    beyond = _Tally(rtol, ordinary, 1)
    exact = outside = 0
    for start, got, want, written, further in leaf.parts(movable):
        close = (written - want).abs_() <= nearly
        beyond.add(start, torch.where(close, got, want), want, written, further, ())
        allowed = beyond.allowed(want) if further is None else beyond.allowed(want) + further
        exact, outside = exact + int(close.sum()), outside + int((((got - want).abs_() > allowed) & ~close).sum())
    rate = outside / (leaf.elements - exact) if leaf.elements > exact else 0.0
    return beyond if beyond.mismatched > (rate + MORE_OFTEN) * exact + A_FEW else None


@dataclass(frozen=True)
class _Sides:
    """An output as a candidate has it, the reference as written, float64, and samples of how its rounding may fall."""

    actual: torch.Tensor
    like: torch.Tensor
    exact: torch.Tensor
    near: tuple[torch.Tensor, ...]

    @property
    def elements(self) -> int:
        return self.like.numel()

    def parts(
        self, movable: Movable
    ) -> Iterator[tuple[int, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None]]:
        """Chunks: where they begin, the candidate, what is right, the reference as written, what rounding moves."""
        dtype = torch.float64 if self.exact.dtype == torch.float64 else torch.float32
        for start, (got, want, written, *rest) in pieces(self.actual, self.exact, self.like, *self.near, limit=_CHUNK):
            want = want.to(dtype)
            further = movable.allowance(want, [written, *rest]) if self.near else None
            yield start, got.to(dtype), want, written.to(dtype), further


def _median_error(leaf: _Sides) -> float | None:
    """The median of the errors of the reference that are not 0; None where nothing tells them."""
    if leaf.like.data_ptr() == leaf.exact.data_ptr():
        return None
    few = leaf.elements <= _SAMPLED
    errors = leaf.like.double() - leaf.exact.double() if few else _some_errors(leaf.like, leaf.exact)
    sizes = _some_sizes(errors)
    return float(sizes.median()) if len(sizes) else 0.0


def _some_errors(like: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """What the reference is off by at some random elements."""
    at = _some_places(exact)
    return at_places(like, at).double() - at_places(exact, at).double()


def _some_places(value: torch.Tensor) -> torch.Tensor:
    """Flat indices of random elements."""
    chance = torch.Generator(value.device).manual_seed(secrets.randbits(62))
    return torch.randint(0, value.numel(), (_SAMPLED,), generator=chance, device=value.device)


def _slack(error: float, tolerance: float) -> float:
    return min(REFERENCE_ERROR_FACTOR * error, REDUCED_ERROR_FACTOR * error + tolerance)


REDUCED_FROM, REDUCED_TO = 5e-5, 2e-2
"""Root mean square relative errors that tf32, half and bfloat16 leave behind: their units in the last place are 2**-11,
2**-11 and 2**-8, of which rounding two operands leaves about 0.8. float32 stays below a tenth of the lower bound
even in sums of 1e5 terms that cancel."""


SPREAD_FROM, SPREAD_FACTOR = 3e-7, 2.0
"""An error below two roundings of float32, or below twice the reference's own, is not asked where it comes from."""


def _spread(tally: "_Tally", of: "_Scale", elements: int, dtype: torch.dtype) -> float:
    """The relative error, where it lies all over the output and is not the reference's own; else 0.

    In half and bfloat16 the rounding of the output itself hides whose it is.
    """
    if not of.square or dtype not in (torch.float32, torch.float16, torch.bfloat16):
        return 0.0
    mine, theirs = math.sqrt(tally.square / of.square), math.sqrt(of.reference_square / of.square)
    everywhere = tally.widest * math.sqrt(elements) <= 50 * math.sqrt(tally.square)
    least = max(SPREAD_FROM, SPREAD_FACTOR * theirs) if dtype == torch.float32 else SPREAD_FROM
    return mine if everywhere and mine >= least else 0.0


def _reduced(spread: float, of: "_Scale") -> float:
    """An error all over the output, where its size is that of a smaller floating type; else 0."""
    if not spread:
        return 0.0
    theirs = math.sqrt(of.reference_square / of.square)
    return spread if max(REDUCED_FROM, REFERENCE_ERROR_FACTOR * theirs) <= spread <= REDUCED_TO else 0.0


@dataclass
class _Tally:
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

    def add(
        self,
        start: int,
        got: torch.Tensor,
        want: torch.Tensor,
        written: torch.Tensor,
        further: torch.Tensor | None,
        far: Sequence[torch.Tensor],
    ) -> None:
        """Count a chunk in; `further` is what elements may be off besides, `far` what else some of them may be.

        Nearly all chunks agree, and those are done after few passes over memory.
        """
        error, allowed = (got - want).abs_(), self._allowed(want, further)
        largest = float(error.max())
        if math.isfinite(largest):
            self.widest = max(self.widest, largest)
            self.square += float(torch.linalg.vector_norm(error, dtype=torch.float64)) ** 2
        if math.isfinite(largest) and bool((error <= allowed).all()):
            self.largest = max(self.largest, largest)
            self.share = max(self.share, float(error.div_(allowed).nan_to_num_(0.0).max()))
            return
        written = written.to(want.dtype)
        if not bool(want.isfinite().all()):
            want = torch.where(want.isfinite(), want, written)
            error, allowed = (got - want).abs_(), self._allowed(want, further)
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
            self.worst, self.worst_at = float(excess[at]), start + at
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
        allowed = want.abs().mul_(self.rtol).add_(self.base)
        if math.isfinite(self.usual):  # and what is larger by so much of its own size
            allowed += want.abs().masked_fill_(want.abs() <= self.usual, 0.0).mul_(self.rare)
        if math.isfinite(self.upto):  # what is larger may be off by what is usual of all
            allowed += (want.abs() > self.upto).to(allowed.dtype).mul_(self.large)
        return allowed if further is None else allowed.add_(further)


@dataclass
class _Scale:
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
    whole: "_Scale | None" = None


def _scale(like: torch.Tensor, exact: torch.Tensor, precision: torch.dtype, rtol: float, known: Own) -> _Scale:
    most = min(MOST_OWN_ERROR, OWN_ERROR_TOLERANCES * rtol)

    def capped(upto: float) -> _Scale:
        found = _measured(like, exact, precision, upto=upto)
        if found.reference_error <= most * found.mean:
            return found
        return replace(found, reference_error=_measured(like, exact, precision, most, found.mean, upto).reference_error)

    found, upto = capped(math.inf), _largest_of_the_small(exact)
    if found.largest > upto:
        small = capped(upto)
        if small.reference_square <= MOST_OWN_ERROR_OF_SMALL**2 * small.square:
            return replace(found, mean=small.mean, reference_error=small.reference_error, upto=upto, whole=found)
    if known.share or found.reference_error > MATTERS * rtol * found.mean:
        usual = USUAL * float(sizes.median()) if len(sizes := _some_sizes(exact)) else math.inf
        if usual < found.largest:
            apart = _measured(like, exact, precision, most, found.mean, usual=usual)
            if known.share or apart.reference_error < HARDLY * found.reference_error:
                return replace(found, reference_error=apart.reference_error, usual=usual, share=apart.share)
    return found


MATTERS = 0.1
"""An own error below this share of the tolerance widens it by less than a factor of two, whatever element it is of."""
USUAL, HARDLY = 16.0, 0.5
"""Elements of more than so many times the median size are told by themselves, where without them the largest error is
less than this share of it: what is off by a share of a quotient by nearly 0 says nothing of all others. Of normally
distributed numbers none in 10^20 is so large."""


GAP = 2.0**10
"""Where the sizes of an output lie in two groups so many times apart the larger ones are marks, such as the -1e9 of a
mask, and say nothing of how far the smaller ones may be off."""
FEWEST_SMALL, SMALL_SHARE, _SAMPLED = 100, 0.01, 1 << 12
"""What is smaller is a group where it is so many elements and this share of some random ones."""
MOST_OWN_ERROR_OF_SMALL = 0.05
"""And where the reference's own error is less than this share of it: else it is what rounding leaves of larger ones."""


def _largest_of_the_small(exact: torch.Tensor) -> float:
    """How large elements are that tell what an output's size is; infinite where all do."""
    sampled = exact.numel() > _SAMPLED
    sizes = _some_sizes(exact)
    least = max(1 if sampled else FEWEST_SMALL, math.ceil(SMALL_SHARE * len(sizes)))
    if len(sizes) < max(2, least):
        return math.inf
    apart = (sizes[least:] > GAP * sizes[least - 1 : -1]).nonzero()
    if len(apart):
        return float(sizes[least - 1 + int(apart[0])]) * math.sqrt(GAP)
    return float(sizes[-1]) * GAP if sampled else math.inf


def _some_sizes(exact: torch.Tensor) -> torch.Tensor:
    """The finite sizes above 0 of some random elements, or of all where they are few, in order."""
    if exact.numel() > _SAMPLED:
        exact = at_places(exact, _some_places(exact))
    sizes = exact.detach().reshape(-1).double().abs()
    return sizes[sizes.isfinite() & (sizes > LEAST)].sort().values


LEAST = 2.0**-126
"""The smallest normal number of float32: what is smaller in float64 is no number there that others can be held to."""


def _measured(
    like: torch.Tensor,
    exact: torch.Tensor,
    precision: torch.dtype,
    most: float = math.inf,
    mean: float = 0.0,
    upto: float = math.inf,
    usual: float = math.inf,
) -> _Scale:
    """The sizes, with errors of at most the share `most` of |exact| + `mean`; larger ones count as none.

    Elements larger than `upto` are left out. Errors of elements larger than `usual` are told as a share of their size.
    """
    total, count, found = 0.0, like.numel(), _Scale()
    has_error = like.data_ptr() != exact.data_ptr()
    for _, (right, written) in pieces(exact, like, limit=_CHUNK):
        want = right.to(precision)
        error = (written.to(precision) - want).abs_() if has_error else torch.zeros(1, device=want.device)
        size, widest = float(want.abs().sum(dtype=torch.float64)), float(error.max())
        if not math.isfinite(size + widest):  # half that overflows says nothing of how large the rest is
            finite = want.isfinite() & error.isfinite()
            want, error = want.masked_fill(~finite, 0.0), error.masked_fill(~finite, 0.0)
            size, widest = float(want.abs().sum(dtype=torch.float64)), float(error.max())
            count -= int((~finite).sum())
        found.largest = max(found.largest, float(want.abs().max()))
        if math.isfinite(upto):
            small = want.abs() <= upto
            want, error = want.masked_fill(~small, 0.0), error.masked_fill(~small, 0.0)
            size, widest = float(want.abs().sum(dtype=torch.float64)), float(error.max())
            count -= int((~small).sum())
        if math.isfinite(most):
            counted = error.masked_fill(error > most * (want.abs() + mean), 0.0)
            if math.isfinite(usual):
                rare = want.abs() > usual
                found.share = max(found.share, float((counted / want.abs()).masked_fill_(~rare, 0.0).max()))
                counted.masked_fill_(rare, 0.0)
            widest = float(counted.max())
        total += size
        found.square += float(torch.linalg.vector_norm(want, dtype=torch.float64)) ** 2
        found.reference_error = max(found.reference_error, widest)
        found.reference_square += float(torch.linalg.vector_norm(error, dtype=torch.float64)) ** 2
    found.mean = total / count if count else 0.0
    return found


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
