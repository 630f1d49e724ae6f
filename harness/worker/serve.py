"""The worker's loop: load a candidate, build its model, call it when told to.

Everything here runs in the candidate's own process and may be tampered with by it. Nothing here is relied on for a
verdict or a time: the judge keeps the clock, the expected outputs, the seeds to come and the tolerances to itself.
"""

import ctypes
import errno
import gc
import os
import shutil
import sys
import time
import traceback
import types
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import torch

from harness.errors import ProtocolError
from harness.schema.base import encodable
from harness.schema.build import Artifact, BuildRequest
from harness.transport import Channel, Closed
from harness.transport.configurations import restored
from harness.transport.memory import Arena, CopiedArena, DeviceArena, Driver, HostArena, view
from harness.transport.steps_page import (
    ADDRESSES,
    ANSWERED,
    MOST_TENSORS,
    OVER,
    PLAIN,
    SEED,
    SHOWN,
    TENSORS,
    TEXT_BYTES,
    number_of,
    slot_of,
    text_in,
)
from harness.transport.values import TensorValue, decode, digest_of_plain, encode, sample_of, unpacked_plain, with_plain
from harness.transport.worker_messages import (
    REQUEST,
    Attach,
    Attached,
    Attend,
    Attending,
    Build,
    Built,
    Construct,
    Constructed,
    Describe,
    Described,
    Detach,
    DeviceHandle,
    DeviceOpened,
    Done,
    Go,
    HostCopy,
    Load,
    Loaded,
    OpenDevice,
    Order,
    ParameterShape,
    Prepare,
    Prepared,
    Raised,
    Ready,
    Release,
    Released,
    Steps,
    Take,
    Taken,
    TakeWeights,
    Trace,
    Traced,
)
from harness.worker import capture
from harness.worker.cuda_errors import last_error_of_cuda
from harness.worker.emulation import Emulation, span_of
from harness.worker.faults import kind_of
from harness.worker.interpreted import InterpretedTriton
from harness.worker.substitute import CudaAsCpu
from harness.worker.trace import traced

T = TypeVar("T")
_data_ptr = torch.Tensor.data_ptr
_synchronize = torch.cuda.synchronize  # as it was before candidate code could patch it
_now = time.perf_counter
_DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
_ATTENTION_S = 0.05  # the round follows at once
_LOOKS_AWAKE, _NAP_S = 100_000, 5e-5
"""So many looks at a word, some 5 ms, come without a pause: by then contents of a short call are shown. Who naps leaves
its core to others."""
_POISON = 0xFF  # not a number in every floating type, -1 in every signed one
_CYCLES = 5_000_000  # of the device, some milliseconds
_LOOPS = 6_000  # some 0.3 ms
_SOURCE_FILE = "candidate.py"
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_LARGEST_ON_THE_HEAP = 32 << 20  # the most that glibc takes for M_MMAP_THRESHOLD on 64 bits


def main(descriptors: Sequence[int]) -> None:
    """Entry of a worker process: serve the judge on the first descriptor until it hangs up."""
    _keep_freed_memory()
    with Channel.from_descriptor(descriptors[0]) as channel:
        channel.send(Ready())
        Server(channel).run()


def _keep_freed_memory() -> None:
    """Have glibc's malloc keep what is freed instead of giving it back to the kernel, as far as it lets itself be told.

    Else it depends on what lies at the end of the heap whether the outputs of a round are new pages, each of which
    costs a fault: on a CPU the same calls took two and a half times as long in one process as in another.
    """
    with suppress(AttributeError):  # other C libraries have no such thing
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, _LARGEST_ON_THE_HEAP)
        mallopt(_M_TRIM_THRESHOLD, -1)


class _CandidateError(Exception):
    """Candidate code raised; carries what is told to the judge."""

    def __init__(self, raised: Raised) -> None:
        super().__init__(raised.message)
        self.raised = raised


