"""`harness leaderboard RUN...`: rank the models of one or more runs."""

import io
from pathlib import Path

import click
from rich.console import RenderableType

from harness.cli.console import file_console, output_console
from harness.report.entry import Entry
from harness.report.leaderboard import EXPORTERS
from harness.report.rows import leaderboard as rank
from harness.store import Run, open_run, write_atomically


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(list(EXPORTERS)),
    default="table",
    show_default=True,
    help="What to write.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to a file instead.")
def leaderboard(runs: tuple[str, ...], format_name: str, output: Path | None) -> None:
    """Rank the models of one or more runs.

    RUN is a name under runs/ or a path. Rows are apart by model, run, device and precision; the denominator of fast_p
    is everything that was judged. Emulated, reduced, unisolated and flagged results say so.
    """
    content = EXPORTERS[format_name](rank({name: run.read(Entry) for name, run in _named(runs).items()}))
    if output is not None:
        _write(output, content if isinstance(content, str) else _drawn(content))
    elif isinstance(content, str):
        click.echo(content, nl=False)
    else:
        output_console().print(content)


def _drawn(content: RenderableType) -> str:
    text = io.StringIO()
    file_console(text).print(content)
    return text.getvalue()


def _write(output: Path, content: str) -> None:
    if output.exists() and not output.is_file():  # a pipe or /dev/stdout must be written to, not replaced
        output.write_text(content, encoding="utf-8")
    else:
        write_atomically(output.resolve(), content.encode())


def _named(runs: tuple[str, ...]) -> dict[str, Run]:
    """The runs by name; one whose name another one has too goes by its path. The same run twice is one."""
    opened = {run.folder.resolve(): run for run in map(open_run, runs)}
    names = [run.name for run in opened.values()]
    return {run.name if names.count(run.name) == 1 else str(run.folder): run for run in opened.values()}
