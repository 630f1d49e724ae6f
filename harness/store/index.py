"""Index: every record of a run as columns, and the line that each of them stands on.

Beside a record file of some length lies what was read of it, as `.records.jsonl.index`. It is thrown away and made
anew where it does not fit, so deleting it is always safe.
"""

import hashlib
import json
import os
import tempfile
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from harness.errors import StoreError
from harness.schema import Record
from harness.schema.columns import Coded, Columns
from harness.store.files import plain_file
from harness.store.key import Key
from harness.store.lines import Line, has_holes, parse, start_of_line
from harness.store.scan import Scan, scan, scan_last

# A shorter file is read in a tenth of a second, and a run that is looked at should not grow files.
_KEPT_FROM_BYTES = 8 << 20
_EDGE_BYTES = 1 << 16
_PIECE_BYTES = 32 << 20
# A file system's clock is coarse: what was written less than this before it was read may be written again unnoticed.
_QUIET_NS = 2_000_000_000
# What an index was made by: other columns, or other rules for them, are another version.
_VERSION = 4

_Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Index:
    """A run as it was when it was read. `columns` are the records that count, in the order in which their keys first
    appear, `lines` all of them, `file` the number of the file of each of these. `_offset` and `_size` say where they
    stand in it, in the numbers of `row`. `strays` are the lines that are no records.
    """

    columns: Columns
    lines: Columns
    file: _Rows
    _paths: tuple[Path, ...]
    _offset: _Rows
    _size: _Rows
    strays: tuple[Line, ...]

    def records(self, columns: Columns | None = None) -> Iterator[Record]:
        """The records of a selection of `columns`, of all where there is none.

        Raises:
            StoreError: a line is not a record (file and line are named).
        """
        chosen = self.columns if columns is None else columns
        for line, content in self.contents(chosen.row):
            yield parse(line, content)

    def contents(self, rows: _Rows) -> Iterator[tuple[Line, bytes]]:
        """The lines of these rows, as they stand in their files, without their newlines."""
        with ExitStack() as closing:
            files: dict[int, BinaryIO] = {}
            for row in rows.tolist():
                number, size = int(self.file[row]), int(self._size[row])
                if number not in files:
                    files[number] = closing.enter_context(self._paths[number].open("rb"))
                files[number].seek(offset := int(self._offset[row]))
                yield Line(self._paths[number], offset, size), files[number].read(size)


def keys(columns: Columns) -> Iterator[Key]:
    """What each record is resumed by."""
    problems, paths, models = (list(column.texts) for column in (columns.problem, columns.path, columns.model))
    codes = (columns.problem.codes.tolist(), columns.path.codes.tolist(), columns.model.codes.tolist())
    for problem, path, model, sample in zip(*codes, columns.sample.tolist(), strict=True):
        yield Key(problems[problem], paths[path], sample, models[model])


def read_index(paths: list[Path]) -> Index:
    """Reads record files, in the order in which they outrank each other.

    Raises:
        StoreError: a line was written by a newer harness.
    """
    scans = [_read_file(path) for path in paths] or [Scan.of_nothing()]
    columns = Columns.joined([each.columns for each in scans])
    file = np.repeat(np.arange(len(scans)), [len(each.place) for each in scans])
    offset, size = np.concatenate([each.place for each in scans]).T
    counting = last_words(columns, file)
    chosen = columns if np.array_equal(counting, columns.row) else columns.take(counting)
    strays = tuple(
        Line(path, *place) for path, each in zip(paths, scans, strict=False) for place in each.strays.tolist()
    )
    return Index(chosen, columns, file, tuple(paths), offset, size, strays)


def last_words(columns: Columns, file: _Rows) -> _Rows:
    """For every key the row that counts, in the order in which the keys first appear.

    Within a file the last judged record counts, else the last `infrastructure` one. Between files a judged record
    beats an `infrastructure` one, then the later `judged_at`, then the file that sorts later. Where the submission was
    edited in between, the later record counts, whatever it says.

    Args:
        file: the number of each row's file, rising.
    """
    order, starts, ends = by_key(columns)
    counting = order[starts]
    for group in np.flatnonzero(ends - starts > 1).tolist():
        counting[group] = _last_word(columns, file, order[starts[group] : ends[group]].tolist())
    return counting