class Server:
    """The state of one candidate: its module, its model, the arenas and the inputs laid over them."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._class: Any = None
        self._model: Any = None
        self._device = torch.device("cpu")
        self._arenas: dict[int, Arena] = {}
        self._bases: dict[int, int] = {}
        self._inputs: list[list[Any]] = []
        self._outputs: list[Any] = []
        self._host_copies: list[torch.Tensor] = []
        self._host_room: list[torch.Tensor] = []
        self._substitute: CudaAsCpu | None = None
        self._emulation: Emulation | None = None
        self._interpreted: InterpretedTriton | None = None
        self._events: tuple[Any, Any] | None = None
        self._last_error: Callable[[], int] = lambda: 0
        self._spin_s = 0.0
        self._cycles_per_ms = 0.0

    def run(self) -> None:
        answers: dict[type, Callable[[Any], Any]] = {
            OpenDevice: self._open_device,
            Load: self._load,
            Construct: self._construct,
            Prepare: self._prepare,
            Take: self._take,
            TakeWeights: self._take_weights,
            Attend: self._attend,
            Go: self._go,
            Steps: self._steps,
            Describe: self._describe,
            Release: self._release,
            Trace: self._trace,
            Detach: self._detach,
        }
        while True:
            try:
                request, frame = self._channel.receive_frame(REQUEST, spin_s=self._spin_s)
            except Closed:
                return
            self._spin_s = 0.0
            try:
                if isinstance(request, Attach):
                    answer: Any = self._attach(request, frame.descriptors)
                else:
                    answer = answers[type(request)](request)
            except _CandidateError as error:
                answer = error.raised
            except Closed:  # while it waited for a step
                return
            if isinstance(answer, Done):
                self._channel.send_text(answer.packed())
            elif answer is not None:
                self._channel.send(answer)

    # ---- loading -----------------------------------------------------------------------------------------------

    def _open_device(self, request: OpenDevice) -> DeviceOpened:
        os.environ.update(request.visible)
        _blame("load", lambda: torch.empty(1, device="cuda"))
        return DeviceOpened()

    def _load(self, request: Load) -> Loaded:
        os.environ.update(request.visible)
        if request.threads:
            torch.set_num_threads(request.threads)
        if request.device == "cuda":
            self._device = torch.device("cuda", 0)
            self._last_error = last_error_of_cuda()
        if request.emulate:
            self._substitute = CudaAsCpu()
            self._substitute.__enter__()
            self._emulation = Emulation(request.source)
            self._last_error = self._emulation.last_error
            self._interpreted = InterpretedTriton(
                self._substitute.note, call_s=request.call_s, source_file=str(Path(_SOURCE_FILE).resolve())
            )
            self._interpreted.install()
        capture.install(self._build)
        Path(_SOURCE_FILE).write_text(request.source)
        module = types.ModuleType("candidate")
        module.__file__ = str(Path(_SOURCE_FILE).resolve())
        sys.modules["candidate"] = module

        def load() -> Any:
            code = compile(request.source, module.__file__ or _SOURCE_FILE, "exec")
            exec(code, module.__dict__)
            return getattr(module, request.class_name, None)

        self._class = _blame("load", load)
        if self._class is None:
            raise _CandidateError(
                Raised(
                    during="load",
                    kind="missing",
                    type="",
                    message=f"the module defines no {request.class_name} once it is imported",
                    traceback="",
                )
            )
        return Loaded()

    def _build(self, request: BuildRequest) -> Artifact:
        self._channel.send(Build(request=request))
        answer, frame = self._channel.receive_frame(REQUEST)
        if not isinstance(answer, Built):
            raise ProtocolError(f"expected the answer to a build, got {answer.say!r}")
        if answer.artifact is None:
            assert answer.failure is not None
            raise capture.BuildFailed(request.name, answer.failure)
        artifact = _own_copy(answer.artifact, frame.descriptors)
        if self._emulation is not None:
            self._emulation.add(request, artifact)
        return artifact

    def _attach(self, request: Attach, descriptors: Sequence[int]) -> Attached:
        (descriptor,) = descriptors
        torch.empty(1, device=self._device)  # makes the primary context current, which the driver's calls need
        if request.kind == "cuda":
            self._arenas[request.arena] = DeviceArena(request.size, 0, descriptor)
        elif request.kind == "copied":
            self._arenas[request.arena] = CopiedArena(request.size, self._device, descriptor)
        else:
            self._arenas[request.arena] = HostArena(request.size, descriptor)
        self._bases[request.arena] = _data_ptr(self._arenas[request.arena].bytes())
        return Attached(base=self._bases[request.arena])

    def _construct(self, request: Construct) -> Constructed:
        described = decode(request.arguments, self._tensor_in(request.arena))

        def construct() -> Any:
            arguments = [restored(argument) for argument in described]
            torch.manual_seed(request.seed)
            with torch.no_grad(), self._device:
                model = self._class(*arguments)
            if request.precision != "fp32":
                model = model.to(_DTYPES[request.precision])
            model = model.to(self._device)
            return torch.compile(model, mode=request.compile_mode) if request.compile_mode else model

        self._outputs = []
        self._model = None
        self._model = _blame("construct", construct)
        return Constructed(parameters=_blame("construct", lambda: _parameters(self._model)))

    def _take_weights(self, request: TakeWeights) -> Taken:
        values = decode(request.values, self._tensor_in(request.arena))

        def take() -> Taken:
            named = dict([*self._model.named_parameters(), *self._model.named_buffers()])
            with torch.no_grad():
                for name, value in values.items():
                    named[name].copy_(value)
                if self._device.type == "cuda":
                    _synchronize()
            values.clear()
            if request.arena is not None:
                del self._bases[request.arena]
                self._arenas.pop(request.arena).close()
            return Taken()

        return _blame("construct", take)

    def _tensor_in(self, arena: int | None) -> Callable[[TensorValue], torch.Tensor]:
        raw = None if arena is None else self._arenas[arena].bytes()

        def tensor(value: TensorValue) -> torch.Tensor:
            found: torch.Tensor = view(raw, value, value.offset)
            return found

        return tensor

    # ---- calling -----------------------------------------------------------------------------------------------

    def _prepare(self, request: Prepare) -> Prepared:
        tensor = self._tensor_in(request.arena)
        self._inputs = [decode(slot, tensor) for slot in request.slots]
        if self._emulation is not None and self._interpreted is not None:
            self._emulation.know_inputs(_leaves(self._inputs))
            self._interpreted.know_inputs(map(span_of, _leaves(self._inputs)))
        return Prepared()

    def _take(self, request: Take) -> Taken:
        arena = self._arenas[request.arena]
        assert isinstance(arena, CopiedArena)
        arena.take(request.parts)
        return Taken()

    def _attend(self, _: Attend) -> Attending:
        self._spin_s = _ATTENTION_S
        return Attending()

    def _go(self, request: Go) -> Done:
        gc.disable()  # when it would run is chance, which differs from process to process: between rounds it does
        self._outputs = outputs = [] if request.spin_ms is None else self._outputs
        if request.plain is not None:
            self._take_plain(request.slots, request.plain)
        inputs, model = self._inputs, self._model
        on_device = self._device.type == "cuda"
        if on_device and self._events is None:
            self._events = (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))

        def calls() -> Done:
            self._seed(request.seed)
            with torch.no_grad():
                if self._events:
                    self._events[0].record()
                if request.spin_ms is not None:
                    self._keep_busy(request.spin_ms)
                else:
                    for slot in request.slots:
                        outputs.append(_settled(model(*inputs[slot])))
                if self._events:
                    self._events[1].record()
                    _synchronize()
                ends = [_end_of(output) for output in outputs]
            return Done(
                addresses=tuple(addresses for addresses, _, _ in ends),
                extents=tuple(extents for _, extents, _ in ends),
                plain=tuple(plain for _, _, plain in ends),
                device_ms=self._events[0].elapsed_time(self._events[1]) if self._events else None,
            )

        return _blame("call", calls) if self._emulation is None else self._emulated(calls, request.order)

    def _steps(self, request: Steps) -> Done:
        """Answer calls until there are no more. All that need not wait for a call's contents is done before."""
        gc.disable()
        self._outputs = []
        self._channel.send(Attending())
        page = self._arenas[request.page]
        assert isinstance(page, HostArena)
        return _blame("call", lambda: self._call_at_sight(page.words(), request.seed, empty=request.empty))

    def _call_at_sight(self, words: memoryview, seed: int | None, *, empty: bool = False) -> Done:
        """Answer calls as `steps_page` has them. On a device what is said of an output comes once it is there, for good
        measure: when it is the judge finds out itself.
        """
        inputs, model, outputs = self._inputs, self._model, self._outputs
        on_device, word = self._device.type == "cuda", 0  # as it was when this was asked
        end: tuple[tuple[int, ...], tuple[int, ...], int] = ((), (), 0)
        with torch.no_grad():
            while True:
                if seed is not None:
                    self._seed(seed)
                word = _word_after(word, words)
                if word == OVER:
                    return Done(addresses=(end[0],), extents=(end[1],), plain=(end[2],))
                if seed is None:
                    self._seed(words[SEED])
                before = outputs.pop() if outputs else None
                slot = slot_of(word)
                if size := words[TEXT_BYTES]:
                    self._take_plain([slot], bytes(text_in(words)[:size]).decode())
                if empty and before is not None:
                    output = _settled(before)
                else:
                    before = None
                    output = _settled(model(*inputs[slot]))
                if on_device:
                    _synchronize()
                end = _end_of(output)
                words[TENSORS], words[PLAIN] = len(end[0]), end[2]
                for place, address in enumerate(end[0][:MOST_TENSORS], ADDRESSES):
                    words[place] = address
                words[ANSWERED] = number_of(word)
                outputs.append(output)
                del output, before

    def _keep_busy(self, ms: float) -> None:
        """Queue a kernel that runs for about so long on one thread of the device."""
        if not self._cycles_per_ms:
            began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            began.record()
            torch.cuda._sleep(_CYCLES)
            ended.record()
            _synchronize()
            self._cycles_per_ms = _CYCLES / began.elapsed_time(ended)
        torch.cuda._sleep(int(ms * self._cycles_per_ms))

    def _take_plain(self, slots: Sequence[int], plain: str) -> None:
        """Put what is no tensor in the place of what slots had there."""
        for slot, values in zip(slots, unpacked_plain(plain), strict=True):
            self._inputs[slot] = with_plain(self._inputs[slot], iter(values))

    def _emulated(self, calls: Callable[[], Done], order: Order | None) -> Done:
        assert self._emulation is not None
        assert self._interpreted is not None
        self._emulation.run_in(order)
        self._interpreted.begin(order)
        try:
            return _blame("call", calls)
        except _CandidateError as error:
            raise _CandidateError(self._emulation.explained(error.raised)) from None
        finally:
            self._interpreted.end()
            self._emulation.run_in(None)

    def _describe(self, request: Describe) -> Described:
        handles: dict[int, DeviceHandle] = {}
        copies: list[HostCopy] = []
        copied = [arena for arena in self._arenas.values() if isinstance(arena, CopiedArena)]
        for arena in copied:
            arena.send(request.parts)

        def tensor(value: torch.Tensor) -> TensorValue:
            if value.numel() and not self._in_arena(value):
                if copied:
                    copies.append(self._host_copy(value))
                elif self._device.type == "cuda" and value.is_cuda:
                    _add_handle(handles, _data_ptr(value))
            return TensorValue(
                dtype=str(value.dtype).removeprefix("torch."),
                shape=tuple(value.shape),
                strides=tuple(value.stride()),
                offset=_data_ptr(value),
                device=self._kind_of(value),
            )

        outputs = _blame("call", lambda: tuple(encode(self._outputs[call], tensor) for call in request.calls))
        substitutions = self._substitute.substitutions if self._substitute else ()
        return Described(
            outputs=outputs,
            handles=tuple(handles.values()),
            copies=tuple(copies),
            substitutions=substitutions,
            cuda_error=self._last_error(),
        )

    def _host_copy(self, value: torch.Tensor) -> HostCopy:
        """A copy of what a tensor's elements span, kept until its outputs are let go of.

        It lies where one of the round before lay, if that was as large: new memory has to be mapped first, which took
        longer than the copy.
        """
        span = 1 + sum((size - 1) * stride for size, stride in zip(value.shape, value.stride(), strict=True))
        lies = value.as_strided((span,), (1,)).detach()
        size = _bytes(lies)
        at = next((at for at, room in enumerate(self._host_room) if len(room) == size), None)
        room = torch.empty(size, dtype=torch.uint8) if at is None else self._host_room.pop(at)
        self._host_copies.append(room)
        room.copy_(lies.view(torch.uint8))
        return HostCopy(address=_data_ptr(value), size=size, copied_to=_data_ptr(room))

    def _in_arena(self, value: torch.Tensor) -> bool:
        address = _data_ptr(value)
        return any(base <= address < base + self._arenas[name].size for name, base in self._bases.items())

    def _kind_of(self, value: torch.Tensor) -> Any:
        # Under emulation every tensor lies on the CPU and calls itself a CUDA tensor: it is where it should be.
        if self._substitute is not None:
            return "cpu"
        return value.device.type if value.device.type in ("cpu", "cuda") else "other"

    def _seed(self, seed: int) -> None:
        torch.default_generator.manual_seed(seed)
        if self._device.type == "cuda":
            torch.cuda.default_generators[0].manual_seed(seed)

    def _release(self, request: Release) -> Released:
        sizes = [_bytes(value) for value in _leaves(self._outputs)] if request.poison else []
        self._outputs = []
        if request.trim:
            self._host_room, self._host_copies = [], []
        elif self._host_copies:
            self._host_room, self._host_copies = self._host_copies, []
        poison = [torch.full((size,), _POISON, dtype=torch.uint8, device=self._device) for size in sizes]
        del poison
        if self._device.type == "cuda" and (request.poison or request.trim):
            _synchronize()
            if request.trim:
                torch.cuda.empty_cache()
        gc.collect(1)
        gc.enable()
        return Released(loop_s=_loop_s() if request.loops else 0.0)

    def _trace(self, request: Trace) -> Traced:
        def calls() -> Traced:
            with torch.no_grad():
                return traced(lambda: [self._model(*self._inputs[slot]) for slot in request.slots], self._device)

        return _blame("call", calls)

    def _detach(self, request: Detach) -> Released:
        self._outputs, self._inputs = [], []
        arena = self._arenas.pop(request.arena)
        del self._bases[request.arena]
        if self._device.type == "cuda":
            _synchronize()
        arena.close()
        return Released()


