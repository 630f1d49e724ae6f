"""A record file -> columns, a line a record; a long file by several processes.

python -m harness.store.scan FILE START END OUTPUT     what such a process runs
"""

import gc
import os
import subprocess
import sys
import tempfile
from array import array
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import BytesIO
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from harness.errors import StoreError
from harness.schema import SCHEMA_VERSION
from harness.schema.columns import Columns, ColumnsBuilder
from harness.schema.head import Head, read_head
from harness.store.lines import MOST_LINE_BYTES, Line, NotARecord, end_of_line, has_holes, is_whole, parse

# Starting a process costs a third of a second; this many bytes cost one process about as much again.
_BYTES_A_PROCESS = 64 << 20
_PROCESSES = 16
_BLOCK_BYTES = 1 << 18  # what stays in a core's cache


@dataclass(frozen=True)
class Scan:
    """The records of a stretch of a file. `place` is where each line stands: its first byte in the file, and its bytes,
    its newline not counted. `strays` is the same of the lines that are no records.
    """

    columns: Columns
    place: NDArray[np.int64]
    strays: NDArray[np.int64]

    @classmethod
    def joined(cls, parts: "list[Scan]") -> "Scan":
        columns = Columns.joined([part.columns for part in parts])
        places, strays = ([getattr(part, name) for part in parts] for name in ("place", "strays"))
        return cls(columns, np.concatenate(places), np.concatenate(strays))

    @classmethod
    def of_nothing(cls) -> "Scan":
        return cls(Columns.of(()), _Places().array(), _Places().array())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of it as plain arrays, for `of_arrays`."""
        return {"place": self.place, "strays": self.strays, **self.columns.arrays()}

    def save(self, file: BinaryIO, **further: NDArray[Any]) -> None:
        """Writes the arrays of `arrays`, and `further` ones, in numpy's own format."""
        named: dict[str, Any] = {**self.arrays(), **further}
        np.savez(file, **named)

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Scan":
        return cls(Columns.from_arrays(arrays), arrays["place"], arrays["strays"])


def scan(path: Path, start: int, end: int) -> Scan:
    """The records of the whole lines from byte `start` to byte `end`; both are where a line begins.

    Raises:
        StoreError: a line was written by a newer harness.
    """
    cuts = _cuts(path, start, end)
    if len(cuts) == 2:
        return _scan_alone(path, start, end)
    with tempfile.TemporaryDirectory(prefix="harness-scan-") as folder, ExitStack() as closing:
        helpers = []
        for number, stretch in enumerate(pairwise(cuts[1:])):
            output = Path(folder) / str(number)
            command = [sys.executable, "-m", "harness.store.scan", str(path), *map(str, stretch), str(output)]
            process = closing.enter_context(subprocess.Popen(command, stderr=subprocess.DEVNULL))
            closing.callback(process.kill)
            helpers.append((process, stretch, output))
        parts = [_scan_alone(path, cuts[0], cuts[1])]
        for process, stretch, output in helpers:
            # Whatever a helper met, this process meets it too, and can say it.
            parts.append(_load(output) if process.wait() == 0 else _scan_alone(path, *stretch))
        return Scan.joined(parts)


def scan_last(path: Path, start: int) -> Scan | None:
    """The record of a last line that has no newline, where it is whole: a torn write is none, what was edited by hand
    is. One that is longer than any record is a stray.
    """
    with path.open("rb") as file:
        file.seek(start)
        content = file.read(MOST_LINE_BYTES + 1)
        size = os.fstat(file.fileno()).st_size
    reading = _Reading(path, start)
    if b"\n" in content:  # it was ended after the lines before were read
        return None
    if len(content) > MOST_LINE_BYTES:
        reading.leave_out(size + 1)
    elif is_whole(content):
        reading.add([content + b"\n"])
    else:
        return None
    return reading.scan()


