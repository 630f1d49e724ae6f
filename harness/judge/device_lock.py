"""A device that one judge of this machine has to itself while something is timed on it: a lock of a file for each.

The kernel gives the lock back when its holder ends, however it ends. Only judges' processes have it: workers are forked
from the prepared process and inherit nothing of a judge's, and the folder is out of their sight.

Covered: judges of any user that see the same /tmp. Not covered: other programs, containers with a /tmp of their own,
and what other judges check for correctness meanwhile.
"""

import fcntl
import os
import random
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from harness.errors import MachineError

FOLDER = Path("/tmp/kernel-harness-devices")
LONGEST_WAIT_S = 1800.0
"""What timing may take elsewhere before it is called a fault. Tuning a compiled baseline takes minutes."""
_POLL_S = (0.02, 0.06)  # drawn anew each time, so that judges that wait do not follow each other in step
_TELL_EVERY_S = 0.25
_LONGEST_PID = 20

OnWait = Callable[[int | None], None]


class DeviceLock:
    """The lock of one device. For one thread; a holder may take it again, and gives it back once."""

    def __init__(self, device: str, *, folder: Path = FOLDER) -> None:
        """`device` tells it from the others of this machine: the UUID of a GPU, or "cpu". Nothing is opened yet."""
        self._path = folder / f"{device}.lock"
        self._held: int | None = None

    def take(self, on_wait: OnWait, *, longest_s: float = LONGEST_WAIT_S) -> float:
        """Have the device until `release`; the seconds that were waited for it, 0 where it was free.

        `on_wait` is told the pid of the process that has it, None where that is not known yet: whenever that changes,
        and every _TELL_EVERY_S. What it raises ends the wait. Raises MachineError where it is not given back within
        `longest_s`, or the lock's file cannot be used.
        """
        if self._held is not None:
            return 0.0
        started = time.monotonic()
        told: float | None = None
        last: int | None = None
        while not self._taken():
            holder = self._holder()
            if told is None or holder not in (None, last) or time.monotonic() - told > _TELL_EVERY_S:
                last = last if holder is None else holder
                on_wait(last)
                told = time.monotonic()
            if time.monotonic() - started > longest_s:
                raise MachineError(
                    f"{self._path.stem} was not free for timing within {longest_s:g} s: {_named(holder)} holds "
                    f"{self._path}"
                )
            time.sleep(random.uniform(*_POLL_S))
        return 0.0 if told is None else time.monotonic() - started

    def release(self) -> None:
        """Give the device back; nothing where it is not had."""
        held, self._held = self._held, None
        if held is not None:
            with suppress(OSError):
                os.ftruncate(held, 0)
            os.close(held)

    def _taken(self) -> bool:
        descriptor = self._opened()
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(descriptor), os.stat(self._path)):
                raise BlockingIOError  # the folder was cleaned up: the lock is on another file now
            os.ftruncate(descriptor, 0)
            os.write(descriptor, str(os.getpid()).encode())
        except (BlockingIOError, FileNotFoundError):
            os.close(descriptor)
            return False
        except BaseException:
            os.close(descriptor)
            raise
        self._held = descriptor
        return True

    def _opened(self) -> int:
        """A descriptor of the lock's file, which is made where there is none. Raises MachineError."""
        folder = self._path.parent
        try:
            with suppress(FileExistsError):
                os.mkdir(folder)
                os.chmod(folder, 0o1777)
            descriptor = _open(self._path)
        except OSError as error:
            raise MachineError(
                f"{self._path} cannot be used to have a device alone ({error.strerror}): others may write to {folder} "
                "as to /tmp, or remove it"
            ) from error
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode) and found.st_nlink <= 1 and stat.S_ISDIR(os.lstat(folder).st_mode):
            return descriptor
        os.close(descriptor)
        raise MachineError(f"{self._path} is no plain file of its own, as the lock of a device is: remove it")

    def _holder(self) -> int | None:
        """The process that has it, by its own word."""
        try:
            text = self._path.read_bytes()[:_LONGEST_PID]
        except OSError:
            return None
        return int(text) if text.isdigit() else None


def _open(path: Path) -> int:
    """Without O_CREAT where it is there: in a sticky folder Linux may refuse that for files of other users."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        with suppress(FileExistsError):
            descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
            os.fchmod(descriptor, 0o666)
            return descriptor
        return os.open(path, flags)


def waiting_for(device: str, holder: int | None) -> str:
    """What a judge is at that waits: the word for its progress."""
    return f"waiting for {device}, which {_named(holder)} is timing on"


def _named(holder: int | None) -> str:
    return "another process" if holder is None else f"process {holder}"