def by_key(columns: Columns) -> tuple[_Rows, _Rows, _Rows]:
    """All rows, those of a key together and in their order: and where the rows of each key start and end among them.

    Keys come in the order in which they first appear.
    """
    key = (columns.path.codes, columns.sample, columns.model.codes, columns.problem.codes)
    order = np.lexsort(key)  # stable: the rows of a key stay in the order of their lines
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = np.any([part[order[1:]] != part[order[:-1]] for part in key], axis=0)
    starts = np.flatnonzero(fresh)
    ends = np.append(starts[1:], len(order))
    appearance = np.argsort(order[starts])
    return order, starts[appearance], ends[appearance]


def _last_word(columns: Columns, file: _Rows, rows: list[int]) -> int:
    best_of_file: dict[int, int] = {}
    for row in rows:
        number = int(file[row])
        known = best_of_file.get(number)
        if known is None or _outranks_in_file(columns, row, known):
            best_of_file[number] = row
    best, *others = best_of_file.values()
    for row in others:
        if _outranks_elsewhere(columns, row, best):
            best = row
    return best


def _outranks_in_file(columns: Columns, row: int, known: int) -> bool:
    """The order of lines is time."""
    return _settled(columns, row) or not _settled(columns, known) or _edited(columns, row, known)


def _outranks_elsewhere(columns: Columns, row: int, known: int) -> bool:
    """Between files only the dates can be compared."""
    if _edited(columns, row, known):  # a verdict on what stood there before says nothing about what stands there now
        return columns.judged_at[row] >= columns.judged_at[known]
    return (_settled(columns, row), columns.judged_at[row]) >= (_settled(columns, known), columns.judged_at[known])


def _settled(columns: Columns, row: int) -> bool:
    """Whether this needs no other try: our own failure is not an answer."""
    return columns.verdict[row] != "infrastructure"


def _edited(columns: Columns, row: int, known: int) -> bool:
    return not np.array_equal(columns.sha256[row], columns.sha256[known])


# What was read of a file, kept beside it


@dataclass(frozen=True)
class _Kept:
    """An index as it lies on the disk, and what the file was like when it was made.

    `covered` bytes of the file are in it, with this `sha256`. `mark` says which file it was and when it was changed
    last, or is empty where it had been changed too shortly before to be sure; `edges` is a hash of both its ends.
    """

    scan: Scan
    covered: int
    sha256: str
    mark: tuple[int, ...]
    edges: str


def index_path(path: Path) -> Path:
    """Where the index of a record file lies."""
    return path.with_name(f".{path.name}.index")


def _read_file(path: Path) -> Scan:
    with path.open("rb") as file:
        now = time.time_ns()
        stat = os.fstat(file.fileno())
        mark = (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, stat.st_dev)
        holes = has_holes(file.fileno())  # then its size says nothing of what it would take to read or to hash it
        kept = _load(path, stat.st_size + _PIECE_BYTES) if stat.st_size >= _KEPT_FROM_BYTES and not holes else None
        if holes:
            covered = start_of_line(file.fileno(), stat.st_size)
            read = scan(path, 0, covered)
        elif kept and kept.mark == mark and kept.edges == _edges(file, stat.st_size):
            read = kept.scan
            covered = kept.covered
        else:
            covered = start_of_line(file.fileno(), stat.st_size)
            quiet = now - max(stat.st_mtime_ns, stat.st_ctime_ns) > _QUIET_NS
            kept = _brought_up_to_date(path, kept, covered, mark if quiet else (), _edges(file, stat.st_size))
            read = kept.scan
            if covered >= _KEPT_FROM_BYTES:
                _save(path, kept)
    last = scan_last(path, covered) if covered < stat.st_size else None
    return Scan.joined([read, last]) if last else read


