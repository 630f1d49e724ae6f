"""`harness run`: ask a model, judge what it answers as it comes, and rank it."""

from collections import Counter
from pathlib import Path
from typing import Any

import click

from harness.cli.generate import RUN, complain, print_prompts, summary
from harness.cli.generating import ASKING, Price, generating, server_of, wanted_of
from harness.cli.options import RAY, judging, settings_of
from harness.errors import MachineError


@click.command()
@RUN
@judging
@generating
@click.option("--builders", type=click.IntRange(min=1), help="Submissions built at once.  [default: cores - devices]")
@RAY
@click.pass_context
def run(
    ctx: click.Context,
    /,
    run: str,
    problems: Path | None,
    device: str,
    base_url: str,
    key_env: str,
    deadline_s: float,
    concurrency: int,
    price: Price | None,
    dry_run: bool,
    builders: int | None,
    ray: str | None,
    **options: Any,
) -> None:
    """Ask a model, judge its answers as they come, rank it: generate, batch and leaderboard in one.

    With --turns N each verdict but the last goes back to the model: compiler errors, how wrong it is and where, how
    fast it is, never an expected value. Stop it as you like: started again, it goes on.

    \b
    Exit status: 0 all answered and judged, 2 bad usage or input,
    3 some were not, through a fault of ours, of the server or of the machine.
    """
    from harness.catalog import needy, open_catalog
    from harness.cli.console import output_console, progress_console
    from harness.cli.engines import engine_of, place_of
    from harness.cli.generation_display import GenerationDisplay
    from harness.cli.interrupt import leaving_at_once
    from harness.cli.leaderboard import leaderboard
    from harness.cli.stocks_word import StocksWord
    from harness.controller.batch import check_settings, open_batch_run
    from harness.controller.generate_and_judge import run_generating
    from harness.generate.folder import open_generations
    from harness.store import GENERATIONS_NAME

    catalog = open_catalog(problems)
    asking = {name: options.pop(name) for name in ASKING}
    wanted = wanted_of(catalog, precision=options["precision"], **asking)
    if dry_run:
        print_prompts(wanted)
        return
    server = server_of(base_url=base_url, key_env=key_env, deadline_s=deadline_s)
    options["races"] |= wanted.plan.turns > 1  # a model is told of them
    settings = settings_of(**options)
    check_settings(wanted.plan.problems, settings)
    place = place_of(ray, device)
    console = progress_console()
    if wants := needy(wanted.plan.problems):
        console.print(wants)
    tally: Counter[str] = Counter()
    stock = StocksWord()
    with (
        leaving_at_once(
            "interrupted; all that was answered and judged is kept, and the same command goes on from there"
        ),
        open_batch_run(
            run, settings=settings, catalog=catalog, device=device, shard=(1, 1), asked=wanted.plan.problems
        ) as opened,
        open_generations(opened.folder / GENERATIONS_NAME, wanted.settings) as folder,
        GenerationDisplay(
            console,
            model=wanted.settings.model,
            price=price,
            device=place,
        ) as display,
        engine_of(ray, device, settings, builders=builders, console=console, display=display) as engine,
    ):
        for record in run_generating(
            wanted.plan,
            folder=folder,
            server=server,
            concurrency=concurrency,
            run=opened,
            engine=engine,
            settings=settings,
            watcher=display,
            on_found=display.found,
            on_retry=display.show_retry,
            on_audit=stock.hear,
        ):
            tally[record.verdict.kind] += 1
            stock.see(record)
            display.judged(record)
    ctx.invoke(leaderboard, runs=(str(opened.folder.resolve()),))
    output_console().print(
        f"\n{summary(display.outcomes)}; {display.used}; {sum(tally.values())} judged now", soft_wrap=True
    )
    stock.say()
    complain(display.outcomes)
    if faults := tally["infrastructure"]:
        raise MachineError(
            f"{faults} could not be judged, which is no fault of theirs: see the lines above, and give the same "
            "command again once that is mended"
        )
