"""What was found of a machine, and how it is shown."""

from typing import TYPE_CHECKING, Literal

from harness.schema import Frozen

if TYPE_CHECKING:
    from rich.console import RenderableType

State = Literal["ok", "limited", "missing"]
_MARKS = {"ok": ("✓", "ok", "green"), "limited": ("!", "!", "yellow"), "missing": ("✗", "no", "red")}


class Finding(Frozen):
    """One thing that was looked at. "limited": it works with less; "missing": nothing can be judged without it.

    `mend` is the command, or the way, to the better.
    """

    name: str
    state: State
    found: str
    mend: str | None = None


class Diagnosis(Frozen):
    """Everything that was looked at, and the layers of isolation that a trial worker had and lacked."""

    findings: tuple[Finding, ...]
    layers: tuple[str, ...]
    missing_layers: tuple[str, ...]

    @property
    def usable(self) -> bool:
        """Whether a candidate can be judged here at all."""
        return all(finding.state != "missing" for finding in self.findings)


def show(diagnosis: Diagnosis) -> "RenderableType":
    """The findings as a table that 80 columns hold, the layers, and what mends what is not green."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    parts: list[RenderableType] = [_table(diagnosis.findings)]
    if diagnosis.layers:
        parts += [
            Text(),
            Text("A worker is held by"),
            Padding(Text(", ".join(diagnosis.layers), "green"), (0, 2), expand=False),
        ]
    if absent := [layer.partition(":")[0] for layer in diagnosis.missing_layers]:
        parts += [Text("and not by"), Padding(Text(", ".join(absent), "yellow"), (0, 2), expand=False)]
    mends = [finding for finding in diagnosis.findings if finding.mend is not None]
    if mends:
        parts += [Text(), Text("To mend")]
    for finding in mends:
        *_, colour = _MARKS[finding.state]
        parts += [Padding(Text(finding.name, colour), (0, 2)), Padding(Text(finding.mend or ""), (0, 4), expand=False)]
    return Group(*parts)


def _table(findings: tuple[Finding, ...]) -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    from harness.report.text import Mark

    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        mark = Mark(*_MARKS[finding.state])
        colour = mark.style
        table.add_row(mark, finding.name, Text(finding.found, "" if finding.state == "ok" else colour))
    return table
