"""Inputs: what is drawn for a trial, and the shared memory that the subject sees it in.

A trial of the kind `nominal` is what the problem's `get_inputs` draws. The other kinds keep its shapes, dtypes and
integers and change the floating values, because a benchmark's inputs are often all of one sign and scale, and a
candidate may be right on those alone: `return x` passes ReLU on values in [0, 1).

Where floating values among them are the same at every draw, and the reference is finite on none of the other kinds (a
logarithm of weights), they are varied: else what follows from them could be remembered from call to call.
"""

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from harness.errors import ProblemError
from harness.judge.problem import seed_everything
from harness.judge.tensors import PIECE, in_each, leaves, mapped, pieces, plain, same, same_bits, size_of, views
from harness.transport.memory import Arena, CopiedArena, aligned, element_size, view
from harness.transport.values import (
    MappingValue,
    SequenceValue,
    TensorValue,
    Value,
    decode,
    encode,
    opaque,
    tensors,
    with_plain,
)

RED_ZONE = 1024
"""Bytes between two tensors of an arena, filled with a pattern that a stray write destroys."""
_PATTERN = 0xA5
_AT_ONCE = 1 << 26
"""Slots of a device that have so many bytes together are compared by one operation, which copies them."""


def _signed(value: torch.Tensor) -> torch.Tensor:
    return torch.randn(value.shape, device=value.device, dtype=torch.float32)


def _wide(value: torch.Tensor) -> torch.Tensor:
    return _signed(value).mul_(6.0)


def _narrow(value: torch.Tensor) -> torch.Tensor:
    """Negative throughout: shows a maximum that starts at 0, also of many, for none of them is nearly 0.

    Small enough to show an absolute tolerance, not so small that exp(x) - 1 in float32 loses its digits.
    """
    return _signed(value).abs_().add_(0.5).mul_(-0.03)


def _small(value: torch.Tensor) -> torch.Tensor:
    """As small as narrow ones, of either sign: shows an absolute tolerance where an activation leaves positive ones."""
    return _signed(value).mul_(0.03)


def _ties(value: torch.Tensor) -> torch.Tensor:
    """Few distinct values, zero among them: shows wrong handling of equal elements and of zero."""
    return torch.randint(-2, 3, value.shape, device=value.device, dtype=torch.float32)


def _huge(value: torch.Tensor) -> torch.Tensor:
    """Mostly ordinary values and about one in a thousand of the order of 1e4 (half's largest finite is 65504)."""
    drawn = _signed(value)
    return torch.where(torch.rand(value.shape, device=value.device) < 1e-3, drawn * 1e4, drawn)


def _units(value: torch.Tensor) -> torch.Tensor:
    """Near one, of either sign: products of thousands neither vanish nor overflow."""
    drawn = _signed(value)
    return torch.where(torch.rand(value.shape, device=value.device) < 0.5, -1.0, 1.0).add_(drawn, alpha=0.01)


STRESS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "signed": _signed,
    "wide": _wide,
    "narrow": _narrow,
    "ties": _ties,
    "huge": _huge,
}
"""Values of a tensor's shape, in float32, which has arithmetic everywhere: an 8-bit float has none."""
KINDS = {**STRESS, "small": _small, "units": _units}
"""And two more: where narrow ones leave one value of an output, and where the others leave much of one untold
(`judge/outputs_seen.py`)."""


VARIED = ("shuffled", "varied")
"""Kinds for floating values that are the same at every draw, where the reference stays finite on none of those above:
each is multiplied by a factor near one, and in the first they are in another order as well."""
LEAST_SPREAD, MOST_SPREAD = 0.1, 0.3
"""Such factors are 1 less what is drawn up to a spread, and that is drawn for each tensor: their mean is not known, and
even half tells it from 1."""


def stressed(inputs: list[Any], kind: str, seed: int) -> list[Any]:
    """`inputs` with the values of every floating and complex tensor drawn anew as `kind` says; the rest is kept.

    Of complex ones real and imaginary parts are. Tensors within lists, tuples and dicts are drawn anew as others are.
    """
    seed_everything(seed)
    change = KINDS[kind]

    def drawn(value: torch.Tensor) -> torch.Tensor:
        holds_values = (value.is_floating_point() or value.is_complex()) and value.numel()
        return _changed(value, change) if holds_values else value

    return in_each(inputs, drawn)


