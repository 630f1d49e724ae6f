"""A sandboxed worker as the judge's `Subject`: every call goes over the wire, with a deadline and a cap.

Whatever the worker does wrong becomes `SubjectFailed`: it is the candidate's failure, and data.
"""

import time
from collections import abc
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import torch

from harness.backends.hardware import Hardware
from harness.errors import SandboxError
from harness.judge.attached_inputs import AttachedInputs
from harness.judge.deadlines import Deadlines
from harness.judge.failure import LaidOutAnew, SubjectFailed
from harness.judge.held_worker import HeldWorker
from harness.judge.inputs import InputSets
from harness.judge.opened_memory import OpenedMemory
from harness.judge.output_layouts import OutputLayouts, as_described
from harness.judge.output_memory import OutputMemory
from harness.judge.reading import bytes_of_copy, read_output, spreads
from harness.judge.shared_arenas import SharedArenas
from harness.judge.snapshot import (
    Allocation,
    Gathered,
    Kept,
    Places,
    Source,
    gather,
    keep,
    places_of,
    shown_twice,
)
from harness.judge.subject import Elsewhere, KernelUse, Opaque, Round, Trace, Unsettled
from harness.judge.tensors import leaves
from harness.judge.worker_conversation import Conversation
from harness.schema.problem import Precision
from harness.schema.record import CompileMode
from harness.transport.configurations import described
from harness.transport.memory import (
    element_size,
    view,
)
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
from harness.transport.worker_messages import (
    Attend,
    Attending,
    Construct,
    Constructed,
    Describe,
    Described,
    DeviceHandle,
    Done,
    Go,
    HostCopy,
    Order,
    Release,
    Released,
    Taken,
    TakeWeights,
    Traced,
)
from harness.transport.worker_messages import Trace as TraceCalls

_SPIN_S = 1.0  # how long the judge waits awake for the end of a round
_SNAPSHOT_BYTES = 1 << 29
"""Of the outputs of a call that are larger than this only some elements are kept."""


