"""Control: a submission of ours, which tells whose fault it is that another one could not be judged."""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from harness.controller.evaluate import Evaluated
from harness.errors import DeviceError, HarnessError, MachineError
from harness.formats import FORMATS
from harness.schema import Failed, Problem, Submission
from harness.settings import Settings

R = TypeVar("R")
_EXTENSION = """

import torch.utils.cpp_extension as _cpp_extension

_cpp_extension.load_inline(
    name="control_{number}", cpp_sources="int number() {{ return 0x{number}; }}", functions=["number"]
)
"""


def control(problem: Problem) -> Submission:
    """The problem's reference, and an extension that was never built before."""
    extension = _EXTENSION.format(number=secrets.token_hex(3))
    text = f"{problem.source}{extension}{FORMATS[problem.format].reference_as_candidate}\n"
    return Submission(path="control.py", sha256=hashlib.sha256(text.encode()).hexdigest(), text=text)


def settings_of_a_control(settings: Settings) -> Settings:
    """What a control is judged with: it tells nothing by its time."""
    return settings.model_copy(update={"timing_s": 0, "audit": "none"})


def told_apart(
    judge: Callable[[], R], ours: Callable[[], HarnessError | None], fault_of: Callable[[R], HarnessError | None]
) -> tuple[R, bool]:
    """Judge a submission with no other beside it: what came of it, and whether its fault is its own.

    It is where it meets one of the machine's, a control (`ours`, which tells what it met) meets none right afterwards,
    and the submission does once more.
    """
    first = judge()
    if not may_be_its_own(fault_of(first)) or isinstance(ours(), MachineError):
        return first, False
    again = judge()
    return again, may_be_its_own(fault_of(again))


def may_be_its_own(fault: HarnessError | None) -> bool:
    """Whether a submission could have made the machine fail: a lost device has a control of its own."""
    return isinstance(fault, MachineError) and not isinstance(fault, DeviceError)


def as_its_own(evaluated: Evaluated) -> Evaluated:
    """What met a fault as often as it was judged, as the failure of the submission."""
    detail = f"each time it was judged, and between them not with a submission of ours: {evaluated.fault}"
    failure = Failed(stage="build", reason="protocol", detail=detail)
    return replace(evaluated, record=evaluated.record.model_copy(update={"verdict": failure}), fault=None)
