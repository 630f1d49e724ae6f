"""The freezer: stops every task of a worker between its turns, and finds out what ran all the same.

`halt` tells all processes to stop and returns at once; `settle` waits until every task has stopped, the leader's state
notwithstanding, nothing is new and nothing uses the CPU. A clock that has to know when the last task stopped runs until
then: a stopped process can be resumed by a timer of its own that sends SIGCONT, start others, and be stopped again. The
CPU time of each is compared once more when it is resumed.

Where the worker has a cgroup of its own, the kernel freezes that (`cgroup.freeze`): nothing inside can undo it, and a
task that waits in vfork is frozen too. Elsewhere every process is sent SIGSTOP.

The kernel shows a task as stopped shortly before it leaves its core, and adds what it ran to its CPU time when it does.
Where the host takes that core away, or the kernel gives it to another task, milliseconds lie between: so each task is
waited for until the scheduler has let go of it, and only then is its CPU time noted. A worker is accused of nothing
that it did before.

Not covered: what a device still does for a worker whose tasks are stopped. The judge reads outputs after that.
"""

import contextlib
import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from harness.sandbox import processes

STOPPING_S = 0.5
"""What a worker's tasks may take until they have all stopped; those in the hands of a driver take longest."""
STARVED_S = 10.0
"""The same where all that they need to stop is a core that others on the machine use."""
_GONE = 1 << 62


class NotStopped(Exception):
    """A worker's tasks could not be stopped. Says why, as a candidate's failure."""


@dataclass(frozen=True)
class Used:
    """Nanoseconds of CPU time of each process that is stopped, and those that the first one's first thread waited for
    a core.

    `newest` is the newest task of the machine then (`processes.newest`).
    """

    by_process: Mapping[int, int]
    waited_ns: int
    newest: str

    def worked_since(self, before: "Used", took_s: float) -> float:
        """Seconds of the `took_s` from one moment to this that were work: as much as CPU time was used.

        Where a process may have ended meanwhile its CPU time went with it. There all is work that was not spent waiting
        for a core.
        """
        used_s = max(0, sum(self.by_process.values()) - sum(before.by_process.values())) / 1e9
        if self.newest != before.newest or not before.by_process.keys() <= self.by_process.keys():
            used_s = max(used_s, took_s - (self.waited_ns - before.waited_ns) / 1e9)
        return min(took_s, used_s)


class Freezer:
    """Stops and resumes one worker. `group` is the folder of its cgroup; None where it has none."""

    def __init__(self, pid: int, group: str | None = None) -> None:
        self._pid = pid
        self._supervisor = _supervisor_of(pid)
        self._group = None if group is None else Path(group)
        self._known: list[int] = [pid]
        self._halted: list[int] = []
        self._stopped: dict[int, int] = {}
        """What of that could run again, and the CPU time that it had used. A zombie that is reaped has not run."""

    @property
    def holds(self) -> bool:
        """Whether the worker is stopped now, or was told to."""
        return bool(self._halted)

    def used(self) -> Used:
        """What that which is stopped had used by then, and what is the newest task now."""
        by_process = {pid: used for pid, used in self._stopped.items() if used != _GONE}
        return Used(by_process, processes.waited_ns(self._pid), processes.newest())

    def halt(self) -> None:
        """Tell the processes that are known to stop, and return at once."""
        self._halted = list(self._known)
        if self._group is not None:
            _write(self._group / "cgroup.freeze", "1")
        else:
            for pid in self._halted:
                processes.kill(pid, signal.SIGSTOP)

    def settle(self) -> None:
        """Wait until no task of the worker runs, those that it starts meanwhile included.

        A worker that is gone as a whole shows at the next question. Raises NotStopped where it cannot be had within
        `STOPPING_S`, or `STARVED_S` where its tasks wait for a core: one that was told to stop does so when it is
        given one, and runs none of its own code before.
        """
        patience = _Patience(self._halted)
        while True:
            self._find_more(patience)
            self._wait_until_stopped(patience)
            self._stopped = _at_rest([pid for pid in self._halted if processes.lives(pid)])
            if not self.ran():
                break
            if patience.is_over():
                raise NotStopped(f"tasks were resumed again and again for {STOPPING_S:g} s after they had been stopped")
        self._known = [pid for pid in self._stopped if processes.lives(pid)] or [self._pid]

    def stop(self) -> None:
        """Both. Raises NotStopped."""
        self.halt()
        self.settle()

    def _wait_until_stopped(self, patience: "_Patience") -> None:
        """Look awake: what is waited for takes some 50 µs, and a clock may run meanwhile."""
        while not (self._are_stopped() and all(processes.left_its_core(pid) for pid in self._halted)):
            if patience.is_over():
                raise NotStopped(f"a task did not stop within {STOPPING_S:g} s of being told to")

    def _are_stopped(self) -> bool:
        if self._group is not None:
            return _is_frozen(self._group)
        return all(processes.is_stopped(pid) for pid in self._halted)

    def _find_more(self, patience: "_Patience") -> None:
        """Stop what is not known yet. What is stopped starts nothing: once nothing is new, all are."""
        while fresh := [pid for pid in self._family() if pid not in self._halted]:
            self._halted += fresh
            if self._group is None:
                for pid in fresh:
                    processes.kill(pid, signal.SIGSTOP)
            if patience.is_over():
                raise NotStopped("started processes faster than they could be stopped between rounds")

    def ran(self) -> bool:
        """Whether anything that was stopped has used the CPU since, or anything is there that was not."""
        if _cpu_ns(self._pid) == _GONE:  # the next question tells how it ended
            return False
        used = any(_cpu_ns(pid) != before for pid, before in self._stopped.items() if before != _GONE)
        return used or not set(self._family()) <= set(self._halted)

    def _family(self) -> list[int]:
        """The worker and what it started, as far as that can be seen at one moment."""
        return family(self._pid, self._supervisor)

    def resume(self) -> None:
        """Let everything that was stopped go on."""
        halted, self._halted, self._stopped = self._halted, [], {}
        if self._group is not None:
            _write(self._group / "cgroup.freeze", "0")
            return
        for pid in reversed(halted):
            processes.kill(pid, signal.SIGCONT)


