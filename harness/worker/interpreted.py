"""InterpretedTriton: in a worker without a GPU, Triton's own interpreter runs a candidate's kernels.

It is Python over NumPy: one program of the grid after the other, which says whether a kernel computes the right thing
and nothing about how fast. Added to it here, when the candidate imports Triton:

- programs run in the order that the judge asks for, and what they access is watched (`interpreted_memory`);
- numbers are a GPU's where the interpreter's own are not (`interpreted_numbers`);
- `triton.runtime.driver` describes the emulated device; `@triton.autotune` runs each configuration once and takes the
  first;
- a kernel that reads a global variable of Python's is refused as Triton's compiler refuses it;
- a call that would take longer than it may, and what the interpreter does not know, is NotEmulated.

Not covered: whether Triton would compile a kernel (types that change in loops, shared memory, registers), `num_warps`
and `num_stages`, the return value of a launch, inline assembly, Gluon. A worker in which something imported Triton
before. What is patched here are names inside of Triton, tried with 3.6 and 3.9: another version that lacks them is
NotEmulated as a whole.
"""

import ast
import inspect
import math
import os
import sys
import textwrap
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import torch

from harness.transport.worker_messages import Order
from harness.worker.faults import KernelFault, NotEmulated
from harness.worker.interpreted_memory import LaunchMemory
from harness.worker.interpreted_numbers import mend

_LARGEST_GRID = (2**31 - 1, 65535, 65535)
"""Blocks by dimension that CUDA launches (programming guide, compute capabilities)."""
_SURE_S = 1.0
"""What a launch has run before its end is foretold."""
_TUNING_SHARE = 0.25
"""Of the time of a call after so much no further configuration is tried."""
_INTERPRETERS = os.path.join("triton", "runtime", "interpreter.py")


