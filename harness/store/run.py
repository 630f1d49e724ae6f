"""Run: a folder of records under `runs/`."""

import json
import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from difflib import get_close_matches
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from harness.errors import InputError, StoreError
from harness.schema import Record
from harness.schema.base import encodable
from harness.shipped import shipped
from harness.store.files import (
    alone,
    append_durably,
    disk_faults,
    fill_folder,
    make_folder,
    plain_file,
    plain_files,
    require_own_folders,
    sole_writer,
    whole_file,
    write_atomically,
)
from harness.store.key import Key
from harness.store.lines import MOST_LINE_BYTES, has_many_keys, is_whole, newer_version, set_aside, start_of_line
from harness.store.manifest import MANIFEST_VERSION, Manifest

if TYPE_CHECKING:
    from harness.store.index import Index

MANIFEST_NAME = "manifest.json"
ARTIFACTS_NAME = "artifacts"
GENERATIONS_NAME = "generations"
FOLDERS_NAME = "folders.json"
_LOCK_NAME = ".lock"
"""Of the file that is held while what all shards share is read and written anew."""
ARTIFACT_CAP_BYTES = 64 * 1024
MOST_ATTACHED_BYTES = 4 * ARTIFACT_CAP_BYTES
"""Of an attachment; a run that others made may hold longer ones."""
_SHARD_FILE = re.compile(r"records-(\d+)-of-(\d+)\.jsonl")


class Run:
    """A run folder, read-only or, when opened with `create=True`, with this process as the writer of one shard.

    Readers see one record a key: the last judged one, or the last `infrastructure` one where none was judged; of a
    submission that was edited, only records of its last text.
    `append` may be called from several threads. Close it, or use it in a `with`.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self._closing = ExitStack()
        self._lock = threading.Lock()
        self._shard_path: Path | None = None
        self._descriptor = -1
        self.left_out: tuple[str, ...] = ()
        """Lines that `index` found to be no records, as FILE:NUMBER."""

    def __enter__(self) -> "Run":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Gives the shard free for other writers. Closing twice is allowed."""
        self._shard_path = None
        self._closing.close()

    @property
    def name(self) -> str:
        return encodable(self.folder.resolve().name)

    @property
    def record_files(self) -> list[Path]:
        """The files of all shards, the unsharded one first, then by number of shards and shard.

        Raises:
            StoreError: one of them is a link, a pipe or a device.
        """
        found = ((shard, path) for path in self.folder.glob("records*.jsonl") if (shard := _shard_of(path)))
        paths = [path for _, path in sorted(found)]
        for path in paths:
            plain_file(path).close()
        return paths

    def index(self) -> "Index":
        """Every record that counts, of all shards, as columns, and the way from those to the records themselves.

        A line that is no record is left out: `left_out` names it then, and a copy lies in SET_ASIDE beside its file,
        where that can be written. A torn last line is none either: the process that was writing it will write it again.

        Raises:
            StoreError: a line was written by a newer harness.
        """
        from harness.store.index import read_index  # numpy: a tenth of a second that not every command has

        index = read_index(self.record_files)
        self.left_out = tuple(line.place for line in index.strays)
        for line in index.strays:
            set_aside(line)
        return index

    def records(self) -> Iterator[Record]:
        """Every record that counts, of all shards, in the order in which their keys first appear.

        Raises:
            StoreError: as `index`.
        """
        return self.index().records()

    def done(self) -> dict[Key, str]:
        """What needs no other try: judged, by whatever verdict but `infrastructure`, in any shard.

        By key the SHA-256 of the submission as it was then: one that has been edited since has another.

        Raises:
            StoreError: as `index`.
        """
        from harness.store.index import keys

        columns = self.index().columns
        judged = columns.take(columns.verdict.codes != columns.verdict.code("infrastructure"))
        return {key: sha256.tobytes().hex() for key, sha256 in zip(keys(judged), judged.sha256, strict=True)}

    def folders(self) -> tuple[str, ...]:
        """The folders that batches have fed the run from, as absolute paths; none where that is not known."""
        try:
            return tuple(map(str, json.loads(whole_file(self.folder / FOLDERS_NAME))))
        except (
            OSError,
            StoreError,
            ValueError,
            TypeError,
            RecursionError,
        ):  # not there, or not ours: then nothing is known
            return ()

    def add_folder(self, folder: Path) -> None:
        """Notes that the run is fed from this folder. Raises MachineError where the disk is full or broken."""
        with alone(self.folder / _LOCK_NAME):
            known = dict.fromkeys((*self.folders(), str(folder.resolve())))
            text = json.dumps(list(known), indent=2)  # in ASCII: a path of stray bytes is written as escapes
            write_atomically(self.folder / FOLDERS_NAME, text.encode() + b"\n")

    def artifacts(self, record: Record) -> Path:
        """The folder of a record's attachments; it may be absent."""
        return self.folder / ARTIFACTS_NAME / Key.of(record).slug

    def attachments(self, record: Record) -> dict[str, str]:
        """What a person needs to doubt a record: file name -> text. Empty where nothing was kept."""
        if (self.folder / ARTIFACTS_NAME).is_symlink():
            return {}
        files = plain_files(self.artifacts(record))
        return {name: file.read(MOST_ATTACHED_BYTES).decode("utf-8", "replace") for name, file in files}

    def append(self, record: Record, attachments: Mapping[str, str] | None = None) -> str:
        """Adds one record: its JSON, as it was written. When this returns, it and its attachments are on the disk.

        The attachments (file name -> text, each capped at ARTIFACT_CAP_BYTES by leaving out its middle) are written
        first and replace those of an earlier record of the same key, so that no record is without what it points to.

        Raises:
            StoreError: the run was opened for reading.
            MachineError: the disk is full or broken; the file ends with the last good record.
        """
        line = _encoded(record)
        with self._lock:
            if self._shard_path is None:
                raise StoreError(f"run {self.folder} is open for reading only: open it with create=True to append")
            if attachments:
                _attach(self.artifacts(record), attachments)
            with disk_faults(self._shard_path):
                append_durably(self._descriptor, line + b"\n")
        return line.decode()

    def _start_writing(self, shard: tuple[int, int], manifest: Manifest) -> None:
        """Become the writer of a shard, and only then have the run ask what `manifest` asks."""
        path = self.folder / _shard_name(*shard)
        with ExitStack() as opening:
            self._descriptor = opening.enter_context(sole_writer(path))
            with disk_faults(path):
                _mend_last_line(self._descriptor)
            self.manifest = _asking_too(self.folder, self.manifest, manifest)
            self._closing = opening.pop_all()
        self._shard_path = path


