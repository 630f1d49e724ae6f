"""The watchdog: what all processes of a worker use together, and when it is too much."""

import contextlib
import errno
import itertools
import math
import os
import random
import stat
import time
from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

from harness.sandbox import descriptors, processes
from harness.sandbox.cgroup import Group
from harness.sandbox.mapped import Mapped, behind_mappings, is_told
from harness.sandbox.policy import Cause, Limits

_UNCOUNTED = "memory of pipes, sockets and page tables, and of memfds in a socket, is not counted"
_UNCOUNTED_BY_OTHERS = "of shared memory that was unmapped in part only root is told how much there is"
WATCH_SHARE = 0.05  # of one core, at most, goes into watching
_SCRATCH_EVERY_S = _MAPPED_EVERY_S = 1.0
_GROWN_SHARE = 1 / 16
"""Shared memory of the whole machine that grew by so much of a worker's limit has its mappings looked through at once:
writing a gigabyte takes longer than the look. So with the scratch folder, where its disk has so much less free."""
_BLOCK_BYTES, _SECTOR_BYTES = 4096, 512
_PATH_BYTES = 4096  # the most that the kernel takes, with the zero at its end
_MOST_ENTRIES = 200_000
"""More files than these are too much, whatever they take, a folder counting twice: looking at them takes 2 seconds."""
_STEPS_BETWEEN_CALLS = 1000
_NOT_LOOKED_INTO = (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.EMFILE)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_COUNTING_S = 1.0
_EXACT_EVERY_S = 1.0


def _never() -> bool:
    return False


def uncounted() -> str:
    """What the watchdog does not count where the worker has no group, in words for a person."""
    return _UNCOUNTED if is_told() else f"{_UNCOUNTED}; {_UNCOUNTED_BY_OTHERS}"


