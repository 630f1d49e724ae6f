"""Feedback: what a model is told of the verdict on its answer.

Told: compiler errors by line, how it failed, where it is wrong and by how many times what is allowed, how fast it was.
Never told: expected values, the values that it gave beside an error from which they follow, seeds, or inputs.
"""

import math
import re
from typing import NamedTuple

from harness.schema import Correct, Failed, Infrastructure, Mismatch, Record, Rejected, Timing, Wrong

_LOG_LINES, _LOG_CHARACTERS = 60, 6000
_TELLING_DETAIL = {
    "structure",
    "shape",
    "dtype",
    "device",
    "inputs-changed",
    "aliased-input",
    "aliased-output",
    "parameters",
    "data-race",
}
"""Differences whose detail names no value of an output."""
_INPUTS = {
    "nominal": "inputs as the problem draws them",
    "timed": "inputs as the problem draws them",
    "signed": "inputs of both signs",
    "wide": "inputs of a larger scale",
    "narrow": "inputs of a smaller scale, negative throughout",
    "small": "inputs of a smaller scale",
    "ties": "inputs with many equal values and zeros",
    "huge": "inputs with a few huge values",
    "shuffled": "inputs in which what is the same at every draw is in another order and slightly different",
    "varied": "inputs in which what is the same at every draw is slightly different",
}
_MOST_TIMES = 1e6


class Feedback(NamedTuple):
    """The verdict in words, and what to do about it."""

    verdict: str
    next_step: str


def feedback(record: Record) -> Feedback | None:
    """What to say to the answer; None where there is nothing to be said: no verdict, or nothing left to improve."""
    match record.verdict:
        case Infrastructure():
            return None
        case Correct() if race := _race(record):
            return Feedback(race, "Remove it, and keep it correct and fast.")
        case Correct():
            return (
                Feedback(_timing(record, record.timing), "Make it faster and keep it correct.")
                if record.timing
                else None
            )
        case Wrong() as wrong:
            return Feedback(_wrong(wrong), "Correct it.")
        case Failed() as failed:
            return Feedback(_failed(failed), "Correct it.")
        case Rejected(detail=detail):
            return Feedback(f"It was rejected: {_sentence(detail)}", "Do the work in kernels of your own.")


_HIDDEN = {"data-race": "threads race", "out-of-bounds": "it touches memory outside of its tensors"}


def _race(record: Record) -> str:
    """What emulation found in a kernel that a GPU found correct; empty where that is nothing."""
    flag = next((flag for flag in record.flags if flag.rule in _HIDDEN), None)
    if flag is None:
        return ""
    return f"Its outputs are correct, but {_HIDDEN[flag.rule]}, which went well by chance: {_sentence(flag.detail)}"


def _failed(failed: Failed) -> str:
    stage = _STAGES.get(failed.stage, f"It failed at the stage {failed.stage}")
    text = f"{stage}: {_sentence(failed.detail)}"
    log = _excerpt(failed.log)
    return f"{text}\n\n{_fenced(log)}" if log else text


_STAGES = {
    "extract": "No candidate was found in it",
    "screen": "It was not run",
    "build": "It was not built",
    "load": "It could not be imported or constructed",
    "run": "It failed when it was called",
    "time": "It failed while it was timed",
}


def _wrong(wrong: Wrong) -> str:
    inputs = _INPUTS.get(wrong.trial, f"inputs of the kind {wrong.trial!r}")
    if wrong.reason in _TELLING_DETAIL:
        return f"It is wrong on {inputs}: {_sentence(wrong.detail)}"
    if wrong.reason == "not-repeatable":
        return f"It is wrong on {inputs}: two calls on the same inputs gave different outputs."
    if wrong.mismatch is None:
        return f"It is wrong on {inputs}: an output has not the value of the reference's."
    unnoticed = f" A CUDA call of it failed, and it did not look: {wrong.unnoticed}." if wrong.unnoticed else ""
    return f"It is wrong on {inputs}: {_mismatch(wrong.mismatch)}{unnoticed}"


def _mismatch(mismatch: Mismatch) -> str:
    share = f"{mismatch.mismatched:,} of {mismatch.elements:,} elements of {mismatch.output} are out of tolerance"
    return f"{share}; the worst is at index {list(mismatch.worst_index)}, {_excess(mismatch)}."


def _excess(mismatch: Mismatch) -> str:
    """How far the worst element is off, in units of what was allowed; a value follows from it only by guessing."""
    actual, expected = _number(mismatch.actual), _number(mismatch.expected)
    if math.isnan(actual):
        return "which is NaN"
    if math.isinf(actual):
        return "which is infinite"
    if not math.isfinite(expected):
        return "where the reference is not finite"
    if mismatch.tolerance <= 0:
        return "and must be equal exactly"
    times = abs(actual - expected) / mismatch.tolerance
    if times > _MOST_TIMES:
        return "whose error is more than a million times what is allowed"
    return f"whose error is {f'{times:,.0f}' if times >= 100 else f'{times:.3g}'} times what is allowed"


def _number(value: float | str) -> float:
    """Infinities and NaN stand as text in a record."""
    return float(value)


def _timing(record: Record, timing: Timing) -> str:
    speedup = timing.speedup
    text = (
        f"It is correct. One call takes {timing.candidate_ms:.4g} ms, the reference {timing.reference_ms:.4g} ms: "
        f"{speedup.value:.3g} times as fast (95% interval {speedup.low:.3g} to {speedup.high:.3g})."
    )
    if record.roofline is None:
        return text
    return (
        f"{text} Reading the inputs, writing the outputs and computing would take {record.roofline.floor_ms:.4g} ms at "
        f"the full rates of this device: it reaches {record.roofline.fraction:.0%} of that."
    )


_ERROR_LINE = re.compile(r"\berror\b|\bError\b|Exception", re.IGNORECASE)


def _excerpt(log: str) -> str:
    """The lines around what went wrong: of a compiler the first errors, of a traceback its end."""
    lines = log.strip().splitlines()
    if len(lines) > _LOG_LINES:
        first = next((number for number, line in enumerate(lines) if _ERROR_LINE.search(line)), 0)
        start = max(0, min(first - 2, len(lines) - _LOG_LINES))
        if log.lstrip().startswith("Traceback"):
            start = len(lines) - _LOG_LINES
        lines = lines[start : start + _LOG_LINES]
    return "\n".join(lines)[:_LOG_CHARACTERS]


def _fenced(text: str) -> str:
    """`text` as a code block that nothing in it can close."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _sentence(detail: str) -> str:
    detail = detail.strip()
    return detail if detail.endswith((".", "!", "?")) else f"{detail}."
