"""CudaAsCpu: in a worker that emulates CUDA, 'cuda' means the CPU on Python's side too.

Candidates are written for a GPU: they move their weights with `.cuda()`, ask `x.is_cuda`, take the current stream. Here
every tensor lies on the CPU and is said to lie on 'cuda:0', however it was made: `x.device` is `cuda:0`, `x.is_cuda`
True, `x.is_cpu` False. `x.cpu()` and `x.to("cpu")` answer with a copy, as they would for a tensor on a GPU. The device
is described as the C++ side describes it, with an H100's figures.

What would change the numbers or hide work is refused by name with NotEmulated: CUDA graphs, autocast on
'cuda'. This runs in the candidate's own process: it is there to make honest candidates run, not to confine others.
"""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace, TracebackType
from typing import Any, NoReturn, Self

import torch
from torch.overrides import TorchFunctionMode

from harness.worker.faults import NotEmulated

_Note = Callable[[str], None]

_CUDA = re.compile(r"cuda(:\d+)?")
_DEVICE = torch.device("cuda", 0)
_CAPABILITY = (9, 0)
_MEMORY_BYTES = 80 << 30


class CudaAsCpu:
    """A context, entered once by the thread that will import and call the candidate, and left at the process's end."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._undo = ExitStack()

    def __enter__(self) -> Self:
        self._undo.enter_context(_Mode(self.note))
        for owner, name, replacement in _replacements(self.note):
            self._undo.enter_context(_replaced(owner, name, replacement))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    @property
    def substitutions(self) -> tuple[str, ...]:
        """What was put in the place of CUDA so far: each kind once, in the order in which they first happened."""
        return tuple(f"{what} ({count} times)" if count > 1 else what for what, count in self._counts.items())

    def note(self, what: str) -> None:
        """Count something that was put in the place of CUDA."""
        self._counts[what] += 1


@contextmanager
def _replaced(owner: Any, name: str, replacement: Any) -> Iterator[None]:
    missing = object()
    before = vars(owner).get(name, missing)
    setattr(owner, name, replacement)
    try:
        yield
    finally:
        if before is missing:
            delattr(owner, name)
        else:
            setattr(owner, name, before)


# ---- tensors, and the functions that make them ----


def _is_cuda(device: Any) -> bool:
    if isinstance(device, str):
        return _CUDA.fullmatch(device) is not None
    return isinstance(device, torch.device) and device.type == "cuda"


def _is_cpu(device: Any) -> bool:
    return device == "cpu" if isinstance(device, str) else isinstance(device, torch.device) and device.type == "cpu"


def _is_index(device: Any) -> bool:
    """Whether it names a device by its number, as in `x.to(0)`."""
    return isinstance(device, int) and not isinstance(device, bool)


class _Mode(TorchFunctionMode):
    """Sees every call into torch that takes or makes tensors, the reads of their attributes among them."""

    def __init__(self, note: _Note) -> None:
        super().__init__()
        self._note = note

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func in _ABOUT_DEVICES:
            return func(*args, **kwargs)
        if func in _ANSWERS:
            what, answer = _ANSWERS[func]
            self._note(what)
            return answer(args[0])
        if func is torch.Tensor.to and any(map(_is_cpu, (*args[1:], kwargs.get("device")))):
            self._note("Tensor.to('cpu') answered with a copy")
            moved = func(*args, **kwargs)
            return moved.clone() if moved is args[0] else moved
        return func(*self._on_cpu(func, args), **self._keywords_on_cpu(func, kwargs))

    def _on_cpu(self, func: Any, args: Sequence[Any]) -> Sequence[Any]:
        named = [_is_cuda(value) for value in args]
        if func is torch.Tensor.to and len(args) > 1:
            named[1] = named[1] or _is_index(args[1])
        if not any(named):
            return args
        self._note(f"'cuda' taken as the CPU by {_name(func)}")
        return ["cpu" if is_named else value for is_named, value in zip(named, args, strict=True)]

    def _keywords_on_cpu(self, func: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        device = kwargs.get("device")
        if _is_cuda(device) or _is_index(device):
            self._note(f"'cuda' taken as the CPU by {_name(func)}")
            kwargs["device"] = "cpu"
        if kwargs.get("pin_memory"):
            self._note("pinned memory taken as ordinary memory")
            kwargs["pin_memory"] = False
        return kwargs


def _name(func: Any) -> str:
    name = getattr(func, "__name__", "a function of torch's")
    return f"Tensor.{name}" if getattr(torch.Tensor, name, None) is func else f"torch.{name}"


def _itself(tensor: Any) -> Any:
    return tensor


# These only speak of devices: what comes of it is seen when a tensor is to be put there.
_ABOUT_DEVICES = (torch.device, torch._C._nn._parse_to)

# What is answered without asking torch: the function or attribute, how the record tells it, the answer.
_ANSWERS: dict[Any, tuple[str, Callable[[Any], Any]]] = {
    torch.Tensor.cuda: ("Tensor.cuda() kept on the CPU", _itself),
    torch.Tensor.cpu: ("Tensor.cpu() answered with a copy", lambda tensor: tensor.clone()),
    torch.Tensor.pin_memory: ("pinned memory taken as ordinary memory", _itself),
    torch.Tensor.get_device: ("Tensor.get_device() answered 0", lambda tensor: 0),
    vars(torch._C.TensorBase)["is_cuda"].__get__: ("Tensor.is_cuda answered True", lambda tensor: True),
    vars(torch._C.TensorBase)["is_cpu"].__get__: ("Tensor.is_cpu answered False", lambda tensor: False),
    vars(torch._C.TensorBase)["device"].__get__: ("Tensor.device answered cuda:0", lambda tensor: _DEVICE),
}


# ---- torch.cuda ----


class _Stream:
    """Work is done when it is called for: a stream has nothing to order. Its handle is the default stream's."""

    cuda_stream = 0
    stream_id = 0
    device_index = 0

    def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
        self.device = _DEVICE
        self.priority = priority

    def synchronize(self) -> None: ...

    def wait_stream(self, stream: Any) -> None: ...

    def wait_event(self, event: Any) -> None: ...

    def query(self) -> bool:
        return True

    def record_event(self, event: "_Event | None" = None) -> "_Event":
        event = event or _Event()
        event.record(self)
        return event

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