def varied(inputs: list[Any], kind: str, seed: int, places: Sequence[int]) -> list[Any]:
    """`inputs` with the floating and complex values of the arguments at `places` changed as one of `VARIED` says.

    Signs and zeros stay, and sizes nearly; none crosses one.
    """
    seed_everything(seed)

    def drawn(value: torch.Tensor) -> torch.Tensor:
        if not (value.is_floating_point() or value.is_complex()):
            return value
        spread = random.uniform(LEAST_SPREAD, MOST_SPREAD)
        return _multiplied(_shuffled(value) if kind == "shuffled" else value, spread)

    return [mapped(value, drawn) if place in places else value for place, value in enumerate(inputs)]


def _shuffled(value: torch.Tensor) -> torch.Tensor:
    """Each dimension in another order, those of one size in the same: a graph gets other names for its nodes.

    What is on a diagonal stays there, and what a row holds stays in one row.
    """
    orders = {size: torch.randperm(size, device=value.device) for size in value.shape}
    moved = value.view(torch.uint8) if value.element_size() == 1 else value  # an 8-bit float cannot be indexed
    for dimension, size in enumerate(value.shape):
        moved = moved.index_select(dimension, orders[size])
    return moved.view(value.dtype)


def _multiplied(value: torch.Tensor, spread: float) -> torch.Tensor:
    """Each element by a factor of its own; what is larger than one gets larger. By pieces if large."""
    if value.is_complex():
        return torch.view_as_complex(_multiplied(torch.view_as_real(value.resolve_conj()), spread).contiguous())
    if value.numel() > PIECE:
        found = torch.empty(value.shape, dtype=value.dtype, device=value.device)
        for piece, place in zip(views(value, PIECE), views(found, PIECE), strict=True):
            place.copy_(_multiplied(piece, spread))
        return found
    wide = value if value.dtype == torch.float64 else value.float()
    factors = 1 - spread * torch.rand(value.shape, device=value.device, dtype=wide.dtype)
    return torch.where(wide.abs() > 1, wide / factors, wide * factors).to(value.dtype)


def permuted(inputs: list[Any], seed: int, places: Sequence[int] | None = None) -> list[Any]:
    """`inputs` with the integers of every tensor in another order, or of the arguments at `places` alone.

    Ascending ones are kept: they may be offsets, of which an order is asked. Values stay in the range that they had.
    Of a list, tuple or dict at one of the places all integers are put in another order, and no bools.
    """
    seed_everything(seed)
    if places is None:
        return in_each(inputs, _permuted)
    return [_permuted_at(value) if place in places and leaves(value) else value for place, value in enumerate(inputs)]


