"""`harness eval` and `harness compare`: judge one submission or several side by side, once or at every change."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import judging, settings_of

if TYPE_CHECKING:
    from rich.console import RenderableType

    from harness.controller.evaluate import Evaluated
    from harness.schema import Submission
    from harness.schema.record import ToolName
    from harness.store import Run

_POLL_S = 0.5
_REMEMBERED = 10

PROBLEM = click.option("--problem", required=True, metavar="NAME|FILE", help="The problem it answers.")
RUN = click.option("--run", metavar="RUN", help="Keep the record in this run as well: a name under runs/, or a path.")
WATCH = click.option("--watch", is_flag=True, help="Judge again whenever a file is saved, until Ctrl-C.")


@click.command()
@click.argument("submissions", metavar="SUBMISSION...", nargs=-1, required=True, type=click.Path(path_type=Path))
@PROBLEM
@judging
@click.option(
    "--sanitize",
    multiple=True,
    type=click.Choice(["memcheck", "racecheck", "initcheck"]),
    help="Run it once more under compute-sanitizer; without a GPU memcheck is AddressSanitizer.",
)
@click.option("--profile", is_flag=True, help="Run it once more under Nsight Compute.")
@RUN
@WATCH
@click.option("--json", "as_json", is_flag=True, help="Print the record as JSON; of several a list of them.")
@click.pass_context
def evaluate(
    ctx: click.Context,
    /,
    submissions: tuple[Path, ...],
    sanitize: "tuple[ToolName, ...]",
    profile: bool,
    as_json: bool,
    watch: bool,
    **options: Any,
) -> None:
    """Judge SUBMISSION, a raw model response, a .py or a .cu file, on one problem; - reads it from standard input.

    Several are judged one after the other and then shown side by side.

    \b
    Exit status: 0 judged correct, 1 judged and not correct, 2 bad usage or input, 3 our fault or the machine's.
    """
    if watch and as_json:
        raise click.UsageError("--watch is for a person to look at: leave --json out")
    tools: list[ToolName] = [*dict.fromkeys(sanitize), *(("ncu",) if profile else ())]
    show = _as_json if as_json else _reports
    ctx.exit(_judge(submissions, show=show, tools=tools, watch=watch, **options))


@click.command()
@click.argument("submissions", metavar="SUBMISSION...", nargs=-1, required=True, type=click.Path(path_type=Path))
@PROBLEM
@judging
@RUN
@WATCH
@click.pass_context
def compare(ctx: click.Context, /, submissions: tuple[Path, ...], watch: bool, **options: Any) -> None:
    """Judge several submissions to one problem in one session: each against the reference, and against each other.

    Which of two is faster is said where the whole interval of their ratio lies beyond 1%.

    \b
    Exit status: as of harness eval; 0 where all are correct.
    """
    if len(submissions) < 2:
        raise click.UsageError("give at least two submissions to compare")
    ctx.exit(_judge(submissions, show=_table, tools=(), watch=watch, **options))


Show = Callable[["Sequence[Evaluated]"], "RenderableType | str"]


def _judge(
    paths: Sequence[Path],
    *,
    show: Show,
    tools: "Sequence[ToolName]",
    watch: bool,
    problem: str,
    problems: Path | None,
    device: str,
    run: str | None,
    **options: Any,
) -> int:
    """Judge them, print what came of it and keep it; the exit status."""
    from harness.catalog import apply_settings, open_catalog, read_problem
    from harness.cli.console import output_console, progress_console, say_if_first_build
    from harness.cli.interrupt import leaving_at_once
    from harness.cli.progress import PhaseDisplay
    from harness.controller.batch import open_eval_run
    from harness.controller.engine import Ask, open_engine
    from harness.controller.session import choose_devices
    from harness.inspect import require_tools
    from harness.intake import read_submission

    texts = _distinct([read_submission(path) for path in paths])
    found = read_problem(Path(problem)) if _is_file(problem) else open_catalog(problems).find(problem)
    settings = settings_of(**options)
    apply_settings(found, settings.workload)  # what cannot be used is said before anything is started or written
    require_tools(list(tools), on_gpu=choose_devices(device)[0].gpu is not None)
    status, past = 0, _Past()
    with ExitStack() as opened:
        opened.enter_context(leaving_at_once("interrupted" if watch else "interrupted; nothing was judged"))
        kept = opened.enter_context(open_eval_run(run, settings=settings, device=device)) if run is not None else None
        console = progress_console()
        say_if_first_build(console)
        engine = None
        for round_texts in _rounds(texts, paths) if watch else (texts,):
            judged: list[Evaluated] = []
            for text in round_texts:
                with PhaseDisplay(console, text.path) as display:
                    if engine is None:
                        engine = opened.enter_context(open_engine(device, settings, on_phase=display.phase))
                    judged.append(engine.evaluate(Ask(text, found, settings, tools=tools, on_phase=display.phase)))
            shown = show(judged)
            if isinstance(shown, str):
                click.echo(shown)
            else:
                output_console().print(shown)
            if watch:
                output_console().print(past.with_these(judged))
            for evaluated in judged if kept is not None else ():  # printed first: a full disk takes no record away
                _keep(kept, evaluated)
            status = 0 if all(each.record.verdict.kind == "correct" for each in judged) else 1
    return status


def _keep(run: "Run | None", evaluated: "Evaluated") -> None:
    if run is not None:
        run.append(evaluated.record, evaluated.attachments)


def _distinct(submissions: "list[Submission]") -> "list[Submission]":
    """The submissions, the same file once. Raises UsageError where standard input is asked for twice."""
    once = {each.path: each for each in submissions}
    if sum(each.path == "stdin" for each in submissions) > 1:
        raise click.UsageError("- can be read once")
    return list(once.values())


def _rounds(first: "list[Submission]", paths: Sequence[Path]) -> "Iterator[list[Submission]]":
    """The submissions, and again whenever the text of one has changed: those that have. Never ends by itself."""
    from harness.errors import InputError
    from harness.intake import read_submission

    known = {each.path: each.sha256 for each in first}
    yield first
    while True:
        time.sleep(_POLL_S)
        changed = []
        for path in paths:
            try:
                read = read_submission(path) if str(path) != "-" else None
            except InputError:  # an editor may be writing it at this moment
                continue
            if read is not None and read.text.strip() and known.get(read.path) != read.sha256:
                known[read.path] = read.sha256
                changed.append(read)
        if changed:
            yield changed


class _Past:
    """The last results of a watch, each with the time of day at which it was judged."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def with_these(self, judged: "Sequence[Evaluated]") -> str:
        """All of them, the latest last."""
        from harness.report.text import one_line

        now = time.strftime("%H:%M:%S")
        self._lines += [f"{now}  {one_line(each.record)}" for each in judged]
        self._lines = self._lines[-_REMEMBERED:]
        return "\n" + "\n".join(self._lines) + "\n"


def _reports(judged: "Sequence[Evaluated]") -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    from harness.report.compare import side_by_side
    from harness.report.text import report

    reports = [report(each.record, source=each.attachments.get("candidate.py")) for each in judged]
    if len(judged) == 1:
        return reports[0]
    parts = [part for each in reports for part in (each, Text())]
    return Group(*parts, side_by_side([each.record for each in judged]))


def _table(judged: "Sequence[Evaluated]") -> "RenderableType":
    from harness.report.compare import side_by_side

    return side_by_side([each.record for each in judged])


def _as_json(judged: "Sequence[Evaluated]") -> str:
    texts = [each.record.model_dump_json(indent=2) for each in judged]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _is_file(problem: str) -> bool:
    return problem.endswith(".py") and Path(problem).is_file()