class Watchdog:
    """Looks at what all processes below this one use, and says when it is too much.

    Where the worker has a group, memory and tasks are the kernel's to bound and the group's to count; what is left to
    watch are CPU time, processes (as apart from threads) and the scratch folder. Where it has none, memory is what
    processes have mapped, and what lies in the files in memory that they hold or map, in pages that are mapped or not.
    Not counted then (`uncounted`): what the kernel keeps for pipes, sockets and page tables, and memfds that are on
    their way in a socket.

    `called` says whether the supervisor is wanted meanwhile: a long look at the scratch folder is then left undone.
    """

    def __init__(
        self, limits: Limits, scratch: str | None, group: Group | None = None, called: Callable[[], bool] = _never
    ) -> None:
        self.peak_bytes = 0
        self.cpu_s = 0.0
        self._limits = limits
        self._group = group
        self._scratch = scratch
        self._scratch_device = os.stat(scratch).st_dev if scratch is not None else None
        self._scratch_next = time.monotonic() + _SCRATCH_EVERY_S
        self._called = called
        self._free_bytes = _free_bytes(scratch) if scratch is not None else 0  # at most, since the folder was looked at
        self._most_free = self._free_bytes  # ever
        self._in_flight_since: float | None = None  # at each look since then, and no less was missing
        self._mapped = Mapped()
        self._mapped_next = time.monotonic() + _MAPPED_EVERY_S
        self._least = self._last = processes.shared_of_machine()  # ever, and since the mappings were looked through
        self._cleared_bytes, self._cleared_until = 0, 0.0
        self._closed: frozenset[int] | None = frozenset()
        self._baseline = 0
        if group is None:
            used = self._used()
            self._baseline = sum(one.private_bytes + one.shared_bytes for _, one in used)
            if self._held(used, mapped=False)[-1]:  # a worker with a uid of its own, and we may not look into it
                self._closed = None

    def _used(self) -> list[tuple[int, processes.Usage]]:
        found = ((pid, processes.usage(pid)) for pid in processes.descendants(os.getpid()))
        return [(pid, used) for pid, used in found if used is not None]

    def look(self) -> Cause | None:
        """What is exceeded, if anything."""
        exceeded = self._look_at_processes() if self._group is None else self._look_at_group(self._group)
        if exceeded is not None:
            return exceeded
        if self.cpu_s > self._limits.cpu_s:
            return "cpu"
        return "scratch" if self._scratch_is_full() else None

    def _look_at_group(self, group: Group) -> Cause | None:
        used = group.usage()
        self.peak_bytes = max(self.peak_bytes, used.peak_bytes)
        self.cpu_s = used.cpu_s
        return "processes" if used.processes > self._limits.processes else group.exceeded()

    def _too_many(self) -> bool:
        return len(processes.descendants(os.getpid())) > self._limits.processes

    def _look_at_processes(self) -> Cause | None:
        if self._too_many():
            return "processes"  # before each is looked at: a fork bomb grows faster than that
        used = self._used()
        held, _, closed = self._held(used, mapped=False)
        self._look_through_mappings(used)
        if self._mapped.too_many:
            return "memory"  # in what the kernel keeps for them, and what else there is cannot be told
        private, shared = (sum(getattr(one, name) for _, one in used) for name in ("private_bytes", "shared_bytes"))
        known = {**self._mapped.known, **held}
        in_files = sum(known.values()) + self._hidden(known)
        self.peak_bytes = max(self.peak_bytes, private + max(shared, in_files))  # most memfds are mapped as well
        if self._closed is not None:
            if closed & self._closed:  # twice in a row: it has had itself made unreadable, and hides what it holds
                return "memory"
            self._closed = closed
        surplus = private + shared + in_files - self._baseline
        if surplus > self._limits.memory_bytes and self._really_exceeded(surplus):
            return "processes" if self._too_many() else "memory"  # a bomb that went off while it was counted
        self.cpu_s = max(self.cpu_s, sum(one.cpu_s for _, one in used))
        return "processes" if sum(one.threads for _, one in used) > self._limits.threads else None

    def _look_through_mappings(self, used: list[tuple[int, processes.Usage]]) -> None:
        """Renew what lies behind mappings now and then, the more seldom the longer that takes, or where it has grown.

        Each process has hundreds of mappings, and may have ten thousands.
        """
        machine = processes.shared_of_machine()
        self._least, self._last = min(self._least, machine), min(self._last, machine)
        grown = machine - self._last > self._limits.memory_bytes * _GROWN_SHARE
        if not grown and time.monotonic() < self._mapped_next:
            return
        before_s = time.process_time()
        self._mapped = behind_mappings([pid for pid, _ in used], before=self._mapped)
        self._last = machine
        took_s = time.process_time() - before_s
        self._mapped_next = time.monotonic() + max(_MAPPED_EVERY_S, took_s / WATCH_SHARE)

    def _hidden(self, known: dict[int, int]) -> int:
        """The most that files may take of which the kernel does not tell it."""
        reach = sum(size for inode, size in self._mapped.reach.items() if inode not in known)
        return min(reach, max(0, processes.shared_of_machine() - self._least)) if reach else 0

    def _held(
        self, used: list[tuple[int, processes.Usage]], *, mapped: bool
    ) -> tuple[dict[int, int], dict[int, int], frozenset[int]]:
        """What these processes hold that no name leads to: memfds, and files of the scratch folder that they removed.

        Both as inode to bytes, and then which of the processes are closed to us; one that is just ending is not.
        """
        memfds: dict[int, int] = {}
        removed: dict[int, int] = {}
        closed = set()
        for pid, one in used:
            try:
                files = processes.held_files(pid, mapped=mapped)
            except PermissionError:
                if one.private_bytes:
                    closed.add(pid)
                continue
            for file in files:
                if file.st_dev == processes.memory_device():
                    memfds[file.st_ino] = file.st_blocks * _SECTOR_BYTES
                elif file.st_dev == self._scratch_device and not file.st_nlink:
                    removed[file.st_ino] = file.st_blocks * _SECTOR_BYTES
        return memfds, removed, frozenset(closed)

    def _really_exceeded(self, rough_bytes: int) -> bool:
        """Count again with pages that several processes share counted once, which takes longer.

        What is left by that may be taken by half before it is counted again, or a second goes by: a worker whose large
        inputs are in files that it maps is above its limit by the first count for good.
        """
        if rough_bytes < self._cleared_bytes and time.monotonic() < self._cleared_until:
            return False
        exact = self._count_exactly()
        self.peak_bytes = max(self.peak_bytes, exact or 0)  # which has grown since the first count
        if exact is None or exact > self._limits.memory_bytes:
            return True
        self._cleared_bytes = rough_bytes + (self._limits.memory_bytes - exact) // 2
        self._cleared_until = time.monotonic() + _EXACT_EVERY_S
        self._mapped_next = 0.0  # what is known of mappings may be old
        return False

    def _count_exactly(self) -> int | None:
        """What all processes use; None where it could not be counted in time.

        Twice, because the share of each grows as others end, and the processes are looked at one after the other. In a
        process of its own, because the kernel makes it wait for the lock of the address space, which one that forks or
        maps without end never lets go of: not to be told in time counts as too much.
        """
        used = self._used()
        read, write = os.pipe()
        try:
            pid = os.fork()
        except OSError:  # no process is left to be had: a bomb took them all
            os.close(read)
            os.close(write)
            return None
        if pid == 0:
            os.write(write, b"%d" % min(self._exact_bytes(used) for _ in range(2)))
            os._exit(0)
        os.close(write)
        with open(read, "rb", buffering=0) as answer:
            told = answer.read(64) if descriptors.readable(read, _COUNTING_S) else b""
        processes.kill(pid)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)  # or the supervisor reaps it with all others
        return int(told) if told else None

    def _exact_bytes(self, used: list[tuple[int, processes.Usage]]) -> int:
        held, _, _ = self._held(used, mapped=False)
        self._mapped = behind_mappings([pid for pid, _ in used], before=self._mapped)
        known = {**self._mapped.known, **held}
        reaching = self._mapped.reach.keys() - known.keys()
        exact = [(processes.proportional(pid, known.keys() | reaching), one) for pid, one in used]
        rest = sum(one.private_bytes + one.shared_bytes if found is None else found.rest_bytes for found, one in exact)
        seen = sum(found.in_files.get(inode, 0) for found, _ in exact if found is not None for inode in reaching)
        return rest + sum(known.values()) + max(seen, self._hidden(known))

    def _scratch_is_full(self) -> bool:
        """In the basic tier, where no tmpfs bounds it, the scratch folder is measured from time to time.

        At once where its disk has less free than before: a worker may take all of it for a moment. Others who write
        there have it measured as well, and that is all.
        """
        if self._scratch is None:
            return False
        free = _free_bytes(self._scratch)
        self._free_bytes, self._most_free = max(self._free_bytes, free), max(self._most_free, free)
        fallen = self._free_bytes - free >= self._limits.scratch_bytes * _GROWN_SHARE
        if not fallen and time.monotonic() < self._scratch_next:
            return False
        started = time.monotonic()
        used = self._used()
        _, removed, _ = self._held(used, mapped=True)
        held = sum(removed.values())
        total = held + bytes_below(self._scratch, self._limits.scratch_bytes - held, self._called)
        now = time.monotonic()
        if total <= self._limits.scratch_bytes and self._called():
            return False  # and what was seen says nothing: the next look begins anew
        self._free_bytes = free
        self._scratch_next = now + max(_SCRATCH_EVERY_S, (now - started) / WATCH_SHARE)
        return total > self._limits.scratch_bytes or self._sends_its_files_around(used, self._most_free - free, started)

    def _sends_its_files_around(self, used: list[tuple[int, processes.Usage]], missing: int, now: float) -> bool:
        """Whether removed files may lie in sockets, where nobody is told of them, while the disk has that much less.

        At two looks a second apart, and at all between: descriptors that are sent to be read are read before.
        """
        if missing <= self._limits.scratch_bytes or not any(processes.descriptors_in_flight(pid) for pid, _ in used):
            self._in_flight_since = None
            return False
        self._in_flight_since = self._in_flight_since or now
        return now - self._in_flight_since >= _SCRATCH_EVERY_S


