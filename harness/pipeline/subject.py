"""A sandboxed worker as the judge's `Subject`: every call goes over the wire, with a deadline and a cap.

Whatever the worker does wrong becomes `SubjectFailed`: it is the candidate's failure, and data.
"""

import os
import time
from collections.abc import Sequence
from typing import Any

import torch

from harness.errors import DeviceError, SandboxError
from harness.judge.failure import SubjectFailed
from harness.judge.inputs import InputSets
from harness.judge.subject import Elsewhere, Opaque, Round
from harness.pipeline.conversation import Conversation
from harness.schema.problem import Precision
from harness.wire.memory import Driver, HostArena, device_bytes, element_size, read_process, view
from harness.wire.messages import (
    Attach,
    Attached,
    Attend,
    Attending,
    Construct,
    Constructed,
    Describe,
    Described,
    Detach,
    DeviceHandle,
    Done,
    Go,
    Prepare,
    Prepared,
    Release,
    Released,
)
from harness.wire.values import (
    FloatValue,
    MappingValue,
    OpaqueValue,
    SequenceValue,
    TensorValue,
    Value,
    decode,
    encode,
    tensors,
)

_SPIN_S = 1.0  # how long the judge waits awake for the end of a round


class WorkerSubject:
    """The candidate in a worker process that has loaded it. Implements `judge.subject.Subject`."""

    def __init__(
        self,
        conversation: Conversation,
        *,
        device: torch.device,
        init_arguments: list[Any],
        precision: Precision = "fp32",
        call_s: float,
    ) -> None:
        self._talk = conversation
        self._device = device
        self._init_arguments = init_arguments
        self._precision = precision
        self._call_s = call_s
        self._spin_s = _SPIN_S if device.type == "cuda" else 0.0
        self._arenas = 0
        self._sets: tuple[int, InputSets, int] | None = None
        self._done: Done | None = None
        self._opened: dict[str, int] = {}
        self._driver = Driver() if device.type == "cuda" else None
        self.substitutions: tuple[str, ...] = ()

    # ---- Subject -----------------------------------------------------------------------------------------------

    def construct(self, seed: int) -> dict[str, tuple[str, tuple[int, ...]]]:
        arguments, arena = self._shared_arguments()
        answer = self._talk.ask(
            Construct(seed=seed, arguments=arguments, arena=arena, precision=self._precision), Constructed
        )
        return {entry.name: (entry.dtype, entry.shape) for entry in answer.parameters}

    def attach(self, sets: InputSets) -> None:
        arena, base = self._attach(sets.arena)
        self._talk.ask(Prepare(arena=arena, slots=sets.values), Prepared)
        self._sets = (arena, sets, base)

    def detach(self) -> None:
        if self._sets is not None:
            self.release()
            self._talk.ask(Detach(arena=self._sets[0]), Released)
            self._sets = None

    def attend(self) -> None:
        if self._device.type == "cuda":  # on the CPU a waiting worker would take a core from the judge
            self._talk.ask(Attend(), Attending)

    def round(self, slots: Sequence[int]) -> Round:
        request = Go(slots=tuple(slots))
        started = time.monotonic_ns()
        answer, at_ns = self._talk.ask_timed(request, Done, seconds=self._call_s, spin_s=self._spin_s)
        if len(answer.addresses) != len(slots):
            raise SubjectFailed("protocol", f"answered {len(answer.addresses)} of {len(slots)} calls")
        self._done = answer
        return Round((at_ns - started) / 1e9, len(slots), answer.device_ms)

    def outputs(self, calls: Sequence[int]) -> list[Any]:
        assert self._done is not None
        answer = self._talk.ask(Describe(calls=tuple(calls)), Described)
        self.substitutions = answer.substitutions
        if len(answer.outputs) != len(calls):
            raise SubjectFailed("protocol", f"described {len(answer.outputs)} of {len(calls)} outputs")
        for call, output in zip(calls, answer.outputs, strict=True):
            named = self._done.addresses[call]
            if len(named) != len(tensors(output)) or any(
                leaf.offset != address for leaf, address in zip(tensors(output), named, strict=True)
            ):
                raise SubjectFailed("protocol", "described other outputs than it had when the clock stopped")
        try:
            return [self._read(output, answer.handles) for output in answer.outputs]
        except ValueError as error:
            raise SubjectFailed("protocol", f"described an output that cannot be: {error}") from error

    def release(self) -> None:
        self._close_opened()
        self._done = None
        self._talk.ask(Release(), Released)

    def close(self) -> None:
        """Unmap what was opened of the worker's memory. The worker itself is its owner's to end."""
        self._close_opened()

    # ---- sharing -----------------------------------------------------------------------------------------------

    def _attach(self, arena: Any) -> tuple[int, int]:
        self._arenas += 1
        kind: Any = "cuda" if self._device.type == "cuda" and not isinstance(arena, HostArena) else "host"
        descriptor = arena.descriptor()
        try:
            request = Attach(arena=self._arenas, size=arena.size, kind=kind)
            answer = self._talk.ask(request, Attached, descriptors=[descriptor])
        finally:
            os.close(descriptor)
        return self._arenas, answer.base

    def _shared_arguments(self) -> tuple[Value, int | None]:
        """The constructor's arguments; tensors among them go into a host arena of their own."""
        found: list[torch.Tensor] = []
        cursor = 0

        def place(value: torch.Tensor) -> TensorValue:
            nonlocal cursor
            found.append(value.detach().cpu().contiguous())
            offset, cursor = cursor, cursor + found[-1].numel() * found[-1].element_size() + 256 & ~255
            return TensorValue(
                dtype=str(value.dtype).removeprefix("torch."),
                shape=tuple(value.shape),
                strides=tuple(found[-1].stride()),
                offset=offset,
            )

        arguments = encode(self._init_arguments, place)
        if not found:
            return arguments, None
        arena = HostArena(cursor)
        for leaf, value in zip(tensors(arguments), found, strict=True):
            view(arena.bytes(), leaf, leaf.offset).copy_(value)
        number, _ = self._attach(arena)
        arena.close()
        return arguments, number

    # ---- reading -----------------------------------------------------------------------------------------------

    def _read(self, output: Value, handles: Sequence[DeviceHandle]) -> Any:
        """The output as the judge sees it. Raises ValueError for a description that cannot be true."""
        match output:
            case TensorValue():
                return self._read_tensor(output, handles)
            case OpaqueValue():
                return Opaque(output.type)
            case SequenceValue():
                items = [self._read(item, handles) for item in output.items]
                return items if output.kind == "list" else tuple(items)
            case MappingValue():
                return {key: self._read(item, handles) for key, item in output.items.items()}
            case FloatValue():
                return float.fromhex(output.value)
            case _:
                return decode(output, lambda leaf: None)

    def _read_tensor(self, leaf: TensorValue, handles: Sequence[DeviceHandle]) -> Any:
        if leaf.device != self._device.type:
            return Elsewhere(leaf.device)
        size = leaf.span * element_size(leaf.dtype)
        if len(leaf.shape) != len(leaf.strides):
            raise ValueError("shape and strides differ in length")
        if not leaf.elements:
            return torch.empty(leaf.shape, dtype=getattr(torch, leaf.dtype), device=self._device)
        if self._sets is not None:
            _, sets, base = self._sets
            if base <= leaf.offset and leaf.offset + size <= base + sets.arena.size:
                return view(sets.arena.bytes(), leaf, leaf.offset - base)
        if self._device.type == "cuda":
            return self._read_device(leaf, size, handles)
        return self._read_host(leaf, size)

    def _read_host(self, leaf: TensorValue, size: int) -> torch.Tensor:
        limit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if size > limit:
            raise ValueError(f"an output of {size} bytes")
        copy = torch.empty(size, dtype=torch.uint8)
        try:
            read_process(self._talk.pid, leaf.offset, copy)
        except PermissionError as error:
            raise SandboxError(
                "the kernel does not let the judge read a worker's memory (process_vm_readv): "
                "allow ptrace between processes of one user, or run in a container with CAP_SYS_PTRACE"
            ) from error
        except OSError as error:
            raise ValueError(f"an output at an address that is not mapped: {error.strerror}") from error
        found: torch.Tensor = view(copy, leaf, 0)
        return found

    def _read_device(self, leaf: TensorValue, size: int, handles: Sequence[DeviceHandle]) -> torch.Tensor:
        assert self._driver is not None
        for entry in handles:
            if entry.base <= leaf.offset and leaf.offset + size <= entry.base + entry.size:
                if entry.handle not in self._opened:
                    try:
                        self._opened[entry.handle] = self._driver.open_ipc(bytes.fromhex(entry.handle))
                    except DeviceError as error:
                        raise ValueError(f"a device handle that cannot be opened: {error}") from error
                start = self._opened[entry.handle] + leaf.offset - entry.base
                found: torch.Tensor = view(device_bytes(start, size, 0), leaf, 0)
                return found
        raise ValueError("a device output without a handle to the memory that holds it")

    def _close_opened(self) -> None:
        if self._driver is not None and self._opened:
            torch.cuda.synchronize()
            for address in self._opened.values():
                self._driver.close_ipc(address)
        self._opened.clear()