def _scan_alone(path: Path, start: int, end: int) -> Scan:
    reading = _Reading(path, start)
    with _no_search_for_cycles(), path.open("rb") as file:
        file.seek(start)
        while reading.at < end and (block := file.read(min(_BLOCK_BYTES, end - reading.at))):
            if not block.endswith(b"\n"):
                block += file.readline(MOST_LINE_BYTES)
            *lines, last = BytesIO(block).readlines()
            if last.endswith(b"\n") or len(last) <= MOST_LINE_BYTES:
                reading.add([*lines, last])
            else:
                reading.add(lines)
                with path.open("rb", buffering=0) as beside:  # whose place in the file is its own
                    reading.leave_out(end_of_line(beside.fileno(), reading.at + len(last), end))
                file.seek(reading.at)
        return reading.scan()


@contextmanager
def _no_search_for_cycles() -> Iterator[None]:
    """Reading makes no reference cycles, and Python's search for them takes a fifth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Reading:
    """Lines that stand one after the other from byte `at` on, as they are read."""

    def __init__(self, path: Path, at: int) -> None:
        self.at = at
        self._path = path
        self._builder = ColumnsBuilder()
        self._place, self._strays = _Places(), _Places()

    def add(self, lines: list[bytes]) -> None:
        """Adds their records, and puts aside what is none. Raises StoreError as `scan` does."""
        try:
            if _are_text(lines):
                heads = list(map(read_head, lines))
                if all(head.schema_version == SCHEMA_VERSION for head in heads):
                    self._builder.add(heads)
                    self.at = self._place.add(self.at, lines)
                    return
        except (ValueError, RecursionError):
            pass  # one of them is no record, or has a number that is not finite, or is too deep: pydantic will tell
        for line in lines:
            try:
                head = Head.of(parse(Line(self._path, self.at, len(line)), line))
            except NotARecord:
                self.at = self._strays.add(self.at, [line])
            else:
                self._builder.add((head,))
                self.at = self._place.add(self.at, [line])

    def leave_out(self, end: int) -> None:
        """Puts a line that ends at byte `end`, its newline counted, aside unread."""
        self.at = self._strays.add_one(self.at, end)

    def scan(self) -> Scan:
        return Scan(self._builder.build(), self._place.array(), self._strays.array())


class _Places:
    """Where lines stand."""

    def __init__(self) -> None:
        self._offset, self._size = array("q"), array("q")

    def add(self, at: int, lines: list[bytes]) -> int:
        """Adds lines that stand one after the other from byte `at` on; where the last of them ends."""
        sizes = list(map(len, lines))
        *offsets, end = accumulate(sizes, initial=at)
        self._offset.fromlist(offsets)
        self._size.fromlist(sizes)
        return end

    def add_one(self, at: int, end: int) -> int:
        """Adds one line from byte `at` to byte `end`, which is given back."""
        self._offset.append(at)
        self._size.append(end - at)
        return end

    def array(self) -> NDArray[np.int64]:
        """First byte and bytes, the newline not counted, a row a line."""
        return np.column_stack((np.frombuffer(self._offset, np.int64), np.frombuffer(self._size, np.int64) - 1))


def _are_text(lines: list[bytes]) -> bool:
    """Whether these are UTF-8; msgspec does not look at that in what it steps over."""
    return all(map(bytes.isascii, lines)) or bool(b"".join(lines).decode())


def _cuts(path: Path, start: int, end: int) -> list[int]:
    """Where the stretches begin and end that a process each reads."""
    processes = min(len(os.sched_getaffinity(0)), (end - start) // _BYTES_A_PROCESS, _PROCESSES)
    cuts = [start]
    with path.open("rb", buffering=0) as file:
        for part in range(1, 1 if has_holes(file.fileno()) else processes):
            cut = end_of_line(file.fileno(), start + (end - start) * part // processes, end)
            if cuts[-1] < cut < end:
                cuts.append(cut)
    return [*cuts, end]


def _load(output: Path) -> Scan:
    with np.load(output, allow_pickle=False) as arrays:
        return Scan.of_arrays({name: arrays[name] for name in arrays.files})


def _main(file: str, start: str, end: str, output: str) -> int:
    try:
        found = _scan_alone(Path(file), int(start), int(end))
    except StoreError:
        return 1
    with open(output, "wb") as stream:
        found.save(stream)
    return 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
