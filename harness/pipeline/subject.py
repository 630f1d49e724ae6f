"""A sandboxed worker as the judge's `Subject`: every call goes over the wire, with a deadline and a cap.

Whatever the worker does wrong becomes `SubjectFailed`: it is the candidate's failure, and data.
"""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch

from harness.errors import DeviceError, SandboxError
from harness.judge.failure import SubjectFailed
from harness.judge.inputs import InputSets
from harness.judge.subject import Elsewhere, KernelUse, Opaque, Round, Trace, Unsettled
from harness.pipeline.conversation import Conversation
from harness.pipeline.kept import Kept, Mapping, Source, keep, mappings_of
from harness.sandbox import processes
from harness.schema.problem import Precision
from harness.schema.record import CompileMode
from harness.wire.memory import CopiedArena, Driver, HostArena, device_bytes, element_size, read_process, view
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
    HostCopy,
    Prepare,
    Prepared,
    Release,
    Released,
    Take,
    Taken,
    Traced,
)
from harness.wire.messages import Trace as TraceCalls
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
_SNAPSHOT_BYTES = 1 << 29
"""Of the outputs of a call that are larger than this only some elements are kept."""
_STOPPING_S = 0.5
"""What a worker's threads may take until they have all stopped; those in the hands of a driver take longest."""
_MOST_PASSES = 100
"""Looks at a worker's processes until none is new. Who leaves as soon as it has started another is new each time."""
_GONE = 1 << 62
_STRAY_CPU_NS = 500_000
"""CPU time that a process may use while it is stopped: a thread that was in the kernel's hands may end there first."""
_FEW_STRAYS, _STRAY_SHARE = 3, 0.1
"""How often more than that may be seen: a few times, or in so many of all freezes. Where a hypervisor takes a core away
from a thread that is just being stopped, the kernel counts that as the thread's time; medians do not mind so few."""


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
        memory_bytes: int,
        compile_mode: CompileMode | None = None,
        core: int | None = None,
    ) -> None:
        """`call_s` bounds one question, `memory_bytes` what of the worker's host memory is read for one output.

        `core` is the CPU that the model is called on in timed rounds.
        """
        self._talk = conversation
        self._device = device
        self._init_arguments = init_arguments
        self._precision = precision
        self._call_s, self._memory_bytes = call_s, memory_bytes
        self._compile_mode, self._core = compile_mode, core
        self._spin_s = _SPIN_S if device.type == "cuda" else 0.0
        self._arenas = 0
        self._sets: tuple[int, InputSets, int] | None = None
        self._has_contents = False
        self._done: Done | None = None
        self._frozen: dict[int, int] = {}
        self._freezes = self._strays = 0
        self._mappings: list[Mapping] = []
        self._layout: tuple[TensorValue, ...] = ()
        self._kept: dict[int, dict[int, list[Kept]]] = {}
        self._opened: dict[str, tuple[DeviceHandle, int]] = {}
        self._driver = Driver() if device.type == "cuda" else None
        self.substitutions: tuple[str, ...] = ()

    # ---- Subject -----------------------------------------------------------------------------------------------

    def construct(self, seed: int) -> dict[str, tuple[str, tuple[int, ...]]]:
        arguments, arena = self._shared_arguments()
        answer = self._talk.ask(
            Construct(
                seed=seed,
                arguments=arguments,
                arena=arena,
                precision=self._precision,
                compile_mode=self._compile_mode,
            ),
            Constructed,
            seconds=self._call_s,
        )
        return {entry.name: (entry.dtype, entry.shape) for entry in answer.parameters}

    def attach(self, sets: InputSets) -> None:
        self._freezes = self._strays = 0
        arena, base = self._attach(sets.arena)
        self._talk.ask(Prepare(arena=arena, slots=sets.values), Prepared)
        self._sets = (arena, sets, base)

    def detach(self) -> None:
        if self._sets is not None:
            self.release()
            self._close_opened()
            self._layout = ()
            self._talk.ask(Detach(arena=self._sets[0]), Released)
            self._sets = None

    def freeze(self) -> None:
        """Stop the worker and whatever it started. A worker that is gone by now shows at the next question."""
        if self._core is not None:  # only the thread that calls the model: whatever else there is may run elsewhere
            with suppress(OSError):
                os.sched_setaffinity(self._talk.pid, {self._core})
        stopped: list[int] = []
        passes = 0
        while fresh := [pid for pid in _family(self._talk.pid) if pid not in stopped]:
            for pid in fresh:  # who is stopped starts nobody: once nobody is new, all are
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
            stopped += fresh
            passes += 1
            if passes > _MOST_PASSES:
                raise SubjectFailed("protocol", "started processes faster than they could be stopped between rounds")
        self._frozen = _cpu_ns_once_stopped(stopped)

    def wake(self) -> None:
        self._thaw()
        self._give_contents()
        if self._device.type == "cuda":  # on the CPU a waiting worker would take a core from the judge
            self._talk.ask(Attend(), Attending)

    def round(self, slots: Sequence[int], *, seed: int) -> Round:
        self._give_contents()
        self._has_contents = False
        request = Go(slots=tuple(slots), seed=seed)
        started = time.monotonic_ns()
        answer, at_ns = self._talk.ask_timed(request, Done, seconds=self._call_s, spin_s=self._spin_s)
        if len(answer.addresses) != len(slots):
            raise SubjectFailed("protocol", f"answered {len(answer.addresses)} of {len(slots)} calls")
        self._done, self._kept = answer, {}
        return Round((at_ns - started) / 1e9, len(slots), answer.device_ms)

    def _give_contents(self) -> None:
        """Have the worker copy what was written for the next round, where it does not see it anyway; once a round."""
        arena = self._copied_arena()
        if arena is not None and not self._has_contents:
            assert self._sets is not None
            arena.send()
            self._talk.ask(Take(arena=self._sets[0]), Taken)
        self._has_contents = True

    def _copied_arena(self) -> CopiedArena | None:
        """The arena of the sets, where judge and worker each have memory of their own behind it."""
        arena = self._sets[1].arena if self._sets is not None else None
        return arena if isinstance(arena, CopiedArena) else None

    def snapshot(self, calls: Sequence[int]) -> None:
        assert self._done is not None
        if self._copied_arena() is not None:  # a flag says of such drivers that this cannot be done
            return
        whole = sum(leaf.span * element_size(leaf.dtype) for leaf in self._layout) <= _SNAPSHOT_BYTES
        self._locate_sets()
        for call in calls:
            addresses = self._done.addresses[call]
            self._kept[call] = {}
            if len(addresses) != len(self._layout):  # that of the outputs described last
                continue
            for address, leaf in zip(addresses, self._layout, strict=True):
                kept = self._keep(address, leaf, whole=whole)
                if kept is not None:  # several outputs may begin at one address
                    self._kept[call].setdefault(address, []).append(kept)

    def _keep(self, address: int, leaf: TensorValue, *, whole: bool) -> Kept | None:
        """What is at an address now; None where nothing can be, by what was described so far."""
        size = leaf.span * element_size(leaf.dtype)
        source = self._in_sets(address, size)
        if source is None and self._device.type == "cuda":
            source = self._in_allocation(address, size)
        elif source is None:
            source = Source(self._talk.pid, address)
        with suppress(OSError):  # a layout that changed: what is described afterwards tells
            return keep(source, leaf, whole=whole) if source is not None and leaf.elements else None
        return None

    def _in_allocation(self, address: int, size: int) -> Source | None:
        for held, mapped in self._opened.values():
            end = held.base + held.size
            if held.base <= address and address + size <= end:
                raw = device_bytes(mapped + address - held.base, end - address, 0)
                return Source(self._talk.pid, address, held.handle, raw)
        return None

    def _locate_sets(self) -> None:
        """Where the worker sees the sets. On the host by the kernel's account, as it may map them more than once."""
        self._mappings = []
        if self._sets is None:
            return
        _, sets, base = self._sets
        self._mappings = [Mapping(base, base + sets.arena.size, 0)]
        if isinstance(sets.arena, HostArena):
            with suppress(OSError):
                descriptor = sets.arena.descriptor()
                try:
                    self._mappings = mappings_of(self._talk.pid, descriptor)
                finally:
                    os.close(descriptor)

    def _in_sets(self, address: int, size: int) -> Source | None:
        for mapping in self._mappings:
            if mapping.start <= address and address + size <= mapping.end:
                assert self._sets is not None
                start = mapping.offset + address - mapping.start
                return Source(self._talk.pid, address, "", self._sets[1].arena.bytes()[start:])
        return None

    def survey(self, calls: Sequence[int]) -> None:
        if self._copied_arena() is not None:
            return
        if self._device.type != "cuda":
            self._described(calls[-1:])  # what lies on the host can be read wherever it is
            return
        answer = self._described(calls)
        with _as_described():
            for leaf in (leaf for output in answer.outputs for leaf in tensors(output)):
                size = leaf.span * element_size(leaf.dtype)
                if leaf.elements and leaf.device == "cuda" and self._in_sets(leaf.offset, size) is None:
                    entry = self._entry(leaf.offset, size, answer.handles)
                    assert entry is not None
                    self._open(entry)

    def outputs(self, calls: Sequence[int]) -> list[Any]:
        answer = self._described(calls)
        copied = self._copied_arena()
        if copied is not None:
            copied.take()
        with _as_described():
            return [
                self._read(output, answer, self._kept.get(call))
                for call, output in zip(calls, answer.outputs, strict=True)
            ]

    def _described(self, calls: Sequence[int]) -> Described:
        """What the worker says of the outputs of these calls, as far as it agrees with what it said before."""
        assert self._done is not None
        self._thaw()
        answer = self._talk.ask(Describe(calls=tuple(calls)), Described)
        self.substitutions = answer.substitutions
        self._locate_sets()
        if len(answer.outputs) != len(calls):
            raise SubjectFailed("protocol", f"described {len(answer.outputs)} of {len(calls)} outputs")
        for call, output in zip(calls, answer.outputs, strict=True):
            named = self._done.addresses[call]
            if len(named) != len(tensors(output)) or any(
                leaf.offset != address for leaf, address in zip(tensors(output), named, strict=True)
            ):
                raise SubjectFailed("protocol", "described other outputs than it had when the clock stopped")
        self._layout = tuple(tensors(answer.outputs[-1])) if answer.outputs else ()
        return answer

    def release(self, *, poison: bool = False, trim: bool = False) -> None:
        self._thaw()
        if trim:
            self._close_opened()
        self._done, self._kept = None, {}
        self._talk.ask(Release(poison=poison, trim=trim), Released)

    def trace(self, slots: Sequence[int]) -> Trace:
        self._thaw()
        answer = self._talk.ask(TraceCalls(slots=tuple(slots)), Traced, seconds=self._call_s)
        used = tuple(KernelUse(kernel.name, kernel.us, kernel.launches) for kernel in answer.kernels)
        return Trace(answer.us, len(slots), used)

    def close(self) -> None:
        """Unmap what was opened of the worker's memory. The worker itself is its owner's to end."""
        self._close_opened()

    def _thaw(self) -> None:
        frozen, self._frozen = self._frozen, {}
        alive = _cpu_ns(self._talk.pid) != _GONE  # or the next question tells how it ended
        ran = any(_cpu_ns(pid) > before_ns + _STRAY_CPU_NS for pid, before_ns in frozen.items())
        self._freezes += bool(frozen)
        self._strays += ran and alive  # or ended: by a timer of its own that sends SIGCONT or SIGKILL
        if self._strays > max(_FEW_STRAYS, self._freezes * _STRAY_SHARE):
            raise SubjectFailed("protocol", "ran while it was stopped between rounds")
        for pid in reversed(frozen):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    # ---- sharing -----------------------------------------------------------------------------------------------

    def _attach(self, arena: Any) -> tuple[int, int]:
        self._arenas += 1
        kind: Any = "host" if isinstance(arena, HostArena) else "copied" if isinstance(arena, CopiedArena) else "cuda"
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

    def _read(self, output: Value, described: Described, kept: dict[int, list[Kept]] | None) -> Any:
        """The output as the judge sees it: as it was kept, where there was a snapshot, else as it is now.

        Raises ValueError for a description that cannot be true, Unsettled for one that is not of what was kept.
        """
        match output:
            case TensorValue():
                return self._read_tensor(output, described, kept)
            case OpaqueValue():
                return Opaque(output.type)
            case SequenceValue():
                items = [self._read(item, described, kept) for item in output.items]
                return items if output.kind == "list" else tuple(items)
            case MappingValue():
                return {key: self._read(item, described, kept) for key, item in output.items.items()}
            case FloatValue():
                return float.fromhex(output.value)
            case _:
                return decode(output, lambda leaf: None)

    def _read_tensor(self, leaf: TensorValue, described: Described, kept: dict[int, list[Kept]] | None) -> Any:
        if leaf.device != self._device.type:
            return Elsewhere(leaf.device)
        size = leaf.span * element_size(leaf.dtype)
        if len(leaf.shape) != len(leaf.strides):
            raise ValueError("shape and strides differ in length")
        if not leaf.elements:
            return view(torch.empty(0, dtype=torch.uint8, device=self._device), leaf, 0)
        source = self._in_sets(leaf.offset, size)
        if self._copied_arena() is not None and source is None:
            return view(self._read_copy(leaf.offset, size, described.copies).to(self._device), leaf, 0)
        entry = self._entry(leaf.offset, size, described.handles) if source is None else None
        if kept is None:
            return self._read_now(leaf, size, source, entry)
        if entry is not None:
            self._open(entry)  # for the next time
        handle = entry.handle if entry else ""
        fitting = (one for one in kept.get(leaf.offset, ()) if one.covers(leaf) and one.source.handle == handle)
        found = next(fitting, None)
        if found is None:
            raise Unsettled
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
            return view(device_bytes(self._open(entry) + leaf.offset - entry.base, size, 0), leaf, 0)
        return view(self._read_host(leaf.offset, size), leaf, 0)

    def _entry(self, address: int, size: int, handles: Sequence[DeviceHandle]) -> DeviceHandle | None:
        """The device allocation that holds an output; None on the host."""
        if self._device.type != "cuda":
            return None
        for entry in handles:
            if entry.base <= address and address + size <= entry.base + entry.size:
                return entry
        raise ValueError("a device output without a handle to the memory that holds it")

    def _read_copy(self, address: int, size: int, copies: Sequence[HostCopy]) -> torch.Tensor:
        for copy in copies:
            if copy.address <= address and address + size <= copy.address + copy.size:
                return self._read_host(copy.copied_to + address - copy.address, size)
        raise ValueError("a device output without a copy of it on the host")

    def _read_host(self, address: int, size: int) -> torch.Tensor:
        """Bytes of the worker's host memory, shape (size,)."""
        if size > self._memory_bytes:  # reserved addresses cost a worker nothing, a copy of them does
            raise ValueError(f"an output of {size} bytes, more than a worker may have")
        copy = torch.empty(size, dtype=torch.uint8)
        try:
            read_process(self._talk.pid, address, copy)
        except PermissionError as error:
            raise SandboxError(
                "the kernel does not let the judge read a worker's memory (process_vm_readv): "
                "allow ptrace between processes of one user, or run in a container with CAP_SYS_PTRACE"
            ) from error
        except OSError as error:
            raise ValueError(f"an output at an address that is not mapped: {error.strerror}") from error
        return copy

    def _open(self, entry: DeviceHandle) -> int:
        """Where the allocation is mapped here; it stays so, because opening takes long and torch keeps its own."""
        assert self._driver is not None
        if entry.handle not in self._opened:
            stale = [known for known, (held, _) in self._opened.items() if _overlap(held, entry)]
            for known in stale:  # the worker gave that memory back and got other memory at its address
                torch.cuda.synchronize()
                self._driver.close_ipc(self._opened.pop(known)[1])
            try:
                self._opened[entry.handle] = (entry, self._driver.open_ipc(bytes.fromhex(entry.handle)))
            except DeviceError as error:
                raise ValueError(f"a device handle that cannot be opened: {error}") from error
        return self._opened[entry.handle][1]

    def _close_opened(self) -> None:
        if self._driver is not None and self._opened:
            torch.cuda.synchronize()
            for _, address in self._opened.values():
                self._driver.close_ipc(address)
        self._opened.clear()


