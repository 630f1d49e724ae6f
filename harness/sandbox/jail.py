"""Run a tool in a confined child and keep watch over it: what `run_tool` starts where bubblewrap cannot be had.

Imports nothing that takes time: every call of a compiler pays for it.
"""

import contextlib
import json
import os
import resource
import select
import signal
import sys
import time
from typing import NoReturn

from harness.sandbox import landlock, linux, seccomp

# What compilers look up about the machine. Not /proc as a whole: other processes' command lines are there.
_SYSTEM = ("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system/cpu")
CANNOT_START = 127  # a shell's status for a program that is not there
STARTED = b"started"


def confine(
    *,
    readable: list[str],
    hidden: list[str],
    writable: list[str],
    devices: list[str],
    memory_bytes: int,
    file_bytes: int,
    open_files: int,
    cpu_s: int,
) -> None:
    """Limit this process for good. Raises OSError where the kernel has no Landlock or no seccomp.

    `cpu_s` bounds each process of the tool, so that none outlives an owner that was killed for ever.
    """
    for which, value in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_NOFILE, open_files),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))
    linux.drop_capabilities()
    linux.clear_capabilities()
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    landlock.restrict(
        readable=(*readable, *_SYSTEM), hidden=hidden, writable=writable, devices=devices, writable_files=()
    )
    program = seccomp.program(network=False, other_processes=False, signals=True, links=True, pid=os.getpid())
    linux.install_seccomp(program)


def main(arguments: str, lifeline: str, status: str, argv: list[str]) -> NoReturn:
    """Run `argv` in a child that is confined as the JSON object `arguments` says, and end as it does.

    Whatever the child started ends with it, and all of it once the descriptor `lifeline` reads as closed: the
    process that holds its other end is gone then, be it by a SIGKILL. The file behind the descriptor `status`, which
    the child does not have any more by then, says STARTED once it is `argv`.
    """
    linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
    try:
        child = os.fork()
    except OSError as error:
        print(f"{argv[0]}: {error.strerror}", file=sys.stderr)
        os._exit(CANNOT_START)
    if child == 0:
        os.close(int(lifeline))
        _become(argv, arguments, int(status))
    for stream in (1, 2):  # the reader of the tool's output waits for every process that could write to it
        os.close(stream)
    ended = os.pidfd_open(child)
    poller = select.poll()
    poller.register(ended, select.POLLIN)
    poller.register(int(lifeline), select.POLLIN)
    ready = {fd for fd, _ in poller.poll()}
    how = os.waitpid(child, 0)[1] if ended in ready else signal.SIGKILL
    _kill_descendants()
    os._exit(128 + os.WTERMSIG(how) if os.WIFSIGNALED(how) else os.WEXITSTATUS(how))


def _become(argv: list[str], arguments: str, status: int) -> NoReturn:
    os.set_inheritable(status, False)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # the kernel ends a compiler before the judge: a build can be tried again
    try:
        confine(**json.loads(arguments))
        os.write(status, STARTED)
        os.execvp(argv[0], argv)
    except OSError as error:
        os.ftruncate(status, 0)
        print(f"{argv[0]}: {error.strerror}", file=sys.stderr)
    os._exit(CANNOT_START)


def _kill_descendants() -> None:
    """End and reap everything below this process, daemons too: they came here as their parents went."""
    while True:
        for pid in _children(os.getpid()):
            _kill_tree(pid)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.001)


def _kill_tree(pid: int) -> None:
    children = _children(pid)
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    for child in children:
        _kill_tree(child)


def _children(pid: int) -> list[int]:
    """The children of a process; empty where it is gone."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as listing:
                found += map(int, listing.read().split())
    except OSError:
        return found
    return found
