"""What sees each operator that a model runs."""

from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode


class OperatorMode(TorchDispatchMode):
    """While it is entered, operators come to its `__torch_dispatch__`; nothing is compiled under it.

    For that promise torch spares it what keeps its compiler from looking into modes, whose import takes 1.2 s (2.13).
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False


def arguments_of(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments of an operator by name, with their defaults."""
    given = {argument.name: argument.default_value for argument in func._schema.arguments}
    return {**given, **dict(zip(given, args, strict=False)), **(kwargs or {})}