def _loop_s() -> float:
    """Seconds of a loop of plain Python: how fast the core is at the moment that launches kernels here."""
    started, total = _now(), 0
    for number in range(_LOOPS):
        total += number * number
    return _now() - started


def _leaves(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for item in value for leaf in _leaves(item)] if isinstance(value, list | tuple) else []


def _bytes(value: torch.Tensor) -> int:
    """Bytes that a tensor takes: of an expanded one less than its elements would."""
    return min(value.numel() * value.element_size(), value.untyped_storage().nbytes())


def _own_copy(artifact: Artifact, descriptors: Sequence[int]) -> Artifact:
    """The artifact as files of the worker's own: the cache, with the work of others in it, stays out of sight."""
    path = Path(f"{artifact.key}.so").resolve()
    library = Path(Path(artifact.library).name).resolve() if artifact.library else None
    for descriptor, place in zip(descriptors, filter(None, (path, library)), strict=True):
        with open(descriptor, "rb") as shared_object:
            if not place.exists():  # the library, by an artifact before
                with place.open("wb") as copy:
                    shutil.copyfileobj(shared_object, copy)
    return artifact.model_copy(update={"path": str(path), "library": library and str(library)})


def _parameters(model: Any) -> tuple[ParameterShape, ...]:
    named = [*model.named_parameters(), *model.named_buffers()]
    return tuple(
        ParameterShape(
            name=name,
            dtype=str(value.dtype).removeprefix("torch."),
            shape=tuple(value.shape),
            sample=sample_of(value),
        )
        for name, value in named
    )


