"""Accumulation: how far from float64 the reference would come out if float32 took every sum, term by term.

The worst that an honest kernel does is to add one term after another to one float32. What that leaves is not a formula
of the number of terms alone: it goes by how large the partial sums are, and by what is done with the result. So it is
measured: the reference is computed in float64, and after every operator noise of the size of its float32 rounding is
added to its output. Of sums and products that size comes from partial sums, taken at sixteen places from either end.
What arrives at the outputs is what float32 explains; an error several times as large has fewer bits, whatever its
pattern.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch

from harness.judge.operator_mode import OperatorMode
from harness.judge.tensors import leaves

UNIT = 2.0**-24 / math.sqrt(3)
"""The root mean square of a float32 rounding, as a share of a value just above a power of two: of others it is less,
down to half."""
PARTS = 16
"""Partial sums are looked at in so many places."""
EXPLAINED = 2.0
"""By so much more than what is measured here an error may be larger. Kernels that add term by term come to 0.5 to 0.8
of it, Winograd's convolutions to 1.2: tests/judge/test_accumulation.py."""
LEAST = 1.5e-6
"""Smaller errors are never asked where they come from: __expf and its like have them."""
WINOGRAD = 6.0
"""Convolutions of more than one position by Winograd or by FFT are off by so many times as much as plain ones, or
less."""
FEW_VALUES = 0.02
"""Where sampled operands have fewer distinct values than this share, equal terms are rounded alike each time, and
errors grow with the number of terms, not its root."""

_MOVES_NAMED = """
    view _unsafe_view reshape expand permute transpose t squeeze unsqueeze select slice split split_with_sizes unbind
    diagonal as_strided alias detach unfold narrow clone copy copy_ _to_copy _reshape_alias cat stack index index_select
    gather constant_pad_nd reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d
    replication_pad3d flip roll repeat tril triu sort topk embedding amax amin max min argmax argmin max_pool2d
    max_pool2d_with_indices max_pool3d_with_indices adaptive_max_pool2d adaptive_max_pool3d upsample_nearest1d
    upsample_nearest2d upsample_nearest3d pixel_shuffle pixel_unshuffle channel_shuffle index_put index_put_
    masked_fill masked_fill_ masked_select scatter scatter_ where fill fill_ zero_ zeros zeros_like ones ones_like empty
    empty_like empty_strided full full_like new_zeros new_ones new_empty new_full arange linspace eye scalar_tensor
    lift_fresh lift_fresh_copy _local_scalar_dense bernoulli bernoulli_ rand rand_like randn randn_like uniform_ normal_
    native_dropout set_ resize_ item is_pinned eq ne lt le gt ge sign floor ceil round trunc isnan isinf nonzero
    logical_and logical_or logical_not randint randperm neg abs relu relu_ clamp clamp_min clamp_max threshold hardtanh
    leaky_relu maximum minimum
"""
MOVES = frozenset(_MOVES_NAMED.split())
"""Operators that put numbers elsewhere, or choose among them: they round nothing."""
_APPROXIMATED_NAMED = """
    tanh sigmoid gelu silu mish softplus erf erfc elu celu selu log_sigmoid_forward logit sin cos tan log log2 log10
    log1p hardswish expm1 asin acos atan sinh cosh lgamma digamma erfinv i0 special_i1 glu
"""
APPROXIMATED = frozenset(_APPROXIMATED_NAMED.split())
"""Functions that devices approximate: of `tanh.approx` the last bits are 2^-11 of a value."""
_APPROXIMATION = 2.0**-12
_EXPONENTIALS = frozenset({"exp", "exp2", "pow"})
PRODUCTS = {"mm": 0, "bmm": 0, "mv": 0, "dot": 0, "addmm": 1, "addmv": 1, "baddbmm": 1}
"""Where the factors begin among the arguments."""
CONVOLUTIONS = frozenset({"convolution", "cudnn_convolution", "cudnn_convolution_transpose", "mkldnn_convolution"})
_NORMS_NAMED = """
    native_layer_norm native_group_norm native_batch_norm cudnn_batch_norm _native_batch_norm_legit
    _native_batch_norm_legit_no_training _batch_norm_with_update miopen_batch_norm _fused_rms_norm
"""
NORMS = frozenset(_NORMS_NAMED.split())


def writes_in_place(func: Any) -> bool:
    """Whether an operator of ATen writes into its first argument, by its schema: `torch.Tag.inplace` came with 2.13."""
    arguments = func._schema.arguments
    return bool(arguments) and arguments[0].alias_info is not None and arguments[0].alias_info.is_write


