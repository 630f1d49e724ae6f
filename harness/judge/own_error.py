"""Own error: how far the reference as written is off, where no trial can afford its float64.

It is found out once a problem and kept with what else is known of it, so it may cost seconds: float64 as a whole,
float64 of some rows where rows do not mix, that on the host, or what moving the inputs by one step of their type does.
Each step is taken only where what was timed before says that it will end in time.
"""

import copy
import functools
import math
import operator
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from harness.judge.conditioning import moved
from harness.judge.correctness import Agreement, Disagreement, Expected, all_finite, compare
from harness.judge.oracle import DEVICE_SHARE, FLOAT64_BYTES, SLICE_ELEMENTS, Oracle
from harness.judge.output_scale import Own
from harness.judge.rows import Rows, of_outputs, unmixed
from harness.judge.tensors import in_each, leaves, mapped
from harness.schema.audit import OwnError
from harness.schema.verdict import OracleName

BUDGET_S = 8.0
"""All that is asked of one problem takes about so long at most; a single call may overrun it by what it takes."""
FLOAT64_TIMES = 32.0
"""A call in float64 is taken to need at most so many times what it needs as written."""
HOST_FLOPS = 2e9
"""Floating point operations that a host does in a second at the least."""

MOVES = 4
"""So often inputs are moved."""
MOST_GROWTH, MOST_PARTS, LEAST_PART = 3.0, 64, 256
"""Where some rows tell the error of all, the largest of all is expected to be so many times theirs at most; it is told
by so many parts of them at most, of so many elements at least."""


def own_errors(
    oracle: Oracle, draws: dict[str, Callable[[], list[Any]]], *, call_s: float, flops: int, seconds: float = BUDGET_S
) -> tuple[OwnError, ...]:
    """The reference's own error for each kind of inputs of which it could be told, by the best oracle that had time.

    `draws` gives inputs by kind. `call_s` and `flops` are those of one call. A kind on which the reference raises, is
    not finite, or is so far off that rounding decides (`conditioning`) has none, nor has what finds no memory.
    """
    found = []
    try:
        for one in _Asker(oracle, call_s, flops, time.monotonic() + seconds).ask(draws):
            found.append(one)
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
    return tuple(found)


