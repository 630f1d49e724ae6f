"""Writing so that it stays written: whole files at once, lines at the end of a file, locks."""

import errno
import fcntl
import os
import platform
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from harness.errors import HarnessError, MachineError, StoreError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG,
    errno.ELOOP,
}  # fmt: skip
_OTHER_THINGS = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.ENODEV}

# A process killed in the middle of an fsync holds its lock until the disk answers, and a child between fork and exec
# holds it for a moment longer than its parent lives. A batch that is started again at once should not trip over that.
_LOCK_PATIENCE_S = 2.0
_OWN = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""How a file of ours in a run is opened, which others may have replaced by a link or a pipe."""
MOST_FILE_BYTES = 1 << 28
"""Of a manifest or a model's answer, as of a submission; a run of others may hold a file of any size."""
_LOCK_POLL_S = 0.05


@contextmanager
def disk_faults(path: Path) -> Iterator[None]:
    """Turns an OSError from inside into StoreError or MachineError with one sentence about `path`."""
    try:
        yield
    except OSError as error:
        raise _explained(error, path) from error


def _explained(error: OSError, path: Path) -> HarnessError:
    reason = os.strerror(error.errno) if error.errno else str(error)
    if error.errno in _FULL:
        return MachineError(
            f"the disk that holds {path} is full ({reason}): free some space and give the same command again, "
            "nothing was left half-written"
        )
    if error.errno in _FORBIDDEN:
        return StoreError(f"{path} may not be written ({reason}): choose another place or mend its permissions")
    return MachineError(f"{path} could not be written ({reason}): check the disk and give the same command again")


def sync_folder(folder: Path) -> None:
    """Makes the names in `folder` durable, as fsync does for the contents of a file."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Creates `folder` and what is missing above it, durably."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in missing:
        sync_folder(path.parent)


def fill_folder(folder: Path, contents: Mapping[str, bytes]) -> bool:
    """Makes a folder with these files in it, durably; False, and nothing done, where it is there already.

    Broken off, it is left with a part of them: only for what nothing points to yet. Raises as `write_atomically`.
    """
    with disk_faults(folder), ExitStack() as opened:
        try:
            os.mkdir(folder)
        except FileExistsError:
            return False
        place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        opened.callback(os.close, place)
        files = []
        for name, content in contents.items():
            files.append(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=place))
            opened.callback(os.close, files[-1])
            os.fchmod(files[-1], 0o644)
            _write_all(files[-1], content)
        for file in files:  # only now: the first takes the others along to the disk
            os.fsync(file)
        os.fsync(place)
        sync_folder(folder.parent)
        return True


def write_atomically(path: Path, content: bytes, *, keep_existing: bool = False) -> bool:
    """Writes a whole file: a reader sees the old content or the new, never a part.

    With `keep_existing` a file that is already there stays, also when another process is writing it at this moment.

    Returns:
        Whether the content was written.

    Raises:
        StoreError: the place may not be written.
        MachineError: the disk is full or broken.
    """
    with disk_faults(path):
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fchmod(file.fileno(), 0o644)
                os.fsync(file.fileno())
            return _publish(temporary, path, keep_existing=keep_existing)
        finally:
            Path(temporary).unlink(missing_ok=True)


def _publish(temporary: str, path: Path, *, keep_existing: bool) -> bool:
    if keep_existing:
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
    else:
        os.replace(temporary, path)
    sync_folder(path.parent)
    return True


def append_durably(descriptor: int, line: bytes) -> None:
    """Appends `line` to a file opened with O_APPEND and waits until it is on the disk.

    All or nothing: when anything goes wrong, an interrupt among it, the file is cut back to where it ended before.
    """
    end = os.fstat(descriptor).st_size
    try:
        _write_all(descriptor, line)
        os.fsync(descriptor)
    except BaseException:
        os.ftruncate(descriptor, end)
        raise


def _write_all(descriptor: int, content: bytes) -> None:
    written = os.write(descriptor, content)
    while written < len(content):  # only a nearly full disk or a signal makes a write to a file come back short
        written += os.write(descriptor, content[written:])


def plain_file(path: Path) -> BinaryIO:
    """A file of a run, open for reading.

    A run may be another person's: a link may lead to any file, and a pipe or a device never ends. Raises StoreError for
    what is no file of its own, FileNotFoundError where there is nothing, OSError.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno not in _OTHER_THINGS - {errno.ENOENT}:
            raise
        raise _not_plain(path) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _not_plain(path)
    return open(descriptor, "rb")


