"""`harness runs`: which runs there are, what is in one, how two differ, and several as one or as a data set."""

import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import RenderableType

    from harness.controller.evaluate import Evaluated
    from harness.schema.columns import Coded, Columns
    from harness.store import Run
    from harness.store.index import Index

_VERDICTS = ("correct", "wrong", "failed", "rejected", "infrastructure")


@click.group()
def runs() -> None:
    """List, show, compare, merge and publish runs. RUN is a name under runs/ or a path."""


@runs.command("list", short_help="List the runs under runs/.")
def list_runs() -> None:
    """List the runs under runs/, with what came of them."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from harness.cli.console import output_console, say_what_was_left_out
    from harness.report.escape import one_cell
    from harness.store import open_run, run_names

    names = run_names()
    drawn = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    drawn.add_column("run", overflow="fold", style="bold")
    for title in ("records", "correct", "not", "unjudged"):
        drawn.add_column(title, justify="right", no_wrap=True)
    drawn.add_column("models", overflow="fold")
    drawn.add_column("devices", overflow="fold", style="dim")
    drawn.add_column("begun", no_wrap=True, style="dim")
    for name in names:
        run = open_run(name)
        columns = run.index().columns
        say_what_was_left_out([run])
        verdicts = _counted(columns.verdict)
        correct, unjudged = verdicts["correct"], verdicts["infrastructure"]
        numbers = (len(columns), correct, len(columns) - correct - unjudged, unjudged)
        texts = (_named(columns.model, 1), _named(columns.device_name, 1), run.manifest.created[:10])
        drawn.add_row(one_cell(name), *map(str, numbers), *(Text(one_cell(text)) for text in texts))
    console = output_console()
    if names:
        console.print(drawn)
    else:
        console.print("there are no runs under runs/: harness batch DIR --run NAME makes one")


@runs.command(short_help="Say what is in a run, or print some of its records.")
@click.argument("name", metavar="RUN")
@click.argument("wanted", metavar="[SUBMISSION]", required=False)
@click.option("--history", is_flag=True, help="List every attempt in the order of time, earlier texts too.")
def show(name: str, wanted: str | None, history: bool) -> None:
    """Say what is in a run. SUBMISSION is a part of a submission's path or of its problem's title: one that fits is
    printed as harness eval prints it, several are listed.
    """
    from harness.cli.console import output_console, say_what_was_left_out
    from harness.store import open_run

    run = open_run(name)
    index = run.index()
    say_what_was_left_out([run])
    if history:
        shown = _history(run, index, wanted or "")
    else:
        shown = _about(run, index) if wanted is None else _found(run, index, wanted)
    console = output_console()
    for part in shown:
        console.print(part, soft_wrap=isinstance(part, str))


@runs.command(short_help="Have stock confirm what ranks first.")
@click.argument("name", metavar="RUN")
@click.option("--problems", type=click.Path(path_type=Path), metavar="DIR", help="Problems: a folder or a file.")
@click.option("--device", default="auto", show_default=True, metavar="auto|cuda[:N]|cpu", help="As it was judged.")
@click.pass_context
def confirm(ctx: click.Context, name: str, problems: Path | None, device: str) -> None:
    """Build by stock what ranks first of its problem and was built fast, judge it again, and keep what comes of it.

    Where the two verdicts differ stock's stands, and what ranks first then is asked about in its turn. It takes half a
    minute for each problem.

    \b
    Exit status: 0 all are confirmed or replaced, 3 of some stock could not be asked.
    """
    from harness.catalog import open_catalog
    from harness.cli.console import output_console
    from harness.cli.interrupt import leaving_at_once
    from harness.controller.confirming import confirm_firsts, settings_of, unconfirmed_firsts
    from harness.controller.engine import open_engine
    from harness.errors import HarnessError
    from harness.store import open_run

    manifest = open_run(name).manifest
    catalog, console = open_catalog(problems), output_console()
    words: Counter[str] = Counter()
    with (
        leaving_at_once("interrupted; what was confirmed is kept, and the same command goes on from there"),
        open_run(name, create=True, manifest=manifest) as opened,
    ):
        if unconfirmed_firsts(opened):
            with open_engine(device, settings_of(opened)) as engine:
                for evaluated in confirm_firsts(opened, engine=engine, catalog=catalog):
                    word, line = _audited(evaluated)
                    words[word] += 1
                    console.print(line, soft_wrap=True, markup=False, highlight=False)
    counted = ", ".join(f"{count} {word}" for word, count in words.items()) or "nothing is left to ask"
    console.print(f"{counted}\nharness leaderboard {name} ranks them", soft_wrap=True, markup=False, highlight=False)
    ctx.exit(HarnessError.exit_status if words["not asked"] else 0)


def _audited(evaluated: "Evaluated") -> tuple[str, str]:
    """What came of asking stock about a record: in a word, and in a line."""
    from harness.report.text import one_line
    from harness.schema.record import DIFFERED

    line = one_line(evaluated.record)
    if evaluated.fault is not None:
        return "not asked", f"not asked: {line} ({evaluated.fault})"
    word = "replaced" if any(flag.rule == DIFFERED for flag in evaluated.record.flags) else "confirmed"
    return word, f"{word}: {line}"


@runs.command(short_help="Say which problems were won and lost between two runs.")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
def diff(before: str, after: str) -> None:
    """Compare the best answers of run B with those of run A, problem by problem.

    Models that are in both runs are compared with themselves, else the best of any model. The ratio is the speed-up in
    B over that in A, with its 95% interval from the raw samples of both; an interval that allows for both is called
    ambiguous, and what lies within 1% the same.
    """
    from harness.cli.console import output_console, say_what_was_left_out
    from harness.report.diff import Side, diff_text
    from harness.report.diff import diff as compare
    from harness.store import open_run

    opened = [open_run(name) for name in (before, after)]
    indexes = [run.index() for run in opened]
    say_what_was_left_out(opened)
    first, second = (Side(index.columns, index.records) for index in indexes)
    names = (opened[0].name, opened[1].name)
    output_console().print(diff_text(compare(first, second), names=names if names[0] != names[1] else (before, after)))


@runs.command(short_help="Make one run of several.")
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@click.option("-o", "--output", required=True, metavar="RUN", help="The new run: a name under runs/, or a path.")
def merge(names: tuple[str, ...], output: str) -> None:
    """Make one new run of the records and attachments of several.

    Of several attempts at the same the last verdict counts; nothing is lost, and what stands in more than one run
    stands in the new one once. It is refused where one verdict would hide another on something else.
    """
    from harness.cli.leaderboard import named_runs
    from harness.report.escape import one_cell
    from harness.store.merge import merge as merge_runs

    opened = named_runs(names)
    if len(opened) < 2:
        raise click.UsageError("give at least two different runs")
    merged = merge_runs(list(opened.values()), output)
    details = [f"{merged.earlier} earlier attempts"] * bool(merged.earlier)
    details += [f"{merged.repeated} that stood there more than once"] * bool(merged.repeated)
    also = f", {' and '.join(details)}" if details else ""
    click.echo(f"{merged.folder}: {merged.records} records of {len(opened)} runs{also}")
    if merged.differing:
        differing = ", ".join(map(one_cell, merged.differing))  # others have named them
        click.echo(f"they do not agree in {differing}: the new run promises nothing about that")


@runs.command(short_help="Write a run as a Hugging Face data set.")
@click.argument("name", metavar="RUN")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path, file_okay=False), metavar="DIR")
def dataset(name: str, output: Path) -> None:
    """Write a run as the folder of a Hugging Face data set: Parquet files and a card. Nothing leaves this machine."""
    from harness.store import open_run

    if output.exists() and any(output.iterdir()):
        raise click.UsageError(f"{output} is not empty: give a new folder")
    written = _write_dataset(open_run(name), output)
    click.echo(f"{output}: {written} records; datasets.load_dataset({str(output)!r}, 'records') reads them")


@runs.command(short_help="Publish a run as a Hugging Face data set.")
@click.argument("name", metavar="RUN")
@click.argument("repository", metavar="REPO")
def push(name: str, repository: str) -> None:
    """Publish a run as the data set REPO (owner/name) on the Hugging Face hub.

    A data set that is made anew is private; one that is there stays as visible as it is. The token is the one that
    `hf auth login` or HF_TOKEN has left. What is published: every record with its submission, source and logs, the
    name of the host among them.
    """
    from harness.store import open_run

    run = open_run(name)
    with tempfile.TemporaryDirectory(prefix="harness-push-") as folder:
        written = _write_dataset(run, Path(folder))
        click.echo(f"{written} records: pushing them to {repository}", err=True)
        url = _upload(Path(folder), repository, message=f"{run.name}: {written} records")
    click.echo(url)


def _upload(folder: Path, repository: str, *, message: str) -> str:
    """Returns the address of the data set. Raises MachineError where the hub cannot be reached or refuses."""
    from huggingface_hub import HfApi, errors

    from harness.errors import InputError, MachineError

    api = HfApi()
    try:
        made = api.create_repo(repository, repo_type="dataset", private=True, exist_ok=True)
        api.upload_folder(repo_id=repository, repo_type="dataset", folder_path=folder, commit_message=message)
    except errors.HFValidationError as error:
        raise InputError(f"{repository!r} is no name of a data set: give owner/name") from error
    except (OSError, errors.HTTPError) as error:  # type: ignore[attr-defined]  # the hub's client raises these
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise MachineError(
            f"could not push to {repository} ({reason}): check the network, and hf auth login"
        ) from error
    return str(made)


def _write_dataset(run: "Run", folder: Path) -> int:
    from harness.cli.console import say_what_was_left_out
    from harness.report.escape import markdown_cell, one_cell
    from harness.report.judged import Judged
    from harness.report.leaderboard import markdown, parquet
    from harness.report.rows import leaderboard as rank
    from harness.store.dataset import write_dataset

    index = run.index()
    say_what_was_left_out([run])
    board = rank({run.name: Judged.of(index.columns, problems=run.manifest.problems)})
    return write_dataset(
        index.records(),
        run.attachments,
        folder,
        title=one_cell(run.name),  # others may have named it
        text=f"# {markdown_cell(run.name)}\n\n{len(index.columns)} submissions that were judged by kernel-harness.\n\n"
        f"{markdown(board)}",
        further={"leaderboard": parquet(board)},
    )


def _about(run: "Run", index: "Index") -> Iterator["RenderableType"]:
    """A few lines on a run."""
    from rich.table import Table
    from rich.text import Text

    from harness.report.escape import one_cell

    columns, manifest = index.columns, run.manifest
    verdicts = _counted(columns.verdict)
    dates = sorted(columns.judged_at.texts)
    earlier = len(index.lines) - len(columns)
    settings = (f"{name} {_setting(value)}" for name, value in manifest.settings.items() if _setting(value))
    facts = {
        "folder": str(run.folder),
        "begun": f"{manifest.created}, by harness {manifest.harness}",
        "records": f"{len(columns)}{f', and {earlier} earlier attempts' if earlier else ''}",
        "stock": _asked_of_stock(columns),
        "verdicts": ", ".join(f"{verdicts[kind]} {kind}" for kind in _VERDICTS if verdicts[kind]) or "none",
        "problems": ", ".join(f"{count} of {level or 'no level'}" for level, count in _problems(columns)) or "none",
        "models": _named(columns.model),
        "devices": _named(columns.device_name),
        "judged": f"{dates[0]} to {dates[-1]}" if dates else "never",
        "settings": ", ".join(settings) or "none named",
    }
    drawn = Table.grid(padding=(0, 2, 0, 0))
    drawn.add_column(style="dim", no_wrap=True)
    drawn.add_column(overflow="fold")
    for name, text in facts.items():
        drawn.add_row(name, Text(one_cell(text)))
    yield drawn


def _asked_of_stock(columns: "Columns") -> str:
    fast, asked, differed = (int(which.sum()) for which in (columns.fast, columns.confirmed, columns.differed))
    alarm = f"ALARM: {differed} JUDGED OTHERWISE THAN THEIR FAST BUILDS" if differed else "none differed"
    return (
        f"asked about {asked}, {alarm}; {fast} are of fast builds" if asked else f"not asked; {fast} are of fast builds"
    )


def _found(run: "Run", index: "Index", wanted: str) -> Iterator["RenderableType"]:
    """The records that fit: one in full, several in a line each."""
    from harness.report.text import one_line, report

    records = list(index.records(_fitting(run, index.columns, wanted)))
    if len(records) > 1:
        yield from map(one_line, records)
    else:
        yield report(records[0], source=run.attachments(records[0]).get("candidate.py"))


def _fitting(run: "Run", columns: "Columns", wanted: str) -> "Columns":
    """The records with this in their path or problem. Raises InputError where there is none."""
    import numpy as np

    from harness.errors import InputError

    fits = np.zeros(len(columns), np.bool_)
    for column in (columns.path, columns.problem):
        fits |= np.array([wanted in text for text in column.texts], np.bool_)[column.codes]
    if not fits.any():
        raise InputError(f"no record of {run.name} has {wanted!r} in its submission's path or its problem's title")
    return columns.take(fits)


def _history(run: "Run", index: "Index", wanted: str) -> "Iterator[RenderableType]":
    """A line an attempt, in the order of time; the texts that a submission had are numbered."""
    from harness.report.text import one_line

    records = sorted(index.records(_fitting(run, index.lines, wanted)), key=lambda record: record.judged_at)
    texts: dict[object, dict[str, int]] = {}
    for record in records:
        submission = record.submission
        known = texts.setdefault((record.problem.title, submission.path, submission.sample, submission.model), {})
        number = known.setdefault(submission.sha256, len(known) + 1)
        yield f"{record.judged_at[:19].replace('T', ' ')}  text {number}  {one_line(record)}"


def _counted(column: "Coded") -> Counter[str]:
    import numpy as np

    counts = np.bincount(column.codes, minlength=len(column.texts)).tolist()
    return Counter(dict(zip(column.texts, counts, strict=True)))


def _setting(value: object) -> str:
    """A setting of a manifest as text; empty where it was left out."""
    if isinstance(value, dict):
        return " ".join(f"{name}={each}" for name, each in value.items())
    if isinstance(value, list):
        return "+".join(map(str, value))
    return "" if value is None else str(value)


def _named(column: "Coded", most: int = 4) -> str:
    """The most frequent names; what has no name is not among them."""
    names = [name for name, count in _counted(column).most_common() if name and count]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}" or "-"


def _problems(columns: "Columns") -> Iterator[tuple[str, int]]:
    """Each level, and how many problems of it have a record."""
    from harness.report.judged import set_of

    levels = Counter(set_of(title) for title, count in _counted(columns.problem).items() if count)
    yield from sorted(levels.items())
