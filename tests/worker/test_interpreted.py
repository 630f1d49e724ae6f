"""Triton's interpreter in a worker: the order of programs, whose fault an error is, what stands for a GPU.

Whole kernels, which need Triton, are judged in `tests/controller/test_interpreted.py`.
"""

import ast
import itertools
import linecache
import sys
import types
from collections.abc import Iterator

import pytest
import torch

from harness.transport.worker_messages import Order
from harness.worker.faults import KernelFault, NotEmulated, kind_of
from harness.worker.interpreted import (
    InterpretedTriton,
    _Compiled,
    _Driver,
    _Launch,
    is_the_interpreters,
    places_in,
    refuse_globals,
)
from harness.worker.interpreted_memory import LaunchMemory

# The order of programs


def programs_of(grid, order):
    launch = _Launch(LaunchMemory([]))
    launch.begin(grid, order)
    return [launch.next(at) for at in itertools.product(*map(range, grid))]


@pytest.mark.parametrize("kind", ["ascending", "descending", "alternating", "by-warps", "by-threads"])
def test_every_program_of_a_grid_runs_once_in_every_order(kind):
    grid = (3, 4, 5)
    assert sorted(programs_of(grid, Order(kind=kind, seed=7))) == list(itertools.product(*map(range, grid)))


def test_orders_are_the_ones_that_were_asked_for():
    ascending = list(itertools.product(range(2), range(3), range(4)))
    assert programs_of((2, 3, 4), Order(kind="ascending")) == ascending
    assert programs_of((2, 3, 4), Order(kind="descending")) == ascending[::-1]
    at_random = programs_of((2, 3, 4), Order(kind="by-threads", seed=1))
    assert at_random == programs_of((2, 3, 4), Order(kind="by-threads", seed=1))
    assert at_random not in (ascending, ascending[::-1], programs_of((2, 3, 4), Order(kind="by-threads", seed=2)))
    assert places_in(Order(kind="ascending"), 5) is None


@pytest.mark.parametrize(("grid", "error"), [((2.0, 1, 1), TypeError), ((1, 65536, 1), RuntimeError)])
def test_a_grid_that_no_gpu_takes_is_refused(grid, error):
    with pytest.raises(error):
        _Launch(LaunchMemory([])).begin(grid, Order(kind="ascending"))


# Whose fault it is


@pytest.fixture
def raised_in(monkeypatch):
    """The exception that code raises which lies in a file of this name."""

    def raised_in(filename, source, **names) -> BaseException:
        try:
            exec(compile(source, filename, "exec"), names)
        except Exception as error:  # noqa: BLE001  # any that the source raises
            return error
        raise AssertionError("it raised nothing")

    return raised_in


INTERPRETER = "/site/triton/runtime/interpreter.py"


@pytest.mark.parametrize(
    ("filename", "source", "theirs"),
    [
        (INTERPRETER, "raise NotImplementedError('inline_asm')", True),
        (INTERPRETER, "{}['x']", True),
        (INTERPRETER, "assert False, 'tl.static_assert'", False),
        (INTERPRETER, "(lambda a: a)(b=1)", True),
        (
            INTERPRETER,
            "f = lambda: int([])\nf()",
            False,
        ),  # as tl.load(mask_=...) fails: in the lambda that stands for it
        ("/site/triton/language/semantic.py", "{}['min_dot_size']", True),
        ("/site/triton/language/semantic.py", "raise ValueError('arange')", False),
        ("/scratch/candidate.py", "x.nothing", False),
        ("/scratch/candidate.py", "raise NotImplementedError", False),
    ],
)
def test_only_what_the_interpreter_itself_raises_is_its_limit(raised_in, filename, source, theirs):
    assert is_the_interpreters(raised_in(filename, source, x=1)) is theirs


def test_a_builder_without_a_function_is_the_interpreters_limit(raised_in):
    class InterpreterBuilder: ...

    error = raised_in("/site/triton/language/semantic.py", "b.create_fence()", b=InterpreterBuilder())
    assert is_the_interpreters(error)
    assert not is_the_interpreters(raised_in("/scratch/candidate.py", "b.create_fence()", b=types.SimpleNamespace()))


@pytest.mark.parametrize(
    ("fault", "kind"), [(NotEmulated("a"), "not-emulated"), (KernelFault("data-race", "b"), "data-race")]
)
def test_a_fault_is_known_through_what_was_raised_over_it(fault, kind):
    over = ValueError("the kernel failed")
    over.__context__ = fault  # raised in an `except` block, as candidates do it
    assert kind_of(over) == kind
    over.__context__, over.__cause__ = None, fault
    assert kind_of(over) == kind
    assert kind_of(ValueError("another")) is None


