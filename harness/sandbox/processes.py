"""What /proc says about a worker's processes: which they are and what they use."""

import contextlib
import functools
import math
import os
import re
import signal
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
# What a mapping's block in smaps begins with, up to its offset: device, inode and path follow.
_MAPPING = re.compile(r"^[0-9a-f]+-[0-9a-f]+ [-rwxsp]{4} ", re.MULTILINE)
# The numbers of vfork, clone and clone3.
_BEGIN_A_CHILD = {"x86_64": (b"58", b"56", b"435"), "aarch64": (b"220", b"435")}
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError, ValueError, IndexError)


def read_bytes(path: str, most: float = math.inf) -> bytes:
    """A file of /proc, which comes in pieces of a page each; where it is more than `most`, a part that is more as well.

    Raises OSError.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = bytearray()
        while len(data) <= most and (piece := os.read(fd, 65536)):
            data += piece
        return bytes(data)
    finally:
        os.close(fd)


def _read(path: str) -> str:
    return read_bytes(path).decode("ascii", "replace")


def _children_by_file(pid: int) -> list[int]:
    found: list[int] = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(*_GONE):
            found += map(int, read_bytes(f"/proc/{pid}/task/{task}/children").split())
    return found


def children(pid: int) -> list[int]:
    """The processes that the threads of `pid` started; none where it is gone or the kernel does not tell."""
    with contextlib.suppress(*_GONE):
        return _children_by_file(pid)
    return []


def parent(pid: int) -> int:
    """The parent of `pid`, whatever bytes its name is made of. Raises OSError where it is gone."""
    return int(_read(f"/proc/{pid}/stat").rpartition(")")[2].split()[1])


def _has_children_files() -> bool:
    return Path(f"/proc/self/task/{os.getpid()}/children").exists()


def _parents() -> dict[int, list[int]]:
    """Every process that we can see, by parent. For kernels without CONFIG_PROC_CHILDREN."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(*_GONE):
                children.setdefault(parent(int(name)), []).append(int(name))
    return children


def descendants(root: int) -> list[int]:
    """The living descendants of `root`, without itself; zombies are among them."""
    table = None if _has_children_files() else _parents()
    found: list[int] = []
    frontier = [root]
    while frontier:
        pid = frontier.pop()
        children: list[int] = []
        with contextlib.suppress(*_GONE):
            children = _children_by_file(pid) if table is None else table.get(pid, [])
        found += children
        frontier += children
    return found


@dataclass(frozen=True)
class Usage:
    """What one process uses: bytes of anonymous and shared memory, CPU seconds with waited-for children, threads."""

    private_bytes: int
    shared_bytes: int
    cpu_s: float
    threads: int


def _living_task(pid: int) -> str | None:
    """The folder of a process's first thread, or of another where that one has ended; None where all have.

    A process lives as long as any thread of it, and what its threads share is not shown of one that has ended.
    """
    return next((place for place in folders_of_tasks(pid) if not _has_ended(place)), None)


def folders_of_tasks(pid: int) -> Iterator[str]:
    """The folders of a process's threads, the first one's before all others. Raises OSError where it is gone.

    By numbers of their own: below /proc/PID/task there is no map_files.
    """
    yield f"/proc/{pid}"
    for task in os.listdir(f"/proc/{pid}/task"):
        if int(task) != pid:
            yield f"/proc/{task}"


def newest() -> str:
    """The number that a process or thread of this machine was given last; "" where the kernel does not tell.

    It is another one once anything was started, in any container too.
    """
    with contextlib.suppress(*_GONE, IndexError):
        return _read("/proc/loadavg").split()[4]
    return ""


def waited_ns(pid: int) -> int:
    """Nanoseconds that the first thread of `pid` has waited for a core since it began; 0 where nothing tells."""
    with contextlib.suppress(*_GONE, ValueError, IndexError):
        return int(_read(f"/proc/{pid}/task/{pid}/schedstat").split()[1])
    return 0


def lives(pid: int) -> bool:
    """Whether any task of `pid` can still run: one whose leader has exited is a zombie only in the leader."""
    with contextlib.suppress(*_GONE):
        return _living_task(pid) is not None
    return False


def _has_ended(place: str) -> bool:
    with contextlib.suppress(*_GONE):
        return _read(f"{place}/stat").rpartition(")")[2].split(maxsplit=1)[0] in "ZX"
    return True


def usage(pid: int) -> Usage | None:
    """What `pid` uses now, or None where it is gone or a zombie."""
    with contextlib.suppress(*_GONE):
        fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
        task = f"/proc/{pid}" if fields[0] not in "ZX" else _living_task(pid)
        if task is None:
            return None
        status = dict(line.split(":", 1) for line in _read(f"{task}/status").splitlines() if ":" in line)
        private, shared = (int(status.get(key, "0 kB").split()[0]) * 1024 for key in ("RssAnon", "RssShmem"))
        cpu_s = sum(map(int, fields[11:15])) / _TICKS
        return Usage(private_bytes=private, shared_bytes=shared, cpu_s=cpu_s, threads=int(fields[17]))
    return None


def held_files(pid: int, *, mapped: bool = False) -> list[os.stat_result]:
    """The files that `pid` has open; with `mapped` also those that it only maps, which the kernel shows to root alone.

    Raises PermissionError where it has closed itself to us.
    """
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        task = _living_task(pid)
        found = _files_in(f"{task}/fd") if task is not None else []
        if mapped:
            with contextlib.suppress(PermissionError):
                found += _files_in(f"{task}/map_files") if task is not None else []
        return found
    return []


