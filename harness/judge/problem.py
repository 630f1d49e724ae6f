"""A problem, loaded: its model class and the functions that draw arguments. Problem files are trusted code."""

import random
import traceback
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from harness.backends.rates import DTYPES
from harness.errors import ProblemError
from harness.formats import KERNELBENCH, Format
from harness.judge.tensors import in_each, leaves
from harness.schema.problem import Precision
from harness.transport.configurations import described
from harness.transport.values import TensorValue, encode, opaque

GIVES = "gives {}, which cannot be handed to a candidate: give"
"""What `LoadedProblem.require_form` says of what a function of the problem gives."""


def seed_everything(seed: int) -> None:
    """Seed torch, numpy and random alike. `seed` has at most 63 bits.

    Like torch.manual_seed, which takes 0.2 ms a call where CUDA is not initialised: it writes down the call, with its
    stack, for when it will be. Inputs are drawn by the thousand.
    """
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(seed)
    np.random.seed(seed % 2**32)
    random.seed(seed)


@dataclass(frozen=True)
class LoadedProblem:
    """A problem file after its execution, bound to a device and a precision."""

    title: str
    source: str
    device: torch.device
    precision: Precision
    form: Format
    _model: Any
    _inputs: Callable[[], Any]
    _arguments: Callable[[], Any]

    def init_arguments(self) -> list[Any]:
        """The arguments of the reference's constructor, as the problem gives them."""
        seed_everything(0)
        arguments = list(self._ask(self._arguments, f"{self.form.arguments}()"))
        self.require_form([described(argument) for argument in arguments], f"{self.form.arguments} {GIVES}")
        return arguments

    def draw(self, seed: int) -> list[Any]:
        """Fresh inputs of one call under `seed`: drawn on the device, floating tensors in the precision."""
        seed_everything(seed)
        with self.device:
            inputs = self._ask(self._inputs, f"{self.form.inputs}()")
        return in_each(inputs, self._settled)

    def draw_together(self, seed: int, calls: int) -> list[Any]:
        """Fresh inputs of so many calls under `seed`, drawn at once: each tensor has a leading dimension of calls.

        What is no tensor is as of one call. Raises what torch.vmap refuses: `together` finds out whether it does.
        """
        seed_everything(seed)
        others: list[Any] = []

        def drawn(_: torch.Tensor) -> tuple[torch.Tensor, ...]:
            others[:] = self._inputs()
            return tuple(leaves(others))

        with self.device:
            call = torch.arange(calls)
            found = iter(torch.vmap(drawn, randomness="different")(call))
        return in_each(others, lambda _: self._settled(next(found)))

    def model(self, seed: int, arguments: list[Any]) -> torch.nn.Module:
        """The reference with the weights of `seed`, in the precision, on the device."""
        torch.manual_seed(seed)
        with torch.no_grad(), self.device:
            model: torch.nn.Module = self._ask(lambda: self._model(*arguments), f"{self.form.reference}(...)")
        if self.precision != "fp32":
            model = model.to(DTYPES[self.precision])
        return model.to(self.device)

    def require_form(self, value: Any, words: str) -> None:
        """Raise ProblemError where something in a value has no form on the wire; `words` say what it is then."""
        if foreign := _without_form(value):
            raise ProblemError(
                f"problem {self.title}: {words.format(foreign[0])} "
                "plain tensors, numbers and strings, alone or in lists, tuples and dicts with strings for keys"
            )

    def _settled(self, value: torch.Tensor) -> torch.Tensor:
        value = value.detach().to(self.device)
        if value.is_floating_point() and self.precision != "fp32":
            value = value.to(DTYPES[self.precision])
        return value

    def _ask(self, work: Callable[[], Any], what: str) -> Any:
        try:
            return work()
        except torch.OutOfMemoryError:
            raise
        except Exception as error:
            where = line_in(self.title, error)
            raise ProblemError(
                f"problem {self.title}: {what} raised {type(error).__name__}{where}: {error}{_lacking(error)}"
            ) from error


def _without_form(output: Any) -> list[str]:
    """What of an output no candidate could hand over."""
    found: list[str] = []

    def tensor(leaf: torch.Tensor) -> TensorValue:
        if leaf.layout is not torch.strided:
            found.append(f"a tensor of layout {leaf.layout}")
        return TensorValue(dtype="uint8", shape=(), strides=(), offset=0)

    return [*opaque(encode(output, tensor)), *found]


_BEFOREHAND = "lie in its cache on this machine beforehand (HF_HOME)"
_HUBS = ("transformers", "huggingface_hub", "timm", "diffusers")


def _lacking(error: BaseException) -> str:
    """What to do where a package is missing, or weights that a library for a hub looks for; "" for other errors."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        models = f", and what it loads of a hub has to {_BEFOREHAND}" if package in _HUBS else ""
        return f"; the package {package} has to be installed where the harness is{models}"
    places = {part for frame in traceback.extract_tb(error.__traceback__) for part in Path(frame.filename).parts}
    if isinstance(error, OSError) and places & set(_HUBS):
        return f"; weights of a hub have to {_BEFOREHAND}"
    return ""


def line_in(title: str, error: BaseException) -> str:
    """ " on line N" of the problem's file, where the error passed through it last; empty where it did not."""
    frames = traceback.extract_tb(error.__traceback__)
    numbers = [frame.lineno for frame in frames if frame.filename == f"{title}.py"]
    return f" on line {numbers[-1]}" if numbers else ""


def load_problem(
    title: str,
    source: str,
    *,
    device: torch.device,
    precision: Precision = "fp32",
    form: Format = KERNELBENCH,
) -> LoadedProblem:
    """Execute a problem's source. Raises ProblemError where it fails or lacks one of the names of its format."""
    module = types.ModuleType("problem")
    try:
        exec(compile(source, f"{title}.py", "exec"), module.__dict__)
    except Exception as error:
        where = line_in(title, error)
        raise ProblemError(
            f"problem {title} cannot be executed: {type(error).__name__}{where}: {error}{_lacking(error)}"
        ) from error
    if missing := form.lacking(vars(module)):
        raise ProblemError(f"problem {title} defines no {' and no '.join(missing)}: see {form.layout}")
    return LoadedProblem(
        title=title,
        source=source,
        device=device,
        precision=precision,
        form=form,
        _model=getattr(module, form.reference),
        _inputs=getattr(module, form.inputs),
        _arguments=getattr(module, form.arguments),
    )