def open_run(
    run: str | Path,
    *,
    root: Path = Path("runs"),
    create: bool = False,
    manifest: Manifest | None = None,
    shard: tuple[int, int] = (1, 1),
) -> Run:
    """Opens a run: a name under `root`, or a path, which is told by its slash (or by being a Path).

    Without `create` for reading only, and where there is none of that name, the one that comes along with the package.
    With `create` for appending to the file of `shard` (i of N): made with `manifest` where it is missing, resumed where
    it is there and its manifest does not contradict the one given.

    Raises:
        StoreError: no such run, not a run, written by a newer harness, another process is writing this shard, or the
            manifests contradict each other.
        MachineError: the disk is full or broken.
    """
    folder = run_folder(run, root)
    if not create:
        if not folder.is_dir() and isinstance(run, str) and folder == root / run:
            folder = shipped(f"runs/{run}") or folder
        if not folder.is_dir():
            raise StoreError(_not_found(run, folder, root))
        return Run(folder, _load_manifest(folder))
    if manifest is None:
        raise TypeError("open_run(create=True) needs a manifest")
    _check_shard(shard)
    opened = Run(folder, _settled_manifest(folder, manifest))
    opened._start_writing(shard, manifest)
    return opened


def run_names(root: Path = Path("runs")) -> list[str]:
    """The names of the runs under `root`, sorted."""
    return sorted(path.parent.name for path in root.glob(f"*/{MANIFEST_NAME}"))


def run_folder(run: str | Path, root: Path = Path("runs")) -> Path:
    """The folder that `run` means, be it there or not. Raises StoreError for an empty name."""
    if isinstance(run, Path):
        return run
    if not run.strip():
        raise StoreError("a run needs a name: give a name under runs/ or a path")
    if os.sep in run or run in (os.curdir, os.pardir):
        return Path(run)
    return root / run


def _not_found(run: str | Path, folder: Path, root: Path) -> str:
    names = run_names(root)
    near = get_close_matches(str(run), names, n=1)
    if near:
        return f"there is no run {folder}: did you mean {near[0]}?"
    there = f"{root} holds {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}" if names else f"{root} holds none"
    return f"there is no run {folder}: {there}; harness batch DIR --run NAME makes one"


def _check_shard(shard: tuple[int, int]) -> None:
    part, of = shard
    if not 1 <= part <= of:
        raise InputError(f"there is no shard {part}/{of}: give i/N with i from 1 to N")


def _shard_name(part: int, of: int) -> str:
    return "records.jsonl" if of == 1 else f"records-{part}-of-{of}.jsonl"


def _shard_of(path: Path) -> tuple[int, int] | None:
    """(N, i) of a record file's name, in that order because files are sorted by it; None for any other file."""
    if path.name == _shard_name(1, 1):
        return 1, 1
    match = _SHARD_FILE.fullmatch(path.name)
    return (int(match[2]), int(match[1])) if match else None


