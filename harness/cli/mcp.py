"""`harness mcp`: a coding agent asks for verdicts over stdio."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import judging, settings_of
from harness.errors import InputError

if TYPE_CHECKING:
    from harness.mcp import Judges


@click.command()
@click.option("--server", metavar="URL", help="Ask this harness serve, with HARNESS_TOKEN; else judge here.")
@click.option(
    "--problem-sources",
    "sources",
    is_flag=True,
    help="Take a problem's own source too, which runs unconfined on this machine.",
)
@judging
def mcp(server: str | None, sources: bool, problems: Path | None, device: str, **options: Any) -> None:
    """Speak the Model Context Protocol on standard input and output, for coding agents: judge a kernel, list and show
    problems, explain a record.

    Without --server it judges by itself, and the other options are its settings; with it they are those of the server.

    \b
    Exit status: 0 the agent has left, 2 bad usage or input, 3 our fault or the machine's.
    """
    import asyncio

    try:
        from harness.mcp import Here, There, make_server
    except ImportError as error:
        raise InputError(f"{error.name} is missing or too old: pip install 'kernel-harness[mcp]'") from None
    with ExitStack() as opened:
        judges: Judges
        if server:
            judges = There(server)
        else:
            judges = opened.enter_context(Here(device, settings_of(**options), problems, sources=sources))
        asyncio.run(make_server(judges).run_stdio_async())
