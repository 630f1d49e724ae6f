"""`harness batch`: judge a folder of submissions, and resume where it stopped."""

import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import click

from harness.cli.options import judging, settings_of
from harness.errors import MachineError


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
    Exit status: 0 all judged, 2 bad usage or input,
    3 some could not be judged through a fault of ours or of the machine.
    """
    from harness.catalog import needy, open_catalog
    from harness.cli.console import output_console, progress_console
    from harness.cli.interrupt import leaving_at_once
    from harness.cli.progress import BatchDisplay
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
    if wants := needy([task.problem for task in tasks]):
        console.print(wants)
    tally: Counter[str] = Counter()
    with (
        leaving_at_once("interrupted; what was judged is kept, and the same command goes on from there"),
        open_batch_run(run, settings=settings, catalog=catalog, device=device, shard=shard) as opened,
    ):
        left = len(remaining(tasks, opened))
        if left < len(tasks):
            console.print(f"{len(tasks) - left} of {len(tasks)} are judged already")
        if left:
            names = ", ".join(choice.name for choice in devices)
            with BatchDisplay(console, device=names, total=left) as display, open_session(device, settings) as session:
                for record in run_batch(
                    tasks,
                    run=opened,
                    session=session,
                    builders=builders or default_builders(len(devices)),
                    on_retry=display.show_retry,
                ):
                    tally[record.verdict.kind] += 1
                    display.show(record)
    output_console().print(_summary(len(tasks), tally, run))
    if faults := tally["infrastructure"]:
        raise MachineError(
            f"{faults} could not be judged, which is no fault of theirs: see the lines above, and give the same "
            "command again once that is mended"
        )


def _summary(asked: int, tally: Counter[str], run: str) -> str:
    """What this start of the batch came to."""
    counted = ", ".join(f"{tally[kind]} {word}" for kind, word in _WORDS.items() if tally[kind]) or "nothing was left"
    return f"{asked} submissions, judged now: {counted}\nharness leaderboard {shlex.quote(run)} ranks them"


_WORDS = {
    "correct": "correct",
    "wrong": "wrong",
    "failed": "failed",
    "rejected": "rejected",
    "infrastructure": "could not be judged",
}
