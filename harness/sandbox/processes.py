"""What /proc says about a worker's processes: who they are and what they use."""

import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError, ValueError, IndexError)


def _read(path: str) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = b""
        while piece := os.read(fd, 65536):
            data += piece
        return data.decode("ascii", "replace")
    finally:
        os.close(fd)


def _children_by_file(pid: int) -> list[int]:
    found: list[int] = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(*_GONE):
            found += map(int, _read(f"/proc/{pid}/task/{task}/children").split())
    return found


def children(pid: int) -> list[int]:
    """The processes that the threads of `pid` started; none where it is gone or the kernel does not tell."""
    with contextlib.suppress(*_GONE):
        return _children_by_file(pid)
    return []


def _has_children_files() -> bool:
    return Path(f"/proc/self/task/{os.getpid()}/children").exists()


def _parents() -> dict[int, list[int]]:
    """Every process that we can see, by parent. For kernels without CONFIG_PROC_CHILDREN."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(*_GONE):
                parent = int(_read(f"/proc/{name}/stat").rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
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

    memory_bytes: int
    cpu_s: float
    threads: int


def usage(pid: int) -> Usage | None:
    """What `pid` uses now, or None where it is gone or a zombie."""
    with contextlib.suppress(*_GONE):
        fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
        if fields[0] in "ZX":
            return None
        cpu_s = sum(map(int, fields[11:15])) / _TICKS
        status = dict(line.split(":", 1) for line in _read(f"/proc/{pid}/status").splitlines() if ":" in line)
        kilobytes = sum(int(status.get(key, "0 kB").split()[0]) for key in ("RssAnon", "RssShmem"))
        return Usage(memory_bytes=kilobytes * 1024, cpu_s=cpu_s, threads=int(fields[17]))
    return None


def is_stopped(pid: int) -> bool:
    """Whether a signal has stopped every thread of `pid`, or ended it."""
    with contextlib.suppress(*_GONE):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(*_GONE):
                if _read(f"/proc/{pid}/task/{task}/stat").rpartition(")")[2].split(maxsplit=1)[0] not in "TtZX":
                    return False
    return True


def proportional_bytes(pid: int) -> int | None:
    """Memory of `pid` with shared pages split among their sharers; 0 where it is gone, None where nobody tells."""
    try:
        lines = _read(f"/proc/{pid}/smaps_rollup").splitlines()
    except ProcessLookupError:
        return 0
    except FileNotFoundError:
        return None if Path(f"/proc/{pid}").exists() else 0  # before Linux 4.14 there is no such file
    except PermissionError:
        return None
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(("Pss_Anon:", "Pss_Shmem:")))


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
