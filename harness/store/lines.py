"""Reading a run's JSON lines: where a line stands, and what stands in it."""

import errno
import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pydantic_core
from pydantic import ValidationError

from harness.errors import StoreError
from harness.schema import SCHEMA_VERSION, Record

SET_ASIDE = ".set-aside"
"""What a record file's name is followed by in the name of the file with those of its lines that are no records."""
MOST_LINE_BYTES = 32 << 20
"""Of one line; records have some ten thousand. A longer one is no record, and is neither read to its end nor copied."""
MOST_KEYS = 1 << 16
"""Of a line or a manifest; records have some hundred. Each that is unknown is a fault, which pydantic describes in a
kilobyte.
"""
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"(\s*:)?|\\?\Z)', re.DOTALL)
"""A string of JSON, or the rest where it has no end; with its colon where it is a key."""
_MOST_SET_ASIDE = 4 * MOST_LINE_BYTES
_PIECE_BYTES = 1 << 16


class NotARecord(StoreError):
    """A line that cannot be read as a record, of this harness or a newer one."""


@dataclass(frozen=True, slots=True)
class Line:
    """One whole line of a file: `offset` and `size` in bytes, its newline not counted."""

    path: Path
    offset: int
    size: int

    @property
    def place(self) -> str:
        """File and line number, for a message; counting lines is slow, and messages are rare."""
        number, at = 1, 0
        with self.path.open("rb", buffering=0) as file:
            while (at := next_data(file.fileno(), at, self.offset)) < self.offset:
                piece = os.pread(file.fileno(), min(_PIECE_BYTES, self.offset - at), at)
                number += piece.count(b"\n")
                at += max(1, len(piece))
        return f"{self.path}:{number}"


def next_data(descriptor: int, at: int, end: int) -> int:
    """Where from `at` on a file has data, `end` where it has none before: a hole of any size is stepped over."""
    try:
        return min(end, os.lseek(descriptor, at, os.SEEK_DATA))
    except OSError as error:
        if error.errno != errno.ENXIO:  # nothing but a hole behind it
            raise
        return end


def has_holes(descriptor: int) -> bool:
    """Whether a part of a file lies nowhere on the disk: nobody who writes records leaves any."""
    size = os.fstat(descriptor).st_size
    return size > 0 and os.lseek(descriptor, 0, os.SEEK_HOLE) < size


def end_of_line(descriptor: int, at: int, end: int) -> int:
    """Where the line ends that `at` is in, behind its newline; `end` where it has none before."""
    while (at := next_data(descriptor, at, end)) < end:
        piece = os.pread(descriptor, min(_PIECE_BYTES, end - at), at)
        found = piece.find(b"\n")
        if found >= 0:
            return at + found + 1
        at += max(1, len(piece))
    return end


def start_of_line(descriptor: int, end: int) -> int:
    """Where the line begins that ends at `end`, without a newline of its own."""
    while end > 0:
        start = max(0, end - _PIECE_BYTES)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = _end_of_data(descriptor, start)
    return 0


def _end_of_data(descriptor: int, end: int) -> int:
    """A place up to `end`, with nothing but a hole between them."""
    low, high = 0, end
    while low < high:
        middle = (low + high) // 2
        if next_data(descriptor, middle, end) == end:
            high = middle
        else:
            low = middle + 1
    return high


def is_whole(content: bytes) -> bool:
    """Whether a line without a newline was written to its end."""
    try:
        return isinstance(pydantic_core.from_json(content), dict)
    except ValueError:
        return False


def set_aside(line: Line) -> None:
    """Copies a line to a file beside its own, once, where that can be written. It stays where it stands.

    One of more than MOST_LINE_BYTES is not copied, nor is any to a file that has grown beyond _MOST_SET_ASIDE.
    """
    if line.size > MOST_LINE_BYTES:
        return
    with suppress(OSError, StoreError):
        with line.path.open("rb") as file:
            file.seek(line.offset)
            content = file.read(line.size) + b"\n"
        beside = line.path.with_name(f"{line.path.name}{SET_ASIDE}")
        # A run may be another person's, and so may this line: no link has it written elsewhere.
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        with open(os.open(beside, flags, 0o644), "rb+", buffering=0) as copies:
            there = os.fstat(copies.fileno())
            room = stat.S_ISREG(there.st_mode) and there.st_size <= _MOST_SET_ASIDE
            if room and content not in copies.read():
                copies.write(content)


def has_many_keys(content: bytes) -> bool:
    """Whether JSON has more than MOST_KEYS keys."""
    if content.count(b":") <= MOST_KEYS:
        return False
    keys = (True for string in _STRING.finditer(content) if string[1])
    return next(islice(keys, MOST_KEYS, None), False)


def parse(line: Line, content: bytes) -> Record:
    """Reads one line as a record.

    Raises:
        NotARecord: it is none.
        StoreError: it was written by a newer harness.
    """
    if has_many_keys(content):
        raise _not_a_record(line, "more keys than any has")
    try:
        return Record.model_validate_json(content)
    except ValidationError as error:
        raise not_a_record(line, content, error) from error


def not_a_record(line: Line, content: bytes, error: ValidationError) -> StoreError:
    """What to raise where pydantic refuses a line."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return unreadable(line, content, f"{where}: {first['msg']}" if where else first["msg"])


def unreadable(line: Line, content: bytes, reason: str) -> StoreError:
    if (version := newer_version(content)) is not None:
        return StoreError(
            f"{line.place} was written by a newer harness (schema {version}, this one reads up to {SCHEMA_VERSION}): "
            "upgrade this harness to read it"
        )
    return _not_a_record(line, reason)


def _not_a_record(line: Line, reason: str) -> NotARecord:
    return NotARecord(f"{line.place} is not a record ({reason}): restore the file, or take that line out of it")


def newer_version(content: bytes, *, known: int = SCHEMA_VERSION) -> int | None:
    """The `schema_version` of a JSON object where it is above `known`."""
    try:
        loaded = pydantic_core.from_json(content)
    except ValueError:
        return None
    version = loaded.get("schema_version") if isinstance(loaded, dict) else None
    return version if isinstance(version, int) and version > known else None
