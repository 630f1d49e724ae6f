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
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from harness.errors import StoreError
from harness.schema import SCHEMA_VERSION
from harness.schema.columns import Columns, ColumnsBuilder
from harness.schema.head import Head, read_head
from harness.store.lines import Line, is_whole, parse

# Starting a process costs a third of a second; this many bytes cost one process about as much again.
_BYTES_A_PROCESS = 64 << 20
_PROCESSES = 16
_BLOCK_BYTES = 1 << 22


@dataclass(frozen=True)
class Scan:
    """The records of a stretch of a file. `size` is the bytes of each line, its newline not counted."""

    columns: Columns
    size: NDArray[np.int64]

    @classmethod
    def joined(cls, parts: "list[Scan]") -> "Scan":
        columns = Columns.joined([part.columns for part in parts])
        return cls(columns, np.concatenate([part.size for part in parts]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of it as plain arrays, for `of_arrays`."""
        return {"size": self.size, **self.columns.arrays()}

    def save(self, file: BinaryIO, **further: NDArray[Any]) -> None:
        """Writes the arrays of `arrays`, and `further` ones, in numpy's own format."""
        named: dict[str, Any] = {**self.arrays(), **further}
        np.savez(file, **named)

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Scan":
        return cls(Columns.from_arrays(arrays), arrays["size"])


def scan(path: Path, start: int, end: int) -> Scan:
    """The records of the whole lines from byte `start` to byte `end`; both are where a line begins.

    Raises:
        StoreError: a line is not a record, or was written by a newer harness.
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
    is.
    """
    with path.open("rb") as file:
        file.seek(start)
        content = file.read()
    if b"\n" in content or not is_whole(content):  # a newline: it was ended after the lines before were read
        return None
    builder = ColumnsBuilder()
    builder.add((_head(Line(path, start, len(content)), content),))
    return Scan(builder.build(), np.array([len(content)]))


def _scan_alone(path: Path, start: int, end: int) -> Scan:
    builder = ColumnsBuilder()
    sizes = array("q")
    with _no_search_for_cycles():
        for offset, block in _blocks(path, start, end):
            lines = block.removesuffix(b"\n").split(b"\n")
            builder.add(_heads(path, offset, block, lines))
            sizes.extend(map(len, lines))
        return Scan(builder.build(), np.frombuffer(sizes, np.int64))


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


def _blocks(path: Path, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Whole lines, some at once, and where they begin."""
    with path.open("rb", buffering=1 << 16) as file:
        file.seek(start)
        while start < end and (block := file.read(min(_BLOCK_BYTES, end - start))):
            if not block.endswith(b"\n"):
                block += file.readline()
            yield start, block
            start += len(block)


def _heads(path: Path, offset: int, block: bytes, lines: list[bytes]) -> list[Head]:
    """The heads of lines that make up a block."""
    try:
        if not block.isascii():
            block.decode()  # read_head does not look whether what it steps over is UTF-8
        heads = list(map(read_head, lines))
        if all(head.schema_version == SCHEMA_VERSION for head in heads):
            return heads
    except ValueError:
        pass  # One of them is none, or not in the eyes of read_head: one after the other will tell.
    heads = []
    for content in lines:
        heads.append(_head(Line(path, offset, len(content)), content))
        offset += len(content) + 1
    return heads


def _head(line: Line, content: bytes) -> Head:
    try:
        content.decode()
        head = read_head(content)
    except ValueError:
        return Head.of(parse(line, content))
    return head if head.schema_version == SCHEMA_VERSION else Head.of(parse(line, content))


def _cuts(path: Path, start: int, end: int) -> list[int]:
    """Where the stretches begin and end that a process each reads."""
    processes = min(len(os.sched_getaffinity(0)), (end - start) // _BYTES_A_PROCESS, _PROCESSES)
    cuts = [start]
    with path.open("rb") as file:
        for part in range(1, processes):
            file.seek(start + (end - start) * part // processes)
            file.readline()
            if cuts[-1] < file.tell() < end:
                cuts.append(file.tell())
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
