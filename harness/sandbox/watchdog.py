"""The watchdog: what all processes of a worker use together, and when it is too much."""

import contextlib
import os
import select
import time

from harness.sandbox import processes
from harness.sandbox.cgroup import Group
from harness.sandbox.policy import Cause, Limits

WATCH_SHARE = 0.05  # of one core, at most, goes into watching
_SCRATCH_EVERY_S = 1.0
_BLOCK_BYTES = 4096
_COUNTING_S = 1.0


class Watchdog:
    """Looks at what all processes below this one use, and says when it is too much.

    Where the worker has a group, memory and tasks are the kernel's to bound and the group's to count; what is left to
    watch are CPU time, processes (as apart from threads) and the scratch folder.
    """

    def __init__(self, limits: Limits, scratch: str | None, group: Group | None = None) -> None:
        self.peak_bytes = 0
        self.cpu_s = 0.0
        self._limits = limits
        self._group = group
        self._scratch = scratch
        self._scratch_next = time.monotonic() + _SCRATCH_EVERY_S
        self._baseline = 0 if group is not None else sum(used.memory_bytes for _, used in self._used())

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
        memory = sum(one.memory_bytes for _, one in used)
        self.peak_bytes = max(self.peak_bytes, memory)
        if memory - self._baseline > self._limits.memory_bytes and self._really_exceeded():
            return "processes" if self._too_many() else "memory"  # a bomb that went off while it was counted
        self.cpu_s = max(self.cpu_s, sum(one.cpu_s for _, one in used))
        return "processes" if sum(one.threads for _, one in used) > self._limits.threads else None

    def _really_exceeded(self) -> bool:
        """Count again with pages that forked children share counted once, which takes longer.

        Twice, because the share of each grows as others end, and the processes are looked at one after the other. In a
        process of its own, because the kernel makes whoever asks wait for the lock of the address space, which one that
        forks or maps without end never lets go of: not to be told in time counts as too much.
        """
        used = self._used()
        read, write = os.pipe()
        try:
            pid = os.fork()
        except OSError:  # no process is left to be had: a bomb took them all
            os.close(read)
            os.close(write)
            return True
        if pid == 0:
            exceeded = all(_proportional_bytes(used) > self._limits.memory_bytes for _ in range(2))
            os.write(write, bytes([exceeded]))
            os._exit(0)
        os.close(write)
        with open(read, "rb", buffering=0) as answer:
            told = bool(select.select([answer], [], [], _COUNTING_S)[0]) and answer.read(1)
        processes.kill(pid)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)  # or the supervisor reaps it with everybody else
        return told != b"\0"

    def _scratch_is_full(self) -> bool:
        """In the basic tier, where no tmpfs bounds it, the scratch folder is measured from time to time."""
        if self._scratch is None or time.monotonic() < self._scratch_next:
            return False
        started = time.monotonic()
        total = _bytes_below(self._scratch)
        now = time.monotonic()
        self._scratch_next = now + max(_SCRATCH_EVERY_S, (now - started) / WATCH_SHARE)
        return total > self._limits.scratch_bytes


def _proportional_bytes(used: list[tuple[int, processes.Usage]]) -> int:
    exact = [(processes.proportional_bytes(pid), one.memory_bytes) for pid, one in used]
    return sum(plain if proportional is None else proportional for proportional, plain in exact)


def _bytes_below(folder: str) -> int:
    """What a folder takes on the disk, with a block for every file, however empty. No recursion: it may be deep."""
    total = 0
    folders = [folder]
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    total += max(_BLOCK_BYTES, entry.stat(follow_symlinks=False).st_blocks * 512)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
    return total
