"""Reading a run's JSON lines: where a line stands, and what stands in it."""

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pydantic_core
from pydantic import ValidationError

from harness.errors import StoreError
from harness.schema import SCHEMA_VERSION, Record

SET_ASIDE = ".set-aside"
"""What a record file's name is followed by in the name of the file with those of its lines that are no records."""


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
        with self.path.open("rb") as file:
            number = file.read(self.offset).count(b"\n") + 1
        return f"{self.path}:{number}"


def is_whole(content: bytes) -> bool:
    """Whether a line without a newline was written to its end."""
    try:
        return isinstance(pydantic_core.from_json(content), dict)
    except ValueError:
        return False


def set_aside(line: Line) -> None:
    """Copies a line to a file beside its own, once, where that can be written. It stays where it stands."""
    with suppress(OSError, StoreError):
        with line.path.open("rb") as file:
            file.seek(line.offset)
            content = file.read(line.size) + b"\n"
        beside = line.path.with_name(f"{line.path.name}{SET_ASIDE}")
        # A run may be another person's, and so may this line: no link has it written elsewhere.
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        with open(os.open(beside, flags, 0o644), "rb+", buffering=0) as copies:
            if stat.S_ISREG(os.fstat(copies.fileno()).st_mode) and content not in copies.read():
                copies.write(content)


def parse(line: Line, content: bytes) -> Record:
    """Reads one line as a record.

    Raises:
        NotARecord: it is none.
        StoreError: it was written by a newer harness.
    """
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
    return NotARecord(f"{line.place} is not a record ({reason}): restore the file, or take that line out of it")


def newer_version(content: bytes, *, known: int = SCHEMA_VERSION) -> int | None:
    """The `schema_version` of a JSON object where it is above `known`."""
    try:
        loaded = pydantic_core.from_json(content)
    except ValueError:
        return None
    version = loaded.get("schema_version") if isinstance(loaded, dict) else None
    return version if isinstance(version, int) and version > known else None
