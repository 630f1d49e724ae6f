"""Output reader: outputs as a worker describes them, read where they lie or as they were kept."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

import torch

from harness.backends.hardware import Hardware
from harness.errors import SandboxError
from harness.judge.attached_inputs import AttachedInputs
from harness.judge.failure import LaidOutAnew, SubjectFailed
from harness.judge.kept_outputs import ByAddress
from harness.judge.opened_memory import OpenedMemory
from harness.judge.output_layouts import as_described
from harness.judge.reading import bytes_of_copy, read_output, read_to_device
from harness.judge.snapshot import Kept, Source
from harness.judge.subject import Elsewhere, Opaque
from harness.judge.tensors import leaves
from harness.judge.worker_conversation import Conversation
from harness.transport.memory import element_size, view
from harness.transport.values import (
    FloatValue,
    MappingValue,
    OpaqueValue,
    SequenceValue,
    TensorValue,
    Value,
    decode,
    tensors,
)
from harness.transport.worker_messages import Described, DeviceHandle

_ROOM_BYTES = 64 << 20
"""Copied outputs pass through so much host memory: what is allocated for each has to be mapped first, which took longer
than the copy."""


class OutputReader:
    """Reads outputs of one worker. Methods raise SubjectFailed for what cannot be as it is described.

    `memory_bytes` is what of its host memory is copied at once.
    """

    def __init__(
        self,
        conversation: Conversation,
        *,
        hardware: Hardware,
        inputs: AttachedInputs,
        opened: OpenedMemory,
        memory_bytes: int,
    ) -> None:
        self._talk, self._inputs, self._opened = conversation, inputs, opened
        self._device, self._apart = hardware.device, hardware.apart
        self._memory_bytes = memory_bytes
        self._copies: dict[tuple[object, ...], torch.Tensor] = {}
        self._copied_bytes = 0
        self._room: torch.Tensor | None = None

    def open_all(self, described: Described) -> None:
        """Open the device memory that outputs lie in and inputs do not."""
        places = _Places(described)
        with as_described():
            for leaf in (leaf for output in described.outputs for leaf in tensors(output)):
                size = leaf.span * element_size(leaf.dtype)
                if not leaf.elements or leaf.device != self._device.type:
                    continue
                if self._inputs.part_at(leaf.offset, size) is None:
                    self._opened.open(places.handle_of(leaf.offset, size))

    def read(self, described: Described, kept: Sequence[ByAddress | None], like: Any) -> list[Any]:
        """All outputs that are described (`Subject.outputs`); of each what was kept, None where it is read as it is."""
        self._copies, self._copied_bytes = {}, 0
        places = _Places(described)
        try:
            with as_described():
                return [
                    self._read_output(output, places, of_call, like)
                    for output, of_call in zip(described.outputs, kept, strict=True)
                ]
        finally:
            self._copies = {}

    def put_together(self, output: Value, kept: Sequence[Kept]) -> Any:
        """An output like another that was described, of what was kept of each of its tensors, in their order, and laid
        out as that was.
        """
        shown = {id(leaf): _shown(one, one.layout) for leaf, one in zip(tensors(output), kept, strict=True)}
        return self._read(output, lambda leaf: shown[id(leaf)])

    def _read_output(self, output: Value, places: "_Places", kept: ByAddress | None, like: Any) -> Any:
        """The output as the judge sees it: as it was kept, where there was a snapshot, else as it is now.

        Its shapes, dtypes and sizes are looked at before a byte is copied. Raises ValueError for a description that
        cannot be true, SubjectFailed for one that is not of what was kept: by then the worker knows which calls are
        verified, so that no round may be repeated for it.
        """
        size = sum(leaf.span * element_size(leaf.dtype) for leaf in tensors(output))
        if size > self._memory_bytes and not self._apart:  # of addresses that are reserved, not of memory
            raise ValueError(f"outputs of {size} bytes, more than a worker may have")
        mine = sorted((leaf.dtype, leaf.shape) for leaf in tensors(output))
        if like is not None and mine != sorted(_form(leaf) for leaf in leaves(like)):
            return self._read(output, _without_contents)  # a comparison names what differs
        return self._read(output, lambda leaf: self._read_tensor(leaf, places, kept))

    def _read(self, output: Value, tensor: Callable[[TensorValue], Any]) -> Any:
        match output:
            case TensorValue():
                return tensor(output) if output.device == self._device.type else Elsewhere(output.device)
            case OpaqueValue():
                return Opaque(output.type)
            case SequenceValue():
                items = [self._read(item, tensor) for item in output.items]
                return items if output.kind == "list" else tuple(items)
            case MappingValue():
                return {key: self._read(item, tensor) for key, item in output.items.items()}
            case FloatValue():
                return float.fromhex(output.value)
            case _:
                return decode(output, lambda leaf: None)

    # ---- a tensor ----------------------------------------------------------------------------------------------

    def _read_tensor(self, leaf: TensorValue, places: "_Places", kept: ByAddress | None) -> Any:
        size = leaf.span * element_size(leaf.dtype)
        if len(leaf.shape) != len(leaf.strides):
            raise ValueError("shape and strides differ in length")
        if not leaf.elements:
            return view(torch.empty(0, dtype=torch.uint8, device=self._device), leaf, 0)
        source = self._inputs.part_at(leaf.offset, size)
        if self._inputs.copied_arena is not None and source is None:
            return self._read_host(places.copy_of(leaf.offset, size), leaf)
        entry = places.handle_of(leaf.offset, size) if self._apart and source is None else None
        if kept is None:
            return self._read_now(leaf, size, source, entry)
        if entry is not None:
            self._opened.open(entry)  # for the next time
        handle = entry.handle if entry else ""
        fitting = (one.as_laid_out(leaf) for one in kept.get(leaf.offset, ()) if one.source.handle == handle)
        whole = [one for one in fitting if one is not None]
        found = max(whole, key=lambda one: one.data.numel(), default=None)
        if found is None:
            raise LaidOutAnew("an output could not be read, or lay otherwise, when the clock stopped")
        if source is None and found.source.mapped is not None and not self._apart:
            raise SubjectFailed("protocol", "an output lay in an input when the clock stopped, and does not any more")
        if source is not None:  # seen where it lies, so that it shows what it is: an input
            if not found.unchanged():
                raise SubjectFailed("protocol", "an output was written to after the clock had stopped")
            return self._read_now(leaf, size, source, entry)
        return _shown(found, leaf)

    def _read_now(self, leaf: TensorValue, size: int, source: Source | None, entry: DeviceHandle | None) -> Any:
        if source is not None:
            assert source.mapped is not None
            return view(source.mapped, leaf, 0)
        if entry is not None:
            return view(self._opened.open(entry).raw, leaf, leaf.offset - entry.base)
        return self._read_host(leaf.offset, leaf)

    # ---- host memory -------------------------------------------------------------------------------------------

    def _read_host(self, address: int, leaf: TensorValue) -> torch.Tensor:
        """A copy of an output in the worker's host memory; the same one where several outputs are the same memory.

        On the judge's device, where the worker has it there as well.
        """
        key = (address, leaf.dtype, leaf.shape, leaf.strides)
        if key not in self._copies:
            size = bytes_of_copy(leaf)
            self._copied_bytes += size
            if self._copied_bytes > self._memory_bytes:  # addresses cost a worker nothing, copies cost the judge
                raise ValueError(f"outputs of {self._copied_bytes} bytes, more than a worker may have")
            self._copies[key] = self._copy(address, leaf)
        return self._copies[key]

    def _copy(self, address: int, leaf: TensorValue) -> torch.Tensor:
        try:
            if not self._apart:
                return read_output(self._talk.pid, address, leaf)
            if self._room is None:
                self._room = torch.empty(_ROOM_BYTES, dtype=torch.uint8, pin_memory=True)
            return read_to_device(self._talk.pid, address, leaf, self._room, self._device)
        except PermissionError as error:
            if self._talk.could_be_read:
                raise SubjectFailed("protocol", "closed its memory to the judge") from error
            raise SandboxError(
                "the kernel does not let the judge read a worker's memory (process_vm_readv): "
                "allow ptrace between processes of one user, or run in a container with CAP_SYS_PTRACE"
            ) from error
        except OSError as error:
            raise ValueError(f"an output at an address that is not mapped: {error.strerror}") from error


def _shown(kept: Kept, leaf: TensorValue) -> Any:
    """What was kept of a tensor that is laid out so: all of it, or the elements that were picked out."""
    return view(kept.data, leaf, 0) if kept.places is None else kept.sampled()


class _Places:
    """Where outputs on the device can be read, by what a worker says: how much that is, it chooses."""

    def __init__(self, described: Described) -> None:
        self._handles = sorted(described.handles, key=lambda entry: entry.base)
        self._copies = {(copy.address, copy.size): copy.copied_to for copy in described.copies}

    def handle_of(self, address: int, size: int) -> DeviceHandle:
        """The device allocation that holds an output; of allocations none lies over another."""
        behind = bisect_right(self._handles, address, key=lambda entry: entry.base)
        for entry in self._handles[max(0, behind - 1) : behind]:
            if address + size <= entry.base + entry.size:
                return entry
        raise ValueError("a device output without a handle to the memory that holds it")

    def copy_of(self, address: int, size: int) -> int:
        """Where the copy of an output lies in the worker's host memory."""
        if (address, size) not in self._copies:
            raise ValueError("a device output without a copy of it on the host")
        return self._copies[address, size]


def _form(leaf: torch.Tensor) -> tuple[str, tuple[int, ...]]:
    return str(leaf.dtype).removeprefix("torch."), tuple(leaf.shape)


def _without_contents(leaf: TensorValue) -> torch.Tensor:
    """A tensor of that shape and dtype that takes no memory. Raises ValueError where there is none."""
    element_size(leaf.dtype)
    try:
        return torch.empty(leaf.shape, dtype=getattr(torch, leaf.dtype), device="meta")
    except RuntimeError as error:
        raise ValueError(f"no tensor of {leaf.dtype} can have the shape {leaf.shape}: {error}") from error
