"""In range: what a CUDA kernel would assert of its operands is asked before it runs, for references given odd contents.

An index out of range is an IndexError on a CPU. On a device it is an assertion in a kernel, after which no call of the
whole process succeeds: the judge would end because a reference was asked about some rows, or about contents of another
kind than its own. Not covered: kernels of a reference's own, references that cannot be watched, and operators that are
not named here.

Watching takes 40 microseconds an operator, ten times what it takes to launch one. Where none of those that are named
here ran, and nothing told Python what a tensor holds, the same operators run whatever the contents: once is enough.
"""

from collections.abc import Callable
from typing import Any

import torch

from harness.judge.operator_mode import OperatorMode, arguments_of

Given = dict[str, Any]


class InRange(OperatorMode):
    """While it is entered, operators raise for operands of which their kernels on a device would assert otherwise.

    Raises IndexError for indices, ValueError for probabilities and what is picked by a mask. `is_enough` says whether
    what ran goes by no contents, so that no other call of the same shapes needs to be watched; not of a reference that
    counts its calls.
    """

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.is_enough = True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        packet = getattr(func, "overloadpacket", None)  # one of higher order has none, and runs as it would
        name = "" if packet is None else packet.__name__.strip("_")
        check = _CHECKS.get(name)
        self.is_enough &= check is None and not _tells(func, name, args, kwargs or {})
        if check is not None:
            check(arguments_of(func, args, kwargs))
        return func(*args, **(kwargs or {}))


def cannot_be_watched(error: Exception) -> bool:
    """Whether a reference raised this because it is watched: what it compiles for itself may not stand that."""
    return isinstance(error, NotImplementedError) or type(error).__module__.startswith("torch._dynamo")


_MAKES = frozenset({"lift_fresh", "nnz", "coalesce"})  # torch.tensor([...]) of tensors shows nothing else
_TELLING = frozenset({torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape})


def _tells(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether an operator may tell Python what a tensor holds: its value, a shape that goes by it, a copy elsewhere."""
    if not name or func.namespace != "aten" or name in _MAKES or "sparse" in name:
        return True
    if name == "copy":
        return bool(args[0].device != args[1].device)
    return kwargs.get("device") is not None if name == "to_copy" else not _TELLING.isdisjoint(func.tags)


def _inside(indices: torch.Tensor, size: int, *, least: int = 0) -> None:
    if indices.numel():
        first, last = torch.stack(torch.aminmax(indices)).tolist()
        if first < least or last >= size:
            raise IndexError(f"index {first if first < least else last} is out of range for {size} elements")


def _by_tensors(given: Given) -> None:
    """`indices` of several dimensions; one of booleans stands for as many as it has."""
    value, place = given["self"], 0
    for indices in given["indices"]:
        is_mask = indices is not None and indices.dtype in (torch.bool, torch.uint8)
        if indices is not None and not is_mask:
            _inside(indices, value.shape[place], least=-value.shape[place])
        place += indices.dim() if is_mask else 1


def _along(given: Given) -> None:
    """`index` along a dimension."""
    value = given["self"]
    if value.dim():
        _inside(given["index"], value.shape[given["dim"]])


def _flat(given: Given) -> None:
    size = given["self"].numel()
    _inside(given["index"], size, least=-size)


def _rows(given: Given) -> None:
    _inside(given["indices"], len(given["weight"]))


def _classes(given: Given) -> None:
    """Targets of a negative log-likelihood: classes, or the number that is left out."""
    value, target = given["self"], given["target"]
    _inside(target[target != given["ignore_index"]], value.shape[1 if value.dim() > 1 else 0])


def _between(*names: str) -> Callable[[Given], None]:
    """Tensors of these names lie from 0 to 1, or are not numbers where a kernel lets that pass."""

    def check(given: Given) -> None:
        for name in names:
            value = given.get(name)
            if isinstance(value, torch.Tensor) and bool(((value < 0) | (value > 1)).any()):
                raise ValueError(f"{name} holds values beyond 0 and 1")

    return check


def _weights(given: Given) -> None:
    """Weights to draw by: none negative or infinite, some above 0 in each row."""
    value = given["self"]
    if not bool((value.isfinite() & (value >= 0)).all()) or not bool((value.sum(-1) > 0).all()):
        raise ValueError("weights to draw by are negative, not finite or all 0")


def _enough(given: Given) -> None:
    if int(given["mask"].expand_as(given["self"]).sum()) > given["source"].numel():
        raise ValueError("a mask picks more elements than there are")


def _holds(given: Given) -> None:
    if not bool(given["self"]):
        raise ValueError("what the reference asserts does not hold")


_CHECKS: dict[str, Callable[[Given], None]] = {
    **dict.fromkeys(("index", "index_put", "index_put_impl", "unsafe_index", "unsafe_index_put"), _by_tensors),
    **dict.fromkeys(("index_select", "index_add", "index_copy", "index_fill", "index_reduce"), _along),
    **dict.fromkeys(("gather", "scatter", "scatter_add", "scatter_reduce"), _along),
    **dict.fromkeys(("take", "put"), _flat),
    **dict.fromkeys(("embedding", "embedding_bag", "embedding_bag_forward_only"), _rows),
    **dict.fromkeys(("nll_loss_forward", "nll_loss2d_forward"), _classes),
    "binary_cross_entropy": _between("self", "target"),
    "bernoulli": _between("self", "p"),
    "multinomial": _weights,
    "masked_scatter": _enough,
    "assert_async": _holds,
}
"""By an operator's name without underscores around it, as in-place forms have them."""