def _permuted_at(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return _permuted(value)
    return mapped(value, lambda leaf: leaf if leaf.dtype == torch.bool else _permuted(leaf))


def may_be_permuted(value: torch.Tensor) -> bool:
    """Whether a tensor holds integers or bools that do not ascend. Of unsigned ones torch compares bytes alone."""
    if value.dtype not in _ORDERED:
        return False
    flat = value.reshape(-1)
    return not bool((flat[1:] >= flat[:-1]).all())


_ORDERED = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def _permuted(value: torch.Tensor) -> torch.Tensor:
    if not may_be_permuted(value):
        return value
    flat = value.reshape(-1)
    order = torch.randperm(flat.numel(), device=value.device)
    return flat[order].view(value.shape)


def _changed(value: torch.Tensor, change: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """`value` drawn anew; a large one by pieces, because drawing takes several times its size."""
    if value.is_complex():
        return torch.view_as_complex(_changed(torch.view_as_real(value.resolve_conj()), change).contiguous())
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
        self._size = -1

    def get(self) -> list[Any]:
        """The arguments; tensors on the judge's device, not shared with any other process."""
        if self._kept is None:
            self._kept = self._draw()
            self._size = size_of(self._kept)
        return self._kept

    @property
    def large(self) -> bool:
        """Whether they take much memory."""
        if self._size < 0:
            self.get()
        return self._size > LARGE_BYTES

    def forget(self) -> None:
        """Let go of them; they are drawn again when they are asked for."""
        self._kept = None


STAGED_BYTES = 1 << 19
"""Contents of a slot of no more are shown by a copy engine, from host memory: in 10 us and not piece by piece, so that
nothing can be done with some of them while others come (H200). More are by the device, which takes 0.15 ms."""


@dataclass(frozen=True)
class Staged:
    """A slot's contents in host memory at address `host`, and where they are shown; both this process's. `reveal` shows
    them where they do not lie there.
    """

    slot: int
    host: int
    shown: int
    size: int
    reveal: Callable[[], None] | None = None


class InputSets:
    """`count` input sets in one arena. Each slot has the layout of `example`, red zones around every tensor.

    Nothing that is written can be seen by a subject before its round: tensors are written apart, and `reveal` copies
    them into the arena; what else arguments hold (`plain_of`) is told as the round begins. `beside` shares the memory
    to write in with other sets of the same shape, whose arena another subject has. The arena belongs to the sets:
    `close` unmaps it.
    """

    def __init__(
        self,
        example: list[Any],
        count: int,
        make_arena: Callable[[int], Arena],
        *,
        beside: "InputSets | None" = None,
    ) -> None:
        self.count = count
        self._slot_size, self._template = _layout(example)
        self._plain: dict[int, tuple[Any, ...]] = {}
        self._first_plain = _plain_of(example)
        self._make_arena = make_arena
        self._apart: torch.Tensor | None = beside._apart if beside else None
        self._staged = torch.empty(0, dtype=torch.uint8)
        self._laid_out = False
        self.lay_out()

    def lay_out(self) -> None:
        """Make the arena, where it was put away."""
        self._laid_out = True
        self.arena = self._make_arena(self._slot_size * self.count + RED_ZONE)
        self._raw = self.arena.bytes()
        self._raw.fill_(_PATTERN)
        self._make_room()
        self.show_all()

    def _make_room(self) -> None:
        """Have memory to write in: apart from the arena, where a subject sees that."""
        if self._apart is None and self.arena.shared:
            self._apart = torch.full_like(self._raw, _PATTERN)
        self._written = self._raw if self._apart is None else self._apart
        self._places_written: dict[int, list[torch.Tensor]] = {}

    def let_go(self) -> None:
        """Let go of what was written apart, once it is shown: it can be drawn again. The next write makes room anew."""
        if self._apart is not None:
            self._apart, self._places_written = None, {}
            self._written = self._raw.new_empty(0)  # what asks for it meanwhile is to fail

    def _require_room(self) -> None:
        if not len(self._written):
            self._make_room()

    def show_all(self) -> None:
        """Count all slots as newly written: another subject is to see them."""
        self._newly_written = set(range(self.count))

    def newly_written(self) -> tuple[tuple[int, int], ...]:
        """The parts of the arena with the slots that were written since this was asked last."""
        slots, self._newly_written = self._newly_written, set()
        return self.parts_of(slots)

    def parts_of(self, slots: Collection[int]) -> tuple[tuple[int, int], ...]:
        """The parts of the arena, (start, size) in bytes, that slots and the red zones around them take."""
        starts = sorted(slot * self._slot_size for slot in slots)
        if len(starts) == self.count:
            return ((0, self._slot_size * self.count + RED_ZONE),)
        return tuple((start, self._slot_size + RED_ZONE) for start in starts)

    def put_away(self) -> None:
        """Unmap the arena, if it is laid out. What is written apart stays."""
        if not self._laid_out:
            return
        self._laid_out = False
        del self._raw, self._written, self._places_written
        self.arena.close()

    @property
    def is_apart(self) -> bool:
        """Whether the judge has what it wrote in memory of its own besides the arena."""
        return self._written is not self._raw

    @property
    def on_device(self) -> bool:
        """Whether the arena lies in device memory."""
        return bool(self._raw.is_cuda)

    @property
    def is_copied(self) -> bool:
        """Whether the arena is the judge's alone, and what it writes there is copied to its subject's."""
        return isinstance(self.arena, CopiedArena)

    @staticmethod
    def size_of(example: list[Any]) -> int:
        """Bytes that one slot takes, red zones included."""
        return _layout(example)[0]

    @property
    def values(self) -> tuple[Value, ...]:
        """The arguments of each slot, as the wire describes them."""
        return tuple(_moved(self._template, slot * self._slot_size) for slot in range(self.count))

    def write(self, slot: int, inputs: list[Any]) -> None:
        """Put `inputs` into a slot. Their shapes and dtypes must be those of the example.

        Raises ProblemError where they hold another number of plain values.
        """
        self._require_room()
        if slot not in self._places_written:  # some thousand slots are written for a time
            self._places_written[slot] = self._places(slot, self._written)
        for place, value in zip(self._places_written[slot], leaves(inputs), strict=True):
            place.copy_(value)
        self._newly_written.add(slot)
        self._write_plain((slot,), inputs)

    def write_together(self, slots: Sequence[int], inputs: list[Any]) -> None:
        """Put inputs of as many calls into slots, one kernel a tensor; each tensor has a leading dimension of calls.

        Into all slots, in their order, by a copy, which no index is asked for.
        """
        self._require_room()
        order: Any = ...
        if list(slots) != list(range(self.count)):
            order = torch.tensor(list(slots)).to(self._raw.device, non_blocking=True)
        for leaf, value in zip(tensors(self._template), leaves(inputs), strict=True):
            if leaf.elements:
                places = self._of_all_slots(leaf)
                places[order] = value.view(places.dtype) if value.element_size() == 1 else value
        self._newly_written.update(slots)
        self._write_plain(slots, inputs)

    def _write_plain(self, slots: Sequence[int], inputs: list[Any]) -> None:
        """Take down what is no tensor in the arguments of slots, once it was anything else than in the example."""
        drawn = _plain_of(inputs)
        if len(drawn) != len(self._first_plain):
            raise ProblemError(
                f"get_inputs draws {len(drawn)} values beside tensors, and {len(self._first_plain)} before: "
                "what varies from call to call has to be of one form"
            )
        if self._plain or not same(drawn, self._first_plain):
            self._plain.update(dict.fromkeys(slots, drawn))

    def plain_of(self, slots: Sequence[int]) -> list[tuple[Any, ...]] | None:
        """What is no tensor in the arguments of each of these slots, in order; None where it never changed."""
        return [self._plain.get(slot, self._first_plain) for slot in slots] if self._plain else None

    def _of_all_slots(self, leaf: TensorValue) -> torch.Tensor:
        """A tensor of the template in every slot: of shape (count, *its shape). What has one byte counts as uint8."""
        width = element_size(leaf.dtype)
        words = self._written.view(torch.uint8 if width == 1 else getattr(torch, leaf.dtype))
        shape, strides = (self.count, *leaf.shape), (self._slot_size // width, *leaf.strides)
        return words.as_strided(shape, strides, leaf.offset // width)

    def reveal(self, slots: Sequence[int] | None = None) -> None:
        """Show what was written since the last time, of all slots or some.

        By a kernel and not by a copy engine: that would run beside kernels of another process.
        """
        if self._written is self._raw:
            return
        whole = slots is None or len(slots) == self.count
        for start in (0,) if whole else (slot * self._slot_size for slot in slots or ()):
            size = self._raw.numel() if whole else self._slot_size
            written, raw = (memory[start : start + size].view(torch.int64) for memory in (self._written, self._raw))
            torch.bitwise_or(written, 0, out=raw)

    @property
    def is_staged(self) -> bool:
        """Whether contents of a slot are small enough to be shown at once by a copy engine."""
        return self._slot_size <= STAGED_BYTES

    def stage(self, slots: Sequence[int]) -> list[Staged]:
        """Copy what was written of slots, but not shown yet, to host memory that copy engines take it from, if that is
        how it is shown.

        Of memory apart from the arena, on a device. Does not wait for the device.
        """
        assert self._apart is not None
        if not self.is_staged:
            starts = [slot * self._slot_size for slot in slots]
            return [
                Staged(slot, 0, self._raw.data_ptr() + start, self._slot_size, partial(self.reveal, [slot]))
                for slot, start in zip(slots, starts, strict=True)
            ]
        room, staged = self._staging(len(slots) * self._slot_size), []
        for place, slot in enumerate(slots):
            start, at = slot * self._slot_size, place * self._slot_size
            room[at : at + self._slot_size].copy_(self._apart[start : start + self._slot_size], non_blocking=True)
            host, shown = room.data_ptr() + at, self._raw.data_ptr() + start
            staged.append(Staged(slot, host, shown, self._slot_size))
        return staged

    def _staging(self, size: int) -> torch.Tensor:
        if self._staged.numel() < size:
            self._staged = torch.empty(size, dtype=torch.uint8, pin_memory=self._raw.is_cuda)
        return self._staged

    def arguments(self, slot: int) -> list[Any]:
        """The arguments of a slot as they lie in shared memory, without a copy."""
        return self._arguments(slot, self._raw)

    def written_apart(self, slot: int) -> list[Any] | None:
        """A slot's arguments in memory of the judge's own, without a copy; None where it has none apart from the arena.

        A reference that changes its inputs changes these.
        """
        return None if self._apart is None else self._arguments(slot, self._apart)

    def _arguments(self, slot: int, raw: torch.Tensor) -> list[Any]:
        found: list[Any] = decode(
            _moved(self._template, slot * self._slot_size), lambda leaf: view(raw, leaf, leaf.offset)
        )
        return with_plain(found, iter(self._plain[slot])) if slot in self._plain else found

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

    def untouched(self, slots: Sequence[int]) -> bool:
        """Whether slots, and the red zones around, still hold to the last bit what was revealed of them."""
        if self._written is self._raw:
            return True
        raw, written = (self._words(memory) for memory in (self._raw, self._written))
        if self.on_device and len(slots) * self._slot_size <= _AT_ONCE:
            at = torch.tensor(list(slots)).to(raw.device, non_blocking=True)
            return torch.equal(raw[at], written[at])
        mine, theirs = raw.unbind(), written.unbind()
        if not self.on_device:
            return all(torch.equal(mine[slot], theirs[slot]) for slot in slots)
        parts = (part for slot in slots for _, part in pieces(mine[slot], theirs[slot]))
        differ = [one.ne(other).any() for one, other in parts]
        return not torch.stack(differ).any()  # which waits for the device once

    def _words(self, memory: torch.Tensor) -> torch.Tensor:
        """A row for each slot and its zones, of words of eight bytes."""
        shape = (self.count, (self._slot_size + RED_ZONE) // 8)
        return memory.view(torch.int64).as_strided(shape, (self._slot_size // 8, 1))

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
        self.put_away()
        self._apart = None


@dataclass(frozen=True)
class Given:
    """What a call was given: contents, and the slot of the sets that they were written to."""

    contents: Contents
    sets: InputSets
    slot: int = 0

    def inputs(self) -> list[Any]:
        """The arguments: drawn again, or large ones where they were written. Never from shared memory."""
        apart = self.sets.written_apart(self.slot) if self.contents.large else None
        if apart is None:
            return self.contents.get()
        self.contents.forget()
        return apart

    def write(self) -> None:
        """Put the contents into the slot, where no subject sees them yet."""
        self.sets.write(self.slot, self.contents.get())

    def write_anew(self) -> None:
        """The same, drawn again: a reference that changes its inputs has changed those that were drawn."""
        self.contents.forget()
        self.write()


def _plain_of(inputs: list[Any]) -> tuple[Any, ...]:
    return tuple(one for one in plain(inputs) if not isinstance(one, torch.Tensor))


def _layout(example: list[Any]) -> tuple[int, Value]:
    cursor = 0

    def place(value: torch.Tensor) -> TensorValue:
        nonlocal cursor
        offset = cursor + RED_ZONE
        # Keeps the strides of a dense permuted tensor. Of one `without_contents`, which has them, torch would import
        # what it compiles with (0.4 s, torch 2.13).
        laid_out = value if value.is_meta else torch.empty_like(value, device="meta")
        cursor = aligned(offset + value.numel() * value.element_size())
        return TensorValue(
            dtype=str(value.dtype).removeprefix("torch."),
            shape=tuple(value.shape),
            strides=tuple(laid_out.stride()),
            offset=offset,
        )

    template = encode(example, place)
    if foreign := opaque(template):  # which the audit did not see
        raise ProblemError(f"the problem's inputs hold {foreign[0]}, which cannot be handed to a candidate")
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
    return in_each(inputs, lambda value: value.to("meta"))
