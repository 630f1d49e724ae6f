"""`run_compiler`: the one place where a compiler process is started.

A compiler reads what a candidate wrote, and a candidate writes `#include "/dev/zero"` and template bombs. So every call
has a deadline, a cap on memory, on file size and on output, an environment of its own, and a process group that is
killed as a whole. Not covered here: what the compiler may read and write; confinement belongs at this seam.
"""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import ToolchainError

MEMORY_LIMIT_BYTES = 12 << 30
FILE_LIMIT_BYTES = 1 << 30
OUTPUT_HEAD_BYTES = 192 << 10
OUTPUT_TAIL_BYTES = 32 << 10

# `ulimit` in a shell, and not `preexec_fn`, because the builder starts compilers from several threads.
_LIMITED = ["/bin/sh", "-c", 'ulimit -v "$1" && ulimit -f "$2" && ulimit -c 0 && shift 2 && exec "$@"', "sh"]
_OUT_OF_MEMORY = (
    "virtual memory exhausted",
    "out of memory allocating",
    "std::bad_alloc",
    "Cannot allocate memory",
    "signal terminated program",
)


@dataclass(frozen=True)
class CompilerRun:
    """How one compiler process ended. `status` is its exit status, negative for a signal; times are seconds."""

    status: int
    output: str
    seconds: float
    cpu_seconds: float
    timed_out: bool

    @property
    def ok(self) -> bool:
        return self.status == 0 and not self.timed_out

    @property
    def out_of_memory(self) -> bool:
        return not self.ok and any(sign in self.output for sign in _OUT_OF_MEMORY)


def run_compiler(argv: Sequence[str], *, cwd: Path, deadline_s: float) -> CompilerRun:
    """Run one compiler or linker in `cwd`, for at most `deadline_s` seconds.

    stdout and stderr come back together, the head and the tail of them where they are long. Nothing of its process
    group is left when this returns. Raises ToolchainError if the program cannot be started.
    """
    if shutil.which(argv[0]) is None:
        raise ToolchainError(f"{argv[0]} cannot be found: install it or mend the PATH.")
    limits = [str(MEMORY_LIMIT_BYTES >> 10), str(FILE_LIMIT_BYTES >> 9)]
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            [*_LIMITED, *limits, *argv],
            cwd=cwd,
            env=_environment(cwd),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise ToolchainError(f"{argv[0]} cannot be started: {error.strerror}.") from error
    assert process.stdout is not None
    with process.stdout as pipe:
        output = _Output()
        closed = output.read_until_closed(pipe.fileno(), until=started + deadline_s)
        exited = closed and _wait_for_exit(process.pid, until=started + deadline_s)
        status, cpu_seconds = _kill_and_reap(process)
    seconds = time.monotonic() - started
    return CompilerRun(
        status=status, output=output.text(), seconds=seconds, cpu_seconds=cpu_seconds, timed_out=not exited
    )


def _environment(cwd: Path) -> dict[str, str]:
    """What a compiler may see: where its tools lie, and a temporary folder that goes with the build."""
    kept = {name: os.environ[name] for name in ("PATH", "CUDA_HOME", "CUDA_PATH") if name in os.environ}
    return {"PATH": os.defpath, **kept, "LC_ALL": "C", "TMPDIR": str(cwd), "HOME": str(cwd)}


class _Output:
    """The first and the last bytes of a stream."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def read_until_closed(self, descriptor: int, *, until: float) -> bool:
        """Read to the end of the stream; False where the time came first."""
        while (left := until - time.monotonic()) > 0:
            ready, _, _ = select.select([descriptor], [], [], left)
            if ready:
                chunk = os.read(descriptor, 1 << 16)
                if not chunk:
                    return True
                self._add(chunk)
        return False

    def _add(self, chunk: bytes) -> None:
        room = OUTPUT_HEAD_BYTES - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        surplus = len(self._tail) - OUTPUT_TAIL_BYTES
        if surplus > 0:
            del self._tail[:surplus]
            self._dropped += surplus

    def text(self) -> str:
        gap = f"\n[... {self._dropped} bytes left out ...]\n".encode() if self._dropped else b""
        return bytes(self._head + gap + self._tail).decode("utf-8", errors="replace")


def _wait_for_exit(pid: int, *, until: float) -> bool:
    """Wait, without reaping it, until the process is done; False where the time came first."""
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if time.monotonic() > until:
            return False
        time.sleep(0.002)
    return True


def _kill_and_reap(process: subprocess.Popen[bytes]) -> tuple[int, float]:
    """End the whole group, then give the leader's exit status and its CPU seconds, waited-for children included.

    The leader is reaped last: until then its number cannot be given to a stranger, so the signal cannot go astray.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    _, raw, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(raw)
    return process.returncode, usage.ru_utime + usage.ru_stime
