"""Criteria: what a candidate's outputs and memory must keep to besides the values, one row each.

To add one, add a row to CRITERIA. What values may be off by is `correctness`'s, whether two calls agree `comparison`'s.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch

from harness.judge.inputs import InputSets
from harness.judge.subject import Elsewhere, Opaque
from harness.judge.tensors import leaves, overlap
from harness.schema.verdict import Difference

Evidence = Literal["leaf", "memory", "outputs"]


@dataclass(frozen=True)
class Leaf:
    """One leaf of an output, the reference's in its place, and its name ("output[1]")."""

    actual: Any
    like: Any
    name: str


@dataclass(frozen=True)
class Call:
    """A call that is over: the slot of the sets that it saw, what was written there, and what it answered.

    `changes_inputs` and `aliases_inputs` say whether the reference writes into its inputs and whether it returns them.
    """

    sets: InputSets
    slot: int
    inputs: Callable[[], list[Any]]
    outputs: list[Any]
    changes_inputs: bool
    aliases_inputs: bool


@dataclass(frozen=True)
class Criterion:
    """A row. `broken` says in words how the evidence breaks it, "" where it is kept; `reason` is the verdict's."""

    evidence: Evidence
    reason: Difference
    broken: Callable[[Any], str]


def first_broken(evidence: Evidence, given: Leaf | Call) -> tuple[Difference, str] | None:
    """The reason and the words of the first criterion of this evidence that is broken; None where all are kept."""
    for criterion in CRITERIA:
        if criterion.evidence == evidence and (detail := criterion.broken(given)):
            return criterion.reason, detail
    return None


# ---- of a leaf: each row may rely on those before it ----------------------------------------------------------------


def _lies_elsewhere(leaf: Leaf) -> str:
    if isinstance(leaf.actual, Elsewhere) and isinstance(leaf.like, torch.Tensor):
        return f"{leaf.name} lies on {leaf.actual.device}, not where the reference's does"
    return ""


def _is_of_another_type(leaf: Leaf) -> str:
    if isinstance(leaf.like, torch.Tensor):
        wanted = "" if isinstance(leaf.actual, torch.Tensor) else "plain tensor"
    else:
        wanted = "" if type(leaf.actual) is type(leaf.like) else type(leaf.like).__name__
    return f"{leaf.name} should be a {wanted}, {described(leaf.actual)}" if wanted else ""


def _is_of_another_dtype(leaf: Leaf) -> str:
    if not isinstance(leaf.like, torch.Tensor) or leaf.actual.dtype == leaf.like.dtype:
        return ""
    return f"{leaf.name} has dtype {_dtype(leaf.actual)} and should have {_dtype(leaf.like)}"


def _is_of_another_shape(leaf: Leaf) -> str:
    if not isinstance(leaf.like, torch.Tensor) or leaf.actual.shape == leaf.like.shape:
        return ""
    return f"{leaf.name} has shape {_shape(leaf.actual)} and should have {_shape(leaf.like)}"


def _shares_elements(leaf: Leaf) -> str:
    if not isinstance(leaf.like, torch.Tensor):
        return ""
    if overlap(leaf.actual.shape, leaf.actual.stride()) and not overlap(leaf.like.shape, leaf.like.stride()):
        return f"elements of {leaf.name} share memory, and the reference's do not"
    return ""


# ---- of a call ------------------------------------------------------------------------------------------------------


def _wrote_beside_inputs(call: Call) -> str:
    if call.sets.red_zones_intact(call.slot):
        return ""
    return "wrote outside of its tensors: the bytes between the inputs were changed"


def _changed_inputs(call: Call) -> str:
    if call.changes_inputs or call.sets.unchanged(call.slot, call.inputs()):
        return ""
    return "changed its inputs in place, which the reference does not"


def _returned_inputs(call: Call) -> str:
    if call.aliases_inputs or not any(call.sets.holds(leaf) for leaf in leaves(call.outputs) if leaf.numel()):
        return ""
    return "returned its input, or a view of it, where the reference returns memory of its own"


CRITERIA = (
    Criterion("leaf", "device", _lies_elsewhere),
    Criterion("leaf", "structure", _is_of_another_type),
    Criterion("leaf", "dtype", _is_of_another_dtype),
    Criterion("leaf", "shape", _is_of_another_shape),
    Criterion("leaf", "structure", _shares_elements),
    Criterion("memory", "inputs-changed", _wrote_beside_inputs),
    Criterion("memory", "inputs-changed", _changed_inputs),
    Criterion("outputs", "aliased-input", _returned_inputs),
)
"""In this order: of "leaf" by `correctness.compare` before any value, of "outputs" and "memory" by the judge."""


def described(actual: Any) -> str:
    """What something is that should be something else, as the end of a sentence."""
    if isinstance(actual, Opaque):
        return f"and is a {actual.type}"
    if isinstance(actual, list | tuple):
        return f"and is a {'list' if isinstance(actual, list) else 'tuple'} of {len(actual)}"
    if isinstance(actual, dict):
        return f"and is a dict with the keys {list(actual)}"
    return f"and is a {'tensor' if isinstance(actual, torch.Tensor) else type(actual).__name__}"


def _dtype(value: torch.Tensor) -> str:
    return str(value.dtype).removeprefix("torch.")


def _shape(value: torch.Tensor) -> str:
    return "x".join(str(size) for size in value.shape) or "() (a single number)"
