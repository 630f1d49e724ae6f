"""`harness demo`: what the harness does, shown on submissions that come along with it."""

import click

from harness.errors import InputError

RUN = "demo"


@click.command()
@click.pass_context
def demo(ctx: click.Context) -> None:
    """Judge eight submissions to five problems on whatever device there is, and rank them.

    They come along with the harness; the records are kept in runs/demo. Started again, it goes on where it stopped.

    \b
    Exit status: as of harness batch.
    """
    from harness.cli.batch import batch
    from harness.cli.leaderboard import leaderboard
    from harness.shipped import shipped

    submissions, problems = shipped("examples/submissions"), shipped("problems")
    if submissions is None or problems is None:
        raise InputError("this installation came without the demo's submissions: install the wheel, or use a checkout")
    ctx.invoke(batch, folder=submissions, problems=problems, run=RUN)
    ctx.invoke(leaderboard, runs=(RUN,))
