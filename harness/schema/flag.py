"""Flag: a doubt that does not decide. Verdicts come from running, flags explain."""

from typing import Literal

from harness.schema.base import Frozen

Severity = Literal["info", "warn", "reject"]


class Flag(Frozen):
    """One doubt. `lines` are 1-based lines of the candidate that it means, where it means any."""

    rule: str
    severity: Severity
    detail: str
    lines: tuple[int, ...] = ()
