"""Places in a module's machine code to lines of the candidate, by the line table that the compiler wrote.

Knows DWARF 4 in 64-bit little-endian ELF, as `harness.emulate.TRACE_FLAGS` asks for it. What it cannot read has no
lines. Runs in the UNTRUSTED worker, on a file that is the candidate's own: it explains, and decides nothing.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from harness.schema.build import BuildRequest

_DEBUG_LINE = b".debug_line"
_MOST_BYTES = 64 << 20


class Row(NamedTuple):
    """From `address` on, an offset in the module, code is that of a line of a file; `ends` where a sequence is over."""

    address: int
    file: str
    line: int
    ends: bool


def place_in_candidate(path: Path, place: int, request: BuildRequest, source: str) -> str | None:
    """The line of the candidate that a call returned to at `place` ("candidate.py:12", "cuda_sources[0]:3").

    Of code of the headers' it is the line that led there. None where it cannot be told.
    """
    texts = {label.rsplit("/", 1)[-1]: (label, text) for label, text in _labelled(request)}
    try:
        found = _row_before(path, place, frozenset(texts))
    except (OSError, struct.error, ValueError, IndexError, ArithmeticError):
        return None
    if found is None:
        return None
    label, text = texts[found.file]
    at = source.find(text.strip("\n ")) if text.strip() else -1
    if at < 0:
        return f"{label}:{found.line}"
    blank = text[: len(text) - len(text.lstrip("\n "))].count("\n")
    return f"candidate.py:{source[:at].count(chr(10)) + found.line - blank}"


def _labelled(request: BuildRequest) -> Iterator[tuple[str, str]]:
    for kind, sources in (("cpp_sources", request.cpp_sources), ("cuda_sources", request.cuda_sources)):
        yield from ((f"{kind}[{i}]", text) for i, text in enumerate(sources))
    yield from request.files.items()


def _row_before(path: Path, place: int, files: frozenset[str]) -> Row | None:
    """The last row of one of these files, in the sequence that holds the call before `place`."""
    best: Row | None = None
    last: Row | None = None
    for row in rows(path):
        if last is not None and last.address < place <= row.address and best is not None:
            return best
        if row.ends:
            best = last = None
            continue
        last = row
        if row.file in files and row.line:
            best = row
    return None


def rows(path: Path) -> Iterator[Row]:
    """The rows of a module's line table, sequence by sequence."""
    data = _section(path, _DEBUG_LINE)
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        end = at + 4 + length
        (version,) = struct.unpack_from("<H", data, at + 4)
        if length >= 0xFFFFFFF0 or version != 4:
            return
        yield from _unit(data, at + 6, end)
        at = end


def _section(path: Path, name: bytes) -> bytes:
    """A section of an ELF file; nothing where there is none that is plain."""
    data = path.read_bytes()
    if len(data) > _MOST_BYTES or data[:6] != b"\x7fELF\x02\x01":
        return b""
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQ", data, table + size * i) for i in range(count)]
    strings = sections[names][4]
    for name_at, _, flags, _, offset, length in sections:
        if data[strings + name_at :].startswith(name + b"\0") and not flags & 0x800:  # SHF_COMPRESSED
            return data[offset : offset + length]
    return b""


class _Reader:
    """A cursor over a line table."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def string(self) -> str:
        end = self.data.index(b"\0", self.at)
        text = self.data[self.at : end]
        self.at = end + 1
        return text.decode("utf-8", errors="replace")

    def uleb(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def sleb(self) -> int:
        start = self.at
        value = self.uleb()
        bits = 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) else value


def _names(reader: _Reader) -> list[str]:
    """The names of the files that a unit's rows number, without their folders; 0 has none."""
    while reader.string():  # include directories
        pass
    files = [""]
    while name := reader.string():
        files.append(name.rsplit("/", 1)[-1])
        for _ in range(3):
            reader.uleb()
    return files


def _unit(data: bytes, at: int, end: int) -> Iterator[Row]:
    (header,) = struct.unpack_from("<I", data, at)
    program = at + 4 + header
    step, _, _, line_base, line_range, opcode_base = struct.unpack_from("<BBBbBB", data, at + 4)
    lengths = [0, *data[at + 10 : at + 9 + opcode_base]]
    reader = _Reader(data, at + 9 + opcode_base)
    files = _names(reader)
    reader.at = program
    yield from _Program(reader, files, lengths, step, line_base, line_range).rows(end)


class _Program:
    """A line number program, and the registers of the machine that it is for (DWARF 4, section 6.2)."""

    def __init__(
        self, reader: _Reader, files: list[str], lengths: list[int], step: int, line_base: int, line_range: int
    ) -> None:
        self._reader, self._files, self._lengths = reader, files, lengths
        self._step, self._line_base, self._line_range = step, line_base, line_range
        self._address, self._file, self._line = 0, 1, 1

    def rows(self, end: int) -> Iterator[Row]:
        while self._reader.at < end:
            opcode = self._reader.byte()
            if opcode >= len(self._lengths):
                adjusted = opcode - len(self._lengths)
                self._address += adjusted // self._line_range * self._step
                self._line += self._line_base + adjusted % self._line_range
                yield self._row()
            elif opcode == 0:
                yield from self._extended()
            elif opcode == 1:  # copy
                yield self._row()
            else:
                self._standard(opcode)

    def _row(self, *, ends: bool = False) -> Row:
        file = self._files[self._file] if self._file < len(self._files) else ""
        return Row(self._address, file, self._line, ends)

    def _extended(self) -> Iterator[Row]:
        reader = self._reader
        after = reader.uleb() + reader.at
        opcode = reader.byte()
        if opcode == 1:  # end of sequence
            yield self._row(ends=True)
            self._address, self._file, self._line = 0, 1, 1
        elif opcode == 2:  # set address
            (self._address,) = struct.unpack_from("<Q", reader.data, reader.at)
        reader.at = after

    def _standard(self, opcode: int) -> None:
        reader = self._reader
        if opcode == 2:  # advance address
            self._address += reader.uleb() * self._step
        elif opcode == 3:  # advance line
            self._line += reader.sleb()
        elif opcode == 4:  # set file
            self._file = reader.uleb()
        elif opcode == 8:  # what the largest special opcode adds
            self._address += (255 - len(self._lengths)) // self._line_range * self._step
        elif opcode == 9:  # fixed advance
            self._address += struct.unpack_from("<H", reader.data, reader.at)[0]
            reader.at += 2
        else:
            for _ in range(self._lengths[opcode]):
                reader.uleb()