def _brought_up_to_date(path: Path, kept: _Kept | None, covered: int, mark: tuple[int, ...], edges: str) -> _Kept:
    """Reads what is new in the file; all of it where what was known of it has changed."""
    digest = hashlib.sha256()
    if kept is not None:
        _digest(path, digest, 0, kept.covered)
        if covered < kept.covered or digest.hexdigest() != kept.sha256:
            kept, digest = None, hashlib.sha256()
    start = kept.covered if kept else 0
    with ThreadPoolExecutor(1) as pool:  # hashing leaves the interpreter free for reading
        hashed = pool.submit(_digest, path, digest, start, covered)
        fresh = scan(path, start, covered)
        hashed.result()
    return _Kept(Scan.joined([kept.scan, fresh]) if kept else fresh, covered, digest.hexdigest(), mark, edges)


def _digest(path: Path, digest: Any, start: int, end: int) -> None:
    # Large pieces: after each of them this waits its turn, 5 ms long, while another thread reads.
    piece = memoryview(bytearray(min(_PIECE_BYTES, max(0, end - start))))
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        while start < end and (size := file.readinto(piece[: end - start])):
            digest.update(piece[:size])
            start += size


def _edges(file: BinaryIO, size: int) -> str:
    digest = hashlib.sha256(os.pread(file.fileno(), _EDGE_BYTES, 0))
    digest.update(os.pread(file.fileno(), _EDGE_BYTES, max(0, size - _EDGE_BYTES)))
    return digest.hexdigest()


def _load(path: Path, most_bytes: int) -> _Kept | None:
    """None where there is none, or where it is broken, of another version, of more than `most_bytes`, or not as `_save`
    writes it.

    In a run of others it may be anything. Not covered: one that is well made and says other figures than the records.
    """
    try:
        with plain_file(index_path(path)) as file, np.load(file, allow_pickle=False) as arrays:
            if os.fstat(file.fileno()).st_size > most_bytes:
                return None
            if any(each.compress_type != zipfile.ZIP_STORED for each in arrays.zip.infolist()):  # of any size unpacked
                return None
            about = json.loads(arrays["about"].tobytes())
            if about.pop("version") != _VERSION:
                return None
            loaded = {name: arrays[name] for name in arrays.files}
        kept = _Kept(Scan.of_arrays(loaded), **(about | {"mark": tuple(about["mark"])}))
        return kept if _is_sound(kept) else None
    except (OSError, StoreError, ValueError, KeyError, TypeError, AttributeError, IndexError, EOFError):
        return None
    except (zipfile.BadZipFile, MemoryError, RecursionError):
        return None


def _is_sound(kept: _Kept) -> bool:
    """Whether every number in it that is a place is one of a place that there is."""
    columns, count = kept.scan.columns, len(kept.scan.columns)
    per_record = (columns.sha256, columns.sample, columns.turn, columns.prompt_tokens, columns.completion_tokens)
    coded = [value for value in vars(columns).values() if isinstance(value, Coded)]
    for places in (kept.scan.place, kept.scan.strays):
        if places.ndim != 2 or places.shape[1] != 2 or places.min(initial=0) < 0:
            return False
        if np.any(places[:, 1] > kept.covered - places[:, 0]):
            return False
    for column in coded:
        ends = np.concatenate(([0], column.texts.ends))
        if np.any(np.diff(ends) < 0) or ends[-1] > len(column.texts.letters):
            return False
        if np.any(column.codes < 0) or np.any(column.codes >= len(column.texts)):
            return False
    timed = columns.timed
    lengths = {len(column.codes) for column in coded if column is not columns.baseline}
    lengths |= {len(kept.scan.place), *(len(each) for each in per_record)}
    together = columns.baseline.codes.shape == timed.shape and columns.speedup.shape == (len(timed), 3)
    return lengths == {count} and together and bool(np.all((timed >= 0) & (timed < count)))


def _save(path: Path, kept: _Kept) -> None:
    """Where it cannot be written nothing is lost: the file is read anew the next time."""
    about = {
        "version": _VERSION,
        "covered": kept.covered,
        "sha256": kept.sha256,
        "mark": kept.mark,
        "edges": kept.edges,
    }
    target = index_path(path)
    with suppress(OSError):
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f"{target.name}.")
        try:
            with open(descriptor, "wb") as file:
                os.fchmod(descriptor, 0o644)
                kept.scan.save(file, about=np.frombuffer(json.dumps(about).encode(), np.uint8))
            os.replace(temporary, target)
        finally:
            Path(temporary).unlink(missing_ok=True)