def _word_after(before: int, words: memoryview) -> int:
    """The word that asks for a call, once it is another one than before."""
    for _ in range(_LOOKS_AWAKE):
        if (word := words[SHOWN]) != before:
            return word
    while (word := words[SHOWN]) == before:
        time.sleep(_NAP_S)
    return word


def _end_of(output: Any) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """The data pointers of one call's output tensors, how far each reaches, and 64 bits of what else it returned.

    Of a plain tensor, or several in a row, in few steps: a clock runs, and there may be hundreds. What is not strided
    is none any more.
    """
    if _is_plain_tensor(output):
        return (_data_ptr(output),), (_extent(output),), 0
    if type(output) in (tuple, list) and all(map(_is_plain_tensor, output)):
        return tuple(map(_data_ptr, output)), tuple(map(_extent, output)), 0
    found: list[int] = []
    reach: list[int] = []

    def tensor(value: torch.Tensor) -> TensorValue:
        found.append(_data_ptr(value))
        reach.append(_extent(value))
        return TensorValue(dtype="uint8", shape=(), strides=(), offset=0)

    plain = digest_of_plain(encode(output, tensor))
    return tuple(found), tuple(reach), plain


def _is_plain_tensor(value: Any) -> bool:
    return type(value) is torch.Tensor and not value.is_complex()