class _Event:
    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self._recorded_s = 0.0

    def record(self, stream: Any = None) -> None:
        self._recorded_s = time.perf_counter()

    def wait(self, stream: Any = None) -> None: ...

    def synchronize(self) -> None: ...

    def query(self) -> bool:
        return True

    def elapsed_time(self, end_event: "_Event") -> float:
        """Milliseconds of the CPU's time, which say nothing about a GPU's."""
        return (end_event._recorded_s - self._recorded_s) * 1e3


class _Chosen:
    """`torch.cuda.device(0)`, `torch.cuda.stream(s)`: contexts with nothing to choose between."""

    def __init__(self, choice: Any = None) -> None:
        self.choice = choice

    def __enter__(self) -> Any:
        return self.choice

    def __exit__(self, *_: object) -> None: ...


def _device_properties() -> SimpleNamespace:
    return SimpleNamespace(
        name="CUDA emulated on a CPU",
        major=_CAPABILITY[0],
        minor=_CAPABILITY[1],
        total_memory=_MEMORY_BYTES,
        multi_processor_count=132,
        warp_size=32,
        max_threads_per_block=1024,
        max_threads_per_multi_processor=2048,
        regs_per_multiprocessor=65536,
        shared_memory_per_block=48 * 1024,
        shared_memory_per_block_optin=227 * 1024,
        shared_memory_per_multiprocessor=228 * 1024,
        L2_cache_size=50 << 20,
        is_integrated=False,
        is_multi_gpu_board=False,
    )