def _write(path: Path, text: str) -> None:
    with contextlib.suppress(OSError):  # the group goes with the worker: its end shows at the next question
        path.write_text(text)


def _is_frozen(group: Path) -> bool:
    with contextlib.suppress(OSError):
        return "frozen 1" in (group / "cgroup.events").read_text()
    return True  # it is gone


class _Patience:
    """How long processes may still take to stop, from now on. `pids` may grow meanwhile."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids = pids
        self._began = time.monotonic()
        self._used = {pid: _cpu_ns(pid) for pid in pids}

    def is_over(self) -> bool:
        waited = time.monotonic() - self._began
        return waited > STOPPING_S and (waited > STARVED_S or not self._is_starved())

    def _is_starved(self) -> bool:
        """Whether everything that has not stopped wants nothing but a core, and has had little of any meanwhile."""
        used = sum(_cpu_ns(pid) - before for pid, before in self._used.items() if before != _GONE)
        return used < STOPPING_S * 1e9 and all(processes.wants_a_core(pid) for pid in self._pids)


def _at_rest(pids: Sequence[int]) -> dict[int, int]:
    """The CPU time of each process once it does not grow any more: a stopped task leaves its core a moment later."""
    deadline = time.monotonic() + STOPPING_S
    before: dict[int, int] = {}
    while (now := {pid: _cpu_ns(pid) for pid in pids}) != before:
        if time.monotonic() > deadline:
            raise NotStopped(f"a task went on using the CPU for {STOPPING_S:g} s after it had stopped")
        before = now
    return now


def _cpu_ns(pid: int) -> int:
    """CPU time that all threads of a process have used, in nanoseconds; for one that is gone more than any can have.

    The kernel counts it by thread group, so that a leader that has exited does not hide the others.
    """
    try:
        return time.clock_gettime_ns((~pid << 3) | 2)  # the process's CPU clock, as clock_getcpuclockid(3) names it
    except OSError:
        return _GONE


class Supervisor(NamedTuple):
    """What started a worker and adopts its daemons, until the worker's end; `session` is its own."""

    pid: int
    session: int


def _supervisor_of(pid: int) -> Supervisor | None:
    """None where the worker is gone by now."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        supervisor = processes.parent(pid)
        return Supervisor(supervisor, os.getsid(supervisor))
    return None


def family(pid: int, supervisor: Supervisor | None) -> list[int]:
    """A worker and what it started, daemons that its supervisor adopted among that."""
    found = [pid, *_orphans(pid, supervisor)]
    return [*found, *(below for one in found for below in processes.descendants(one))]


def _orphans(pid: int, supervisor: Supervisor | None) -> list[int]:
    """What a worker's supervisor adopted of it. Its own helper stays in its own session, and is left alone."""
    if supervisor is None:
        return []
    adopted = processes.children(supervisor.pid)
    return [child for child in adopted if child != pid and _session(child) != supervisor.session]


def _session(pid: int) -> int:
    """The session of a process; 0 for one that is gone."""
    with contextlib.suppress(OSError):
        return os.getsid(pid)
    return 0
