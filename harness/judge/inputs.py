"""Inputs: what is drawn for a trial, and the shared memory that the subject sees it in.

A trial of the kind `nominal` is what the problem's `get_inputs` draws. The other kinds keep its shapes, dtypes and
integers and change the floating values, because a benchmark's inputs are often all of one sign and scale, and a
candidate may be right on those alone: `return x` passes ReLU on values in [0, 1).
"""

from collections.abc import Callable
from typing import Any

import torch

from harness.judge.tensors import PIECE, leaves, same_bits, size_of, views
from harness.wire.memory import Arena, aligned, view
from harness.wire.values import MappingValue, SequenceValue, TensorValue, Value, decode, encode, tensors

RED_ZONE = 1024
"""Bytes between two tensors of an arena, filled with a pattern that a stray write destroys."""
_PATTERN = 0xA5


def _signed(value: torch.Tensor) -> torch.Tensor:
    return torch.randn(value.shape, device=value.device, dtype=torch.float32)


def _wide(value: torch.Tensor) -> torch.Tensor:
    return _signed(value).mul_(6.0)


def _narrow(value: torch.Tensor) -> torch.Tensor:
    """Small enough to show an absolute tolerance, not so small that exp(x) - 1 in float32 loses its digits."""
    return _signed(value).mul_(0.03)


def _ties(value: torch.Tensor) -> torch.Tensor:
    """Few distinct values, zero among them: shows wrong handling of equal elements and of zero."""
    return torch.randint(-2, 3, value.shape, device=value.device, dtype=torch.float32)


def _huge(value: torch.Tensor) -> torch.Tensor:
    """Mostly ordinary values and about one in a thousand of the order of 1e4 (half's largest finite is 65504)."""
    drawn = _signed(value)
    return torch.where(torch.rand(value.shape, device=value.device) < 1e-3, drawn * 1e4, drawn)


STRESS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "signed": _signed,
    "wide": _wide,
    "narrow": _narrow,
    "ties": _ties,
    "huge": _huge,
}
"""Values of a tensor's shape, in float32, which has arithmetic for everybody: an 8-bit float has none."""


def stressed(inputs: list[Any], kind: str, seed: int) -> list[Any]:
    """`inputs` with every real floating tensor's values drawn anew as `kind` says; the rest is kept."""
    torch.manual_seed(seed)
    change = STRESS[kind]
    return [
        _changed(value, change)
        if isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel()
        else value
        for value in inputs
    ]


