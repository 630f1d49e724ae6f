"""ArtifactCache: what was built, under the name of everything that went into it.

    <root>/artifacts/<k>/<key>/entry.json    the Artifact, or the BuildFailure, as it was made
                               module.so     mode 0444, in a folder of mode 0555
                               and beside it the library of ours that it needs, if any
                               used          its time of change is the time of the last use
    <root>/tools/<fingerprint>/              what toolchains prepare once (the slim toolchain's library for one torch),
                                             with a `used` of its own, and in `sha256` the hash over its other files
    <root>/locks/<name>                      one flock a key, so that processes wait instead of building twice
    <root>/work/                             builds under way, on the same file system, for an atomic rename

Only builders write here. A shared object or a tool whose hash is not the one written down is thrown away and made
again. Nothing in it knows where it lies: a cache may be moved, copied or mounted elsewhere, and one that may only be
read still gives what is in it.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from harness.cache_folder import cache_folder
from harness.compile.waiting import POLL_S, GoOn, endless
from harness.errors import MachineError
from harness.schema import Artifact, BuildFailure, Frozen

DEFAULT_LIMIT_BYTES = 4 << 30
MODULE_FILE = "module.so"
_USED, _HASH = "used", "sha256"
# An entry or a tool used this recently is not evicted: a worker may be about to load it.
GRACE_S = 600.0
# So many seconds once there is twice as much as there may be: what comes within minutes is bounded as well.
FULL_GRACE_S = 60.0
# How full it is gets looked at once a process has put in one part of so many of what there may be, and the first time:
# it takes as long as there are entries, some 20 us each.
LOOKS = 64
# A work folder this old was left behind by a process that died.
ABANDONED_S = 6 * 3600.0


class _Entry(Frozen):
    outcome: Artifact | BuildFailure
    library: str | None = None
    library_sha256: str | None = None


@dataclass(frozen=True)
class CacheSummary:
    """What lies in a cache: numbers of entries, and bytes."""

    root: Path
    artifacts: int
    failures: int
    tools: int
    size_bytes: int
    limit_bytes: int


class ArtifactCache:
    """A cache under `root`, by default `$XDG_CACHE_HOME/kernel-harness`. Safe to share between processes.

    Every method that writes raises MachineError where the disk or its rights do not allow it.
    """

    def __init__(self, root: Path | None = None, *, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        self.root = (root or cache_folder()).absolute()
        self.limit_bytes = limit_bytes
        self._tools_in_use: set[str] = set()
        self._unseen_bytes = limit_bytes

    def get(self, key: str) -> Artifact | BuildFailure | None:
        """What was made of `key`, its hash checked; None where it must be built (again)."""
        folder = self._folder(key)
        with disk_faults(self.root):
            try:
                entry = _Entry.model_validate_json((folder / "entry.json").read_bytes())
                whole = _is_whole(entry, folder)
            except FileNotFoundError:
                return None
            except ValidationError:
                whole = False
            if not whole:
                self._remove(folder)
                return None
        _note_use(folder)
        if isinstance(entry.outcome, BuildFailure):
            return entry.outcome
        return _placed(entry, folder).model_copy(update={"cached": True, "seconds": 0.0, "cpu_seconds": 0.0})

    def put(
        self, key: str, outcome: Artifact | BuildFailure, module: Path | None = None, library: Path | None = None
    ) -> Artifact | BuildFailure:
        """Keep an outcome, with its shared object for an artifact; gives it back with its place in the cache.

        `library` is what the shared object needs beside it when it is loaded.
        """
        with disk_faults(self.root), self.work_folder() as work:
            folder = self._folder(key)
            entry = _Entry(outcome=outcome)
            if isinstance(outcome, Artifact):
                assert module is not None
                shutil.copyfile(module, work / MODULE_FILE)
                if library is not None:
                    shutil.copyfile(library, work / library.name)
                    entry = _Entry(outcome=outcome, library=library.name, library_sha256=sha256_of(library))
                outcome = _placed(entry, folder)
            (work / "entry.json").write_text(entry.model_dump_json())
            for file in work.iterdir():
                _flush(file)
                file.chmod(0o444)
            (work / _USED).touch()
            self._unseen_bytes += _size(work)
            self._publish(work, folder)
        if self._unseen_bytes * LOOKS > self.limit_bytes:
            self._unseen_bytes = 0
            self._evict()
        return outcome

    @contextlib.contextmanager
    def lock(self, name: str, go_on: GoOn = endless) -> Iterator[None]:
        """Hold the lock `name` against every other process and thread that shares this cache.

        What `go_on` raises ends the wait for it.
        """
        with disk_faults(self.root):
            path = self.root / "locks" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while not _locked(descriptor):
                go_on()
                time.sleep(POLL_S)
            yield
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def work_folder(self) -> Iterator[Path]:
        """A fresh folder to build in, gone afterwards unless it was renamed away."""
        with disk_faults(self.root):
            parent = self.root / "work"
            parent.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(dir=parent))
        try:
            yield folder
        finally:
            self._remove(folder)

    def discard(self, folder: Path) -> None:
        """Throw away what a build left in its work folder, whatever rights its compilers gave it."""
        self._remove(folder)

    def tool(self, fingerprint: str, *, hold: bool = True) -> Path | None:
        """The folder in which a toolchain keeps what it prepares once, its hash checked; None where it must be made.

        One that was asked for or published since this process started is not evicted by it, unless without `hold`.
        """
        folder = self.root / "tools" / fingerprint
        try:
            if (folder / _HASH).read_text() != _hash_of_all(folder):
                return None
        except FileNotFoundError:
            return None
        if hold:
            self._tools_in_use.add(fingerprint)
        _note_use(folder)
        return folder

    def publish_tool(self, work: Path, fingerprint: str, *, hold: bool = True) -> Path:
        """Move a finished work folder to its place among the tools, whatever is there. `hold` as in `tool`."""
        with disk_faults(self.root):
            folder = self.root / "tools" / fingerprint
            (work / _HASH).write_text(_hash_of_all(work))
            (work / _USED).touch()
            self._publish(work, folder)
        if hold:
            self._tools_in_use.add(fingerprint)
        return folder

    def summary(self) -> CacheSummary:
        """Counts and sizes, for a person to read."""
        entries = [(folder, (folder / MODULE_FILE).exists()) for folder in self._entries()]
        tools = self._tools()
        return CacheSummary(
            root=self.root,
            artifacts=sum(built for _, built in entries),
            failures=sum(not built for _, built in entries),
            tools=len(tools),
            size_bytes=sum(_size(folder) for folder in [*(f for f, _ in entries), *tools]),
            limit_bytes=self.limit_bytes,
        )

    def clear(self) -> int:
        """Throw away every entry and every tool; gives how many bytes were freed."""
        freed = self.summary().size_bytes
        for folder in [*self._entries(), *self._tools(), *(self.root / "work").glob("*")]:
            self._remove(folder)
        return freed

    def _folder(self, key: str) -> Path:
        return self.root / "artifacts" / key[:2] / key

    def _entries(self) -> list[Path]:
        return list((self.root / "artifacts").glob("??/*"))

    def _tools(self) -> list[Path]:
        return list((self.root / "tools").glob("*"))

    def _publish(self, work: Path, folder: Path) -> None:
        """Rename `work` to `folder` in the place of what is there, then make it read-only.

        Only then, because a folder that its owner may not write cannot be moved to another parent.
        """
        folder.parent.mkdir(parents=True, exist_ok=True)
        if folder.exists():
            self._remove(folder)
        work.rename(folder)
        folder.chmod(0o555)

    def _remove(self, folder: Path) -> None:
        """Take a folder out of sight first, so that no process sees half of it."""
        doomed = folder
        if folder.parent.name != "work":
            (self.root / "work").mkdir(parents=True, exist_ok=True)
            doomed = self.root / "work" / f"doomed-{os.getpid()}-{time.monotonic_ns()}"
            with contextlib.suppress(FileNotFoundError):
                folder.chmod(0o755)
                folder.rename(doomed)
        with contextlib.suppress(FileNotFoundError):
            doomed.chmod(0o755)
        for place, folders, _ in os.walk(doomed):  # before each is entered: a compiler may have closed it to us
            for inner in (os.path.join(place, name) for name in folders):
                with contextlib.suppress(FileNotFoundError):
                    if not os.path.islink(inner):
                        os.chmod(inner, 0o755)
        shutil.rmtree(doomed, ignore_errors=True)

    def _evict(self) -> None:
        """Remove tools of other torches, then entries, the least recently used first, until the limit is kept."""
        now = time.time()
        for folder in (self.root / "work").glob("*"):
            with contextlib.suppress(FileNotFoundError):
                if now - folder.stat().st_mtime > ABANDONED_S:
                    self._remove(folder)
        tools, entries = self._tools(), self._entries()
        sizes = {folder: _size(folder) for folder in (*tools, *entries)}
        surplus = sum(sizes.values()) - self.limit_bytes
        others = [tool for tool in tools if tool.name not in self._tools_in_use]
        for folder in (*sorted(others, key=_last_use), *sorted(entries, key=_last_use)):
            if surplus <= 0:
                return
            if now - _last_use(folder) >= (GRACE_S if surplus <= self.limit_bytes else FULL_GRACE_S):
                self._remove(folder)
                surplus -= sizes[folder]


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def sha256_of(file: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _is_whole(entry: _Entry, folder: Path) -> bool:
    if isinstance(entry.outcome, BuildFailure):
        return True
    library_is = entry.library is None or sha256_of(folder / entry.library) == entry.library_sha256
    return library_is and sha256_of(folder / MODULE_FILE) == entry.outcome.sha256


def _placed(entry: _Entry, folder: Path) -> Artifact:
    """The artifact of an entry with the paths that it has in this folder."""
    assert isinstance(entry.outcome, Artifact)
    library = str(folder / entry.library) if entry.library else None
    return entry.outcome.model_copy(update={"path": str(folder / MODULE_FILE), "library": library})


def _hash_of_all(folder: Path) -> str:
    """The SHA-256 over the names and contents of everything below a folder but its own notes."""
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        if file.parent != folder or file.name not in (_USED, _HASH):
            digest.update(f"{file.relative_to(folder)}\0{sha256_of(file)}\0".encode())
    return digest.hexdigest()


def _note_use(folder: Path) -> None:
    with contextlib.suppress(OSError):  # a cache that may only be read still serves
        (folder / _USED).touch()


def _last_use(folder: Path) -> float:
    try:
        return (folder / _USED).stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _size(folder: Path) -> int:
    total = 0
    for place, _, files in os.walk(folder):
        for file in files:
            with contextlib.suppress(FileNotFoundError):
                total += os.stat(os.path.join(place, file)).st_size
    return total


def _flush(file: Path) -> None:
    with file.open("rb") as content:
        os.fsync(content.fileno())


@contextlib.contextmanager
def disk_faults(root: Path) -> Iterator[None]:
    """Turns an OSError from inside into MachineError: a machine that is out of something is no verdict."""
    try:
        yield
    except OSError as error:
        raise MachineError(
            f"The build cache {root} cannot be used ({error.strerror}): free some space, mend its rights, or set "
            "XDG_CACHE_HOME to another folder."
        ) from error