class WorkerSubject:
    """The candidate in a worker process that has loaded it. Implements `judge.subject.Subject`."""

    def __init__(
        self,
        conversation: Conversation,
        *,
        hardware: Hardware,
        init_arguments: list[Any],
        precision: Precision = "fp32",
        call_s: float,
        memory_bytes: int,
        compile_mode: CompileMode | None = None,
        core: int | None = None,
        deadlines: Deadlines | None = None,
    ) -> None:
        """`call_s` bounds one question, `memory_bytes` what of its host memory is copied at once.

        `deadlines` are those of rounds and of the constructor; `call_s` bounds them where there are none.

        `hardware` is the device that the judge holds and the worker computes on. `core` is the CPU that the model is
        called on in timed rounds.
        """
        self._talk = conversation
        self._hardware, self._device, self._apart = hardware, hardware.device, hardware.apart
        self._init_arguments = init_arguments
        self._precision = precision
        self._call_s, self._memory_bytes = call_s, memory_bytes
        self._compile_mode = compile_mode
        self._deadlines, self._was_called = deadlines, False
        self._spin_s = _SPIN_S if self._apart else 0.0
        self._arenas = SharedArenas(conversation)
        self._inputs = AttachedInputs(conversation, self._arenas)
        self._done: Done | None = None
        self._held = HeldWorker(conversation, apart=self._apart, core=core)
        self._opened = OpenedMemory(hardware)
        self._layouts = OutputLayouts()
        self._memory = OutputMemory(
            conversation,
            inputs=self._inputs,
            layouts=self._layouts,
            opened=self._opened,
            apart=self._apart,
            memory_bytes=memory_bytes,
        )
        self._wanted: dict[int, Sequence[torch.Tensor | None]] = {}
        self._looked_for: list[tuple[tuple[TensorValue, ...], list[Places]]] = []
        self._gathered: list[Gathered] | None = None
        self._kept: dict[int, dict[int, list[Kept]]] = {}
        self._everywhere = torch.empty(0, dtype=torch.int64)
        self._copies: dict[tuple[object, ...], torch.Tensor] = {}
        self._copied_bytes = 0
        self.substitutions: tuple[str, ...] = ()
        self.weights: abc.Mapping[str, str] = {}
        self.cuda_error = 0

    # ---- Subject -----------------------------------------------------------------------------------------------

    def construct(self, seed: int) -> dict[str, tuple[str, tuple[int, ...]]]:
        arguments, arena = self._arenas.share([described(argument) for argument in self._init_arguments])
        seconds, why = self._call_s, ""
        if self._deadlines is not None:
            deadline = self._deadlines.of_construction()
            seconds, why = deadline.seconds, deadline.why
        answer = self._talk.ask(
            Construct(
                seed=seed,
                arguments=arguments,
                arena=arena,
                precision=self._precision,
                compile_mode=self._compile_mode,
            ),
            Constructed,
            seconds=seconds,
            why=why,
        )
        self._was_called = False
        self.weights = {entry.name: entry.sample for entry in answer.parameters}
        return {entry.name: (entry.dtype, entry.shape) for entry in answer.parameters}

    def take_weights(self, weights: dict[str, torch.Tensor]) -> None:
        values, arena = self._arenas.share(weights)
        self._talk.ask(TakeWeights(values=values, arena=arena), Taken, seconds=self._call_s)

    def attach(self, sets: InputSets) -> None:
        self._held.start_anew()
        self._inputs.attach(sets)

    def detach(self) -> None:
        if self._inputs.attached:
            self.release()
            self._opened.close()
            self._layouts.forget()
            self._inputs.detach()

    def freeze(self) -> None:
        self._held.stop()

    def settle(self) -> None:
        self._held.settle()

    def rests(self) -> bool:
        return self._held.rests()

    def wake(self) -> None:
        self._held.resume()
        self._inputs.give_contents()
        if self._apart:  # on the CPU a waiting worker would take a core from the judge
            self._talk.ask(Attend(), Attending)

    def round(
        self,
        slots: Sequence[int],
        *,
        seed: int,
        hold: bool = False,
        order: Order | None = None,
        spin_ms: float | None = None,
    ) -> Round:
        self._inputs.round_begins()
        self._held.round_begins()
        self._gathered, self._kept = None, {}
        self._layouts.overwritten_as({})
        request = Go(slots=tuple(slots), seed=seed, order=order, plain=self._inputs.plain_of(slots), spin_ms=spin_ms)
        gathers = hold and self._apart and self._inputs.copied_arena is None
        looked_for, self._looked_for = self._looked_for, []
        started = time.monotonic()
        stop = self._held.halt if hold else lambda: None
        seconds, why = self._call_s, ""
        if self._deadlines is not None:
            deadline = self._deadlines.of_round(len(slots), first=not self._was_called)
            seconds, why = deadline.seconds, deadline.why
        self._done = self._talk.ask_round(request, seconds=seconds, why=why, spin_s=self._spin_s, stop=stop)
        self._was_called = True
        if gathers:
            allocations = self._allocations()
            self._gathered = [gather(self._done.addresses, layout, at, allocations) for layout, at in looked_for]
            self._hardware.wait()
        device_ms = self._done.device_ms if self._apart else None
        gathered = any(one.rows for one in self._gathered or ())
        return Round(time.monotonic() - started, len(slots), device_ms, gathered)

    def look_at(self, places: abc.Mapping[int, Sequence[torch.Tensor | None]]) -> None:
        self._wanted = dict(places)

    def look_for(self, calls: int) -> None:
        if self._apart and self._inputs.copied_arena is None:
            self._looked_for = [(layout, self._places(layout, calls)) for layout in self._layouts.remembered]

    def _wanted_of(self, call: int, index: int) -> torch.Tensor | None:
        wanted = self._wanted.get(call, ())
        return wanted[index] if index < len(wanted) else None

    def _places(self, layout: Sequence[TensorValue], calls: int) -> list[Places]:
        """Where to look in each output of so many calls that are laid out like this."""
        return [
            places_of(leaf, self._device, calls, {call: self._wanted_of(call, index) for call in self._wanted})
            for index, leaf in enumerate(layout)
        ]

    def _allocations(self) -> list[Allocation]:
        """Device memory that outputs may lie in, by its addresses in the worker."""
        return [*self._opened.allocations, *self._inputs.allocations]

    def snapshot(self, calls: Sequence[int]) -> None:
        assert self._done is not None
        if self._inputs.copied_arena is not None:  # a flag says of such drivers that this cannot be done
            return
        if self._apart:
            self._kept = {call: self._of_gathered(call) for call in calls}
            return
        whole = sum(map(bytes_of_copy, self._layouts.newest)) <= _SNAPSHOT_BYTES
        self._inputs.locate()
        for call in calls:
            addresses = self._done.addresses[call]
            self._kept[call] = {}
            if len(addresses) != len(self._layouts.newest):  # that of the outputs described last
                raise Unsettled
            for index, (address, leaf) in enumerate(zip(addresses, self._layouts.newest, strict=True)):
                kept = self._keep(address, leaf, whole=whole, wanted=self._wanted_of(call, index))
                if kept is not None:  # several outputs may begin at one address
                    self._kept[call].setdefault(address, []).append(kept)
        self._require_memory_of_its_own()
        if self._held.ran():
            raise Unsettled

    def spare(self, places: frozenset[int]) -> None:
        self._memory.spare(places)

    def shares_outputs(self) -> bool:
        assert self._done is not None
        return self._memory.is_shared(self._done)

    def aside_s(self) -> float:
        return self._held.aside_s()

    def spoil(self) -> None:
        if self._done is not None and self._inputs.copied_arena is None:
            self._memory.spoil(self._done)

    def _require_memory_of_its_own(self) -> None:
        """Raises SubjectFailed where an output that was kept is fewer pages than it seems."""
        ranges = {
            (address, address + kept.layout.span * element_size(kept.layout.dtype))
            for found in self._kept.values()
            for address, several in found.items()
            for kept in several
        }
        with suppress(OSError):  # it is gone, which the next question tells
            if shown_twice(self._talk.pid, sorted(ranges)):
                raise SubjectFailed("protocol", "an output shows the same memory at several addresses")

    def _of_gathered(self, call: int) -> dict[int, list[Kept]]:
        """What was read of a call's outputs on the device, by address. Raises Unsettled where that is not all."""
        assert self._done is not None
        found: dict[int, list[Kept]] = {}
        for gathered in self._gathered or ():
            for address, kept in gathered.of(call).items():
                found.setdefault(address, []).extend(kept)
        named = self._done.addresses[call]
        alike = [layout for layout in self._layouts.remembered if len(layout) == len(named)]
        for index, address in enumerate(named):
            if address not in found and (not alike or any(layout[index].elements for layout in alike)):
                raise Unsettled
        return found

    def _keep(self, address: int, leaf: TensorValue, *, whole: bool, wanted: torch.Tensor | None) -> Kept | None:
        """What is at an address of the host now; None where nothing can be, by what was described so far."""
        source = self._inputs.part_at(address, leaf.span * element_size(leaf.dtype)) or Source(self._talk.pid, address)
        with suppress(OSError):  # what is described afterwards tells why
            if not leaf.elements:
                return None
            if whole and spreads(leaf):
                with suppress(ValueError):  # elements over each other: some places tell
                    return self._picked_out(source, leaf)
            return keep(source, leaf, whole=whole and not spreads(leaf), wanted=wanted)
        return None

    def _picked_out(self, source: Source, leaf: TensorValue) -> Kept:
        """All elements of an output that lie far apart: how they lie is the candidate's choice, what is seen is not."""
        elements = read_output(self._talk.pid, source.address, leaf).contiguous()
        if self._everywhere.numel() != leaf.elements:
            self._everywhere = torch.arange(leaf.elements)
        return Kept(source, leaf, elements.view(torch.uint8).view(leaf.elements, -1), self._everywhere)

    def survey(self, calls: Sequence[int]) -> None:
        if self._inputs.copied_arena is not None:
            return
        if not self._apart:
            self._described(calls[-1:])  # what lies on the host can be read wherever it is
            return
        answer = self._described(calls)
        with as_described():
            for leaf in (leaf for output in answer.outputs for leaf in tensors(output)):
                size = leaf.span * element_size(leaf.dtype)
                if not leaf.elements or leaf.device != self._device.type:
                    continue
                if self._inputs.part_at(leaf.offset, size) is None:
                    entry = self._entry(leaf.offset, size, answer.handles)
                    assert entry is not None
                    self._opened.open(entry)

    def outputs(self, calls: Sequence[int], *, like: Any = None) -> list[Any]:
        answer = self._described(calls)
        copied = self._inputs.copied_arena
        if copied is not None:
            copied.take()
        self._copies, self._copied_bytes = {}, 0
        try:
            with as_described():
                return [
                    self._read_output(output, answer, self._kept.get(call), like)
                    for call, output in zip(calls, answer.outputs, strict=True)
                ]
        finally:
            self._copies = {}

    def _read_output(self, output: Value, described: Described, kept: dict[int, list[Kept]] | None, like: Any) -> Any:
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
        return self._read(output, lambda leaf: self._read_tensor(leaf, described, kept))

    def _described(self, calls: Sequence[int]) -> Described:
        """What the worker says of the outputs of these calls, as far as it agrees with what it said before."""
        assert self._done is not None
        held = self._held.holds
        self._held.resume()
        answer = self._talk.ask(Describe(calls=tuple(calls)), Described)
        if held and not self._apart:
            self.freeze()  # until it is asked again: nothing else of it is wanted meanwhile
        self.substitutions, self.cuda_error = answer.substitutions, answer.cuda_error
        self._inputs.locate()
        self._layouts.learn(calls, answer.outputs, self._done)
        return answer

    def release(self, *, poison: bool = False, trim: bool = False) -> None:
        self._held.resume()
        if trim:
            self._opened.close()
        self._done, self._kept = None, {}
        self._talk.ask(Release(poison=poison, trim=trim), Released)

    def trace(self, slots: Sequence[int]) -> Trace:
        self._held.resume()
        answer = self._talk.ask(TraceCalls(slots=tuple(slots)), Traced, seconds=self._call_s)
        used = tuple(KernelUse(kernel.name, kernel.us, kernel.launches) for kernel in answer.kernels)
        return Trace(answer.us, len(slots), used)

    def close(self) -> None:
        """Unmap what was opened of the worker's memory. The worker itself is its owner's to end."""
        self._opened.close()

    def end(self) -> None:
        self._opened.close()
        self._talk.end()

    # ---- reading -----------------------------------------------------------------------------------------------

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

    def _read_tensor(self, leaf: TensorValue, described: Described, kept: dict[int, list[Kept]] | None) -> Any:
        size = leaf.span * element_size(leaf.dtype)
        if len(leaf.shape) != len(leaf.strides):
            raise ValueError("shape and strides differ in length")
        if not leaf.elements:
            return view(torch.empty(0, dtype=torch.uint8, device=self._device), leaf, 0)
        source = self._inputs.part_at(leaf.offset, size)
        if self._inputs.copied_arena is not None and source is None:
            return self._read_copy(leaf, size, described.copies).to(self._device)
        entry = self._entry(leaf.offset, size, described.handles) if source is None else None
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
        return view(found.data, leaf, 0) if found.places is None else found.sampled()

    def _read_now(self, leaf: TensorValue, size: int, source: Source | None, entry: DeviceHandle | None) -> Any:
        if source is not None:
            assert source.mapped is not None
            return view(source.mapped, leaf, 0)
        if entry is not None:
            return view(self._opened.open(entry).raw, leaf, leaf.offset - entry.base)
        return self._read_host(leaf.offset, leaf)

    def _entry(self, address: int, size: int, handles: Sequence[DeviceHandle]) -> DeviceHandle | None:
        """The device allocation that holds an output; None on the host."""
        if not self._apart:
            return None
        for entry in handles:
            if entry.base <= address and address + size <= entry.base + entry.size:
                return entry
        raise ValueError("a device output without a handle to the memory that holds it")

    def _read_copy(self, leaf: TensorValue, size: int, copies: Sequence[HostCopy]) -> torch.Tensor:
        for copy in copies:
            if copy.address <= leaf.offset and leaf.offset + size <= copy.address + copy.size:
                return self._read_host(copy.copied_to + leaf.offset - copy.address, leaf)
        raise ValueError("a device output without a copy of it on the host")

    def _read_host(self, address: int, leaf: TensorValue) -> torch.Tensor:
        """A copy of an output in the worker's host memory; the same one where several outputs are the same memory."""
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
            return read_output(self._talk.pid, address, leaf)
        except PermissionError as error:
            if self._talk.could_be_read:
                raise SubjectFailed("protocol", "closed its memory to the judge") from error
            raise SandboxError(
                "the kernel does not let the judge read a worker's memory (process_vm_readv): "
                "allow ptrace between processes of one user, or run in a container with CAP_SYS_PTRACE"
            ) from error
        except OSError as error:
            raise ValueError(f"an output at an address that is not mapped: {error.strerror}") from error


def _form(leaf: torch.Tensor) -> tuple[str, tuple[int, ...]]:
    return str(leaf.dtype).removeprefix("torch."), tuple(leaf.shape)


def _without_contents(leaf: TensorValue) -> torch.Tensor:
    """A tensor of that shape and dtype that takes no memory. Raises ValueError where there is none."""
    element_size(leaf.dtype)
    try:
        return torch.empty(leaf.shape, dtype=getattr(torch, leaf.dtype), device="meta")
    except RuntimeError as error:
        raise ValueError(f"no tensor of {leaf.dtype} can have the shape {leaf.shape}: {error}") from error