@contextmanager
def _as_described() -> Iterator[None]:
    """Whatever of a description cannot be true is the worker's fault."""
    try:
        yield
    except ValueError as error:
        raise SubjectFailed("protocol", f"described an output that cannot be: {error}") from error


def _overlap(one: DeviceHandle, other: DeviceHandle) -> bool:
    return one.base < other.base + other.size and other.base < one.base + one.size


def _family(pid: int) -> list[int]:
    """A worker and what it started, as far as that can be seen at one moment."""
    found = [pid, *_orphans(pid)]
    return [*found, *(below for one in found for below in processes.descendants(one))]


def _cpu_ns(pid: int) -> int:
    """CPU time that all threads of a process have used, in nanoseconds; for one that is gone more than any can have."""
    try:
        return time.clock_gettime_ns((~pid << 3) | 2)  # the process's CPU clock, as clock_getcpuclockid(3) names it
    except OSError:
        return _GONE


def _cpu_ns_once_stopped(pids: Sequence[int]) -> dict[int, int]:
    """The CPU time of each process once all of its threads have stopped: a signal takes a moment to arrive.

    Those that have ended are left out: they are reaped at any moment.
    """
    deadline = time.monotonic() + _STOPPING_S
    while time.monotonic() < deadline and not all(processes.is_stopped(pid) for pid in pids):
        time.sleep(1e-4)
    return {pid: _cpu_ns(pid) for pid in pids if processes.usage(pid) is not None}


def _orphans(pid: int) -> list[int]:
    """What a worker's supervisor adopted of it: daemons. Its own helper stays in its own session, and is left alone."""
    with suppress(OSError):
        supervisor = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        session = os.getsid(supervisor)
        return [child for child in processes.children(supervisor) if child != pid and os.getsid(child) != session]
    return []