class InterpretedTriton:
    """What the candidate of one worker does with Triton. `note` is told what was put in the place of a GPU.

    `call_s` is what a call may take, in seconds; `source_file` the candidate's.
    """

    def __init__(self, note: Callable[[str], None], *, call_s: float, source_file: str) -> None:
        self._note, self._call_s, self._source_file = note, call_s, source_file
        self._order = Order(kind="ascending")
        self._inputs: list[tuple[int, int]] = []
        self._began: float | None = None
        self._launch: _Launch | None = None
        self._checked: set[Any] = set()

    def install(self) -> None:
        """Have Triton interpret kernels once it is imported."""
        os.environ["TRITON_INTERPRET"] = "1"
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Triton's spec, with a loader that prepares it; nothing else is found here."""
        if name != "triton":
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_prepare(module: ModuleType) -> None:
                try:
                    load(module)
                except (ImportError, OSError) as error:
                    raise NotEmulated(f"Triton, whose interpreter runs kernels, cannot be imported: {error}") from error
                self._prepare(module)

            spec.loader.exec_module = load_and_prepare  # type: ignore[method-assign]
        return spec

    def know_inputs(self, spans: Iterable[tuple[int, int]]) -> None:
        """The bytes of each input that lies in the judge's memory: what lies around it is nobody's."""
        self._inputs = list(spans)

    def begin(self, order: Order | None) -> None:
        """A call begins; its kernels run their programs in this order."""
        self._order = order or Order(kind="ascending")
        self._began = time.monotonic()

    def end(self) -> None:
        """The call is over."""
        self._began = None

    # ---- what is put into Triton -------------------------------------------------------------------------------

    def _prepare(self, triton: ModuleType) -> None:
        try:
            from triton import testing  # type: ignore[import-not-found]
            from triton.runtime import driver, interpreter  # type: ignore[import-not-found]

            mend(triton, interpreter)
            self._watch(interpreter)
            driver.set_active(_Driver(self._tune))
            testing.do_bench = testing.do_bench_cudagraph = self._tune
        except (ImportError, AttributeError, KeyError) as error:
            version = getattr(triton, "__version__", "of an unknown version")
            raise NotEmulated(f"Triton {version} has another interpreter than the known ones: {error}") from error

    def _watch(self, interpreter: Any) -> None:
        builder, executor, function = (
            interpreter.interpreter_builder,
            interpreter.GridExecutor,
            interpreter.InterpretedFunction,
        )
        set_grid_dim, set_grid_idx, to_pointer = (
            builder.set_grid_dim,
            builder.set_grid_idx,
            builder.create_int_to_ptr,
        )
        call, run, rewrite = executor.__call__, function.run, function.rewrite

        def in_order(*at: int) -> None:
            assert self._launch is not None
            self._look_at_the_clock()
            set_grid_idx(*self._launch.next(at))

        def sized(*grid: Any) -> None:
            assert self._launch is not None
            self._launch.begin(grid, self._order)
            set_grid_dim(*grid)

        def pointer_of_a_number(*args: Any) -> Any:
            if self._launch is not None:
                self._launch.memory.foreign = True
            return to_pointer(*args)

        def launched(self_: Any, *args: Any, **kwargs: Any) -> Any:
            with self._launching(self_.fn.__name__, [*args, *kwargs.values()]):
                return call(self_, *args, **kwargs)

        def run_once(self_: Any, *args: Any, **kwargs: Any) -> Any:
            run(self_, *args, **kwargs)
            return _Compiled()

        def rewritten(self_: Any) -> Any:
            if self_.fn not in self._checked:
                self._checked.add(self_.fn)
                refuse_globals(self_.fn)
            return rewrite(self_)

        builder.set_grid_idx, builder.set_grid_dim, builder.create_int_to_ptr = in_order, sized, pointer_of_a_number
        executor.__call__, function.run, function.rewrite = launched, run_once, rewritten
        interpreter._interpreter = _Watched(interpreter._interpreter, lambda: self._launch)

    def _tune(self, call: Callable[[], Any], *args: Any, quantiles: Any = None, **kwargs: Any) -> Any:
        """In the place of a benchmark: one call, and a time that is every configuration's."""
        tuned_s = 0.0 if self._began is None else time.monotonic() - self._began
        if tuned_s < self._call_s * _TUNING_SHARE:
            call()
        self._note("a benchmark of triton.testing or triton.autotune answered without a time")
        return 1.0 if quantiles is None else [1.0] * len(quantiles)

    # ---- a launch ----------------------------------------------------------------------------------------------

    @contextmanager
    def _launching(self, name: str, arguments: list[Any]) -> Iterator[None]:
        """Around one launch. What it raises is a fault or NotEmulated where it is one, else left as it is."""
        self._note(f"Triton kernel {name} run by Triton's interpreter")
        around, self._launch = self._launch, _Launch(LaunchMemory(self._spans(arguments)))
        try:
            with np.errstate(all="ignore"):
                yield
        except Exception as error:
            root = _root(error)
            if isinstance(root, KernelFault):
                raise KernelFault(root.kind, f"interpreted Triton: {root}{self._place(root)}") from error
            if isinstance(root, NotEmulated):
                raise NotEmulated(f"{root}{self._place(root)}") from error
            if is_the_interpreters(root):
                said = f"{type(root).__name__}: {root}"[:500]
                raise NotEmulated(f"Triton's interpreter gave up{self._place(root)}: {said}") from error
            raise
        finally:
            self._launch = around

    def _spans(self, arguments: Iterable[Any]) -> Iterator[tuple[int, int]]:
        """The bytes that a launch's tensors lie in: the input's that one is part of, else its whole storage."""
        for value in arguments:
            value = getattr(value, "base", value)  # of triton.reinterpret, and of a tensor descriptor
            if isinstance(value, list | tuple):
                yield from self._spans(value)
            elif isinstance(value, torch.Tensor):
                first, storage = value.data_ptr(), value.untyped_storage()
                whole = (storage.data_ptr(), storage.data_ptr() + storage.nbytes())
                yield next((span for span in self._inputs if span[0] <= first < span[1]), whole)

    def _look_at_the_clock(self) -> None:
        """Raises NotEmulated where this launch would not end in time."""
        assert self._launch is not None
        now = time.monotonic()
        ran_s, done, programs = now - self._launch.began, self._launch.done, self._launch.programs
        if ran_s < _SURE_S or not done:
            return
        before_s = 0.0 if self._began is None else self._launch.began - self._began
        whole_s = ran_s / done * programs
        if before_s + whole_s > self._call_s:
            detail = f"{programs} programs would take Triton's interpreter {whole_s:.0f} s of the {self._call_s:g} s"
            raise NotEmulated(f"{detail} that a call may take (--timeout)")

    def _place(self, error: BaseException) -> str:
        """The candidate's line in which something was raised."""
        frames = traceback.extract_tb(error.__traceback__)
        line = next((frame.lineno for frame in reversed(frames) if frame.filename == self._source_file), None)
        return f" ({os.path.basename(self._source_file)}:{line})" if line is not None else ""


