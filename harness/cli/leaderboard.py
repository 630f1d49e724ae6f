"""`harness leaderboard RUN...`: rank the models of one or more runs."""

import io
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import RenderableType

    from harness.report.judged import Judged
    from harness.schema import Record
    from harness.store import Run
    from harness.store.index import Index

FORMATS = ("table", "markdown", "csv", "json", "parquet", "html", "kernelbench")
_VERDICTS = ("correct", "wrong", "failed", "rejected", "infrastructure")


def filtering(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that choose records."""
    for option in reversed(_FILTERS):
        command = option(command)
    return command


_FILTERS: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = [
    click.option("--model", "models", multiple=True, metavar="NAME", help="Only this model, or a pattern: 'gpt-*'."),
    click.option("--level", "levels", multiple=True, metavar="SET", help="Only this set of problems: 1, or level1."),
    click.option(
        "--device", "devices", multiple=True, metavar="DEVICE", help="Only this: cuda, or a part of its name: H200."
    ),
    click.option(
        "--verdict",
        "verdicts",
        multiple=True,
        type=click.Choice(_VERDICTS),
        help="Only this verdict; then there are no rates.",
    ),
    click.option(
        "--min-isolation",
        type=click.Choice(["none", "basic", "full"]),
        default="none",
        show_default=True,
        help="Leave out what ran with less.",
    ),
    click.option("--only-answered", is_flag=True, help="Take shares of the problems that a model answers, not of all."),
]


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@filtering
@click.option("-p", "ps", multiple=True, type=click.FloatRange(min=0), help="Say fast_p for this p too.  [0, 1, 2]")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="What to write; parquet needs pyarrow, kernelbench is a folder of the files that its own scripts read.",
)
@click.option(
    "--by",
    type=click.Choice(["model", "submission"]),
    default="model",
    show_default=True,
    help="What a line of the CSV is.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to a file instead; kernelbench: a folder.")
def leaderboard(
    runs: tuple[str, ...], ps: tuple[float, ...], format_name: str, by: str, output: Path | None, **filters: Any
) -> None:
    """Rank the models of one or more runs.

    RUN is a name under runs/ or a path. Rows are apart by model, run, device, precision and baseline; the denominator
    of fast_p is every problem that was asked, with --only-answered every one that was answered. Emulated, reduced,
    unisolated and flagged results say so. Options that are given several times let through any of their values.
    """
    if by == "submission" and format_name != "csv":
        raise click.UsageError("--by submission is a CSV: give --format csv too")
    if format_name == "parquet" and output is None and sys.stdout.isatty():
        raise click.UsageError("parquet is no text: give -o FILE")
    if format_name == "kernelbench":
        if output is None:
            raise click.UsageError("kernelbench is several files: give -o DIR, new or a checkout of KernelBench")
        _write_kernelbench(runs, filters, output)
        return
    if output is not None and output.is_dir():
        raise click.UsageError(f"{output} is a folder: give a file")
    content = _content(runs, ps, "samples" if by == "submission" else format_name, filters)
    if output is not None:
        _write(output, content if isinstance(content, str | bytes) else _drawn(content))
    elif isinstance(content, str | bytes):
        click.echo(content, nl=False)
    else:
        from harness.cli.console import output_console

        output_console().print(content)


def _content(
    names: tuple[str, ...], ps: tuple[float, ...], format_name: str, filters: dict[str, Any]
) -> "str | bytes | RenderableType":
    from harness.report.leaderboard import EXPORTERS
    from harness.report.rows import leaderboard as rank

    runs = named_runs(names)
    indexes, chosen = _chosen(runs, filters)
    if format_name == "html":
        return _page(runs, indexes, chosen)
    if format_name == "samples":
        from harness.report.samples import samples_csv

        return samples_csv({name: indexes[name].records(each.columns) for name, each in chosen.items()})
    return EXPORTERS[format_name](rank(chosen, ps=ps))


def _chosen(runs: "Mapping[str, Run]", filters: dict[str, Any]) -> "tuple[dict[str, Index], dict[str, Judged]]":
    """The index of each run, and what the filters let through of it."""
    from harness.cli.console import say_what_was_left_out
    from harness.report.judged import Judged, check_filters

    indexes = {name: run.index() for name, run in runs.items()}
    say_what_was_left_out(runs.values())
    judged = {name: Judged.of(index.columns, problems=runs[name].manifest.problems) for name, index in indexes.items()}
    check_filters(judged.values(), models=filters["models"], levels=filters["levels"])
    return indexes, {name: each.only(**filters) for name, each in judged.items()}


def _page(runs: "Mapping[str, Run]", indexes: "Mapping[str, Index]", chosen: "Mapping[str, Judged]") -> str:
    from harness.report.page import render

    return render(
        {name: indexes[name].records(each.columns) for name, each in chosen.items()},
        lambda name, record: runs[name].attachments(record),
        title=", ".join(runs),
        judged=chosen,
        reference=_references(),
    )


def _references() -> "Callable[[Record], str]":
    """The sources of the problems that are found from here, each only for records of that very file."""
    from harness.catalog import open_catalog
    from harness.errors import InputError

    try:
        sources = {problem.sha256: problem.source for problem in open_catalog().problems()}
    except InputError:  # a page can be made anywhere
        sources = {}
    return lambda record: sources.get(record.problem.sha256, "")


def _write_kernelbench(names: tuple[str, ...], filters: dict[str, Any], folder: Path) -> None:
    """Write KernelBench's files below a folder, and say what its analysis will make of them."""
    from harness.report.escape import one_cell
    from harness.report.kernelbench import kernelbench
    from harness.store import write_atomically

    indexes, chosen = _chosen(named_runs(names), filters)
    export = kernelbench({name: indexes[name].records(each.columns) for name, each in chosen.items()})
    for name, content in export.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content.encode())
    for level in export.levels:
        click.echo(f"{folder / level.results}: {len(level.problems)} problems")
        for remark in level.remarks:
            click.echo(f"  {remark}")
    if commands := [level.command for level in export.levels if level.command]:
        click.echo("\nIn a checkout of KernelBench with these files:")
        click.echo("\n".join(commands))
    if export.left_out:
        left_out = ", ".join(map(one_cell, export.left_out))  # others have named them
        click.echo(f"\nleft out, for want of a level and a number: {left_out}")


def _drawn(content: "RenderableType") -> str:
    from harness.cli.console import file_console

    text = io.StringIO()
    file_console(text).print(content)
    return text.getvalue()


def _write(output: Path, content: str | bytes) -> None:
    from harness.store import write_atomically

    encoded = content.encode() if isinstance(content, str) else content
    if output.exists() and not output.is_file():  # a pipe or /dev/stdout must be written to, not replaced
        output.write_bytes(encoded)
    else:
        write_atomically(output.resolve(), encoded)


def named_runs(names: tuple[str, ...]) -> "dict[str, Run]":
    """The runs by name; one whose name another one has too goes by its path. The same run twice is one."""
    from harness.schema.base import encodable
    from harness.store import open_run

    opened = {run.folder.resolve(): run for run in map(open_run, names)}
    short = [run.name for run in opened.values()]
    return {run.name if short.count(run.name) == 1 else encodable(str(run.folder)): run for run in opened.values()}
