"""Conditioning: how far rounding alone moves the outputs of the reference.

Where an output jumps (a sign, an argmax, a threshold) or cancels (the mean of normalised values) two honest kernels
that add in another order differ by more than any tolerance. So, once a candidate is out of tolerance, the reference is
computed a few times more with its rounding falling otherwise. An element that moves then may be off by what it moved;
all others are held as ever. What is well-conditioned gains nothing by it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.judge.accumulation import (
    CONVOLUTIONS,
    MOVES,
    NORMS,
    PRODUCTS,
    UNIT,
    of_convolution,
    of_product,
    of_sum,
    writes_in_place,
)
from harness.judge.operator_mode import OperatorMode
from harness.judge.rounding import mixes
from harness.judge.tensors import in_each, leaves, pieces

SCALES = (4.0, 1.0, 4.0, 1.0, 4.0, 4.0, 4.0)
"""Units of rounding that each sample is computed with. What jumps within one unit does so in nearly all of four."""
EXPLAINED = 8.0
"""Where the reference as written is off by more than so many times what one unit of rounding moves, something else than
rounding makes it differ from float64."""
FACTOR = 6.0
"""An element that moves may be off by so many times what it moved in the worst sample, for each unit of rounding."""
CHANCE = 10.0
"""Where noise is of one size the worst of eight samples is hardly anywhere less than a tenth of the median: an element
that moves by a tenth of the median is taken to move by all of it."""
WIDEST = 2.0
"""And by no more than so many times what any element of the output moved."""
ILL = 10.0
"""An element counts as moved where `FACTOR` times its move is more than so many tolerances, or where it jumps: a step
is no larger for more units of rounding."""
STILL, OFTEN = 1 / 128, 2
"""An element jumps where a sample puts it out of tolerance and `OFTEN` or more leave it within `STILL` tolerances.
Where noise is of one size and puts it out of tolerance, two samples of eight lie so near in about 1 case of 200."""
MISSED = 3.0
"""Elements that none of n samples moved, and another would: Good's estimate (Biometrika 40, 1953) is the number that
exactly one of them moved, over n. So many times as many are forgiven at most, where they are what `FAR` samples say."""
FAR = (32.0,) * 8
"""Units of rounding of further samples, which tell what an element may be that the others did not move: one that an
honest kernel moves lies within a few units of where it jumps, and eight samples at 32 units all miss it in 1 of 100."""
AGAIN = (4.0,) * 16
"""Units of rounding of still further ones, where few elements are left after all that: of a row that decides on eight
of them either all move or none. Of 250 honest twins of such a reference three were refused without them, of 500 none
with (`tests/support/delicate.py`, an argmax of near ties, CPU)."""
NEAREST_FAR = 16.0
"""Samples of more units than this are such further ones, and say nothing of how far elements move."""
LOST, MOST = 0.5, 0.5
"""Of an element that may be off by this share of its size and the mean nothing can be told, and so of a trial in which
more than this share of an output is lost."""
LONGEST = 4096
"""No kernel that is meant to be exact adds more terms in one row: of longer sums the noise grows no further."""

_SPREADS = frozenset({"var", "var_mean", "std", "std_mean", "linalg_vector_norm", "norm"})
_TYPICAL = 1 << 16  # elements that a median is taken of


@dataclass(frozen=True)
class Other:
    """What the reference says where its rounding falls otherwise, by so many units of it."""

    outputs: Any
    units: float


class Jittered(OperatorMode):
    """While it is entered, every operator in float64 leaves behind so many `units` of float32 rounding, at random.

    Operators that move numbers or choose among them leave none, nor those whose outputs float32 holds exactly. Of those
    whose rounding is not documented it is taken to be a few units of the output. The operands of operators named
    `coarse` are rounded to tf32 as well, as PyTorch does for convolutions on a GPU. With `-units` the same seed leaves
    the opposite. `always`: also outputs that float32 holds exactly are taken for rounded.
    """

    def __init__(self, seed: int, units: float, coarse: frozenset[str] = frozenset(), *, always: bool = False) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._seed, self._units, self._coarse, self._always = seed, units, coarse, always
        self.noisy = False
        """Whether any operator rounded."""
        self._chances: dict[torch.device, torch.Generator] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = func.overloadpacket.__name__
        plain = name.rstrip("_") if writes_in_place(func) else name
        if func.is_view or name in MOVES or plain in MOVES:
            return func(*args, **(kwargs or {}))
        centred = plain in NORMS or plain in _SPREADS
        if centred and args and _wide(args[0]):  # what a mean is taken off may be all that a value was
            args = (args[0] + self._noise(args[0]) * (self._units * UNIT) * args[0].abs(), *args[1:])
        out = func(*args, **(kwargs or {}))
        first = next((leaf for leaf in leaves(out) if _wide(leaf)), None)
        if first is None or not first.numel() or not (self._always or bool((first != first.float()).any())):
            return out
        self.noisy = True
        size = _size(plain, args, kwargs or {}, first)
        if plain in self._coarse:
            size += _of_tf32(plain, args, first)
        noise = self._noise(first) * size
        if plain in NORMS:  # a mean that is rounded shifts all that it is taken off
            noise += self._noise(first.new_zeros(())) * _of_mean(leaves(out)) * math.sqrt(float(first.square().mean()))
        first.add_(noise * self._units)
        return out

    def _noise(self, like: torch.Tensor) -> torch.Tensor:
        if like.device not in self._chances:  # torch's own generator may be what the reference draws from
            self._chances[like.device] = torch.Generator(like.device).manual_seed(self._seed)
        return torch.randn(like.shape, generator=self._chances[like.device], device=like.device, dtype=torch.float64)


def _size(plain: str, args: Sequence[Any], kwargs: dict[str, Any], first: torch.Tensor) -> torch.Tensor:
    """The root mean square of what one unit of rounding leaves in `first`."""
    size: torch.Tensor = 2 * UNIT * first.abs()
    if plain in PRODUCTS:
        left, right = args[PRODUCTS[plain] : PRODUCTS[plain] + 2]
        size += of_product(left, right, first)
    elif plain in CONVOLUTIONS:
        size += of_convolution(args)
    elif plain in ("sum", "mean"):
        terms = max(1, args[0].numel() // first.numel())
        size += of_sum(args, kwargs, first, mean=plain == "mean") * min(1.0, math.sqrt(LONGEST / terms))
    elif plain == "cumsum":
        terms = min(LONGEST, args[0].shape[args[1]] if args[0].dim() else 1)
        size += UNIT * math.sqrt(terms) * math.sqrt(float(first.square().mean()))
    return size


def _of_mean(out: Sequence[torch.Tensor]) -> float:
    """The root mean square of how far one unit of rounding moves a norm's mean, as a share of what it is divided by.

    That is the rounding of a sum, term by term, of all terms that the mean is of. `out`: the normalised values, the
    means, the reciprocals of the deviations; either may be empty where they are not those of these values.
    """
    if len(out) < 3 or not out[1].numel() or out[1].shape != out[2].shape:
        return UNIT
    terms = min(LONGEST, out[0].numel() / out[1].numel())
    return UNIT * (1 + math.sqrt(terms / 3 * float((out[1] * out[2]).square().mean())))


TF32 = 2.0**-11 * math.sqrt(2 / 3)
"""The root mean square of what rounding two factors to ten bits leaves of a product, as a share of it."""


def _of_tf32(plain: str, args: Sequence[Any], first: torch.Tensor) -> torch.Tensor:
    """The root mean square of what is left where both operands of a product or a convolution are rounded to tf32."""
    if plain in CONVOLUTIONS:
        value, weight, _, *rest = args[:9]
        squares = torch.convolution(value.square(), weight.square(), None, *rest)
    else:
        left, right = args[PRODUCTS[plain] : PRODUCTS[plain] + 2]
        squares = (left.square() @ right.square()).reshape(first.shape)
    return squares.clamp_min_(0.0).sqrt_().mul_(TF32)


def in_tf32(device: torch.device) -> frozenset[str]:
    """The operators that PyTorch computes in tf32 on a device, as it is set: by default convolutions on a GPU."""
    if device.type != "cuda":
        return frozenset()
    convolutions = CONVOLUTIONS if torch.backends.cudnn.allow_tf32 else frozenset()
    return convolutions | (frozenset(PRODUCTS) if torch.backends.cuda.matmul.allow_tf32 else frozenset())


class Mixes(OperatorMode):
    """While it is entered, notes in `found` whether any operator adds or multiplies elements of one tensor."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found = False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.found |= mixes(func) and any(leaf.is_floating_point() for leaf in leaves(list(args)))
        return func(*args, **(kwargs or {}))


