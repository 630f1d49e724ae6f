"""Numbers of interpreted kernels: what Triton's interpreter computes otherwise than a GPU, or not at all.

- bfloat16 is uint16 to it, so that sums and products of it would be those of bits: they are computed in float32 and
  rounded to nearest even, as a GPU does.
- libdevice is a library of the GPU's: its common functions are NumPy's or Python's here, in the type that was asked
  for, the others are refused.
- `tl.dot` takes blocks of any size; a GPU's smallest is asked of Triton's own backend, and so are its precisions.
- `tl.dot` multiplies float32 as it is; on a GPU its operands are tf32 or parts in tf32 or bfloat16, unless "ieee" is
  asked for.

Not covered: the sums of tensor cores, which are rounded otherwise than float32's.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np

from harness.worker.faults import NotEmulated


def _by_element(function: Callable[[float], float]) -> Callable[[Any], Any]:
    return np.vectorize(function, otypes=[np.float64])


_LIBDEVICE: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "fabs": np.fabs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "copysign": np.copysign,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": _by_element(math.erf),
    "erfc": _by_element(math.erfc),
    "exp": np.exp,
    "exp10": lambda x: np.power(10.0, x),
    "exp2": np.exp2,
    "expm1": np.expm1,
    "fdim": lambda x, y: np.fmax(x - y, 0),
    "fdiv_rn": np.divide,
    "floor": np.floor,
    "fma": lambda x, y, z: np.float64(x) * y + z,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "fmod": np.fmod,
    "hypot": np.hypot,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "lgamma": _by_element(math.lgamma),
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "max": np.maximum,
    "min": np.minimum,
    "nearbyint": np.rint,
    "pow": np.power,
    "powi": np.power,
    "rint": np.rint,
    "round": lambda x: np.trunc(x + np.copysign(0.5, x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "saturate": lambda x: np.clip(x, 0, 1),
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "tgamma": _by_element(math.gamma),
    "trunc": np.trunc,
}
"""Functions of libdevice by their names there, without the prefix and without what says the type."""


def libdevice(symbol: str) -> Callable[..., Any]:
    """The function for a symbol of libdevice such as `__nv_tanhf`. Raises NotEmulated."""
    name = symbol.removeprefix("__nv_").removeprefix("fast_")
    for known in (name, name.removesuffix("f"), name.removesuffix("d"), name.removesuffix("i")):
        if known in _LIBDEVICE:
            return _LIBDEVICE[known]
    raise NotEmulated(f"libdevice's {symbol} is not emulated on the CPU")


def bfloat16_bits(values: Any) -> Any:
    """float32 values as bits of bfloat16 (uint16), rounded to nearest even; what is not a number stays none."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16
    quiet = (bits >> 16) | 0x40
    return np.where(np.isnan(values), quiet, rounded).astype(np.uint16)


def float32_of(bits: Any) -> Any:
    """bits of bfloat16 (uint16) as float32 values."""
    return (np.ascontiguousarray(bits).astype(np.uint32) << 16).view(np.float32)


def tf32_cut(values: Any) -> Any:
    """float32 values without the 13 lowest of their 23 bits of fraction; what is not a number stays none.

    That is what a tensor core takes of an operand for which tf32 is asked. The PTX that Triton 3.6 (compute
    capabilities 8.0, 9.0, 10.0) and 3.9 (9.0) write for `tl.dot` hands float32 to `mma`, `wgmma` or `tcgen05.mma` as
    it is, without the `cvt.rna.tf32.f32` that would round it, and the hardware drops what tf32 has no room for
    (triton-lang/triton, issue 4574). An H100 bears that out: of four products in the corpus 87 to 88% of the elements
    were out of tolerance there, as they are of cut operands; of rounded ones 54 to 58% are.
    """
    values = np.ascontiguousarray(values, dtype=np.float32)
    return np.where(np.isnan(values), values, (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32))


def tf32_rounded(values: Any) -> Any:
    """float32 values rounded to 10 bits of fraction, halves away from zero: PTX's `cvt.rna.tf32.f32`."""
    values = np.ascontiguousarray(values, dtype=np.float32)
    half_up = (values.view(np.uint32) + np.uint32(0x1000)).view(np.float32)
    return np.where(np.isfinite(values), tf32_cut(half_up), values)


def _coarse(values: Any) -> Any:
    return float32_of(bfloat16_bits(values))


_PARTS: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "TF32": (tf32_cut,),
    "TF32x3": (tf32_rounded, tf32_cut),
    "BF16x3": (_coarse, _coarse),
    "BF16x6": (_coarse, _coarse, _coarse),
}
"""By the precision of a dot what makes the parts of its float32 operands: the first, that of what is left, and so on.

From Triton's F32DotTC.cpp. Parts i and j are multiplied where i + j is less than their number. "IEEE" has no parts.
"""


def parts_of(values: Any, precision: str) -> list[Any]:
    """The parts in which float32 values are multiplied, the largest first: float32, none for "IEEE"."""
    parts, left = [], values
    for rounded in _PARTS.get(precision, ()):
        parts.append(rounded(left))
        left = left - parts[-1]
    return parts


