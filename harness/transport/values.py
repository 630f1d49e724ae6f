"""Values: the arguments and results of a call as plain data, with tensors described and never carried.

A tensor's bytes lie in memory that both sides map; what crosses is where and how. Everything that
`get_inputs()` and `get_init_inputs()` of KernelBench's problems return has a form here.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, TypeAdapter

from harness.schema.base import Frozen

MAX_DIMENSIONS = 64
Size = Annotated[int, Field(ge=0, le=2**62)]


class TensorValue(Frozen):
    """A strided tensor: `offset` bytes into an arena, or, for an output, into the process's memory at `address`.

    `dtype` is torch's name without `torch.`; shape and strides count elements.
    """

    kind: Literal["tensor"] = "tensor"
    dtype: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,24}$")]
    shape: Annotated[tuple[Size, ...], Field(max_length=MAX_DIMENSIONS)]
    strides: Annotated[tuple[Size, ...], Field(max_length=MAX_DIMENSIONS)]
    offset: Size
    device: Literal["cpu", "cuda", "other"] = "cpu"
    requires_grad: bool = False

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def span(self) -> int:
        """Elements from the first to the last one that the strides reach, both included."""
        if not self.elements:
            return 0
        return 1 + sum((size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True))


class ScalarValue(Frozen):
    kind: Literal["scalar"] = "scalar"
    value: bool | int | str | None


def _is_hexadecimal(text: str) -> str:
    try:
        float.fromhex(text)
    except OverflowError as error:
        raise ValueError(str(error)) from error
    return text


class FloatValue(Frozen):
    """A float as its hexadecimal text, so that it is exact and may be infinite or NaN."""

    kind: Literal["float"] = "float"
    value: Annotated[str, Field(max_length=40), AfterValidator(_is_hexadecimal)]


class NamedValue(Frozen):
    """A torch.dtype, torch.device or the like, by name."""

    kind: Literal["dtype", "device"]
    name: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,24}(:[0-9]{1,3})?$")]


class SequenceValue(Frozen):
    kind: Literal["list", "tuple"]
    items: tuple[Value, ...]


class MappingValue(Frozen):
    """A dict. Keys are strings; others have no form."""

    kind: Literal["dict"] = "dict"
    items: dict[str, Value]


class OpaqueValue(Frozen):
    """Something that has no form here: only the name of its type crosses."""

    kind: Literal["opaque"] = "opaque"
    type: str


Value = Annotated[
    TensorValue | ScalarValue | FloatValue | NamedValue | SequenceValue | MappingValue | OpaqueValue,
    Field(discriminator="kind"),
]
SequenceValue.model_rebuild()
MappingValue.model_rebuild()
_VALUE: TypeAdapter[Value] = TypeAdapter(Value)
_NO_TENSOR = TensorValue(dtype="none", shape=(), strides=(), offset=0)


def sample_of(tensor: Any) -> str:
    """A digest of at most 1024 of a tensor's elements, evenly spaced: equal for equal tensors. "" where it has none."""
    import torch

    try:
        flat = tensor.detach().reshape(-1)
        some = flat[:: max(1, flat.numel() // 1024)][:1024].resolve_conj().cpu().contiguous()
        return hashlib.sha256(some.view(torch.uint8).numpy().tobytes()).hexdigest()[:16]
    except (RuntimeError, TypeError, NotImplementedError):  # sparse, quantised, not yet there
        return ""


def encode(value: Any, tensor: Callable[[Any], TensorValue]) -> Value:
    """`value` as plain data; `tensor` is asked where each tensor lies, in the order of `tensors`."""
    import torch

    # Exact types: a subclass of Tensor may compute when touched, and a subclass of dict or list may lie.
    kind = type(value)
    if kind is torch.Tensor or kind is torch.nn.Parameter:
        return tensor(value)
    if value is None or kind in (bool, int) or (kind is str and _has_form(value)):
        return ScalarValue(value=value)
    if kind is float:
        return FloatValue(value=value.hex())
    if kind is list:
        return SequenceValue(kind="list", items=tuple(encode(item, tensor) for item in value))
    if isinstance(value, tuple):  # named tuples such as torch.max's are tuples to everyone
        return SequenceValue(kind="tuple", items=tuple(encode(item, tensor) for item in value))
    if isinstance(value, dict) and all(type(key) is str and _has_form(key) for key in value):
        encoded = {key: encode(value[key], tensor) for key in sorted(value)}
        return MappingValue(items={key: encoded[key] for key in value})
    if kind is torch.dtype:
        return NamedValue(kind="dtype", name=str(value).removeprefix("torch."))
    if kind is torch.device:
        return NamedValue(kind="device", name=str(value))
    texts = value if isinstance(value, dict) else (value,)
    if any(type(text) is str and not _has_form(text) for text in texts):
        return OpaqueValue(type="text with a half of a character (a lone surrogate)")
    return OpaqueValue(type=f"{kind.__module__}.{kind.__qualname__}")


def _has_form(text: str) -> bool:
    """Whether a text can be said in UTF-8, and so in JSON."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def decode(value: Value, tensor: Callable[[TensorValue], Any]) -> Any:
    """The Python value again; `tensor` makes each tensor.

    Raises ValueError for an opaque value, or a name of nothing.
    """
    import torch

    match value:
        case TensorValue():
            return tensor(value)
        case ScalarValue():
            return value.value
        case FloatValue():
            return float.fromhex(value.value)
        case SequenceValue(kind="list"):
            return [decode(item, tensor) for item in value.items]
        case SequenceValue():
            return tuple(decode(item, tensor) for item in value.items)
        case MappingValue():
            return {key: decode(item, tensor) for key, item in value.items.items()}
        case NamedValue(kind="dtype"):
            dtype = getattr(torch, value.name, None)
            if not isinstance(dtype, torch.dtype):
                raise ValueError(f"torch has no dtype {value.name!r}")  # noqa: TRY004  # a name of the wrong value
            return dtype
        case NamedValue():
            try:
                return torch.device(value.name)
            except RuntimeError as error:
                raise ValueError(f"torch has no device {value.name!r}") from error
        case OpaqueValue():
            raise ValueError(f"a value of type {value.type} has no form on the wire")


def tensors(value: Value) -> list[TensorValue]:
    """Every tensor of a value, in order; of a dict by its keys, whose own order is free."""
    match value:
        case TensorValue():
            return [value]
        case SequenceValue():
            return [leaf for item in value.items for leaf in tensors(item)]
        case MappingValue():
            return [leaf for key in sorted(value.items) for leaf in tensors(value.items[key])]
        case _:
            return []


def with_plain(value: Any, plain: Iterator[Any]) -> Any:
    """A decoded value with others, in the order of `tensors`, in the place of all that is no tensor, in new containers.

    Raises StopIteration where there are too few.
    """
    from torch import Tensor

    def given(part: Any) -> Any:
        if isinstance(part, Tensor):
            return part
        if isinstance(part, list):
            return [given(item) for item in part]
        if isinstance(part, tuple):
            return tuple([given(item) for item in part])  # no generator: it would swallow the end of `plain`
        if isinstance(part, dict):
            changed = {key: given(part[key]) for key in sorted(part)}
            return {key: changed[key] for key in part}
        return next(plain)

    return given(value)


def packed_plain(calls: Sequence[Sequence[Any]]) -> str:
    """What is no tensor in the arguments of each call, as one text of JSON: it is read while a clock runs."""
    return json.dumps(calls, default=lambda named: encode(named, lambda _: _NO_TENSOR).model_dump())


def unpacked_plain(text: str) -> list[list[Any]]:
    """The values of each call again."""
    found: list[list[Any]] = json.loads(text, object_hook=lambda named: decode(_VALUE.validate_python(named), id))
    return found


def digest_of_plain(value: Value) -> int:
    """64 bits of everything in a value that is no tensor, in order; 0 where there is no such thing."""
    found = _plain(value)
    if not found:
        return 0
    return int.from_bytes(hashlib.blake2b(repr(found).encode("utf-8", "replace"), digest_size=8).digest(), "little") | 1


def _plain(value: Value) -> list[object]:
    match value:
        case TensorValue():
            return []
        case SequenceValue():
            return [leaf for item in value.items for leaf in _plain(item)]
        case MappingValue():
            return [leaf for key in sorted(value.items) for leaf in _plain(value.items[key])]
        case ScalarValue() | FloatValue():
            return [value.value]
        case NamedValue():
            return [value.name]
        case OpaqueValue():
            return [value.type]


def opaque(value: Value) -> list[str]:
    """The type of everything in a value that has no form here, in order."""
    match value:
        case OpaqueValue():
            return [value.type]
        case SequenceValue():
            return [name for item in value.items for name in opaque(item)]
        case MappingValue():
            return [name for item in value.items.values() for name in opaque(item)]
        case _:
            return []
