"""`harness generate`: ask a model for submissions."""

import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import click

from harness.cli.generating import OPENAI, Price, Wanted, generating, server_of, wanted_of
from harness.errors import MachineError

RUN = click.option(
    "--run", required=True, metavar="RUN", help="The run to keep answers in: a name under runs/, or a path."
)


@click.command()
@RUN
@click.option("--problems", type=click.Path(path_type=Path), metavar="DIR", help="Problems: a folder or a file.")
@click.option(
    "--precision",
    type=click.Choice(["fp32", "fp16", "bf16"]),
    default="fp32",
    show_default=True,
    help="Of the inputs, the weights and the outputs.",
)
@generating
def generate(
    run: str,
    problems: Path | None,
    base_url: str,
    key_env: str,
    deadline_s: float,
    concurrency: int,
    price: Price | None,
    dry_run: bool,
    **options: Any,
) -> None:
    """Ask a model for submissions; what is there already is not asked again.

    Answers lie in RUN/generations with everything that led to them, and harness batch RUN/generations judges them. With
    --turns N the verdicts that RUN has by then are sent back. harness run does all of it at once.

    \b
    Exit status: 0 all answered (also where an answer is refused, empty or truncated),
    2 bad usage or input, 3 some were not answered through a fault of the server.
    """
    import asyncio

    from harness.catalog import open_catalog
    from harness.cli.console import output_console, progress_console
    from harness.cli.generation_display import GenerationDisplay
    from harness.cli.interrupt import leaving_at_once
    from harness.controller.generate_and_judge import records_so_far
    from harness.generate.asking import Asking
    from harness.generate.folder import open_generations
    from harness.store import GENERATIONS_NAME, run_folder

    wanted = wanted_of(open_catalog(problems), **options)
    if dry_run:
        print_prompts(wanted)
        return
    server = server_of(base_url=base_url, key_env=key_env, deadline_s=deadline_s)
    root = run_folder(run) / GENERATIONS_NAME
    with (
        leaving_at_once("interrupted; what was answered is kept, and the same command goes on from there"),
        open_generations(root, wanted.settings) as folder,
        GenerationDisplay(progress_console(), model=wanted.settings.model, price=price) as display,
    ):
        kept = folder.mend()
        records = records_so_far(run, kept.values(), folder) if wanted.plan.turns > 1 else {}
        asking = Asking(wanted.settings, server, folder, concurrency=concurrency, watcher=display)
        display.found(len(kept), 0)
        for ask in wanted.plan.due(kept, records, folder):
            asking.put(ask)
        asking.end()
        asyncio.run(asking.run())
    output_console().print(f"{summary(display.outcomes)}; {display.used}", soft_wrap=True)
    if kept or any(display.outcomes[name] for name in _OUTCOMES):
        output_console().print(
            f"harness batch {shlex.quote(str(root))} --run {shlex.quote(run)} judges them", soft_wrap=True
        )
    complain(display.outcomes)


def print_prompts(wanted: Wanted) -> None:
    """The first prompt of every problem, and the rest of the request, as they would be sent."""
    from harness.generate.apis import APIS
    from harness.generate.asking import prompt_sha256

    settings = wanted.settings
    for problem in wanted.plan.problems:
        messages = wanted.plan.templates.opening(problem, settings)
        body = APIS[settings.api].body(messages, settings, OPENAI)
        rest = ", ".join(f"{name}={value!r}" for name, value in body.items() if name not in ("messages", "input"))
        click.echo(f"==== {problem.title}  prompt {prompt_sha256(messages)[:12]}  {rest}")
        for message in messages:
            click.echo(f"---- {message.role}\n{message.content}")


def summary(outcomes: Counter[str]) -> str:
    """What this start has brought."""
    answered = sum(outcomes[name] for name in _OUTCOMES)
    others = "".join(f", {outcomes[name]} {name}" for name in _OUTCOMES[1:] if outcomes[name])
    if not answered and outcomes["unanswered"]:
        return f"nothing was answered, {outcomes['unanswered']} asked"
    return f"{answered} answered now{others}" if answered else "nothing was left to ask"


_OUTCOMES = ("complete", "truncated", "refused", "empty")


def complain(outcomes: Counter[str]) -> None:
    """Raises MachineError where something was not answered."""
    if unanswered := outcomes["unanswered"]:
        raise MachineError(
            f"{unanswered} were not answered, see the lines above: give the same command again once that is mended"
        )
