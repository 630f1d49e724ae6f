"""The command line: one file a command. This one starts in a twentieth of a second and knows no command's code."""

import importlib
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
    "eval": Entry("harness.cli.eval", "evaluate", "Judge one submission: is it right, is it faster."),
    "batch": Entry("harness.cli.batch", "batch", "Judge a folder of submissions; resumes where it stopped."),
    "generate": Entry("harness.cli.generate", "generate", "Ask a model for submissions; resumes where it stopped."),
    "run": Entry("harness.cli.run", "run", "Generate, batch and leaderboard in one; resumes where it stopped."),
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
        except Exception:  # noqa: BLE001 - a bug of ours, and Python's own exit status for it, 1, means "not correct"
            traceback.print_exc()
            message = "this is a fault of the harness itself: please report it with the lines above"
            _leave(ctx, message, HarnessError.exit_status)


def _leave(ctx: click.Context, message: str, exit_status: int) -> NoReturn:
    click.echo(f"harness: {message}", err=True)
    ctx.exit(exit_status)


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
