"""Reading Python in many threads at once."""

import ast
import gc
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.syntax import parse

SOURCE = f"x = [{'1, ' * 2000}]\n" + "def f(a, b):\n    return (a + b) * (a - b)\n" * 300


@pytest.fixture
def collections_that_hand_over() -> Iterator[None]:
    """Garbage is collected often, and another thread runs meanwhile: in the middle of a tree that is being built."""

    def hand_over(phase: str, info: dict[str, int]) -> None:
        time.sleep(0.0001)

    thresholds = gc.get_threshold()
    gc.callbacks.append(hand_over)
    gc.set_threshold(50)
    yield
    gc.set_threshold(*thresholds)
    gc.callbacks.remove(hand_over)


@pytest.mark.usefixtures("collections_that_hand_over")
def test_threads_that_parse_at_once_each_get_their_tree() -> None:
    start = threading.Barrier(4)

    def parsed(_: int) -> list[int]:
        start.wait()
        return [len(parse(SOURCE).body) for _ in range(5)]

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(parsed, range(4))) == [[301] * 5] * 4


def test_warnings_of_the_compiler_are_dropped_and_the_caller_s_filters_stay() -> None:
    before = list(warnings.filters)
    assert isinstance(parse(r"cuda = 'printf(\"\d\")'"), ast.Module)
    assert warnings.filters == before


def test_what_is_no_python_is_told_by_the_parser_s_own_exceptions() -> None:
    for source, error in (("def", SyntaxError), ("(" * 100_000, (SyntaxError, MemoryError, RecursionError))):
        with pytest.raises(error):
            parse(source)
