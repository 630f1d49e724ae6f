"""`harness serve`: judge for many callers over HTTP."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import RAY, judging, settings_of
from harness.errors import InputError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from harness.controller.engine import Engine as Judging
    from harness.serve.engine import Engine
    from harness.settings import Settings


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address; others than loopback need a token.")
@click.option("--port", type=click.IntRange(0, 65535), default=8321, show_default=True, help="0 takes a free one.")
@click.option(
    "--state",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("serve"),
    show_default=True,
    metavar="DIR",
    help="Where jobs and the run of their records are kept.",
)
@click.option(
    "--queue",
    type=click.IntRange(min=1),
    default=1024,
    show_default=True,
    metavar="N",
    help="Judgements that may wait; more are refused with 429.",
)
@click.option(
    "--drain",
    "drain_s",
    type=click.FloatRange(min=0.0),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="What SIGTERM leaves to the judgements that run.",
)
@click.option(
    "--keep",
    "keep_days",
    type=click.FloatRange(min=0.0, min_open=True),
    metavar="DAYS",
    help="Forget jobs so long after they were asked for; for ever where it is left out. Records stay in the run.",
)
@judging
@RAY
def serve(
    host: str,
    port: int,
    state: Path,
    queue: int,
    drain_s: float,
    keep_days: float | None,
    problems: Path | None,
    device: str,
    ray: str | None,
    **options: Any,
) -> None:
    """Judge for many callers over HTTP: trainers, agents, other machines.

    Judgements that were accepted survive the server. With HARNESS_TOKEN set callers must show it; without it only
    this machine may ask. What can be asked is in docs/serve.md.

    \b
    Exit status: 0 drained after SIGTERM, 2 bad usage or input, 3 our fault or the machine's.
    """
    import functools
    import os

    from harness.catalog import open_catalog

    try:
        from harness.serve.process import bound
        from harness.serve.process import serve as serve_until_told
    except ImportError as error:
        raise InputError(f"{error.name} is missing: pip install 'kernel-harness[serve]'") from None
    from harness.serve.engine import Engine

    settings = settings_of(**options)
    catalog = open_catalog(problems)
    token = os.environ.pop("HARNESS_TOKEN", "")  # no process that is started from here has a use for it
    with bound(host, port, token=token) as listening:

        def ready(engine: "Engine") -> None:
            name = f"[{host}]" if ":" in host else host
            address = f"http://{name}:{listening.getsockname()[1]}"
            click.echo(f"serving on {address}, judging on {engine.device_names}; jobs and records in {state}", err=True)

        serve_until_told(
            listening,
            lambda watcher: Engine(
                state,
                open_judging=functools.partial(_open_judging, ray, device, settings),
                catalog=catalog,
                settings=settings,
                most_queued=queue,
                keep_s=None if keep_days is None else keep_days * 86400,
                watcher=watcher,
            ),
            token=token,
            drain_s=drain_s,
            on_ready=ready,
        )


def _open_judging(ray: str | None, device: str, settings: "Settings") -> "AbstractContextManager[Judging]":
    """What judges for the server, opened anew where it was lost; what becomes of nodes goes to its log."""
    if ray is None:
        from harness.controller.engine import open_engine

        return open_engine(device, settings)
    from harness.cluster.engine import open_cluster_engine

    return open_cluster_engine(ray, device, settings, on_news=lambda news, judging: click.echo(news, err=True))