class _Asker:
    def __init__(self, oracle: Oracle, call_s: float, flops: int, deadline: float) -> None:
        self._oracle, self._call_s, self._flops, self._deadline = oracle, call_s, flops, deadline
        self._ways: dict[OracleName, Callable[[list[Any], Any], Expected | None]] = {
            "float64": self._whole,
            "float64-rows": self._of_rows,
            "float64-host": self._on_host,
            "moved-inputs": self._moved,
        }
        self._rows: Rows | None = None
        self._cost_s: dict[str, float] = {}

    def ask(self, draws: dict[str, Callable[[], list[Any]]]) -> Iterator[OwnError]:
        for kind, draw in draws.items():
            if not self._in_time(2 * self._call_s):
                return
            inputs = draw()
            like = self._oracle.as_written(inputs, 1)
            if like is None or not all_finite(like):
                continue
            found = self._one(kind, inputs, like)
            if found is not None:
                yield found

    def _one(self, kind: str, inputs: list[Any], like: Any) -> OwnError | None:
        for name in list(self._ways):
            started = time.monotonic()
            expected = self._ways[name](inputs, like)
            if expected is None:
                del self._ways[name]  # what could not be done once is not tried again
                continue
            self._cost_s[name] = time.monotonic() - started
            found = compare(expected.like, expected)
            if isinstance(found, Disagreement):
                return None
            own = functools.reduce(operator.or_, found.own, Own())
            more = growth(expected, _elements([], like) / max(1, _elements([], expected.like)))
            return OwnError(
                kind=kind,
                relative=more * found.reference_relative,
                share=more * own.share,
                usual=more * own.usual,
                rough=own.rough,
                oracle=name,
            )
        return None

    def _in_time(self, seconds: float) -> bool:
        return time.monotonic() + seconds < self._deadline

    # ---- ways --------------------------------------------------------------------------------------------------

    def _whole(self, inputs: list[Any], like: Any) -> Expected | None:
        room = FLOAT64_BYTES
        if any(leaf.is_cuda for leaf in leaves([inputs, like])):
            room = int(DEVICE_SHARE * torch.cuda.mem_get_info()[0])
        if 4 * 8 * _elements(inputs, like) > room or not self._in_time(self._expected_s("float64", self._call_s)):
            return None
        exact = self._oracle.in_float64(inputs, 1)
        return None if exact is None else _held(like, exact)

    def _of_rows(self, inputs: list[Any], like: Any) -> Expected | None:
        if not self._in_time(self._expected_s("float64-rows", 2 * self._call_s / FLOAT64_TIMES)):
            return None
        if self._rows is None:
            self._rows = unmixed(lambda some: self._oracle.as_written(some, 1), inputs, like, SLICE_ELEMENTS)
        if self._rows is None:
            return None
        some, written = self._some(inputs, like)
        exact = self._oracle.in_float64(some, 1)
        return None if exact is None else _held(written, exact)

    def _on_host(self, inputs: list[Any], like: Any) -> Expected | None:
        """Rows where they are known not to mix, else all of it; only where the device is another."""
        if not any(leaf.is_cuda for leaf in leaves([inputs, like])):
            return None
        some, written = self._some(inputs, like)
        share = _elements(some, None) / max(1, _elements(inputs, None))
        if 8 * _elements(some, like) > FLOAT64_BYTES or not self._in_time(share * self._flops / HOST_FLOPS):
            return None
        try:
            model = copy.deepcopy(self._oracle.model).double().cpu()
            with torch.no_grad():
                exact = model(*in_each(some, _on_host_in_double))
        except (RuntimeError, TypeError):  # one that cannot be copied, or names a device of its own
            return None
        return _held(mapped(written, lambda leaf: leaf.cpu()), exact)

    def _moved(self, inputs: list[Any], like: Any) -> Expected | None:
        """The worst of some moves: that of a single number may be none by chance."""
        worst: tuple[float, Expected] | None = None
        for seed in range(MOVES):
            if not self._in_time(2 * self._call_s):
                break
            other = self._oracle.as_written(moved(inputs, seed * 0x5DEECE66D, 1), 1)
            expected = None if other is None else _held(like, other, wide=False)
            if expected is None:
                return None
            found = compare(like, expected)
            apart = found.reference_relative if isinstance(found, Agreement) else math.inf
            if worst is None or apart > worst[0]:
                worst = apart, expected
        return worst and worst[1]

    def _some(self, inputs: list[Any], like: Any) -> tuple[list[Any], Any]:
        """Inputs and outputs of the rows that are asked; of all where rows are not known to be apart."""
        if self._rows is None:
            return inputs, like
        return self._rows.of(inputs, self._rows.tried), of_outputs(like, self._rows.tried)

    def _expected_s(self, name: str, call_s: float) -> float:
        return self._cost_s.get(name, FLOAT64_TIMES * call_s)


def growth(expected: Expected, times: float) -> float:
    """How many times as large the largest error is expected to be of so many times as many elements.

    As that of all of these elements is against the mean of the largest of as many parts of them, `MOST_GROWTH` at most:
    that of one row of 16 of an attention over large scores was 0.5 to 0.9 of that of all (float32, CPU, six draws).
    """
    found = 1.0
    for like, exact in zip(*map(leaves, (expected.like, expected.exact)), strict=True):
        parts = min(math.ceil(times), MOST_PARTS, like.numel() // LEAST_PART)
        if parts < 2 or not like.is_floating_point():
            continue
        size = like.numel() // parts
        largest = torch.stack([_largest(like, exact, part * size, size) for part in range(parts)])
        if (usual := float(largest.mean())) > 0:
            found = max(found, float(largest.max()) / usual)
    return min(found, MOST_GROWTH)


def _largest(like: torch.Tensor, exact: torch.Tensor, start: int, size: int) -> torch.Tensor:
    """The largest error of some elements."""
    mine, right = (value.reshape(-1)[start : start + size].double() for value in (like, exact))
    return (mine - right).abs_().nan_to_num_(0.0, 0.0, 0.0).max()


def _held(like: Any, exact: Any, *, wide: bool = True) -> Expected | None:
    """None where the two are not of one form, or what should be in float64 is not."""
    floats = [leaf for leaf in leaves(exact) if leaf.is_floating_point()]
    if wide and any(leaf.dtype != torch.float64 for leaf in floats):
        return None
    shapes = [[tuple(leaf.shape) for leaf in leaves(value)] for value in (like, exact)]
    return Expected(like=like, exact=exact) if shapes[0] == shapes[1] and type(like) is type(exact) else None


def _elements(inputs: Any, like: Any) -> int:
    return sum(leaf.numel() for leaf in leaves([inputs, like]))


def _on_host_in_double(value: torch.Tensor) -> torch.Tensor:
    return value.double().cpu() if value.is_floating_point() else value.cpu()
