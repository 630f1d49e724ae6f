"""The two consoles: what a command found goes to standard output, how it is getting on to standard error.

Colours are used on a terminal only, and not where NO_COLOR is set; both are rich's own rules.
"""

import io
import sys
from typing import TextIO

from rich.console import Console

FILE_WIDTH = 120


def output_console() -> Console:
    """Writes to standard output."""
    return _console(sys.stdout)


def progress_console() -> Console:
    """Writes to standard error."""
    return _console(sys.stderr)


def file_console(file: TextIO) -> Console:
    """Writes plain text to a file, FILE_WIDTH columns wide."""
    return _console(file, width=FILE_WIDTH)


def _console(file: TextIO, *, width: int | None = None) -> Console:
    if isinstance(file, io.TextIOWrapper):
        file.reconfigure(errors="replace")  # a terminal that cannot show a character shows a question mark
    # Text of models is printed: none of it is markup, an emoji code or something to highlight.
    return Console(file=file, width=width, markup=False, emoji=False, highlight=False, soft_wrap=False)
