"""The oracle: what the reference says of given inputs, in float64 beside the reference as written."""

import copy
import time
from typing import Any

import torch

from harness.errors import ProblemError
from harness.judge.correctness import Expected
from harness.judge.inputs import leaves
from harness.judge.problem import LoadedProblem, seed_everything

FLOAT64_BYTES = 4 << 30
"""Inputs and outputs that would take more than this in float64 are judged by the reference as written."""
FLOAT64_SECONDS = 0.5
"""Once a float64 call took longer than this, later trials are judged by the reference as written."""


class ReferenceRaised(Exception):
    """The reference raised on these inputs: no trial can be made of them."""


class Oracle:
    """The reference with the weights of one seed."""

    def __init__(self, problem: LoadedProblem, arguments: list[Any], seed: int) -> None:
        self._problem = problem
        self.model = problem.model(seed, arguments)
        self._double: torch.nn.Module | None = None
        self._affordable = True
        self.changes_inputs = False
        self.aliases_inputs = False

    def expected(self, inputs: list[Any], *, seed: int = 0) -> Expected:
        """The reference's outputs with torch's generators seeded by `seed`, for references that draw random numbers.

        `inputs` may be changed by it, which `changes_inputs` then says; `aliases_inputs` says that outputs share
        memory with inputs. Raises ReferenceRaised.
        """
        seed_everything(seed)
        exact = self._in_double(inputs) if self._worth_double(inputs) else None
        seed_everything(seed)
        versions = [value._version for value in inputs if isinstance(value, torch.Tensor)]
        like = self._call(self.model, inputs)
        if [value._version for value in inputs if isinstance(value, torch.Tensor)] != versions:
            self.changes_inputs = True
        if _storages(like) & _storages(inputs):
            self.aliases_inputs = True
        if exact is None or not _close_enough(like, exact):
            exact = like
        return Expected(like=like, exact=exact)

    def shapes(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Parameters and buffers of the reference by name: dtype and shape."""
        named = [*self.model.named_parameters(), *self.model.named_buffers()]
        return {name: (str(value.dtype).removeprefix("torch."), tuple(value.shape)) for name, value in named}

    def _worth_double(self, inputs: list[Any]) -> bool:
        size = sum(value.numel() * 8 for value in inputs if isinstance(value, torch.Tensor))
        return self._affordable and 2 * size <= FLOAT64_BYTES

    def _in_double(self, inputs: list[Any]) -> Any:
        started = time.monotonic()
        try:
            if self._double is None:
                self._double = copy.deepcopy(self.model).double()
            result = self._call(self._double, [_doubled(value) for value in inputs])
        except (ReferenceRaised, RuntimeError):
            # Models that fix a dtype inside cannot run in float64, and some cannot be copied.
            self._affordable = False
            return None
        if self._problem.device.type == "cuda":
            torch.cuda.synchronize()
        self._affordable = time.monotonic() - started <= FLOAT64_SECONDS
        return result

    def _call(self, model: torch.nn.Module, inputs: list[Any]) -> Any:
        try:
            with torch.no_grad():
                return model(*inputs)
        except torch.OutOfMemoryError:
            raise
        except Exception as error:
            raise ReferenceRaised(f"{type(error).__name__}: {error}") from error


def reference_must_run(oracle: Oracle, inputs: list[Any], title: str, *, seed: int = 0) -> Expected:
    """The reference's outputs on nominal inputs, where raising is the problem's own fault: a ProblemError."""
    try:
        return oracle.expected(inputs, seed=seed)
    except ReferenceRaised as error:
        raise ProblemError(f"problem {title}: the reference raised on its own inputs: {error}") from error


def _storages(value: Any) -> set[int]:
    return {leaf.untyped_storage().data_ptr() for leaf in leaves(value) if leaf.numel()}


def _doubled(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value.clone()
    return value


def _close_enough(like: Any, exact: Any) -> bool:
    """Whether float64 computes the same function: a reference that draws random numbers does not."""
    if isinstance(like, torch.Tensor):
        if not isinstance(exact, torch.Tensor) or like.shape != exact.shape:
            return False
        if not like.is_floating_point() or not like.numel():
            return True
        wide = like.double()
        both = wide.isfinite() & exact.isfinite()
        error = (wide - exact).abs().masked_fill(~both, 0.0).mean()
        return bool(error <= 0.05 * exact.abs().masked_fill(~both, 0.0).mean() + 1e-30)
    if isinstance(like, dict):
        return all(_close_enough(like[key], exact[key]) for key in like)
    if isinstance(like, list | tuple):
        return all(_close_enough(one, other) for one, other in zip(like, exact, strict=True))
    return True
