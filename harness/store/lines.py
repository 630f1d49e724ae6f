"""Reading a run's JSON lines: which line is the last word on its key, and what stands in it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pydantic_core
from pydantic import BaseModel, ConfigDict, ValidationError

from harness.errors import StoreError
from harness.schema import SCHEMA_VERSION
from harness.store.key import Key

View = TypeVar("View", bound=BaseModel)


class _Part(BaseModel):
    """A part of a record: reading only what is asked costs half of reading the record."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _Problem(_Part):
    set: str
    name: str


class _Submission(_Part):
    path: str
    sha256: str
    sample: int = 0
    model: str = ""


class _Verdict(_Part):
    kind: str


class Head(_Part):
    """What decides which of two records of the same key counts."""

    schema_version: int
    problem: _Problem
    submission: _Submission
    verdict: _Verdict
    judged_at: str

    @property
    def key(self) -> Key:
        title = f"{self.problem.set}/{self.problem.name}" if self.problem.set else self.problem.name
        return Key(title, self.submission.path, self.submission.sample, self.submission.model)

    @property
    def settled(self) -> bool:
        """Whether this needs no other try: our own failure is not an answer."""
        return self.verdict.kind != "infrastructure"


@dataclass(frozen=True, slots=True)
class Line:
    """One whole line of a file: `offset` and `size` in bytes, its newline not counted; `number` from 1."""

    path: Path
    number: int
    offset: int
    size: int

    @property
    def place(self) -> str:
        return f"{self.path}:{self.number}"


@dataclass(frozen=True, slots=True)
class Word:
    """What one line says about its key. `sha256` is that of the submission, which may have been edited since."""

    line: Line
    settled: bool
    judged_at: str
    sha256: str

    def outranks_in_file(self, other: "Word") -> bool:
        """Whether this counts and not `other`, an earlier line of the same file: the order of lines is time."""
        return self.settled or not other.settled or self.sha256 != other.sha256

    def outranks_elsewhere(self, other: "Word") -> bool:
        """Whether this counts and not `other`, from a file that sorts earlier: only the dates can be compared."""
        if self.sha256 != other.sha256:  # a verdict on what stood there before says nothing about what stands there now
            return self.judged_at >= other.judged_at
        return (self.settled, self.judged_at) >= (other.settled, other.judged_at)


def lines(path: Path) -> Iterator[tuple[Line, bytes]]:
    """The lines of a file with where they stand. A last line without its newline is left out unless it is whole JSON:
    a torn write is not a record, a file that somebody edited by hand still is.
    """
    offset = 0
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            content = raw.removesuffix(b"\n")
            if content != raw or is_whole(content):
                yield Line(path, number, offset, len(content)), content
            offset += len(raw)


def is_whole(content: bytes) -> bool:
    """Whether a line without a newline was written to its end."""
    try:
        return isinstance(pydantic_core.from_json(content), dict)
    except ValueError:
        return False


def last_words(paths: list[Path]) -> dict[Key, Word]:
    """For every key the line that counts, in the order in which the keys first appear.

    Within a file the last judged record counts, else the last `infrastructure` one. Between files a judged record
    beats an `infrastructure` one, then the later `judged_at`, then the file that sorts later. Where the submission was
    edited in between, the later record counts, whatever it says.

    Raises:
        StoreError: a line is not a record, or was written by a newer harness.
    """
    words: dict[Key, Word] = {}
    for path in paths:
        for key, word in _words(path).items():
            if key not in words or word.outranks_elsewhere(words[key]):
                words[key] = word
    return words


def _words(path: Path) -> dict[Key, Word]:
    words: dict[Key, Word] = {}
    for line, content in lines(path):
        head = parse(line, content, Head)
        if head.schema_version != SCHEMA_VERSION:
            raise _unreadable(line, content, "its schema is not ours")
        word = Word(line, head.settled, head.judged_at, head.submission.sha256)
        if head.key not in words or word.outranks_in_file(words[head.key]):
            words[head.key] = word
    return words


def parse(line: Line, content: bytes, view: type[View]) -> View:
    """Reads one line as `view`: Record, or any model of a part of it.

    Raises:
        StoreError: it is not one.
    """
    try:
        return view.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise _unreadable(line, content, f"{where}: {first['msg']}" if where else first["msg"]) from error


def _unreadable(line: Line, content: bytes, reason: str) -> StoreError:
    if (version := newer_version(content)) is not None:
        return StoreError(
            f"{line.place} was written by a newer harness (schema {version}, this one reads up to {SCHEMA_VERSION}): "
            "upgrade this harness to read it"
        )
    return StoreError(f"{line.place} is not a record ({reason}): restore the file, or take that line out of it")


def newer_version(content: bytes, *, known: int = SCHEMA_VERSION) -> int | None:
    """The `schema_version` of a JSON object where it is above `known`."""
    try:
        loaded = pydantic_core.from_json(content)
    except ValueError:
        return None
    version = loaded.get("schema_version") if isinstance(loaded, dict) else None
    return version if isinstance(version, int) and version > known else None
