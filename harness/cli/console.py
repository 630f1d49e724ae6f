"""The two consoles: what a command found goes to standard output, how it is getting on to standard error.

Colours are used on a terminal only, and not where NO_COLOR is set; both are rich's own rules.
"""

import codecs
import io
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO

import click
from rich.console import Console

from harness.report.escape import plain
from harness.store.lines import SET_ASIDE

if TYPE_CHECKING:
    from harness.store import Run


def output_console() -> Console:
    """Writes to standard output."""
    return _console(sys.stdout)


def progress_console() -> Console:
    """Writes to standard error."""
    return _console(sys.stderr)


def say_what_was_left_out(runs: "Iterable[Run]") -> None:
    """One word to standard error about the lines of these runs that are no records, once their index was read."""
    for run in runs:
        if run.left_out:
            more = f" and {len(run.left_out) - 1} more" if len(run.left_out) > 1 else ""
            click.echo(
                f"harness: {run.left_out[0]}{more} is not a record and was left out; a copy lies in "
                f"{run.folder}/*.jsonl{SET_ASIDE}",
                err=True,
            )


def say_if_first_build(console: Console) -> None:
    """One word where nothing was built on this machine before: the first build prepares the headers of all."""
    from harness.compile.cache import ArtifactCache

    if not ArtifactCache().summary().tools:
        console.print(
            "nothing was built on this machine yet: the first kernel's build prepares headers, half a minute, once"
        )


def file_console(file: TextIO) -> Console:
    """Writes plain text to a file, as to a pipe."""
    return _console(file)


class _Console(Console):
    """A console on which no text obeys itself: names of files and words of models are among what is printed."""

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*(plain(each) if isinstance(each, str) else each for each in objects), **options)


class _Pipe(_Console):
    """A console that is no terminal: nothing is wrapped to a width, and no line is filled up with blanks."""

    def print(self, *objects: Any, **options: Any) -> None:
        with self.capture() as captured:
            super().print(*objects, **options)
        text = "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())
        self.file.write(text if captured.get().endswith("\n") else text.removesuffix("\n"))


def _console(file: TextIO) -> Console:
    if isinstance(file, io.TextIOWrapper):
        codecs.register_error(_SPELT, _spelt)
        file.reconfigure(errors=_SPELT)
    # Text of models is printed: none of it is markup, an emoji code or something to highlight.
    options: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False, "soft_wrap": False}
    console: Console = _Console(file=file, **options)
    return console if console.is_terminal else _Pipe(file=file, width=_NO_WIDTH, **options)


_NO_WIDTH = 100_000
_SPELT = "harness-spelt"
_SPELLINGS = {
    "✓": "ok", "✗": "no", "…": "...", "µ": "u", "─": "-", "━": "-", "│": "|", "→": "->", "·": "-", "±": "+/-",
}  # fmt: skip


def _spelt(error: UnicodeError) -> tuple[str, int]:
    """Words of ASCII for characters that an encoding lacks; a question mark where there is none."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_SPELLINGS.get(character, "?") for character in lacking), error.end
