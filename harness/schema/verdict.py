"""Verdict: what the judge found. One outcome, one type."""

from typing import Annotated, Literal

from pydantic import Field

from harness.schema.base import Frozen, Said

Stage = Literal["extract", "screen", "build", "load", "run", "time"]
PAST_BUILD: frozenset[Stage] = frozenset({"load", "run", "time"})
"""The stages of a candidate of which everything that was to be compiled was."""
Reason = Literal[
    "empty",  # nothing was found in the submission
    "syntax",  # the candidate is not valid Python
    "compile",  # the compiler refused it
    "not-emulated",  # what emulation on the CPU does not know, or is too slow for
    "exception",  # the candidate raised
    "crash",  # the worker died of a signal
    "exit",  # the worker left of its own accord
    "timeout",  # no answer before the deadline of its stage, by the clock on the wall
    "cpu-time",  # more CPU time than allowed, all its processes together
    "out-of-memory",  # more memory of the host than allowed
    "device-memory",  # more memory of the device than it has
    "processes",  # more processes or threads than allowed
    "open-files",  # more files open at once than allowed
    "disk",  # more in its scratch folder, in one file or on its standard output than allowed
    "protocol",  # the worker broke the wire's protocol
    "missing",  # no ModelNew
    "ambiguous",  # several candidates where exactly one was asked for
    "out-of-bounds",  # a kernel touched memory outside of its tensors, seen under emulation
    "device",  # the candidate put the device into a bad state, or a kernel of it failed
    "unsupported",  # something we name but do not do
]
Difference = Literal[
    "values", "structure", "shape", "dtype", "device", "non-finite", "inputs-changed", "aliased-input",
    "aliased-output", "not-repeatable", "data-race", "parameters",
]  # fmt: skip


class Mismatch(Frozen):
    """The elements of one output that are out of tolerance.

    `output` names the tensor ("output", "output[1]", "output['loss']"); `worst_index` is the index of the element
    with the largest excess; values are floats as the judge read them (bool and integer outputs are converted).
    `tolerance` is what the worst element was allowed, in the output's own units.
    """

    output: str
    elements: int
    mismatched: int
    worst_index: tuple[int, ...]
    actual: float | str
    expected: float | str
    tolerance: float


OracleName = Literal["float64", "float64-rows", "float64-host", "moved-inputs", "as-written"]
"""By what it is known how far the reference as written is off: float64 in the trial itself; before, of the whole, of
some rows, on the host; what inputs moved by one step of their type do; or nothing, and it is taken at its word."""


class ErrorSummary(Frozen):
    """How far the correct outputs were from float64: the largest error over all trials.

    `relative` is max |actual - expected| / mean |expected| over an output; `reference_relative` the same figure for
    the reference as written; `of_tolerance` the largest share of the allowed error that was used up (1 = all). `oracle`
    is the weakest that any trial was held to, timed rounds apart. Of a trial that was not asked in float64, because the
    outputs are the reference's as written but for the last digits, it is what they are off these.
    """

    relative: float
    reference_relative: float
    of_tolerance: float
    oracle: OracleName = "float64"


class Correct(Frozen):
    """Every trial agreed. `trials` counts the calls whose outputs were compared, timed rounds included.

    `repeatable` says whether two calls on equal inputs gave equal bits or only agreed within the tolerance; None
    where that was not tried. `left_out` names kinds of inputs on which it was out of tolerance and nothing can be told:
    rounding alone moves most of the reference's output there. `weights`: a candidate has those of the reference by
    drawing them from the same seed, or was given them by name, because it draws those of the same names otherwise.
    """

    kind: Literal["correct"] = "correct"
    trials: int
    error: ErrorSummary | None = None
    repeatable: Literal["bitwise", "within-tolerance"] | None = None
    left_out: tuple[str, ...] = ()
    weights: Literal["by-seed", "by-name"] = "by-seed"


CUDA_ERRORS = {
    1: "invalid argument",
    2: "out of memory",
    9: "invalid configuration argument (the sizes of a grid, a block or its shared memory)",
    13: "invalid symbol",
    98: "invalid device function",
    209: "no kernel image is available for this device",
    701: "too many resources requested for launch (registers or threads)",
    720: "a cooperative launch of more blocks than fit on the device at once",
}
"""Numbers of CUDA's runtime (driver_types.h) for calls that fail without putting the device into a bad state."""


class Wrong(Frozen):
    """It ran, and its outputs are not the reference's. `trial` names the kind of inputs that showed it.

    `unnoticed` is CUDA's word on a call of the candidate's that failed and that it did not look at, as it tells it.
    """

    kind: Literal["wrong"] = "wrong"
    reason: Difference
    detail: str
    trial: str
    mismatch: Mismatch | None = None
    unnoticed: str = ""


class Failed(Frozen):
    """It did not get as far as an answer. `log` holds what a person needs: compiler messages, the traceback."""

    kind: Literal["failed"] = "failed"
    stage: Stage
    reason: Reason
    detail: Said
    log: str = ""


class Rejected(Frozen):
    """It answered, and the answer may not count."""

    kind: Literal["rejected"] = "rejected"
    rule: str
    detail: str


class Infrastructure(Frozen):
    """Our fault or the machine's. Never a score; a batch tries it again."""

    kind: Literal["infrastructure"] = "infrastructure"
    detail: Said


Verdict = Annotated[Correct | Wrong | Failed | Rejected | Infrastructure, Field(discriminator="kind")]
