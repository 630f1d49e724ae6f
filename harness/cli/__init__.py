"""The command line: one file a command. This one starts in a twentieth of a second and knows no command's code."""

import importlib
import sys
import traceback
from typing import Any, NamedTuple, NoReturn

import click

from harness import __version__
from harness.errors import HarnessError

INTERRUPTED_STATUS = 130


class Entry(NamedTuple):
    """Where a command is, and its line in `harness --help`, which is printed without importing it."""

    module: str
    attribute: str
    summary: str


COMMANDS = {
    "demo": Entry("harness.cli.demo", "demo", "Judge eight submissions that come along, and rank them."),
    "eval": Entry("harness.cli.eval", "evaluate", "Judge a submission: is it right, is it faster."),
    "compare": Entry("harness.cli.eval", "compare", "Judge several submissions to a problem side by side."),
    "batch": Entry("harness.cli.batch", "batch", "Judge a folder of submissions; resumes where it stopped."),
    "generate": Entry("harness.cli.generate", "generate", "Ask a model for submissions; resumes where it stopped."),
    "run": Entry("harness.cli.run", "run", "Generate, batch and leaderboard in one; resumes where it stopped."),
    "serve": Entry("harness.cli.serve", "serve", "Judge for many callers over HTTP; accepted work survives."),
    "mcp": Entry("harness.cli.mcp", "mcp", "Let a coding agent ask for verdicts over stdio."),
    "leaderboard": Entry("harness.cli.leaderboard", "leaderboard", "Rank the models of one or more runs."),
    "runs": Entry("harness.cli.runs", "runs", "List, show, compare, merge and publish runs."),
    "problems": Entry("harness.cli.problems", "problems", "List, show and fetch problems."),
    "doctor": Entry("harness.cli.doctor", "doctor", "Say what this machine can do, and how to mend what it cannot."),
    "cache": Entry("harness.cli.cache", "cache", "Show or empty the cache of built kernels."),
}


class Commands(click.Group):
    """A group that imports a command when it is called, and the one border at which faults become exit statuses."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command = getattr(importlib.import_module(entry.module), entry.attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise  # click's own; and a reader of our output that left, as `head` does, which click ends quietly
        except HarnessError as error:
            _leave(ctx, str(error), error.exit_status)
        except KeyboardInterrupt:
            _leave(ctx, "interrupted", INTERRUPTED_STATUS)
        except OSError as error:
            _leave(ctx, _sentence(error), HarnessError.exit_status)
        except Exception as error:  # noqa: BLE001 - a bug of ours; Python's own exit status for it means "not correct"
            if missing := _missing(error):
                _leave(ctx, _how_to_install(missing), HarnessError.exit_status)
            traceback.print_exc()
            message = "this is a fault of the harness itself: please report it with the lines above"
            _leave(ctx, message, HarnessError.exit_status)


def _leave(ctx: click.Context, message: str, exit_status: int) -> NoReturn:
    from harness.report.escape import plain

    click.echo(f"harness: {plain(message)}", err=True)  # names of files are in it, and their origin is unknown
    ctx.exit(exit_status)


_EXTRAS = {
    "openai": "generate",
    "datasets": "datasets",
    "pyarrow": "datasets",
    "huggingface_hub": "datasets",
    "mcp": "mcp",
    "ray": "ray",
}


def _missing(error: Exception) -> str:
    """The package that is not installed; empty where that is not what happened, or where it would be ours."""
    name = error.name or "" if isinstance(error, ModuleNotFoundError) else ""
    return "" if name.partition(".")[0] == "harness" else name


def _how_to_install(module: str) -> str:
    """What mends a module that is missing: the extra that brings it, or the package itself with its dependencies."""
    package = module.partition(".")[0]
    extra = f"[{_EXTRAS[package]}]" if package in _EXTRAS else ""
    return f"{package} is not installed for {sys.executable}: pip install 'kernel-harness{extra}' brings it"


def _sentence(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="harness")
def main() -> None:
    """Judge GPU kernels that language models wrote: do they compile, are they right, are they faster.

    \b
    Exit status: 0 done (eval: judged correct), 1 eval: judged and not correct,
    2 bad usage or input, 3 a fault of ours or of the machine, 130 interrupted.
    """