def _free_bytes(folder: str) -> int:
    """What is free on the disk that a folder lies on; nothing where that cannot be told, which has it looked at."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return 0
    return disk.f_bfree * disk.f_frsize


def bytes_below(folder: str, most_bytes: float = math.inf, stop: Callable[[], bool] = _never) -> float:
    """What a folder takes on the disk, with a block for every file and folder, however empty.

    Infinite where something in it may not be looked into, also after its rights were mended, or lies deeper than the
    kernel takes a path: what hides there is not counted. Infinite too where there are more files and folders than
    anybody needs. What is removed or replaced meanwhile counts nothing. No link is followed, whoever puts it there and
    when. Counting ends where it is more than `most_bytes`, and where `stop` says so, with what there is until then.
    """
    total = 0
    try:
        with contextlib.closing(_sizes_below(folder)) as sizes:
            for step, size in enumerate(sizes, 1):
                total += size
                if step > _MOST_ENTRIES:
                    return math.inf
                if total > most_bytes or (not step % _STEPS_BETWEEN_CALLS and stop()):
                    break
    except OSError:
        return math.inf
    return total


class _Level(NamedTuple):
    """A folder that is open, those in it that are still to be entered, and how long its path is, the zero included."""

    fd: int | None
    folders: list[str]
    path_bytes: int


def _sizes_below(folder: str) -> Generator[int, None, None]:
    """What each file and folder below one takes, and 0 for each that is entered: that takes time as well.

    By descriptors, each opened in the one above it, so that whatever is moved or replaced meanwhile, nothing but
    folders from below this one is entered, and depth costs no more than width. The folders on the way down are open all
    at once; the length of a path bounds them. In no order, so that nothing is moved from where it will be looked to
    where it was. Raises OSError where something may not be looked into.
    """
    levels = [_Level(None, [folder], 0)]
    order = random.Random(os.urandom(16))
    try:
        while levels:
            above = levels[-1]
            if not above.folders:
                _close(levels.pop())
                continue
            name = above.folders.pop()
            try:
                levels.append(_entered(name, above))
                yield 0
                yield from _sizes_in(levels[-1], order)
            except OSError as error:
                if error.errno in _NOT_LOOKED_INTO:
                    raise
    finally:
        for level in levels:
            _close(level)


def _close(level: _Level) -> None:
    if level.fd is not None:
        os.close(level.fd)


def _entered(name: str, above: _Level) -> _Level:
    """A folder, opened where it lies. Only the first, which is ours, may be reached by links. Raises OSError."""
    path_bytes = above.path_bytes + len(os.fsencode(name)) + 1
    if path_bytes > _PATH_BYTES:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), name)
    flags = _FOLDER if above.fd is None else _FOLDER | os.O_NOFOLLOW
    try:
        fd = _opened_unseen(name, flags, above.fd)
    except PermissionError:
        _open_to_us(name, above.fd)
        fd = _opened_unseen(name, flags, above.fd)
    return _Level(fd, [], path_bytes)


def _opened_unseen(name: str, flags: int, above: int | None) -> int:
    """A folder, open; where we may, without its time of access telling that it was listed. Raises OSError."""
    try:
        return os.open(name, flags | os.O_NOATIME, dir_fd=above)
    except PermissionError:  # its owner may, and who has CAP_FOWNER
        return os.open(name, flags, dir_fd=above)


def _sizes_in(level: _Level, order: random.Random) -> Iterator[int]:
    """What each file and folder right in one takes; the folders are added to it. Raises OSError."""
    assert level.fd is not None
    with os.scandir(level.fd) as listing:
        entries = list(itertools.islice(listing, _MOST_ENTRIES + 1))
    order.shuffle(entries)
    for entry in entries:
        with contextlib.suppress(FileNotFoundError):
            try:
                found = entry.stat(follow_symlinks=False)
            except PermissionError:  # it may be listed, and what is in it may not be looked at
                os.chmod(level.fd, stat.S_IRWXU)
                found = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode):
                level.folders.append(entry.name)
            yield max(_BLOCK_BYTES, found.st_blocks * _SECTOR_BYTES)


def _open_to_us(name: str, above: int | None = None) -> None:
    """Give its owner all rights to a folder, where we are that. By a descriptor: it may be made a link meanwhile."""
    with contextlib.suppress(OSError):
        fd = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
        try:
            os.chmod(f"/proc/self/fd/{fd}", stat.S_IRWXU)
        finally:
            os.close(fd)