def _extent(value: torch.Tensor) -> int:
    """Bytes from a tensor's first element to the end of its last."""
    if value.is_contiguous():
        return int(value.nbytes)
    if not value.numel():
        return 0
    reach = sum((size - 1) * stride for size, stride in zip(value.shape, value.stride(), strict=True))
    return int(1 + reach) * value.element_size()


def _settled(output: Any) -> Any:
    """The output with every tensor strided; sparse ones become what they are: opaque.

    What is conjugated or negated in name only is written out, inside the clock: it is memory that is read.
    """
    if type(output) in (torch.Tensor, torch.nn.Parameter):
        if output.layout is not torch.strided:
            return _Opaque()
        lazy = output.is_conj() or output.is_neg()
        return output.resolve_conj().resolve_neg() if lazy else output
    if isinstance(output, list | tuple):
        settled = [_settled(item) for item in output]
        return settled if isinstance(output, list) else tuple(settled)
    if isinstance(output, dict):
        return {key: _settled(item) for key, item in output.items()}
    return output


class _Opaque:
    """Stands for an output that has no plain form."""


def _add_handle(handles: dict[int, DeviceHandle], address: int) -> None:
    if any(known.base <= address < known.base + known.size for known in handles.values()):
        return
    base, size, handle = Driver().ipc_handle(address)
    handles[base] = DeviceHandle(base=base, size=size, handle=handle.hex())


