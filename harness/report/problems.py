"""What was found out about problems, as a table."""

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from harness.report.units import bytes_text
from harness.schema.audit import Audit

_STYLES = {"info": "dim", "warn": "yellow", "reject": "red"}


def audit_table(found: Sequence[tuple[str, Audit | str]]) -> Table:
    """A row a problem: what one call takes, and the findings; the error where its reference could not be run."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("problem", overflow="fold")
    table.add_column("a call", justify="right")
    table.add_column("in", justify="right")
    table.add_column("out", justify="right")
    table.add_column("GFLOP", justify="right")
    table.add_column("findings", overflow="fold")
    for title, audit in found:
        if isinstance(audit, str):
            table.add_row(Text(title), "", "", "", "", Text(audit, style="red"))
            continue
        findings = Text("\n").join(
            Text.assemble((finding.rule, _STYLES[finding.severity]), f"  {finding.detail}")
            for finding in audit.findings
        )
        table.add_row(
            Text(title),
            _milliseconds(audit.call_s),
            bytes_text(audit.input_bytes + audit.weight_bytes),
            bytes_text(audit.output_bytes),
            f"{audit.flops / 1e9:.3g}" if audit.flops else "",
            findings or Text("none", style="green"),
        )
    return table


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"
