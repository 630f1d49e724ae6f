"""`harness batch`: judge a folder of submissions, and resume where it stopped."""

from pathlib import Path
from typing import Any

import click

from harness.cli.options import judging, settings_of


class Shard(click.ParamType[tuple[int, int]]):
    """i/N with 1 <= i <= N."""

    name = "i/N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        part, _, of = str(value).partition("/")
        if part.isdecimal() and of.isdecimal() and 1 <= int(part) <= int(of):
            return int(part), int(of)
        self.fail(f"{value!r} is no shard: give i/N with i from 1 to N", param, ctx)


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
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    from harness.catalog import open_catalog
    from harness.cli.console import output_console, progress_console
    from harness.intake import read_folder
    from harness.pipeline.run import default_builders, open_batch_run, remaining, run_batch, tasks_for
    from harness.pipeline.session import open_session
    from harness.report.text import one_line

    catalog = open_catalog(problems)
    tasks = tasks_for(read_folder(folder), catalog, shard=shard)
    settings = settings_of(**options)
    console = progress_console()
    with open_batch_run(run, settings=settings, catalog=catalog, device=device, shard=shard) as opened:
        left = remaining(tasks, opened)
        if left < len(tasks):
            console.print(f"{len(tasks) - left} of {len(tasks)} are judged already")
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=console, transient=True) as progress:
            bar = progress.add_task("starting", total=left, rate="")
            with open_session(device, settings) as session:
                progress.update(bar, description=f"judging on {session.device_names}")
                judged = run_batch(
                    tasks, run=opened, session=session, builders=builders or default_builders(len(session.seats))
                )
                for record in judged:
                    progress.console.print(one_line(record))
                    speed = progress.tasks[0].finished_speed or progress.tasks[0].speed
                    progress.update(bar, advance=1, rate=f"{speed * 3600:,.0f}/h" if speed else "")
        output_console().print(f"{len(tasks)} submissions judged: harness leaderboard {run}")
