"""The oracle: what the reference says of given inputs, in float64 beside the reference as written."""

import copy
import time
from dataclasses import replace
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from harness.errors import ProblemError
from harness.judge.correctness import Expected
from harness.judge.problem import LoadedProblem, line_in, seed_everything
from harness.judge.rounding import Operators, coarse
from harness.judge.sampled import at_kept_places
from harness.judge.tensors import leaves, pieces, storages

FLOAT64_BYTES = 4 << 30
"""Inputs and outputs that would take more than this in float64 are judged by the reference as written."""
FLOAT64_SECONDS = 0.5
"""Once a float64 call took longer than this, later trials are judged by the reference as written."""
QUICK_FLOAT64_SECONDS = 5e-3
"""Calls of timed rounds are judged in float64 where it takes less than this; there are hundreds of them."""


class ReferenceRaised(Exception):
    """The reference raised on these inputs: no trial can be made of them."""


class Oracle:
    """The reference with the weights of one seed."""

    def __init__(self, problem: LoadedProblem, arguments: list[Any], seed: int) -> None:
        self._problem = problem
        self.model = problem.model(seed, arguments)
        self._double: torch.nn.Module | None = None
        self._affordable = True
        self._double_s = 0.0
        self._same_function = False
        self._by_element = False
        self.changes_inputs = False
        self.aliases_inputs = False

    def expected(self, inputs: list[Any], *, seed: int = 0, calls_before: int = 0, quick: bool = False) -> Expected:
        """The reference's outputs with torch's generators seeded by `seed`, for references that draw random numbers.

        So many calls before this one have drawn under the same seed; how much they draw is taken to depend on shapes
        alone. `inputs` may be changed by it, which `changes_inputs` then says; `aliases_inputs` says that outputs
        share memory with inputs. `quick` leaves float64 out where it takes long, and
        does not ask again whether it is the same function. Raises ReferenceRaised.
        """
        too_slow = quick and self._double_s > QUICK_FLOAT64_SECONDS
        doubled = None if calls_before or too_slow else self._doubled(inputs)  # before they can be changed
        seed_everything(seed)
        for _ in range(calls_before):
            self._call(self.model, inputs)
        versions = [value._version for value in inputs if isinstance(value, torch.Tensor)]
        like = self._call(self.model, inputs)
        if [value._version for value in inputs if isinstance(value, torch.Tensor)] != versions:
            self.changes_inputs = True
        if storages(like) & storages(inputs):
            self.aliases_inputs = True
        exact = None if doubled is None else self._in_double(doubled, like, seed, quick=quick)
        return Expected(like=like, exact=like if exact is None else exact)

    def coarse(self, output: Any, expected: Expected, inputs: list[Any], *, most_s: float) -> str | None:
        """Which smaller type's rounding the errors of `output` are; None where none, or not to be told (`rounding`).

        `output` and `expected` may be narrowed to sampled elements. Takes some float64 calls, none where one takes
        longer than `most_s`.
        """
        if self._double is None or not self._same_function or self._double_s > most_s or self._by_element:
            return None

        def in_float64(mode: TorchDispatchMode) -> Any:
            doubled = self._doubled(inputs)
            if doubled is None or self._double is None:
                return None
            with mode:
                result = self._call(self._double, doubled)
            return at_kept_places(output, replace(expected, exact=result))[1].exact

        actual, narrowed = at_kept_places(output, expected)
        operators = Operators()
        found = coarse(actual, narrowed.like, in_float64, operators)
        self._by_element = operators.ran and not operators.products | operators.sums
        return found

    def shapes(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Parameters and buffers of the reference by name: dtype and shape."""
        named = [*self.model.named_parameters(), *self.model.named_buffers()]
        return {name: (str(value.dtype).removeprefix("torch."), tuple(value.shape)) for name, value in named}

    def _doubled(self, inputs: list[Any]) -> list[Any] | None:
        """The inputs in float64, and the model beside; None where float64 is not to be had, or not affordable."""
        if not self._affordable or 2 * _size_in_double(inputs) > FLOAT64_BYTES:
            return None
        if self._double is None:
            try:
                self._double = copy.deepcopy(self.model).double()
            except (RuntimeError, TypeError):  # some models cannot be copied
                self._affordable = False
                return None
        return [_doubled(value) for value in inputs]

    def _in_double(self, doubled: list[Any], like: Any, seed: int, *, quick: bool) -> Any:
        """The outputs for `doubled`; None where float64 does not compute the same function."""
        assert self._double is not None
        if _size_in_double(doubled) + _size_in_double(like) > FLOAT64_BYTES:
            self._affordable = False
            return None
        seed_everything(seed)
        started = time.monotonic()
        try:
            result = self._call(self._double, doubled)
        except (ReferenceRaised, RuntimeError):  # models that fix a dtype inside cannot run in float64
            self._affordable = False
            return None
        if self._problem.device.type == "cuda":
            torch.cuda.synchronize()
        self._double_s = time.monotonic() - started
        self._affordable = self._double_s <= FLOAT64_SECONDS
        self._same_function = (quick and self._same_function) or _close_enough(like, result)
        return result if self._same_function else None

    def _call(self, model: torch.nn.Module, inputs: list[Any]) -> Any:
        try:
            with torch.no_grad():
                return model(*inputs)
        except torch.OutOfMemoryError:
            raise
        except Exception as error:
            raise ReferenceRaised(f"{type(error).__name__}: {error}") from error


def reference_must_run(
    oracle: Oracle, inputs: list[Any], title: str, *, seed: int = 0, calls_before: int = 0, quick: bool = False
) -> Expected:
    """The reference's outputs on nominal inputs, where raising is the problem's own fault: a ProblemError."""
    try:
        return oracle.expected(inputs, seed=seed, calls_before=calls_before, quick=quick)
    except ReferenceRaised as error:
        where = line_in(title, error.__cause__ or error)
        raise ProblemError(f"problem {title}: the reference raised on its own inputs{where}: {error}") from error


def _doubled(value: Any) -> Any:
    """A copy of its own, in the wider type."""
    if not isinstance(value, torch.Tensor):
        return value
    wide = torch.complex128 if value.is_complex() else torch.float64 if value.is_floating_point() else value.dtype
    return value.to(wide, copy=True)


def _size_in_double(value: Any) -> int:
    return sum(leaf.numel() * (16 if leaf.is_complex() else 8) for leaf in leaves(value))


def _close_enough(like: Any, exact: Any) -> bool:
    """Whether float64 computes the same function: a reference that draws random numbers does not."""
    if isinstance(like, torch.Tensor):
        return isinstance(exact, torch.Tensor) and like.shape == exact.shape and _near(like, exact)
    if isinstance(like, dict):
        return (
            isinstance(exact, dict)
            and like.keys() == exact.keys()
            and all(_close_enough(like[key], exact[key]) for key in like)
        )
    if isinstance(like, list | tuple):
        return (
            isinstance(exact, list | tuple)
            and len(like) == len(exact)
            and all(_close_enough(one, other) for one, other in zip(like, exact, strict=True))
        )
    return type(like) is type(exact)


def _near(like: torch.Tensor, exact: torch.Tensor) -> bool:
    if like.layout is not torch.strided or exact.layout is not torch.strided:
        return False
    if like.is_complex() and exact.is_complex():
        like, exact = torch.view_as_real(like.resolve_conj()), torch.view_as_real(exact.resolve_conj())
    if like.is_floating_point() != exact.is_floating_point() or like.is_complex() != exact.is_complex():
        return False
    if not like.is_floating_point():
        return True  # integers are compared with the reference as written
    apart = size = 0.0
    for _, parts in pieces(like, exact):
        written, right = (part.double() for part in parts)
        both = written.isfinite() & right.isfinite()
        apart += float((written - right).abs().masked_fill(~both, 0.0).sum())
        size += float(right.abs().masked_fill(~both, 0.0).sum())
    return apart <= 0.05 * size + 1e-30