def _blame(during: Any, work: Callable[[], T]) -> T:
    """Run candidate code; whatever it raises becomes data. Even SystemExit: leaving is not an answer."""
    try:
        return work()
    except (Closed, ProtocolError):
        raise
    except BaseException as error:  # noqa: BLE001  # the border: the candidate may raise anything
        _raise(during, error)


def _raise(during: Any, error: BaseException) -> NoReturn:
    text = "".join(traceback.format_exception(error))
    raise _CandidateError(
        Raised(
            during=during,
            kind=_kind(error),
            type=type(error).__name__[:1_000],
            message=encodable(str(error))[:100_000],
            traceback=encodable(text)[-100_000:],
            failure=error.failure if isinstance(error, capture.BuildFailed) else None,
        )
    ) from None


_SHORTAGES = {
    "DefaultCPUAllocator": "out-of-memory",
    "CUDA error: out of memory": "device-memory",
    "can't start new thread": "processes",
    os.strerror(errno.EAGAIN): "processes",  # of fork and pthread_create
    os.strerror(errno.EMFILE): "open-files",
    os.strerror(errno.ENOSPC): "disk",
    os.strerror(errno.EFBIG): "disk",
}
"""What ran short, by what is said of it: torch and extensions in C++ raise bare RuntimeErrors."""


def _kind(error: BaseException) -> Any:
    text = str(error)
    if (fault := kind_of(error)) is not None:
        return fault
    if isinstance(error, capture.BuildFailed):
        return "build"
    if isinstance(error, torch.OutOfMemoryError):
        return "device-memory"
    if isinstance(error, MemoryError):
        return "out-of-memory"
    if (shortage := next((kind for words, kind in _SHORTAGES.items() if words in text), None)) is not None:
        return shortage
    if isinstance(error, SyntaxError):
        return "syntax"
    if isinstance(error, SystemExit | KeyboardInterrupt):
        return "exit"
    if "CUDA error" in text:  # before torch 2.8 a bare RuntimeError as well
        return "device"
    return "exception"