def mend(triton: ModuleType, interpreter: Any) -> None:
    """Have Triton's interpreter compute as a GPU does, as far as this module covers it."""
    builder = interpreter.InterpreterBuilder
    for name in ("binary_op", "unary_op", "create_fma", "create_erf", "create_rsqrt", "create_dot"):
        setattr(builder, name, _in_float32(getattr(builder, name), triton.language, interpreter.TensorHandle))
    builder.create_dot = _dot(builder.create_dot, triton.language, interpreter.TensorHandle)
    builder.cast_impl = _cast(builder.cast_impl, triton.language, interpreter)
    builder.get_bf16 = _bfloat16_number(triton.language, interpreter.TensorHandle)
    interpreter._patch_lang = _index_by_one_element(interpreter._patch_lang, triton.language)
    builder.create_extern_elementwise = _extern(interpreter)
    _call_libdevice(interpreter)
    _know_the_dots(interpreter.interpreter_builder)


def _in_float32(method: Callable[..., Any], tl: Any, handle: Any) -> Callable[..., Any]:
    """A method of the builder that takes bfloat16 as float32, and rounds where it was given nothing else."""

    def is_coarse(value: Any) -> bool:
        return isinstance(value, handle) and value.dtype.scalar == tl.bfloat16

    def call(self: Any, *args: Any) -> Any:
        if not any(map(is_coarse, args)):
            return method(self, *args)
        wide = [handle(float32_of(value.data), tl.float32) if is_coarse(value) else value for value in args]
        found = method(self, *wide)
        mixed = any(isinstance(value, handle) and not is_coarse(value) for value in args)
        if mixed or found.data.dtype != np.float32:
            return found
        return handle(bfloat16_bits(found.data), tl.bfloat16)

    return call


def _dot(create_dot: Callable[..., Any], tl: Any, handle: Any) -> Callable[..., Any]:
    """The builder's dot over the parts that a GPU's tensor cores multiply."""

    def call(self: Any, a: Any, b: Any, accumulator: Any, precision: Any, *rest: Any) -> Any:
        if a.dtype.scalar != tl.float32 or b.dtype.scalar != tl.float32:
            return create_dot(self, a, b, accumulator, precision, *rest)
        with np.errstate(invalid="ignore"):  # infinity has a rest that is no number
            left, right = parts_of(a.data, precision.name), parts_of(b.data, precision.name)
            if not left:
                return create_dot(self, a, b, accumulator, precision, *rest)
            found = create_dot(
                self, handle(left[0], tl.float32), handle(right[0], tl.float32), accumulator, precision, *rest
            )
            small = np.zeros_like(found.data)
            for total in range(len(left) - 1, 0, -1):
                for at in range(total + 1):
                    small = small + np.matmul(left[at], right[total - at])
        small = np.where(np.isnan(small), np.float32(0), small)  # as Triton has it
        return handle(found.data + small, found.dtype.scalar)

    return call


def _cast(cast: Callable[..., Any], tl: Any, interpreter: Any) -> Callable[..., Any]:
    def cast_impl(self: Any, source: Any, wanted: Any) -> Any:
        handle = interpreter.TensorHandle
        if source.dtype.scalar == tl.bfloat16 and wanted.scalar != tl.bfloat16:
            source = handle(float32_of(source.data), tl.float32)
        if wanted.scalar == tl.bfloat16 and source.dtype.scalar != tl.bfloat16:
            return handle(bfloat16_bits(source.data.astype(np.float32)), tl.bfloat16)
        return cast(self, source, wanted)

    return cast_impl


def _bfloat16_number(tl: Any, handle: Any) -> Callable[..., Any]:
    """The builder's constant, which 3.6 does not have."""
    return lambda self, value: handle(bfloat16_bits(np.array([value], dtype=np.float32)), tl.bfloat16)


def _index_by_one_element(patch: Callable[..., Any], tl: Any) -> Callable[..., Any]:
    """As 3.6 has it NumPy 2.4 refuses `range` over a scalar, which is an array of one element here."""

    def patched(function: Any) -> Any:
        scope = patch(function)
        tl.core.tensor.__index__ = lambda self: int(self.handle.data.item())
        return scope

    return patched


def _extern(interpreter: Any) -> Callable[..., Any]:
    def create_extern_elementwise(
        self: Any, library: str, path: str, symbol: str, operands: Any, wanted: Any, *_: Any
    ) -> Any:
        values = libdevice(symbol)(*(operand.data for operand in operands))
        kind = interpreter._get_np_dtype(wanted.scalar)
        return interpreter.TensorHandle(np.asarray(values).astype(kind), wanted.scalar)

    return create_extern_elementwise


def _call_libdevice(interpreter: Any) -> None:
    """Let libdevice's functions be called outside of a compiler, under each of their two names."""
    from triton.language.extra import libdevice as general  # type: ignore[import-not-found]
    from triton.language.extra.cuda import libdevice as of_cuda  # type: ignore[import-not-found]

    for name, function in list(vars(of_cuda).items()):
        if getattr(function, "__triton_builtin__", False):
            called = _with_semantic(function, interpreter)
            setattr(of_cuda, name, called)
            setattr(general, name, called)


def _with_semantic(function: Callable[..., Any], interpreter: Any) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{**kwargs, "_semantic": interpreter.interpreter_semantic})

    call.__triton_builtin__ = True  # type: ignore[attr-defined]
    call.__module__ = function.__module__
    return call


def _know_the_dots(builder: Any) -> None:
    from triton.backends.compiler import GPUTarget  # type: ignore[import-not-found]
    from triton.backends.nvidia.compiler import CUDAOptions, min_dot_size  # type: ignore[import-not-found]

    precisions = CUDAOptions.allowed_dot_input_precisions
    builder.options = replace(builder.options, allowed_dot_input_precisions=precisions)
    builder.codegen_fns["min_dot_size"] = min_dot_size(GPUTarget("cuda", 90, 32))
