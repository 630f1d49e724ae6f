"""The command line: one file a command. This one starts in a twentieth of a second and knows no command's code."""

import importlib
import sys
import traceback
from typing import IO, Any, NamedTuple

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
    "batch": Entry("harness.cli.batch", "batch", "Judge a folder of submissions into a run; resumes where it stopped."),
    "leaderboard": Entry("harness.cli.leaderboard", "leaderboard", "Rank the models of one or more runs."),
    "doctor": Entry("harness.cli.doctor", "doctor", "Say what this machine can do, and how to mend what it cannot."),
    "cache": Entry("harness.cli.cache", "cache", "Show or empty the cache of built kernels."),
}


class Fault(click.ClickException):
    """A fault that the user is told in one sentence, with the exit status that belongs to it."""

    def __init__(self, message: str, exit_status: int) -> None:
        super().__init__(message)
        self.exit_code = exit_status

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"harness: {self.message}", file=file or sys.stderr)


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
        except HarnessError as error:
            raise Fault(str(error), error.exit_status) from error
        except KeyboardInterrupt:
            raise Fault("interrupted", INTERRUPTED_STATUS) from None
        except BrokenPipeError:
            raise  # the reader of our output left, as `head` does; click ends quietly
        except OSError as error:
            raise Fault(_sentence(error), HarnessError.exit_status) from error
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            # A bug of ours. Python's own exit status for it, 1, means "judged and not correct" here.
            traceback.print_exc()
            raise Fault(
                "this is a fault of the harness itself: please report it with the lines above", HarnessError.exit_status
            ) from error


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