def _changed(value: torch.Tensor, change: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """`value` drawn anew; a large one by pieces, because drawing takes several times its size."""
    if value.numel() <= PIECE:
        return change(value).to(value.dtype)
    dense = torch.empty_like(value, device="meta").stride() == value.stride()
    drawn = value if dense else torch.empty_like(value)  # an expanded tensor cannot be written element by element
    for piece in views(drawn, PIECE):
        piece.copy_(change(piece))
    return drawn


LARGE_BYTES = 1 << 30
"""Contents larger than this are drawn again where they are needed again, instead of being kept."""


class Contents:
    """The arguments of one call. `draw` gives the same ones each time."""

    def __init__(self, draw: Callable[[], list[Any]]) -> None:
        self._draw = draw
        self._kept: list[Any] | None = None

    def get(self) -> list[Any]:
        """The arguments; tensors on the judge's device, not shared with anybody."""
        if self._kept is None:
            self._kept = self._draw()
        return self._kept

    @property
    def large(self) -> bool:
        return size_of(self.get()) > LARGE_BYTES

    def spare(self) -> None:
        """Let go of what takes much memory; it is drawn again when it is asked for."""
        if self._kept is not None and self.large:
            self._kept = None

    @property
    def spared(self) -> bool:
        return self._kept is None


HIDDEN_BYTES = 1 << 28
"""Sets up to this size are written apart first, so that they can be shown all at once."""


class InputSets:
    """`count` input sets in one arena. Each slot has the layout of `example`, red zones around every tensor.

    What is written on a device is seen by nobody before `reveal`, except where the sets are large and the arena shared;
    on the host at once, by who is not frozen. The arena belongs to the sets: `close` unmaps it.
    """

    def __init__(self, example: list[Any], count: int, make_arena: Callable[[int], Arena]) -> None:
        self.count = count
        self._slot_size, self._template = _layout(example)
        self.arena = make_arena(self._slot_size * count + RED_ZONE)
        self._raw = self.arena.bytes()
        self._raw.fill_(_PATTERN)
        # On the host emptying the cache takes some 20 ms, for which nobody may be awake who sees the contents.
        self.hidden = self._raw.is_cuda and (self.arena.size <= HIDDEN_BYTES or not self.arena.shared)
        self._written = self._raw.clone() if self.hidden and self.arena.shared else self._raw
        self._places_written: dict[int, list[torch.Tensor]] = {}

    @staticmethod
    def size_of(example: list[Any]) -> int:
        """Bytes that one slot takes, red zones included."""
        return _layout(example)[0]

    @property
    def values(self) -> tuple[Value, ...]:
        """The arguments of each slot, as the wire describes them."""
        return tuple(_moved(self._template, slot * self._slot_size) for slot in range(self.count))

    def write(self, slot: int, inputs: list[Any]) -> None:
        """Put `inputs` into a slot. Their shapes and dtypes must be those of the example."""
        if slot not in self._places_written:  # some thousand slots are written for a time
            self._places_written[slot] = self._places(slot, self._written)
        for place, value in zip(self._places_written[slot], leaves(inputs), strict=True):
            place.copy_(value)

    def reveal(self) -> None:
        """Show what was written since the last time, by one copy."""
        if self._written is not self._raw:
            self._raw.copy_(self._written)

    def arguments(self, slot: int) -> list[Any]:
        """The arguments of a slot as they lie in shared memory, without a copy."""
        found: list[Any] = decode(
            _moved(self._template, slot * self._slot_size), lambda leaf: view(self._raw, leaf, leaf.offset)
        )
        return found

    def holds(self, value: torch.Tensor) -> bool:
        """Whether a tensor of the judge's lies in this shared memory."""
        start: int = self._raw.data_ptr()
        end: int = start + self._raw.numel()
        return start <= value.data_ptr() < end

    def unchanged(self, slot: int, inputs: list[Any]) -> bool:
        """Whether a slot still holds `inputs` bit for bit."""
        return all(
            same_bits(place, value) for place, value in zip(self._places(slot, self._raw), leaves(inputs), strict=True)
        )

    def red_zones_intact(self, slot: int) -> bool:
        """Whether no byte between a slot's tensors was written."""
        start = slot * self._slot_size
        for leaf in tensors(self._template):
            zone = self._raw[start + leaf.offset - RED_ZONE : start + leaf.offset]
            if bool((zone != _PATTERN).any()):
                return False
        return not bool((self._raw[start + self._slot_size : start + self._slot_size + RED_ZONE] != _PATTERN).any())

    def _places(self, slot: int, raw: torch.Tensor) -> list[torch.Tensor]:
        return [view(raw, leaf, leaf.offset + slot * self._slot_size) for leaf in tensors(self._template)]

    def close(self) -> None:
        del self._raw, self._written, self._places_written
        self.arena.close()


def _layout(example: list[Any]) -> tuple[int, Value]:
    cursor = 0

    def place(value: torch.Tensor) -> TensorValue:
        nonlocal cursor
        offset = cursor + RED_ZONE
        laid_out = torch.empty_like(value, device="meta")  # keeps the strides of a dense permuted tensor
        cursor = aligned(offset + value.numel() * value.element_size())
        return TensorValue(
            dtype=str(value.dtype).removeprefix("torch."),
            shape=tuple(value.shape),
            strides=tuple(laid_out.stride()),
            offset=offset,
        )

    template = encode(example, place)
    return cursor, template


def _moved(value: Value, by: int) -> Value:
    """The same value with every tensor `by` bytes further on."""
    match value:
        case TensorValue():
            return value.model_copy(update={"offset": value.offset + by})
        case SequenceValue():
            return value.model_copy(update={"items": tuple(_moved(item, by) for item in value.items)})
        case MappingValue():
            return value.model_copy(update={"items": {key: _moved(item, by) for key, item in value.items.items()}})
        case _:
            return value


def without_contents(inputs: list[Any]) -> list[Any]:
    """`inputs` with tensors of the same layout that take no memory."""
    return [value.to("meta") if isinstance(value, torch.Tensor) else value for value in inputs]
