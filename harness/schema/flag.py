"""Flag: a doubt that does not decide. Verdicts come from running, flags explain."""

from typing import Literal

from harness.schema.base import Frozen

Severity = Literal["info", "warn", "reject"]
JudgeFlag = Literal[
    "reduced-precision",
    "by-tf32",
    "no-custom-kernel",
    "below-roofline",
    "faster-than-writing",
    "batched-calls",
    "launch-bound",
    "depends-on-values",
    "slowed-reference",
    "disturbed-timing",
    "device-events-disagree",
    "work-outside-the-clock",
    "copied-memory",
    "not-timed",
]
"""What the judge doubts (`harness.judge.doubts`). A setting may let any of them reject a correct candidate. What
screening finds is not among them: it explains, and decides nothing."""


class Flag(Frozen):
    """One doubt. `lines` are 1-based lines of the candidate that it means, where it means any."""

    rule: str
    severity: Severity
    detail: str
    lines: tuple[int, ...] = ()
