"""Sizes: the workload a problem is run at. What is too large for a CPU has a reduced batch, and the record says so."""

import math
import re
from collections.abc import Mapping

import torch

from harness.catalog import apply_settings, numeric_settings
from harness.formats import FORMATS
from harness.judge.problem import load_problem
from harness.judge.tensors import leaves
from harness.schema.problem import Problem, Workload

BATCH = "batch_size"
EMULATED_ELEMENTS = 1 << 18
"""Input elements of one call that an emulated kernel gets through in milliseconds."""
CPU_ELEMENTS = 1 << 22
"""Input elements of one call, 17 MB in float32, that two busy cores get through in some 10 ms."""
LARGER = 16
"""A candidate that fails at the reduced batch and may be made for the original one is tried at that where a call's
inputs have at most so many times the elements of a reduced one."""
_LEAST_BATCH = 2


def sized(
    problem: Problem, wanted: Mapping[str, int | float], *, emulated: bool, on_cpu: bool = False
) -> tuple[str, Workload]:
    """The problem's source with the wanted settings, and on a CPU with `batch_size` reduced where it is large.

    A size that the user set is left alone. Raises InputError for an unknown name and ProblemError as loading does.
    """
    source, workload = apply_settings(problem, wanted)
    most = EMULATED_ELEMENTS if emulated else CPU_ELEMENTS
    if not (emulated or on_cpu) or BATCH in wanted or BATCH not in numeric_settings(problem):
        return source, workload
    batch = numeric_settings(problem)[BATCH]
    elements = _input_elements(problem, source)
    if elements <= most or batch <= _LEAST_BATCH:
        return source, workload
    reduced = max(_LEAST_BATCH, math.floor(batch * most / elements))
    source, workload = apply_settings(problem, {**wanted, BATCH: reduced})
    return source, workload.model_copy(update={"reduced": True})


def original_sizes(
    problem: Problem, wanted: Mapping[str, int | float], workload: Workload, candidate: str, *, emulated: bool
) -> dict[str, int | float] | None:
    """The settings under which a candidate may be right that failed at a reduced batch: those of the original one.

    None where the batch was not reduced, the candidate's source nowhere has the original number, or that is too large.
    """
    if not workload.reduced:
        return None
    batch = workload.original[BATCH]
    if not re.search(rf"(?<![\w.]){batch}(?![\w.])", candidate):
        return None
    sizes = {**wanted, BATCH: batch}
    source, _ = apply_settings(problem, sizes)
    most = EMULATED_ELEMENTS if emulated else CPU_ELEMENTS
    return sizes if _input_elements(problem, source) <= LARGER * most else None


def _input_elements(problem: Problem, source: str) -> int:
    """Elements of one call's input tensors; nothing is allocated: the inputs are drawn on the meta device."""
    loaded = load_problem(problem.title, source, device=torch.device("meta"), form=FORMATS[problem.format])
    return sum(leaf.numel() for leaf in leaves(loaded.draw(0)))
