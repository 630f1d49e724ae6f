"""Findings: what a tool's output says, once it is read. And the report that the record keeps of them."""

import re
from dataclasses import dataclass

from harness.schema.record import ToolName, ToolReport

SUMMARY_LIMIT = 500
NOTHING = "no findings"
# Of a number: what is read was written by the candidate too.
_OWN_LINE = re.compile(r"\bcandidate\.py:(\d{1,9})(?!\d)")


@dataclass(frozen=True)
class Findings:
    """What was found. `count` findings, `summary` in a sentence, `places` the lines of output that name their code.

    `finished` is False where the tool did not come to a result; `summary` then says why.
    """

    summary: str
    count: int = 0
    places: tuple[str, ...] = ()
    finished: bool = True


def to_report(tool: ToolName, findings: Findings) -> ToolReport:
    """The record's form of it. Lines are those of the candidate that the places name, each once."""
    lines = {int(number) for place in findings.places for number in _OWN_LINE.findall(place)}
    return ToolReport(
        tool=tool,
        ran=findings.finished,
        clean=findings.finished and findings.count == 0,
        summary=findings.summary[:SUMMARY_LIMIT],
        lines=tuple(sorted(lines)),
    )