class InFloat32(OperatorMode):
    """While it is entered, every operator in float64 leaves behind what its float32 rounding would, term after term.

    `understood` is false once an operator was met of which that is not known; `sums` says that there were sums.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.understood, self.sums = True, False
        self._seed = seed
        self._chances: dict[torch.device, torch.Generator] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = func.overloadpacket.__name__
        before = [value.clone() for value in args[:1] if writes_in_place(func) and _wide(value)]
        out = func(*args, **(kwargs or {}))
        first = next((leaf for leaf in leaves(out) if _wide(leaf)), None)
        if first is None or func.is_view or not first.numel() or name in MOVES:
            return out
        size = self._size(name, func, (*before, *args[len(before) :]), kwargs or {}, out, first)
        if size is None:
            self.understood = False
        else:
            first.add_(self._noise(first) * size)
        return out

    def _noise(self, like: torch.Tensor) -> torch.Tensor:
        if like.device not in self._chances:  # torch's own generator may be what the reference draws from
            self._chances[like.device] = torch.Generator(like.device).manual_seed(self._seed)
        return torch.randn(like.shape, generator=self._chances[like.device], device=like.device, dtype=torch.float64)

    def _size(
        self, name: str, func: Any, args: Sequence[Any], kwargs: dict[str, Any], out: Any, first: torch.Tensor
    ) -> Any:
        """The root mean square of what is added to `first`, an output; None where that is not known."""
        plain = name.rstrip("_") if writes_in_place(func) else name
        if plain in PRODUCTS:
            self.sums = True
            left, right = args[PRODUCTS[plain] : PRODUCTS[plain] + 2]
            return of_product(left, right, first) + UNIT * first.abs()
        if plain in CONVOLUTIONS:
            self.sums = True
            return of_convolution(args) + UNIT * first.abs()
        if plain in ("sum", "mean"):
            self.sums = True
            return of_sum(args, kwargs, first, mean=plain == "mean") + UNIT * first.abs()
        if plain in ("var", "var_mean", "std", "linalg_vector_norm", "norm"):
            self.sums = True
            return _of_squares(args[0], first, centred=plain.startswith(("var", "std")))
        if plain in NORMS:
            self.sums = True
            return _of_norm(args[0], out, first)
        if plain in ("avg_pool1d", "avg_pool2d", "avg_pool3d", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d"):
            self.sums = True
            terms = max(1, args[0].numel() // first.numel())
            return UNIT * (math.sqrt(terms) + 2) * (first.abs() + _rms(args[0]) / math.sqrt(terms))
        if plain in ("cumsum", "cumprod", "prod"):
            self.sums = True
            terms = args[0].numel() // first.numel() if plain == "prod" else _length(args)
            return UNIT * (math.sqrt(max(1, terms)) + 2) * (first.abs() + _rms(first))
        if plain in ("_softmax", "_log_softmax", "logsumexp"):
            self.sums = True
            terms = max(1, args[0].numel() // first.numel()) if plain == "logsumexp" else _length(args)
            if plain != "_softmax":
                return UNIT * (math.sqrt(terms) + 4 + first.abs())
            return UNIT * (math.sqrt(terms) + 4 + 2.4 * first.log().abs().nan_to_num_(posinf=0.0)) * first
        if plain in APPROXIMATED:
            return _APPROXIMATION * first.abs() + 2.0**-22
        if plain in _EXPONENTIALS:
            return UNIT * (4 + 2.4 * first.abs().log().abs().nan_to_num_(posinf=0.0)) * first.abs()
        return 2 * UNIT * first.abs() if torch.Tag.pointwise in func.tags else None


def _wide(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype == torch.float64


def _length(args: Sequence[Any]) -> int:
    """Of the dimension that an operator's second argument names."""
    return int(args[0].shape[args[1]]) if args[0].dim() else 1


def _rms(value: torch.Tensor) -> float:
    return float(torch.linalg.vector_norm(value)) / math.sqrt(max(1, value.numel()))