# Globals


@pytest.fixture
def function_of() -> Iterator[object]:
    """A function with its source, in a module with these names."""
    made = []

    def function_of(source, **names):
        filename = f"<kernel {len(made)}>"
        made.append(filename)
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        exec(compile(source, filename, "exec"), names)
        return names[ast.parse(source).body[0].name]

    yield function_of
    for filename in made:
        del linecache.cache[filename]


@pytest.mark.parametrize("value", [3, 2.5, "x", [1], torch.zeros(1)])
def test_a_kernel_that_reads_a_number_of_its_module_is_refused(function_of, value):
    kernel = function_of("def kernel(x):\n    for i in range(x):\n        y = SIZE\n", SIZE=value)
    with pytest.raises(NameError, match="SIZE"):
        refuse_globals(kernel)


def test_globals_are_taken_where_triton_is_told_to_take_them(function_of, monkeypatch):
    monkeypatch.setenv("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS", "1")
    refuse_globals(function_of("def kernel(x):\n    y = SIZE\n", SIZE=3))


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def kernel(x, SIZE):\n    y = SIZE + x\n", {"SIZE": 3}),
        ("def kernel(x):\n    SIZE = 4\n    y = SIZE\n", {"SIZE": 3}),
        ("def kernel(x):\n    if x:\n        y = SIZE\n", {"SIZE": 3}),
        ("def kernel(x, SIZE=SIZE):\n    y = SIZE\n", {"SIZE": 3}),
        ("def kernel(x):\n    y = SIZE\n", {"SIZE": 3, "__annotations__": {"SIZE": "tl.constexpr"}}),
        ("def kernel(x):\n    y = SIZE\n", {"SIZE": object()}),
        ("def kernel(x):\n    y = math.pi + range(3)[0] + nothing\n", {"math": ast}),
    ],
)
def test_names_that_a_compiler_would_take_are_taken(function_of, source, names):
    refuse_globals(function_of(source, **names))


# What stands for a GPU


def test_the_driver_describes_an_h100_and_refuses_the_rest():
    driver = _Driver(lambda call, quantiles: call())
    assert driver.utils.get_device_properties(driver.get_current_device())["multiprocessor_count"] == 132
    assert driver.get_active_torch_device() == torch.device("cuda", 0)
    with pytest.raises(NotEmulated, match="launcher_cls"):
        _ = driver.launcher_cls
    with pytest.raises(NotEmulated, match="n_regs"):
        _ = _Compiled().n_regs


def test_tuning_calls_each_configuration_once_until_its_share_of_the_time_is_spent():
    notes, calls = [], []
    tuned = InterpretedTriton(notes.append, call_s=1e6, source_file="candidate.py")
    tuned.begin(None)
    assert tuned._tune(lambda: calls.append(1), quantiles=(0.5, 0.2, 0.8)) == [1.0, 1.0, 1.0]
    assert tuned._tune(lambda: calls.append(2), warmup=1) == 1.0
    assert calls == [1, 2]
    spent = InterpretedTriton(notes.append, call_s=0.0, source_file="candidate.py")
    spent.begin(None)
    spent._tune(lambda: calls.append(3))
    assert calls == [1, 2]


def test_a_launch_that_would_take_too_long_says_so_and_one_that_began_just_now_does_not():
    slow = InterpretedTriton(lambda note: None, call_s=10.0, source_file="candidate.py")
    slow._launch = launch = _Launch(LaunchMemory([]))
    launch.begin((1000, 1, 1), Order(kind="ascending"))
    slow._look_at_the_clock()
    launch.next((0, 0, 0))
    launch.began -= 5.0
    with pytest.raises(NotEmulated, match=r"1000 programs would take .* of the 10 s .*--timeout"):
        slow._look_at_the_clock()
    launch.done = 999
    slow._look_at_the_clock()


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("__version__ = '0.0.1'\n", r"Triton 0\.0\.1 has another interpreter"),
        ("raise ImportError('libtriton.so: no')\n", r"cannot be imported: libtriton\.so: no"),
    ],
)
def test_a_triton_that_is_another_or_broken_is_not_emulated(monkeypatch, tmp_path, source, told):
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton/__init__.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    for name in [name for name in sys.modules if name.partition(".")[0] == "triton"]:
        monkeypatch.delitem(sys.modules, name)
    InterpretedTriton(lambda note: None, call_s=1.0, source_file="candidate.py").install()
    with pytest.raises(NotEmulated, match=told):
        import triton  # noqa: F401
    assert "triton" not in sys.modules