# Constant answers of torch.cuda; each takes whatever arguments the real function takes.
_CUDA_ANSWERS: dict[str, Callable[[], Any]] = {
    "is_available": lambda: True,
    "is_initialized": lambda: True,
    "is_bf16_supported": lambda: True,
    "is_current_stream_capturing": lambda: False,
    "device_count": lambda: 1,
    "current_device": lambda: 0,
    "get_device_name": lambda: _device_properties().name,
    "get_device_capability": lambda: _CAPABILITY,
    "get_device_properties": _device_properties,
    "get_arch_list": lambda: ["sm_90"],
    "current_stream": _Stream,
    "default_stream": _Stream,
    "mem_get_info": lambda: (_MEMORY_BYTES, _MEMORY_BYTES),
    "memory_allocated": lambda: 0,
    "max_memory_allocated": lambda: 0,
    "memory_reserved": lambda: 0,
    "max_memory_reserved": lambda: 0,
}
# Functions of torch.cuda that have nothing to do here.
_CUDA_FORMALITIES = (
    "synchronize",
    "empty_cache",
    "ipc_collect",
    "set_device",
    "set_stream",
    "reset_peak_memory_stats",
    "reset_max_memory_allocated",
)
# The same, and called by torch itself: not worth a line of the record.
_CUDA_SILENT = ("init", "_lazy_init", "manual_seed", "manual_seed_all")
_CUDA_CLASSES: dict[str, type] = {
    "Stream": _Stream,
    "Event": _Event,
    "stream": _Chosen,
    "StreamContext": _Chosen,
    "device": _Chosen,
    "device_of": _Chosen,
}
_CUDA_REFUSED = (
    "CUDAGraph",
    "graph",
    "make_graphed_callables",
    "graph_pool_handle",
    "ExternalStream",
    "FloatTensor",
    "HalfTensor",
    "BFloat16Tensor",
    "DoubleTensor",
    "IntTensor",
    "LongTensor",
)


def _replacements(note: _Note) -> Iterator[tuple[Any, str, Any]]:
    """Owner, name and what takes its place, of all that no mode sees because no tensor is involved."""
    for name, answer in _CUDA_ANSWERS.items():
        yield torch.cuda, name, _noted(note, f"torch.cuda.{name}() answered for an emulated device", answer)
    for name in _CUDA_FORMALITIES:
        yield torch.cuda, name, _noted(note, f"torch.cuda.{name}() had nothing to do", lambda: None)
    for name in _CUDA_SILENT:
        yield torch.cuda, name, lambda *_, **__: None
    for name, replacement in _CUDA_CLASSES.items():
        yield torch.cuda, name, replacement
    for name in _CUDA_REFUSED:
        yield torch.cuda, name, _refused(f"torch.cuda.{name}")
    yield torch.cuda.amp, "autocast", _refused("torch.cuda.amp.autocast")
    yield torch, "autocast", _autocast_on_cpu_only
    yield torch.amp, "autocast", _autocast_on_cpu_only
    yield torch, "set_default_device", _default_device(note, torch.set_default_device)
    yield torch, "Generator", _generator(note)
    # Torch refuses a stream that is not its own before any mode is asked.
    yield torch.Tensor, "record_stream", _noted(note, "Tensor.record_stream() had nothing to do", lambda: None)


def _noted(note: _Note, what: str, answer: Callable[[], Any]) -> Callable[..., Any]:
    def call(*_: Any, **__: Any) -> Any:
        note(what)
        return answer()

    return call


def _refused(what: str) -> Callable[..., NoReturn]:
    def call(*_: Any, **__: Any) -> NoReturn:
        raise NotEmulated(f"{what} is not emulated on the CPU")

    return call


def _autocast_on_cpu_only(device_type: str, *args: Any, **kwargs: Any) -> Any:
    if device_type.startswith("cuda"):
        raise NotEmulated("torch.autocast on 'cuda' is not emulated on the CPU: it would round elsewhere")
    return torch.amp.autocast_mode.autocast(device_type, *args, **kwargs)


def _default_device(note: _Note, original: Callable[[Any], None]) -> Callable[[Any], None]:
    def set_default_device(device: Any) -> None:
        if _is_cuda(device) or _is_index(device):
            note("'cuda' taken as the CPU by torch.set_default_device")
            device = "cpu"
        original(device)

    return set_default_device


def _generator(note: _Note) -> type[torch.Generator]:
    class Generator(torch.Generator):
        def __new__(cls, device: Any = "cpu") -> Any:
            if _is_cuda(device) or _is_index(device):
                note("'cuda' taken as the CPU by torch.Generator")
                device = "cpu"
            return super().__new__(cls, device)  # type: ignore[call-arg]  # torch's stubs give it no __new__

    return Generator