def _files_in(place: str) -> list[os.stat_result]:
    found = []
    for name in os.listdir(place):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found.append(os.stat(f"{place}/{name}"))
    return found


def descriptors_in_flight(pid: int) -> int:
    """How many descriptors lie in the sockets of `pid`, sent and not yet received; 0 where that is not told (5.6)."""
    found = 0
    with contextlib.suppress(*_GONE):
        task = _living_task(pid) or f"/proc/{pid}"
        for name in os.listdir(f"{task}/fd"):
            with contextlib.suppress(*_GONE):
                if os.readlink(f"{task}/fd/{name}").startswith("socket:"):
                    found += int((_read(f"{task}/fdinfo/{name}").partition("scm_fds:")[2].split() or ["0"])[0])
    return found


@functools.cache
def memory_device() -> int:
    """The number of the file system on which memfds lie."""
    fd = os.memfd_create("where")
    try:
        return os.fstat(fd).st_dev
    finally:
        os.close(fd)


def is_stopped(pid: int) -> bool:
    """Whether a signal has stopped every thread of `pid`, or ended it, or keeps it from returning from vfork.

    One that waits there for its child cannot be stopped. Where the child is, neither runs before the child goes on, and
    the signal that is waiting stops the parent then before any code of its own does.
    """
    return _are_all_in(pid, "TtZX", waiting_for=_BEGIN_A_CHILD.get(os.uname().machine, ()))


def wants_a_core(pid: int) -> bool:
    """Whether every thread of `pid` that is neither stopped nor ended is ready to run, and waits for nothing else."""
    return _are_all_in(pid, "TtZXR")


def _are_all_in(pid: int, states: str, waiting_for: tuple[bytes, ...] = ()) -> bool:
    """Whether every thread is in one of these states, or waits uninterruptibly in one of these system calls."""
    with contextlib.suppress(*_GONE):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(*_GONE):
                state = _read(f"/proc/{pid}/task/{task}/stat").rpartition(")")[2].split(maxsplit=1)[0]
                if state not in states and not (state == "D" and _system_call(pid, task) in waiting_for):
                    return False
    return True


def _system_call(pid: int, task: str) -> bytes:
    """The number of the system call that a thread waits in; b"" where the kernel does not say."""
    with contextlib.suppress(OSError):
        return read_bytes(f"/proc/{pid}/task/{task}/syscall").partition(b" ")[0]
    return b""


def left_its_core(pid: int) -> bool:
    """Whether no thread of `pid` has a core or waits for one, so that its CPU time is final until it is woken.

    The state in /proc/PID/stat does not tell: it changes some microseconds earlier, and a task can lose its core in
    between. Reading `syscall` waits for the scheduler to let go of a thread whose state has changed, and says
    "running" of one that is woken (wait_task_inactive of kernel/sched/core.c, asked by lib/syscall.c). True where the
    kernel has no such file or closes it to us.
    """
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                if read_bytes(f"/proc/{pid}/task/{task}/syscall").startswith(b"running"):
                    return False
    return True


@dataclass(frozen=True)
class Share:
    """Memory of one process in bytes, with shared pages split among their sharers.

    `in_files` is what it maps of the files in memory that were asked about, by inode; `rest_bytes` all other.
    """

    rest_bytes: int
    in_files: Mapping[int, int] = field(default_factory=dict)


def proportional(pid: int, files: Set[int]) -> Share | None:
    """What `pid` has mapped, that of the files in memory with these inodes apart; None where that cannot be told."""
    try:
        task = _living_task(pid)
        if task is None:
            return Share(0)
        lines = _read(f"{task}/smaps_rollup").splitlines()
        in_files = _mapped_bytes(_read(f"{task}/smaps"), files) if files else {}
    except ProcessLookupError:
        return Share(0)
    except FileNotFoundError:
        return None if Path(f"/proc/{pid}").exists() else Share(0)  # before Linux 4.14 there is no such file
    except PermissionError:
        return None
    total = sum(int(line.split()[1]) for line in lines if line.startswith(("Pss_Anon:", "Pss_Shmem:"))) * 1024
    return Share(total - sum(in_files.values()), in_files)


def _mapped_bytes(smaps: str, inodes: Set[int]) -> dict[int, int]:
    """What is mapped of files with these inodes, pages of one's own in their place not counted."""
    found: dict[int, int] = {}
    for block in _MAPPING.split(smaps)[1:]:
        header, _, fields = block.partition("\n")
        if (inode := int(header.split()[2])) in inodes:
            sizes = dict(line.split(":", 1) for line in fields.splitlines() if ":" in line)
            kilobytes = max(0, int(sizes["Pss"].split()[0]) - int(sizes["Anonymous"].split()[0]))
            found[inode] = found.get(inode, 0) + kilobytes * 1024
    return found


def shared_of_machine() -> int:
    """Bytes of memory in files of any process of this machine, mapped or not; 0 where the kernel does not tell."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(_read("/proc/meminfo").partition("\nShmem:")[2].split(maxsplit=1)[0]) * 1024
    return 0


def data_bytes() -> int:
    """What this process has of the memory that RLIMIT_DATA counts."""
    for line in _read("/proc/self/status").splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) * 1024
    return 0


def kernel_oom_kills() -> int:
    """How often the kernel's out-of-memory killer has struck since boot; 0 where it does not tell."""
    with contextlib.suppress(OSError, ValueError):
        for line in _read("/proc/vmstat").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def kill(pid: int, number: int = signal.SIGKILL) -> None:
    """Send a signal to a process that may be gone already."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
