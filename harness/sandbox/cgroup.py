"""cgroup v2, where a part of the tree is ours: memory and processes of each worker counted and bounded by the kernel.

Ours it is where we may write it and the controllers `memory` and `pids` reach it, which is found out by doing it. A
group that hands controllers down may hold no process itself (the root of the tree aside), so what we make lies

    <place>/harness-<random>/           the prepared process's, locked while it or a supervisor lives
        worker-<pid>/                   one worker: memory.max, memory.swap.max, memory.oom.group, pids.max
        main/                           the owner and the prepared process, only where they had to move out of <place>

below the first place of these: the root of the tree; our own group, if only our owner and what it started are in
it (they move into `main`, and back in the end); the group above ours, if it hands the controllers down already and ours
carries no limit that workers would escape.

Covered: memory of any kind that the kernel charges, tmpfs and the page cache among it, and tasks, exactly and at the
moment; the end of all at one stroke; CPU time of processes that were not waited for. Not covered: pages that the
prepared process brought along, pinned memory of a GPU's driver, disks. All of this goes with the prepared process, also
where its owner was killed; what is left where it was killed itself is removed by the next that comes to the same place.

Files and rules: docs.kernel.org/admin-guide/cgroup-v2.html; delegation by systemd: systemd.io/CGROUP_DELEGATION.
"""

import contextlib
import errno
import fcntl
import os
import secrets
import signal
import time
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path

from harness.sandbox import linux, processes
from harness.sandbox.policy import Cause, Limits

_CONTROLLERS = ("memory", "pids")
_PREFIX, _MAIN = "harness-", "main"
_PROCESSES, _HANDED_DOWN = "cgroup.procs", "cgroup.subtree_control"
_UNBOUND = {"memory.max": ["max"], "cpu.max": ["max", "100000"], "cpuset.cpus": []}
_PATIENCE_S = 2.0  # for processes that are being born or are dying while a group is emptied


class NotDelegated(Exception):
    """No part of a cgroup v2 tree is ours. Says why, for `Confinement.missing`."""


@dataclass(frozen=True)
class Usage:
    """What a group has used: the most bytes at once, CPU seconds of all that was ever in it, processes in it now."""

    peak_bytes: int
    cpu_s: float
    processes: int


class Group:
    """One worker's group. The process that makes it removes it."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self.path = path
        path.mkdir()
        try:
            self._limit(limits)
            self.fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            path.rmdir()
            raise

    def _limit(self, limits: Limits) -> None:
        (self.path / "memory.max").write_text(str(limits.memory_bytes))
        (self.path / "memory.oom.group").write_text("1")
        with contextlib.suppress(FileNotFoundError):  # a kernel that does not account for swap
            (self.path / "memory.swap.max").write_text("0")
        (self.path / "pids.max").write_text(str(limits.threads))

    def exceeded(self) -> Cause | None:
        """Which of its limits the kernel has enforced."""
        if _counter(self.path / "memory.events", "oom_kill"):
            return "memory"
        return "processes" if _counter(self.path / "pids.events", "max") else None

    def usage(self) -> Usage:
        """What it has used so far."""
        peak = self.path / "memory.peak"  # Linux 5.19
        return Usage(
            peak_bytes=int((peak if peak.exists() else self.path / "memory.current").read_text()),
            cpu_s=_counter(self.path / "cpu.stat", "usage_usec") / 1e6,
            processes=len(_processes(self.path)),
        )

    def kill(self) -> None:
        """SIGKILL to all that is in it, and to what they fork at this moment."""
        (self.path / "cgroup.kill").write_text("1")

    def remove(self) -> None:
        """Remove it, once all that was in it is gone. Raises OSError where something is not."""
        os.close(self.fd)
        _remove(self.path)


class Groups:
    """What we made in the tree. Forks keep it alive; the process that opened it closes it when all others ended."""

    def __init__(self, place: Path, *, move: bool) -> None:
        """Make it below `place`, into which we `move` our owner first. Raises OSError where the kernel refuses."""
        _sweep(place)
        self._place = place
        self._base = place / f"{_PREFIX}{secrets.token_hex(4)}"
        self._lock = _make_locked(self._base)
        self._handed_down: tuple[str, ...] = ()
        try:
            if move:
                (self._base / _MAIN).mkdir()
                _move(place, self._base / _MAIN)
            self._handed_down = _hand_down(place)
            _hand_down(self._base)
            self._try()
        except OSError:
            self.close()
            raise

    def new(self, limits: Limits) -> Group:
        """A group for one worker of this process. Raises OSError."""
        return Group(self._base / f"worker-{os.getpid()}", limits)

    def _try(self) -> None:
        """Make a group, start a process in it, kill it by its group, and remove that."""
        group = self.new(Limits())
        try:
            pid = linux.fork_with(0, group.fd)
            if pid == 0:
                while True:
                    signal.pause()
            try:
                group.kill()
            finally:
                processes.kill(pid)
                with contextlib.suppress(ChildProcessError):  # where SIGCHLD is ignored, the kernel has reaped it
                    os.waitpid(pid, 0)
        finally:
            group.remove()

    def close(self) -> None:
        """Put everything back as it was."""
        _dismantle(self._base)
        if self._handed_down and not list(_below(self._place)):
            with contextlib.suppress(OSError):
                _take_back(self._place, self._handed_down)
        os.close(self._lock)
        if self._place.name.startswith(_PREFIX):  # another prepared process of our owner's was here first, and has gone
            _sweep(self._place.parent)


def open_groups() -> Groups:
    """What of the tree is ours, made ready for workers. Raises NotDelegated."""
    own = _own_group()
    refused = []
    for place, move in _places(own):
        why = _unfit(place, own, move=move)
        if why is None:
            try:
                return Groups(place, move=move)
            except OSError as error:
                why = f"{error.filename or place}: {error.strerror}"
        refused.append(why)
    raise NotDelegated("; ".join(dict.fromkeys(refused)))


def _own_group() -> Path:
    """The folder of the group that this process is in."""
    table = Path("/proc/self/cgroup")
    lines = table.read_text().splitlines() if table.exists() else []
    own = next((line.removeprefix("0::") for line in lines if line.startswith("0::")), None)
    mounts = list(_mounts())
    if own is None or not mounts:
        raise NotDelegated("cgroup v2 is not mounted here")
    for root, point in mounts:
        if own == root or own.startswith(root.rstrip("/") + "/"):
            return Path(point) / own[len(root) :].lstrip("/")
    raise NotDelegated(f"our group {own} cannot be seen here")


def _mounts() -> Iterator[tuple[str, str]]:
    """Each cgroup v2 file system: which group is at its top, and where."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, kind = line.partition(" - ")
        if kind.split()[0] == "cgroup2":
            root, point = (field.encode().decode("unicode_escape") for field in fields.split()[3:5])
            yield root, point


