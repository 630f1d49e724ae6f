"""`harness eval`: judge one submission."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import judging, settings_of

if TYPE_CHECKING:
    from harness.schema.record import ToolName


@click.command()
@click.argument("submission", type=click.Path(path_type=Path))
@click.option("--problem", required=True, metavar="NAME|FILE", help="The problem it answers.")
@judging
@click.option(
    "--sanitize",
    multiple=True,
    type=click.Choice(["memcheck", "racecheck", "initcheck"]),
    help="Run it once more under compute-sanitizer; without a GPU memcheck is AddressSanitizer.",
)
@click.option("--profile", is_flag=True, help="Run it once more under Nsight Compute.")
@click.option("--run", metavar="RUN", help="Keep the record in this run as well: a name under runs/, or a path.")
@click.option("--json", "as_json", is_flag=True, help="Print the record as JSON.")
@click.pass_context
def evaluate(
    ctx: click.Context,
    /,
    submission: Path,
    problem: str,
    problems: Path | None,
    device: str,
    sanitize: "tuple[ToolName, ...]",
    profile: bool,
    run: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Judge SUBMISSION, a raw model response or a .py file, on one problem.

    \b
    Exit status: 0 judged correct, 1 judged and not correct, 2 bad usage or input, 3 our fault or the machine's.
    """
    from harness.catalog import apply_settings, open_catalog, read_problem
    from harness.cli.console import output_console, progress_console
    from harness.cli.interrupt import leaving_at_once
    from harness.inspect import require_tools
    from harness.intake import read_submission
    from harness.pipeline.evaluate import evaluate as evaluate_submission
    from harness.pipeline.run import open_eval_run
    from harness.pipeline.session import choose_devices, open_session
    from harness.report.text import report

    text = read_submission(submission)
    found = read_problem(Path(problem)) if _is_file(problem) else open_catalog(problems).find(problem)
    settings = settings_of(**options)
    apply_settings(found, settings.workload)  # what cannot be used is said before anything is started or written
    tools: list[ToolName] = list(dict.fromkeys(sanitize))
    if profile:
        tools.append("ncu")
    require_tools(tools, on_gpu=choose_devices(device)[0].gpu is not None)
    with ExitStack() as opened:
        opened.enter_context(leaving_at_once("interrupted; nothing was judged"))
        kept = opened.enter_context(open_eval_run(run, settings=settings, device=device)) if run is not None else None
        with progress_console().status("starting") as status:

            def on_phase(name: str) -> None:
                status.update(name)

            with open_session(device, settings, on_phase=on_phase) as session:
                evaluated = evaluate_submission(text, found, session=session, tools=tools, on_phase=on_phase)
        if as_json:
            click.echo(evaluated.record.model_dump_json(indent=2))
        else:
            source = evaluated.attachments.get("candidate.py")
            output_console().print(report(evaluated.record, source=source))
        if kept is not None:  # printed first: a disk that is full does not take the record from who waited for it
            kept.append(evaluated.record, evaluated.attachments)
    ctx.exit(0 if evaluated.record.verdict.kind == "correct" else 1)


def _is_file(problem: str) -> bool:
    return problem.endswith(".py") and Path(problem).is_file()