def _settled_manifest(folder: Path, manifest: Manifest) -> Manifest:
    """The manifest of a run that is about to be written: ours if it is new, else the one there, which must agree."""
    with disk_faults(folder):
        make_folder(folder)
        ours = (GENERATIONS_NAME,)  # what a model answered may lie here before anything is judged
        strangers = [path.name for path in folder.iterdir() if not path.name.startswith(".") and path.name not in ours]
    path = folder / MANIFEST_NAME
    if strangers and not path.exists():
        raise StoreError(
            f"{folder} has no {MANIFEST_NAME} but holds {sorted(strangers)[0]}, so it is not a run: "
            "choose another name or an empty folder"
        )
    if write_atomically(path, manifest.model_dump_json(indent=2).encode() + b"\n", keep_existing=True):
        return manifest
    return _agreeing_manifest(folder, manifest)


def _agreeing_manifest(folder: Path, manifest: Manifest) -> Manifest:
    """The manifest that is there. Raises StoreError where ours contradicts it."""
    there = _load_manifest(folder)
    if conflicts := there.conflicts(manifest):
        raise StoreError(f"run {folder} was taken otherwise: {'; '.join(conflicts)}. Choose another run name")
    return there


def _asking_too(folder: Path, there: Manifest, manifest: Manifest) -> Manifest:
    """The run's manifest with our problems in it. Other shards may add theirs at the same moment."""
    wider = there.asking_too(manifest)
    if wider.problems == there.problems:
        return wider
    with alone(folder / _LOCK_NAME):
        wider = _agreeing_manifest(folder, manifest).asking_too(manifest)
        write_atomically(folder / MANIFEST_NAME, wider.model_dump_json(indent=2).encode() + b"\n")
    return wider


def _load_manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST_NAME
    try:
        content = whole_file(path)
    except FileNotFoundError as error:
        raise StoreError(f"{folder} is not a run: it has no {MANIFEST_NAME}") from error
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {os.strerror(error.errno or 0)}") from error
    if has_many_keys(content):
        raise StoreError(f"{path} is not a run's manifest: restore it, or choose another run")
    try:
        return Manifest.model_validate_json(content)
    except ValidationError as error:
        if (version := newer_version(content, known=MANIFEST_VERSION)) is not None:
            raise StoreError(
                f"{path} was written by a newer harness (schema {version}): upgrade this harness to read it"
            ) from error
        raise StoreError(f"{path} is not a run's manifest: restore it, or choose another run") from error


def _mend_last_line(descriptor: int) -> None:
    """Ends the last line, so that no record is ever glued to it: whole JSON gets its newline, a torn write goes."""
    size = os.fstat(descriptor).st_size
    start = start_of_line(descriptor, size)
    if start == size:
        return
    if size - start <= MOST_LINE_BYTES and is_whole(os.pread(descriptor, size - start, start)):
        append_durably(descriptor, b"\n")
    else:
        os.ftruncate(descriptor, start)
        os.fsync(descriptor)


def _encoded(record: Record) -> bytes:
    try:
        return record.model_dump_json().encode()
    except PydanticSerializationError:  # characters that UTF-8 cannot say, as in a file name of stray bytes
        return type(record).model_validate(_encodable_tree(record.model_dump())).model_dump_json().encode()


def _encodable_tree(value: object) -> object:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {_encodable_tree(key): _encodable_tree(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return tuple(_encodable_tree(item) for item in value)
    return value


def _attach(folder: Path, attachments: Mapping[str, str]) -> None:
    for name in attachments:
        if not name or Path(name).name != name or name.startswith("."):
            raise ValueError(f"an attachment is named like a file, not {name!r}")
    require_own_folders(folder.parent, folder)
    contents = {name: _capped(text) for name, text in attachments.items()}
    if not folder.parent.exists():
        with disk_faults(folder):
            make_folder(folder.parent)
    if fill_folder(folder, contents):
        return
    for name, content in contents.items():
        write_atomically(folder / name, content)
    with disk_faults(folder):
        for stale in folder.iterdir():
            if stale.name not in attachments:
                stale.unlink()


def _capped(text: str) -> bytes:
    """At most ARTIFACT_CAP_BYTES of UTF-8: where a text is longer, its middle is left out and that is said."""
    content = text.encode("utf-8", "backslashreplace")
    if len(content) <= ARTIFACT_CAP_BYTES:
        return content
    note = f"\n[... {len(content) - ARTIFACT_CAP_BYTES} bytes and a little more are left out here ...]\n".encode()
    room = (ARTIFACT_CAP_BYTES - len(note)) // 2
    # `ignore` drops the halves of a character that the cut may have gone through.
    head = content[:room].decode("utf-8", "ignore").encode()
    tail = content[-room:].decode("utf-8", "ignore").encode()
    return head + note + tail
