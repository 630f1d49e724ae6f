"""Judge GPU kernels that language models wrote: do they compile, are they right, are they faster."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.errors import HarnessError
    from harness.library import Evaluator, evaluate, load_problem, load_submission
    from harness.schema import (
        Correct,
        Failed,
        Infrastructure,
        Interval,
        Problem,
        Record,
        Rejected,
        Submission,
        Summary,
        Timing,
        Wrong,
    )
    from harness.settings import Settings

__version__ = "0.2.0"

__all__ = [
    "Correct",
    "Evaluator",
    "Failed",
    "HarnessError",
    "Infrastructure",
    "Interval",
    "Problem",
    "Record",
    "Rejected",
    "Settings",
    "Submission",
    "Summary",
    "Timing",
    "Wrong",
    "evaluate",
    "load_problem",
    "load_submission",
]

# Where each public name comes from. They are imported when they are first asked for: the command line and every worker
# import this package and want none of them.
_HOMES = {
    "Correct": "harness.schema",
    "Evaluator": "harness.library",
    "Failed": "harness.schema",
    "HarnessError": "harness.errors",
    "Infrastructure": "harness.schema",
    "Interval": "harness.schema",
    "Problem": "harness.schema",
    "Record": "harness.schema",
    "Rejected": "harness.schema",
    "Settings": "harness.settings",
    "Submission": "harness.schema",
    "Summary": "harness.schema",
    "Timing": "harness.schema",
    "Wrong": "harness.schema",
    "evaluate": "harness.library",
    "load_problem": "harness.library",
    "load_submission": "harness.library",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'harness' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
