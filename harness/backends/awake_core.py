"""Awake: a process that keeps one core from going to sleep while workers take turns on it.

A timed worker is frozen between its rounds. Its core would go idle meanwhile, and waking an idle core takes up to
0.4 ms, and on a virtual machine varies by as much. This process spins on that core at the lowest priority there is:
any other process that wants it gets it at once.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from harness.sandbox import linux


class AwakeCore:
    """Spins on `core` while asked to; without a core it does nothing. Make it before CUDA is initialised: it forks."""

    def __init__(self, core: int | None) -> None:
        self._pid = None if core is None else _start(core)

    @contextmanager
    def spinning(self) -> Iterator[None]:
        if self._pid is None:
            yield
            return
        os.kill(self._pid, signal.SIGCONT)
        try:
            yield
        finally:
            os.kill(self._pid, signal.SIGSTOP)


def _start(core: int) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # a socket that stays open here would hide the judge's end
            with suppress(OSError):
                os.sched_setaffinity(0, {core})
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
            os.kill(os.getpid(), signal.SIGSTOP)
            while True:
                pass
        finally:
            os._exit(1)
    os.waitpid(pid, os.WUNTRACED)
    return pid
