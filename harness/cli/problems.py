"""`harness problems`: which problems there are, what one of them says, and where more come from."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from harness.schema import Problem

PROBLEMS = click.option(
    "--problems",
    type=click.Path(path_type=Path),
    metavar="SOURCE",
    help="A folder, a KernelBench checkout, a file, a parquet file or a data set that was fetched.",
)


@click.group()
def problems() -> None:
    """List, show and fetch problems."""


@problems.command("list", short_help="List them, with their numbers and needs.")
@PROBLEMS
@click.option("--level", type=int, metavar="N", help="Only this level.")
def list_problems(problems: Path | None, level: int | None) -> None:
    """List problems with the numbers that --set may change, and what they need beside torch."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from harness.catalog import open_catalog
    from harness.cli.console import output_console

    catalog = open_catalog(problems)
    found = [problem for problem in catalog.problems() if level is None or problem.set in _folders(level)]
    drawn = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    drawn.add_column("problem", overflow="fold")
    drawn.add_column("numbers", overflow="fold", style="dim")
    told = {problem.title: _told(problem) for problem in found}
    lacking = sum(bool(wants) for _, wants in told.values())
    if lacking:
        drawn.add_column("needs", overflow="fold", style="yellow")
    for title, cells in told.items():
        drawn.add_row(*map(Text, (title, *cells[: 1 + bool(lacking)])))
    console = output_console()
    if found:
        console.print(drawn)
    lack = f", {lacking} of which need more than torch" if lacking else ""
    console.print(f"{len(found)} problems in {catalog.root}{lack}", soft_wrap=True)


@problems.command(short_help="Print the source of one.")
@click.argument("name")
@PROBLEMS
def show(name: str, problems: Path | None) -> None:
    """Print the source of problem NAME, under comments that say where it is and what it needs."""
    from harness.catalog import open_catalog

    catalog = open_catalog(problems)
    problem = catalog.find(name)
    numbers, wants = _told(problem)
    path = catalog.files.get(problem.title)
    about = [problem.title, str(path) if path else "", f"sha256 {problem.sha256}"]
    about += [f"numbers: {numbers}" if numbers else "", f"needs: {wants}" if wants else ""]
    click.echo("".join(f"# {line}\n" for line in about if line))
    click.echo(problem.source.rstrip("\n"))


@problems.command(short_help="Lay out a data set as problem files.")
@click.argument("source", default="ScalingIntelligence/KernelBench")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Lay them out in this new folder and not in the cache.",
)
def fetch(source: str, output: Path | None) -> None:
    """Lay out a data set as problem files: the one command that may download.

    SOURCE is a name on the Hugging Face hub (by default KernelBench's own, all four levels), a parquet file or a folder
    of them. From then on `--problems SOURCE` finds what was fetched, and nothing asks the hub.
    """
    from harness.catalog import fetch as fetch_problems
    from harness.catalog import open_catalog

    folder = fetch_problems(source, output)
    sets = Counter(problem.set for problem in open_catalog(folder).problems())
    counted = ", ".join(f"{name} {count}" for name, count in sets.items())
    click.echo(f"{sets.total()} problems in {folder}: {counted}")
    click.echo(f"use them with --problems {output or source}")


def _folders(level: int) -> tuple[str, str]:
    return f"level{level}", f"level_{level}"


def _told(problem: "Problem") -> tuple[str, str]:
    """The numbers of a problem and what it needs, each as one phrase."""
    from harness.catalog import needs, numeric_settings
    from harness.errors import ProblemError

    try:
        numbers = " ".join(f"{name}={value}" for name, value in numeric_settings(problem).items())
        return numbers, str(needs(problem))
    except ProblemError as error:  # one that cannot be read does not hide the others
        return "", str(error)
