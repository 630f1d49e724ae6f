"""Together: the contents of all calls of a round, drawn at once and written at once.

Drawing and writing the contents of a call takes some 0.1 ms of the host (H200, November 2026), which for calls of 10 us
is most of what timing costs: a round has hundreds of them. Where `get_inputs` can run under `torch.vmap` it draws for
all of them in the time of one, each with random numbers of its own, of the distribution that it has.

That it can is found out by trying. It cannot where it asks a generator of numpy's or of Python's, whose numbers all
calls would share, or looks at values. Not covered: a generator object of the problem's own beside torch's, whose
numbers calls of one round have in common.
"""

import itertools
import pickle
import random
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from harness.judge.inputs import Contents
from harness.judge.problem import LoadedProblem, seed_everything
from harness.judge.tensors import in_each, leaves, same

MOST_BYTES, MOST_DEVICE_BYTES, TIMES_HELD = 1 << 29, 5 << 30, 4
"""Contents of a round that take more are drawn call by call, and on a device those for which it has not so many times
their memory: they are kept until the round was verified, and drawn through temporaries."""
_TRIED_CALLS = 3


class Together:
    """The arguments of several calls. `draw` gives the same each time, tensors with a leading dimension of calls."""

    def __init__(self, draw: Callable[[], list[Any]]) -> None:
        self._draw = draw
        self._kept: list[Any] | None = None

    def get(self) -> list[Any]:
        """Those of all calls, on the judge's device."""
        if self._kept is None:
            self._kept = self._draw()
        return self._kept

    def of(self, call: int) -> Contents:
        """Those of one call, as a copy: a reference may change what it is given."""
        return Contents(lambda: _of(call, self.get()))


def _of(call: int, values: list[Any]) -> list[Any]:
    return in_each(values, lambda value: value[call].clone())


def can_be_drawn_together(problem: LoadedProblem) -> bool:
    """Whether `problem.draw_together` gives what `problem.draw` does, other values for each call where that does."""
    one, other = (problem.draw(secrets.randbits(62)) for _ in range(2))
    if _asks_other_generators(problem):
        return False
    try:
        values = problem.draw_together(secrets.randbits(62), _TRIED_CALLS)
        calls = [_of(call, values) for call in range(_TRIED_CALLS)]
    except Exception:  # noqa: BLE001  # whatever vmap refuses
        return False
    if any(len(drawn) != len(one) for drawn in (other, *calls)):
        return False
    return all(_alike(*values) for values in zip(one, other, *calls, strict=True))


def _alike(one: Any, other: Any, *calls: Any) -> bool:
    """Whether values of calls that were drawn together are like two that were drawn apart."""
    if not isinstance(one, torch.Tensor):
        return not leaves(one) and all(type(value) is type(one) and value == one for value in (other, *calls))
    form = (one.shape, one.stride(), one.dtype, one.device)
    if any((value.shape, value.stride(), value.dtype, value.device) != form for value in (other, *calls)):
        return False
    if same(one, other):
        return all(same(value, one) for value in calls)
    return not any(same(value, following) for value, following in itertools.pairwise(calls))


def _asks_other_generators(problem: LoadedProblem) -> bool:
    """Whether drawing moves numpy's generator or Python's."""
    seed = secrets.randbits(62)
    seed_everything(seed)
    before = _state()
    problem.draw(seed)
    return _state() != before


def _state() -> bytes:
    return pickle.dumps((np.random.get_state(), random.getstate()))
