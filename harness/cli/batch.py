"""`harness batch`: judge a folder of submissions, and resume where it stopped."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import judging, settings_of
from harness.errors import MachineError

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.text import Text

    from harness.schema import Record

_RATE_WINDOW_S = 1800.0  # candidates differ by minutes: a rate over less than this would jump about


class Shard(click.ParamType[tuple[int, int]]):
    """i/N with 1 <= i <= N."""

    name = "i/N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        part, _, of = str(value).partition("/")
        if part.isdecimal() and of.isdecimal() and 1 <= int(part) <= int(of):
            return int(part), int(of)
        raise click.BadParameter(f"{value!r} is no shard: give i/N with i from 1 to N", ctx, param)


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--run", required=True, metavar="RUN", help="The run to keep records in: a name under runs/, or a path.")
@judging
@click.option(
    "--shard", type=Shard(), default=(1, 1), metavar="i/N", help="Judge every N-th submission, from the i-th."
)
@click.option("--builders", type=click.IntRange(min=1), help="Submissions built at once.  [default: cores - devices]")
def batch(
    folder: Path,
    run: str,
    problems: Path | None,
    device: str,
    shard: tuple[int, int],
    builders: int | None,
    **options: Any,
) -> None:
    """Judge every submission in DIR that the run has no verdict for yet.

    DIR holds KernelBench's file names (level_1_problem_19_sample_0_kernel.py, .txt or .md), one folder a problem, or a
    generations.csv with the columns file, problem, sample, model. Stop it as you like: started again, it goes on.

    \b
    Exit status: 0 all judged, 2 bad usage or input, 3 some could not be judged through our fault or the machine's.
    """
    from harness.catalog import open_catalog
    from harness.cli.console import output_console, progress_console
    from harness.cli.interrupt import leaving_at_once
    from harness.intake import read_folder
    from harness.pipeline.run import (
        check_settings,
        default_builders,
        open_batch_run,
        remaining,
        run_batch,
        tasks_for,
    )
    from harness.pipeline.session import choose_devices, open_session

    catalog = open_catalog(problems)
    tasks = tasks_for(read_folder(folder), catalog, shard=shard)
    settings = settings_of(**options)
    check_settings([task.problem for task in tasks], settings)
    devices = choose_devices(device)
    console = progress_console()
    tally: Counter[str] = Counter()
    with (
        leaving_at_once("interrupted; what was judged is kept, and the same command goes on from there"),
        open_batch_run(run, settings=settings, catalog=catalog, device=device, shard=shard) as opened,
    ):
        left = len(remaining(tasks, opened))
        if left < len(tasks):
            console.print(f"{len(tasks) - left} of {len(tasks)} are judged already")
        if left:
            with _progress(console) as progress, open_session(device, settings) as session:
                bar = progress.add_task(", ".join(choice.name for choice in devices), total=left, rate="")

                def show(record: "Record", note: str = "") -> None:
                    line = _line(record, note)
                    if console.is_terminal:
                        console.print(line, no_wrap=True, overflow="ellipsis")
                    else:
                        console.print(line, soft_wrap=True)

                for record in run_batch(
                    tasks,
                    run=opened,
                    session=session,
                    builders=builders or default_builders(len(devices)),
                    on_retry=lambda record: show(record, "to be tried again: "),
                ):
                    tally[record.verdict.kind] += 1
                    show(record)
                    progress.update(bar, advance=1, rate=_rate(progress.tasks[0].speed))
    output_console().print(_summary(len(tasks), tally, run))
    if faults := tally["infrastructure"]:
        raise MachineError(
            f"{faults} could not be judged, which is no fault of theirs: see the lines above, and give the same "
            "command again once that is mended"
        )


def _progress(console: Any) -> "Progress":
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    return Progress(
        SpinnerColumn(),
        TextColumn("judging on {task.description}", markup=False),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console,
        transient=True,
        expand=True,
        speed_estimate_period=_RATE_WINDOW_S,
    )


def _line(record: "Record", note: str) -> "Text":
    """One line for a record, its verdict coloured."""
    from rich.text import Text

    from harness.report.text import STYLES, one_line

    line = Text(one_line(record))
    line.stylize(STYLES[record.verdict.kind], 0, len(line.plain.split("  ")[0]))
    return Text.assemble((note, "dim"), line)


def _rate(per_s: float | None) -> str:
    """Submissions a minute, or an hour where they are slow; empty before the second is done."""
    if not per_s:
        return ""
    return f"{per_s * 60:.0f}/min" if per_s * 60 >= 10 else f"{per_s * 3600:.0f}/h"


def _summary(asked: int, tally: Counter[str], run: str) -> str:
    """What this start of the batch came to."""
    kinds = ("correct", "wrong", "failed", "rejected", "infrastructure")
    counted = ", ".join(f"{tally[kind]} {_WORDS.get(kind, kind)}" for kind in kinds if tally[kind])
    return f"{asked} submissions{f' ({counted} now)' if counted else ''}: harness leaderboard {run}"


_WORDS = {"infrastructure": "not judged"}