class _Launch:
    """A launch under way: its grid, in which order its programs come, and its memory."""

    def __init__(self, memory: LaunchMemory) -> None:
        self.memory = memory
        self.began, self.done, self.programs = time.monotonic(), 0, 0
        self._grid: tuple[int, ...] = ()
        self._places: Any = None

    def begin(self, grid: Sequence[Any], order: Order) -> None:
        """Raises what a launch of such a grid raises on a GPU."""
        for size, most in zip(grid, _LARGEST_GRID, strict=True):
            if not isinstance(size, int | np.integer):
                raise TypeError(f"{type(size).__name__!r} object cannot be interpreted as an integer")
            if size > most:
                raise RuntimeError(f"Triton Error [CUDA]: invalid argument (a grid of {tuple(grid)} programs)")
        self._grid, self.programs = tuple(grid), math.prod(grid)
        self._places = places_in(order, self.programs)

    def next(self, at: Sequence[int]) -> tuple[int, ...]:
        """The program in whose place another one comes, which is told. Both have three indices."""
        _, height, depth = self._grid
        place = (at[0] * height + at[1]) * depth + at[2]
        program = place if self._places is None else int(self._places[place])
        self.done += 1
        self.memory.program = program + 1
        return program // (height * depth), program // depth % height, program % depth


def places_in(order: Order, programs: int) -> Any:
    """The programs of a grid in the order in which they run; None where that is ascending."""
    if order.kind == "descending":
        return range(programs - 1, -1, -1)
    if order.kind in ("by-warps", "by-threads"):
        return np.random.default_rng(order.seed).permutation(programs)
    return None


class _Watched:
    """Triton's accesses to memory, each told to the launch that makes it."""

    def __init__(self, real: Any, launch: Callable[[], _Launch | None]) -> None:
        self._real, self._launch = real, launch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def load(self, pointers: Any, mask: Any, other: Any, dtype: Any) -> Any:
        if (launch := self._launch()) is not None:
            launch.memory.load(pointers, mask, np.dtype(dtype).itemsize)
        return self._real.load(pointers, mask, other, dtype)

    def store(self, pointers: Any, values: Any, mask: Any) -> Any:
        if (launch := self._launch()) is not None:
            launch.memory.store(pointers, mask, values, self._real.load)
        return self._real.store(pointers, values, mask)

    def atomic_rmw(self, operation: Any, pointers: Any, values: Any, mask: Any, *rest: Any) -> Any:
        if (launch := self._launch()) is not None:
            launch.memory.atomic(pointers, mask, values.dtype.itemsize)
        return self._real.atomic_rmw(operation, pointers, values, mask, *rest)

    def atomic_cas(self, pointers: Any, expected: Any, values: Any, *rest: Any) -> Any:
        if (launch := self._launch()) is not None:
            launch.memory.atomic(pointers, np.ones_like(pointers, dtype=bool), values.dtype.itemsize)
        return self._real.atomic_cas(pointers, expected, values, *rest)