def _places(own: Path) -> Iterator[tuple[Path, bool]]:
    """Where our groups may lie, best first, and whether our owner has to move for that."""
    moved = own.name == _MAIN and own.parent.name.startswith(_PREFIX)
    if moved:  # by another prepared process of our owner's
        yield own.parent, False
    yield own, not _is_root(own)
    if not moved and not _is_root(own) and _is_writable(own.parent):
        yield own.parent, False


def _is_root(group: Path) -> bool:
    return not (group / "cgroup.type").exists()


def _is_writable(group: Path) -> bool:
    return all(os.access(path, os.W_OK) for path in (group, group / _PROCESSES, group / _HANDED_DOWN))


def _unfit(place: Path, own: Path, *, move: bool) -> str | None:
    """Why our groups cannot lie below `place`, as far as can be told without doing anything."""
    available = (place / "cgroup.controllers").read_text().split()
    if lacking := [one for one in _CONTROLLERS if one not in available]:
        return f"no {' and no '.join(lacking)} controller of cgroup v2 reaches {place}"
    if not _is_writable(place):
        return f"{place} is not delegated to us"
    if move:
        return None if _processes(place) <= _ours() else f"{place} holds processes that are not ours to move"
    if place == own or own.name == _MAIN:
        return None
    if not set(_CONTROLLERS) <= set((place / _HANDED_DOWN).read_text().split()):
        return f"{place} hands no controllers down"
    for name, unbound in _UNBOUND.items():
        if (limit := own / name).exists() and limit.read_text().split() != unbound:
            return f"workers beside {own} would escape its {name}"
    return None


def _ours() -> Set[int]:
    """Our owner and everything that it started."""
    owner = os.getppid()
    return {owner, *processes.descendants(owner)}


def _processes(group: Path) -> Set[int]:
    return set(map(int, (group / _PROCESSES).read_text().split()))


def _counter(path: Path, name: str) -> int:
    """One line of a file of "name number" lines; 0 where there is none."""
    found = (line.split() for line in path.read_text().splitlines())
    return next((int(number) for key, number in found if key == name), 0)


def _hand_down(group: Path) -> tuple[str, ...]:
    """Enable the controllers for the groups below. Returns those that were not."""
    enabled = (group / _HANDED_DOWN).read_text().split()
    lacking = tuple(one for one in _CONTROLLERS if one not in enabled)
    if lacking:
        (group / _HANDED_DOWN).write_text(" ".join(f"+{one}" for one in lacking))
    return lacking


def _take_back(group: Path, controllers: tuple[str, ...]) -> None:
    (group / _HANDED_DOWN).write_text(" ".join(f"-{one}" for one in controllers))


def _move(source: Path, target: Path) -> None:
    """Move every process of a group, and those that they fork meanwhile. Raises OSError."""
    deadline = time.monotonic() + _PATIENCE_S
    while found := _processes(source):
        if time.monotonic() > deadline:
            raise OSError(errno.EBUSY, "processes go on coming", str(source))
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                (target / _PROCESSES).write_text(str(pid))


def _make_locked(base: Path) -> int:
    """Make a group of ours, and lock it so that no process takes it for a dead one's. Returns the lock."""
    base.mkdir()
    lock = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        base.stat()
    except OSError:  # swept just before it was locked
        os.close(lock)
        raise
    return lock


def _below(group: Path) -> Iterator[Path]:
    return (path for path in group.iterdir() if path.is_dir())


def _sweep(place: Path) -> None:
    """Remove what is left of prepared processes that were killed."""
    for base in _below(place):
        if base.name.startswith(_PREFIX):
            with contextlib.suppress(OSError):  # it lives, or has just been removed
                lock = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _dismantle(base)
                finally:
                    os.close(lock)


def _dismantle(base: Path) -> None:
    """Remove a prepared process's groups, as far as nothing else needs them; what moved into `main` moves back."""
    _sweep(base)
    with contextlib.suppress(OSError):
        for group in _below(base):
            if group.name.startswith("worker-"):
                (group / "cgroup.kill").write_text("1")
                _remove(group)
        _take_back(base, _CONTROLLERS)
        if (main := base / _MAIN).exists():
            _take_back(base.parent, _CONTROLLERS)  # it had none while processes were in it
            _move(main, base.parent)
            _remove(main)
        _remove(base)


def _remove(group: Path) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            group.rmdir()
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.002)
        else:
            return