def whole_file(path: Path) -> bytes:
    """What is in a file of a run that is no record file. Raises as `plain_file`, StoreError beyond MOST_FILE_BYTES."""
    with plain_file(path) as file:
        content = file.read(MOST_FILE_BYTES + 1)
    if len(content) > MOST_FILE_BYTES:
        raise StoreError(f"{path} has more than {MOST_FILE_BYTES >> 20} MiB, as nothing has that is written there")
    return content


def require_own_folders(*folders: Path) -> None:
    """Raises StoreError where one of these is a link: what is read from a run, or written into it, lies there."""
    for folder in folders:
        if folder.is_symlink():
            raise _not_plain(folder)


def _not_plain(path: Path) -> StoreError:
    return StoreError(f"{path} is a link, a pipe or a device, and none is followed in a run: put the file itself there")


def plain_files(folder: Path) -> Iterator[tuple[str, BinaryIO]]:
    """The files of a folder by name, open for reading; none where there is no folder.

    A run may be another person's: what is no file of its own is left out, so that no link brings a private file into
    what is shown, merged or published, and no pipe is waited for. Names that begin with a dot are left out too.
    """
    place = _opened(str(folder), os.O_DIRECTORY)
    if place is None:
        return
    try:
        for name in sorted(os.listdir(place)):
            descriptor = None if name.startswith(".") else _opened(name, os.O_NONBLOCK, place)
            if descriptor is not None and stat.S_ISREG(os.fstat(descriptor).st_mode):
                with open(descriptor, "rb") as file:
                    yield name, file
            elif descriptor is not None:
                os.close(descriptor)
    finally:
        os.close(place)


def _opened(path: str, flags: int, place: int | None = None) -> int | None:
    """A descriptor for reading; None where there is nothing of that kind, or a link."""
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, dir_fd=place)
    except OSError as error:
        if error.errno not in _OTHER_THINGS:
            raise
        return None


@contextmanager
def sole_writer(path: Path) -> Iterator[int]:
    """Opens `path` for appending and holds the lock that makes this process its only writer.

    Yields:
        A descriptor for reading and appending.

    Raises:
        StoreError: another process is writing it, or it may not be written.
    """
    with disk_faults(path):
        existed = path.exists()
        descriptor = os.open(path, _OWN | os.O_APPEND, 0o644)
    note = path.with_name(f".{path.name}.writer")
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _not_plain(path)
        if not _lock(descriptor):
            raise StoreError(f"{_writer(note)} is writing {path}: wait for it, stop it, or choose another run or shard")
        with disk_faults(path):
            note.unlink(missing_ok=True)  # in a run of others it may be a link
            with note.open("x") as file:
                file.write(f"process {os.getpid()} on {platform.node()}")
            if not existed:
                sync_folder(path.parent)
        try:
            yield descriptor
        finally:
            note.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Waits until no other process is at what this lock file is for, which takes none of them long.

    Raises StoreError or MachineError where the file cannot be had.
    """
    with disk_faults(path):
        descriptor = os.open(path, _OWN, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    deadline = time.monotonic() + _LOCK_PATIENCE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(_LOCK_POLL_S)
        else:
            return True


def _writer(note: Path) -> str:
    try:
        with plain_file(note) as file:
            return f"another process ({file.read(200).decode('utf-8', 'replace')})"
    except (OSError, StoreError):  # it has the lock but has not said its name yet, or we may not read it
        return "another process"