def _wide(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype == torch.float64


def forgiven(once: int, samples: int) -> int:
    """How many elements that no sample moved may be off at most, where one sample alone moved `once` of them."""
    return math.ceil(MISSED * once / samples) if once else 0


def moved(inputs: Sequence[Any], seed: int, units: int) -> list[Any]:
    """`inputs` with every real float moved by so many steps of its type, up or down, or left.

    Which it is goes by the value, so that equal ones stay equal; zeros and what is not finite stay.
    """
    return in_each(inputs, lambda value: _moved(value, seed, units))


_BITS = {
    torch.float64: torch.int64,
    torch.float32: torch.int32,
    torch.float16: torch.int16,
    torch.bfloat16: torch.int16,
}


_MOVED_AT_ONCE = 1 << 24
"""Elements: what lies between takes some ten times their memory."""


def _moved(value: torch.Tensor, seed: int, units: int) -> torch.Tensor:
    if value.dtype not in _BITS or not value.numel():
        return value
    found = value.clone(memory_format=torch.contiguous_format)
    for part in found.view(-1).split(_MOVED_AT_ONCE):
        part.copy_(_moved_part(part, seed, units))
    return found


def _moved_part(value: torch.Tensor, seed: int, units: int) -> torch.Tensor:
    bits = value.view(_BITS[value.dtype])
    if bits.element_size() == 8:
        step = ((bits ^ seed).mul_(0x2545F4914F6CDD1D) >> 40).bitwise_and_(0xFFFF)
    else:  # in half of the memory
        step = ((bits.int() ^ (seed & 0x7FFFFFFF)).mul_(0x4C957F2D) >> 15).bitwise_and_(0xFFFF)
    step = step.remainder_(3).sub_(1).mul_(units)
    changed = (bits + step.to(bits.dtype)).view(value.dtype)
    keeps = (value == 0) | ~value.isfinite() | ~changed.isfinite() | (changed.sign() != value.sign())
    return torch.where(keeps, value, changed)


@dataclass
class Movable:
    """The elements of one output that rounding moves, each sample counted with the reference as written.

    `mean` is mean |exact|. `once` counts the elements that one sample alone moved so far, `lost` those of which nothing
    can be told; `typical` is the median of how far elements move in one unit, `widest` how far any moved in any sample.
    """

    rtol: float
    mean: float
    others: tuple[tuple[torch.Tensor, float], ...]
    elements: int = 0
    lost: int = 0
    once: int = 0
    typical: float = 0.0
    widest: float = 0.0

    def __post_init__(self) -> None:
        """One unit of the reference as written is always among the samples."""
        self.units = (1.0, *(units for _, units in self.others))

    def look(self, like: torch.Tensor, exact: torch.Tensor, precision: torch.dtype, limit: int) -> None:
        """Count over all pieces."""
        some: list[torch.Tensor] = []
        for _, (written, want, *others) in self._pieces(like, exact, limit):
            want = want.to(precision)
            moves, alone, jumps = self.moves(want, [written, *others])
            hit = self._counts(moves, want, jumps)
            lost = hit & (FACTOR * moves > LOST * (want.abs() + self.mean))
            for sample in (written, *others):
                apart = (sample.to(precision) - want).abs_().nan_to_num_(0.0, 0.0, 0.0)
                self.widest = max(self.widest, float(apart.max()))
            self.elements += want.numel()
            self.lost += int(lost.sum())
            self.once += int((hit & alone).sum())
            found = moves[hit & moves.isfinite()]
            some.append(found[:: max(1, found.numel() // _TYPICAL)])
        finite = torch.cat(some)
        self.typical = float(finite.median()) if finite.numel() else 0.0

    def _pieces(
        self, like: torch.Tensor, exact: torch.Tensor, limit: int
    ) -> Iterator[tuple[int, tuple[torch.Tensor, ...]]]:
        return pieces(like, exact, *(value for value, _ in self.others), limit=limit)

    def moves(
        self, want: torch.Tensor, samples: Sequence[torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Of a piece: how far one unit moves each element at most, whether one sample alone did so, and which jump."""
        most, second, furthest = (torch.zeros_like(want) for _ in range(3))
        still = torch.zeros_like(want, dtype=torch.int8)
        tolerance = self._tolerance(want)
        for sample, units in zip(samples, self.units, strict=True):
            value = sample.to(want.dtype)
            same = (value == want) | (value.isnan() & want.isnan())
            apart = (value - want).abs_().masked_fill_(same, 0.0).nan_to_num_(nan=math.inf, posinf=math.inf)
            still += apart <= tolerance * STILL
            furthest = torch.maximum(furthest, apart)
            apart.div_(units)
            second = torch.maximum(second, torch.minimum(most, apart))
            most = torch.maximum(most, apart)
        return most, most > FACTOR * second, (furthest > tolerance) & (still >= OFTEN)

    def _tolerance(self, want: torch.Tensor) -> torch.Tensor:
        """What each element of a piece may be off by, but for the reference's own error."""
        return want.abs().add_(self.mean).mul_(self.rtol)

    def _counts(self, moves: torch.Tensor, want: torch.Tensor, jumps: torch.Tensor) -> torch.Tensor:
        """Which elements count as moved."""
        return jumps | (FACTOR * moves > ILL * self._tolerance(want))

    def allowance(self, want: torch.Tensor, samples: Sequence[torch.Tensor]) -> torch.Tensor:
        """What is added to the tolerance of each element of a piece: 0 where rounding does not move it."""
        moves, _, jumps = self.moves(want, samples)
        still = ~self._counts(moves, want, jumps)
        unknown = moves.isposinf()
        least = (moves * CHANCE).clamp_max_(self.typical)
        most = min(WIDEST * self.widest, torch.finfo(want.dtype).max)
        allowed = torch.maximum(moves, least).mul_(FACTOR).clamp_max_(most)
        return allowed.masked_fill_(unknown, math.inf).masked_fill_(still, 0.0)

    @property
    def of_one_unit(self) -> list[int]:
        """The places of those of `others` that are by one unit of rounding, as an honest kernel's is."""
        return [place for place, (_, units) in enumerate(self.others) if units <= 1]

    @property
    def forgiven(self) -> int:
        """So many further elements may be off at most, each by what further samples say."""
        return forgiven(self.once, len(self.units))

    @property
    def share(self) -> float:
        """Of all elements the share that is lost."""
        return self.lost / self.elements if self.elements else 0.0
