"""`harness problems`: which problems there are, what one of them says, and where more come from."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import Assignment

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
    """List, show, check and fetch problems."""


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


@problems.command(short_help="Run references: can they judge anybody?")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@PROBLEMS
@click.option("--device", default="auto", show_default=True, metavar="auto|cuda[:N]|cpu", help="Where to run them.")
@click.option("--set", "workload", multiple=True, type=Assignment(), help="Set a module-level number, where it exists.")
@click.option(
    "--tolerance",
    type=click.Choice(["scaled", "kernelbench"]),
    default="scaled",
    show_default=True,
    help="What trivial answers are held against.",
)
@click.pass_context
def check(
    ctx: click.Context,
    /,
    names: tuple[str, ...],
    problems: Path | None,
    device: str,
    workload: tuple[tuple[str, int | float], ...],
    tolerance: Any,
) -> None:
    """Run the references of NAMES, or of all problems, and say what is wrong with them as problems.

    Does it run, and give the same output twice? Would zeros, ones, a constant or an input itself pass for the answer?
    Do all inputs, their halves and all weights matter? What does a call take? The findings join the records of that
    problem.

    \b
    Exit status: 0 nothing to warn of, 1 something is, 2 bad usage or input.
    """
    from harness.catalog import open_catalog
    from harness.cli.console import output_console, progress_console
    from harness.controller.session import open_session
    from harness.errors import HarnessError
    from harness.report.problems import audit_table
    from harness.schema.audit import Audit
    from harness.settings import Settings

    catalog = open_catalog(problems)
    wanted = [catalog.find(name) for name in names] or catalog.problems()
    found: list[tuple[str, Audit | str]] = []
    with (
        progress_console().status("starting") as status,
        open_session(device, Settings(tolerance=tolerance)) as session,
    ):
        for problem in wanted:
            status.update(problem.title)
            known = _numbers_of(problem)
            settings = Settings(tolerance=tolerance, workload={k: v for k, v in workload if k in known})
            try:
                found.append((problem.title, session.seats[0].check(problem, settings).audit))
            except HarnessError as error:
                found.append((problem.title, str(error)))
    output_console().print(audit_table(found))
    ctx.exit(0 if all(isinstance(audit, Audit) and not audit.warns for _, audit in found) else 1)


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


def _numbers_of(problem: "Problem") -> set[str]:
    """The numbers of a problem that --set may change; none of one that cannot be read, which running it then says."""
    from harness.catalog import numeric_settings
    from harness.errors import ProblemError

    try:
        return set(numeric_settings(problem))
    except ProblemError:
        return set()


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
