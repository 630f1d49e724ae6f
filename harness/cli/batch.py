"""`harness batch`: judge a folder of submissions, and resume where it stopped."""

import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import ONLY, RAY, judging, settings_of
from harness.errors import InputError, MachineError

if TYPE_CHECKING:
    from harness.catalog import Catalog
    from harness.controller.batch import Stranger
    from harness.schema import Submission

_MOST_NAMED = 5


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
@ONLY
@click.option("--strict", is_flag=True, help="Refuse a folder with files that answer no problem.")
@click.option("--model", metavar="NAME", help="Who made these submissions, whatever their names say.")
@click.option(
    "--fresh",
    is_flag=True,
    help="Judge again what the run has a verdict for, and each of several equal candidates; the new verdict counts.",
)
@click.option(
    "--shard", type=Shard(), default=(1, 1), metavar="i/N", help="Judge every N-th submission, from the i-th."
)
@click.option("--builders", type=click.IntRange(min=1), help="Submissions built at once.  [default: cores - devices]")
@RAY
def batch(
    folder: Path,
    run: str,
    problems: Path | None,
    device: str,
    only: tuple[str, ...],
    strict: bool,
    model: str | None,
    fresh: bool,
    shard: tuple[int, int],
    builders: int | None,
    ray: str | None,
    **options: Any,
) -> None:
    """Judge every submission in DIR that the run has no verdict for yet.

    DIR holds KernelBench's file names (level_1_problem_19_sample_0_kernel.py, .txt or .md), one folder a problem, or a
    generations.csv with the columns file, problem, sample, model. Stop it as you like: started again, it goes on.
    Files that answer no problem are named and left out.

    \b
    Exit status: 0 all judged, 2 bad usage or input,
    3 some could not be judged through a fault of ours or of the machine.
    """
    from harness.catalog import needy, open_catalog
    from harness.cli.console import output_console, progress_console, say_if_first_build, say_what_was_left_out
    from harness.cli.engines import engine_of, place_of
    from harness.cli.interrupt import leaving_at_once
    from harness.cli.progress import BatchDisplay, Reasons
    from harness.cli.stocks_word import StocksWord
    from harness.controller.batch import (
        check_settings,
        open_batch_run,
        remaining,
        require_same_folder,
        run_batch,
        tasks_for,
        without_strangers,
    )
    from harness.intake import read_folder

    catalog = open_catalog(problems)
    asked = catalog.only(only)
    submissions, strangers = without_strangers(read_folder(folder), catalog)
    _refuse(strangers, strict=strict)
    submissions = _chosen(submissions, catalog, {problem.title for problem in asked})
    if model is not None:
        submissions = [each.model_copy(update={"model": model}) for each in submissions]
    tasks = tasks_for(submissions, catalog, shard=shard)
    settings = settings_of(**options)
    check_settings([task.problem for task in tasks], settings)
    place = place_of(ray, device)
    console = progress_console()
    if wants := needy([task.problem for task in tasks]):
        console.print(wants)
    for stranger in strangers:
        console.print(f"left out    {stranger.path}: {stranger.reason}")
    tally: Counter[str] = Counter()
    stock = StocksWord()
    reasons = Reasons()
    with (
        leaving_at_once("interrupted; what was judged is kept, and the same command goes on from there"),
        open_batch_run(run, settings=settings, catalog=catalog, device=device, shard=shard, asked=asked) as opened,
    ):
        if not fresh:
            require_same_folder(tasks, opened, folder)
        opened.add_folder(folder)
        pending = tasks if fresh else remaining(tasks, opened)
        left = len(pending)
        say_what_was_left_out([opened])
        if left < len(tasks):
            console.print(f"{len(tasks) - left} of {len(tasks)} are judged already")
        if left:
            say_if_first_build(console)
            with (
                BatchDisplay(console, device=place, total=left) as display,
                engine_of(ray, device, settings, builders=builders, console=console, display=display) as engine,
            ):
                for record in run_batch(
                    pending,
                    run=opened,
                    engine=engine,
                    settings=settings,
                    fresh=fresh,
                    on_retry=display.show_retry,
                    on_audit=stock.hear,
                    on_step=lambda task, step: display.step(task.submission.path, step),
                ):
                    tally[record.verdict.kind] += 1
                    stock.see(record)
                    reasons.add(record)
                    display.show(record)
    for line in reasons.lines():
        output_console().print(line)
    output_console().print(_summary(len(tasks), tally, strangers, run))
    stock.say()
    if faults := tally["infrastructure"]:
        raise MachineError(
            f"{faults} could not be judged, which is no fault of theirs: see the reasons above, and give the same "
            "command again once that is mended"
        )


def _refuse(strangers: "tuple[Stranger, ...]", *, strict: bool) -> None:
    """Raises InputError where there are strangers and none is allowed."""
    if strangers and strict:
        more = f" {len(strangers) - 1} more answer none either." if len(strangers) > 1 else ""
        raise InputError(f"{strangers[0].path}: {strangers[0].reason}{more}")


def _chosen(submissions: "list[Submission]", catalog: "Catalog", titles: set[str]) -> "list[Submission]":
    """The submissions to these problems. Raises InputError where there is none."""
    if len(titles) == len(catalog.files):
        return submissions
    asked = {name: catalog.named(name).title in titles for name in {each.problem for each in submissions} if name}
    chosen = [each for each in submissions if each.problem is not None and asked[each.problem]]
    if not chosen:
        raise InputError(f"none of the {len(submissions)} submissions answers a problem that --only names")
    return chosen


def _summary(asked: int, tally: Counter[str], strangers: "tuple[Stranger, ...]", run: str) -> str:
    """What this start of the batch came to."""
    counted = ", ".join(f"{tally[kind]} {word}" for kind, word in _WORDS.items() if tally[kind]) or "nothing was left"
    return (
        f"{asked} submissions, judged now: {counted}\n{_left_out(strangers)}"
        f"harness leaderboard {shlex.quote(run)} ranks them"
    )


def _left_out(strangers: "tuple[Stranger, ...]") -> str:
    """How many files were left out and what they are called, as a line; empty where none was."""
    if not strangers:
        return ""
    named = ", ".join(each.path for each in strangers[:_MOST_NAMED])
    files = "file answers no problem and was" if len(strangers) == 1 else "files answer no problem and were"
    return f"{len(strangers)} {files} left out: {named}{', ...' if len(strangers) > _MOST_NAMED else ''}\n"


_WORDS = {
    "correct": "correct",
    "wrong": "wrong",
    "failed": "failed",
    "rejected": "rejected",
    "infrastructure": "could not be judged",
}