def few_values(*operands: torch.Tensor) -> bool:
    """Whether the terms of a sum take few values, so that equal ones are rounded alike."""

    def share(value: torch.Tensor) -> float:
        flat = value.detach().reshape(-1)
        some = flat[:: max(1, flat.numel() // 4096)][:4096]
        return 0.0 if not some.numel() else float(some.unique().numel() - 2) / some.numel()

    return all(share(value) < FEW_VALUES for value in operands)


def _of_parts(parts: Callable[[int, int], torch.Tensor], count: int, *, alike: bool) -> torch.Tensor:
    """The noise of a sum of `count` terms; `parts(i, j)` is what those from i to j come to.

    A term is rounded by what the partial sum is that it is added to: from the first on or from the last, whichever has
    the larger ones. Between two places the partial sum is taken to change evenly.
    """
    edges = sorted({round(count * part / PARTS) for part in range(PARTS + 1)})
    total = parts(0, count)
    so_far, sums, squares = (torch.zeros_like(total) for _ in range(3))
    for i, j in pairwise(edges):
        after = parts(i, j).add_(so_far)
        sums.add_(so_far, alpha=j - i).add_(after, alpha=j - i)
        for one, other in ((so_far, so_far), (so_far, after), (after, after)):
            squares.addcmul_(one, other, value=(j - i) / 3)
        so_far = after
    backward = (count * total - sums).mul_(total).add_(squares)  # the squares of what is left, multiplied out
    return torch.maximum(squares, backward).sqrt_().mul_(UNIT * (math.sqrt(count) if alike else 1.0))


def of_product(left: torch.Tensor, right: torch.Tensor, first: torch.Tensor) -> torch.Tensor:
    alike = few_values(left, right)
    if left.dim() == 1:  # of two vectors
        return _of_parts(lambda i, j: torch.dot(left[i:j], right[i:j]), left.shape[0], alike=alike)
    columns = right if right.dim() > 1 else right[:, None]
    size = _of_parts(lambda i, j: left[..., i:j] @ columns[..., i:j, :], left.shape[-1], alike=alike)
    return size.reshape(first.shape)


def of_convolution(args: Sequence[Any]) -> torch.Tensor:
    value, weight, _, stride, padding, dilation, transposed, output_padding, groups = args[:9]

    def convolved(value: torch.Tensor, weight: torch.Tensor, groups: int = 1) -> torch.Tensor:
        return torch.convolution(value, weight, None, stride, padding, dilation, transposed, output_padding, groups)

    positions = weight[0, 0].numel()
    factor = WINOGRAD if positions > 1 else 1.0
    channels = weight.shape[0] // groups if transposed else weight.shape[1]
    if groups > 1:  # what the terms come to without their signs is the most that a partial sum can be
        most = convolved(value.abs(), weight.abs(), groups)
        return most.mul_(UNIT * math.sqrt(channels * positions) * factor)

    def part(i: int, j: int) -> torch.Tensor:
        return convolved(value[:, i:j], weight[i:j] if transposed else weight[:, i:j])

    size = _of_parts(part, channels, alike=few_values(value, weight))
    return size.mul_(math.sqrt(positions) * factor)


def of_sum(args: Sequence[Any], kwargs: dict[str, Any], first: torch.Tensor, *, mean: bool) -> Any:
    value = args[0]
    asked = args[1] if len(args) > 1 else kwargs.get("dim")
    over = [asked] if isinstance(asked, int) else list(asked or range(value.dim()))
    if not value.dim() or not value.numel():
        return 0.0
    axes = [axis % value.dim() for axis in over]
    longest = max(axes, key=lambda axis: int(value.shape[axis]))
    count = math.prod(value.shape[axis] for axis in axes)
    length = value.shape[longest]

    def part(i: int, j: int) -> torch.Tensor:
        found: torch.Tensor = value.narrow(longest, i, j - i).sum(axes)
        return found.reshape(first.shape)

    size = _of_parts(part, length, alike=few_values(value))
    size = size * math.sqrt(count / length)
    return size / count if mean else size


def _of_squares(value: torch.Tensor, first: torch.Tensor, *, centred: bool) -> torch.Tensor:
    """Of sums of squares, also where the mean's square is taken off them in the end."""
    terms = max(1, value.numel() // max(1, first.numel()))
    mean = float(value.mean()) if centred else 0.0
    lost = 1 + (mean / max(1e-30, float(value.std())) if value.numel() > 1 else 0.0) ** 2
    return UNIT * (math.sqrt(terms) + 4) * lost * (first.abs() + (_rms(first) if centred else 0.0))


def _of_norm(value: torch.Tensor, out: Any, first: torch.Tensor) -> torch.Tensor:
    """Of outputs that have a mean taken off and are divided by a deviation, alike for all that share them."""
    statistics = [leaf for leaf in leaves(out)[1:] if leaf.numel() and leaf.is_floating_point()]
    if not statistics:
        return 4 * UNIT * first.abs()
    lost = 1.0
    if len(statistics) > 1 and statistics[0].shape == statistics[1].shape:
        lost += float((statistics[0] * statistics[1]).square().max())
    terms = max(1, value.numel() // statistics[0].numel())
    return UNIT * (math.sqrt(terms) + 4) * lost * (first.abs() + _rms(first))


def scatter(error: torch.Tensor, of: torch.Tensor) -> float:
    """The root mean square of errors of values `of`: beyond a common factor and a common offset, which approximations
    of a function leave, and without the largest hundredth of them. Both float64.
    """
    flat, values = error.reshape(-1), of.reshape(-1)
    if flat.numel() > 1 << 22:  # what sorting takes
        step = flat.numel() >> 22
        flat, values = flat[::step], values[::step]
    finite = flat.isfinite() & values.isfinite()
    flat, values = flat[finite], values[finite]
    if not flat.numel():
        return 0.0
    apart = values - values.mean()
    square = float(apart @ apart)
    left = flat - flat.mean() - (apart * (float(apart @ flat) / square) if square else 0.0)
    kept = left.abs_().sort().values[: max(1, math.ceil(0.99 * left.numel()))]
    return _rms(kept)