# ---- whose fault it is -----------------------------------------------------------------------------------------


def _root(error: BaseException) -> BaseException:
    """What an exception was raised for: the interpreter wraps each once or more."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def is_the_interpreters(error: BaseException) -> bool:
    """Whether an exception is one of the interpreter's limits, and not what a kernel that is wrong raises on a GPU too.

    It is where the interpreter's own code raised it, or NumPy below that, but for assertions, which are the kernel's
    (`tl.device_assert`, `tl.static_assert`), and calls with arguments that a function of `tl` does not take.
    """
    if isinstance(error, AssertionError):
        return False
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if f"{os.sep}numpy{os.sep}" not in frame[0]]
    if isinstance(error, AttributeError) and type(error.obj).__name__ == "InterpreterBuilder":
        return True
    if not frames:
        return False
    last = frames[-1]
    if isinstance(error, KeyError) and f"{os.sep}triton{os.sep}language{os.sep}" in last.filename:
        return True  # of a function that the builder of a GPU has
    called_wrongly = isinstance(error, TypeError) and last.name == "<lambda>"
    return last.filename.endswith(_INTERPRETERS) and not called_wrongly


class _Unconditional(ast.NodeVisitor):
    """Names that a function reads whatever its branches decide, which a compiler may leave out."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.names.append(node.id)

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.visit(node.test)


def refuse_globals(function: Callable[..., Any]) -> None:
    """Raises NameError, as Triton's compiler does, where a kernel reads plain data of the module around it."""
    if os.environ.get("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS") == "1":
        return
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):
        return
    definition = next((node for node in tree.body if isinstance(node, ast.FunctionDef)), None)
    if definition is None:
        return
    found = _Unconditional()
    for statement in definition.body:
        found.visit(statement)
    try:
        around = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    except ValueError:  # a variable around it has no value yet
        return
    annotated = function.__globals__.get("__annotations__", {})
    for name in found.names:
        value = around.get(name)
        plain = isinstance(value, int | float | str | list | tuple | dict | torch.Tensor) and name not in annotated
        if plain and name not in function.__code__.co_varnames and not hasattr(value, "_fields"):
            raise NameError(
                f"Cannot access global variable {name} from within @jit'ed function. Triton kernels can only access "
                f"global variables that are instanstiated as constexpr (`x = triton.language.constexpr(42)`)."
            )


# ---- the device ------------------------------------------------------------------------------------------------


class _Compiled:
    """What a launch returns: there is nothing compiled to ask."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotEmulated(f"a compiled Triton kernel's {name!r} is not emulated on the CPU")


class _Driver:
    """Triton's driver, for the device that `substitute` describes."""

    def __init__(self, benchmark: Callable[..., Any]) -> None:
        self._benchmark = benchmark
        self.utils = SimpleNamespace(get_device_properties=_properties)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotEmulated(f"triton.runtime.driver.active.{name} is not emulated on the CPU")

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget  # type: ignore[import-not-found]

        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None: ...

    def get_current_stream(self, device: int = 0) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cuda", 0)

    def get_device_interface(self) -> ModuleType:
        return torch.cuda

    def get_benchmarker(self) -> Callable[..., Any]:
        return self._benchmark

    def get_empty_cache_for_benchmark(self) -> torch.Tensor:
        return torch.empty(0, dtype=torch.int32)

    def clear_cache(self, cache: Any) -> None: ...


def _properties(device: int = 0) -> dict[str, int]:
    """As of an H100, like everything that the emulated device says of itself."""
    del device
    return {
        "max_shared_mem": 227 * 1024,
        "max_num_regs": 65536,
        "multiprocessor_count": 132,
        "warpSize": 32,
        "sm_clock_rate": 1980000,
        "mem_clock_rate": 2619000,
        "mem_bus_width": 5120,
    }
