"""`run_compiler`: the one place where a compiler process is started, confined by the sandbox.

A compiler reads what a candidate wrote, and a candidate writes `#include "/dev/zero"`, template bombs and includes of
private files. `harness.sandbox.run_tool` answers for all of that; here is what a compiler of ours may read.
"""

import errno
import functools
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import logs
from harness.compile.cache import ArtifactCache
from harness.compile.torch_layout import TorchLayout, cxx_compiler
from harness.errors import MachineError, ToolchainError
from harness.sandbox import Stop, run_tool

_log = logs.logger("compile")
_OURS = (Path(__file__).parent / "slim", Path(__file__).parent.parent / "emulate" / "include")
_OUT_OF_MEMORY = (
    "virtual memory exhausted",
    "out of memory allocating",
    "std::bad_alloc",
    "Cannot allocate memory",
)
# How g++, collect2 and nvcc say that a program of theirs was ended by SIGKILL, which only the kernel sends it.
_KILLED = re.compile(r"Killed signal terminated program|terminated with signal 9\b|died due to signal 9\b")
_KILLED_STATUS = (-signal.SIGKILL, 128 + signal.SIGKILL)
# How g++, collect2, a shell and nvcc say that the kernel refused them a process.
_STARVED = ("Resource temporarily unavailable", "Cannot fork", "Failed to preprocess host compiler properties")
_NESTED = functools.reduce(lambda inner, _: f"/bin/sh -c {shlex.quote(inner)}; exit $?", range(3), ":")
"""Four processes, one in another, as nvcc has a shell have g++ have cc1plus: the most that a compiler has at once."""
_NESTED_S = 30.0
ROOM_BYTES = 256 << 20
"""Free space below which a failed build proves nothing: more than the intermediate files of an honest one."""
_QUOTA_BYTES = 16 << 20
BUILD_BYTES = 2 << 30
"""What all compilers of one build may write together, before it is over: objects of CUTLASS take some hundred MB."""


@dataclass(frozen=True)
class CompilerRun:
    """How one compiler process ended. `status` is its exit status; times are seconds.

    `killed`: it or a program that it started was ended by the kernel, so far as can be told: a candidate may have it
    said. `peak_bytes` is the most memory that one of its processes had. `overfull`: the build wrote more than
    BUILD_BYTES. `stopped`: it was ended because its answer is not wanted any more.
    """

    status: int
    output: str
    seconds: float
    cpu_seconds: float
    timed_out: bool
    peak_bytes: int = 0
    overfull: bool = False
    stopped: bool = False

    @property
    def ok(self) -> bool:
        return self.status == 0 and not self.timed_out and not self.overfull and not self.stopped

    @property
    def killed(self) -> bool:
        return (
            not self.ok
            and not self.timed_out
            and not self.overfull
            and not self.stopped
            and (self.status in _KILLED_STATUS or _KILLED.search(self.output) is not None)
        )

    @property
    def starved(self) -> bool:
        """Whether it says that the kernel refused it a process of its own: a candidate may have that said."""
        ended = self.timed_out or self.overfull or self.stopped
        return not self.ok and not ended and any(sign in self.output for sign in _STARVED)

    @property
    def out_of_memory(self) -> bool:
        return not self.ok and any(sign in self.output for sign in _OUT_OF_MEMORY)


class AnyOf:
    """Set once one of these is."""

    def __init__(self, *events: threading.Event) -> None:
        self._events = events

    def is_set(self) -> bool:
        return any(event.is_set() for event in self._events)


def run_compiler(
    argv: Sequence[str],
    *,
    cwd: Path,
    deadline_s: float,
    readable: Sequence[Path] = (),
    idle: bool = False,
    stop: Stop | None = None,
) -> CompilerRun:
    """Run one compiler or linker in `cwd`, all that it may write, for at most `deadline_s` seconds.

    It may read the base system and `readable`. `idle`: it has only the cores that nothing else wants. stdout and stderr
    come back together, the head and the tail of them where they are long. It is ended soon after `stop` is set.
    Raises ToolchainError where the program cannot be started: never the candidate's fault.
    """
    started = time.monotonic()
    done = run_tool(
        argv, cwd=cwd, deadline_s=deadline_s, readable=readable, disk_bytes=BUILD_BYTES, idle=idle, stop=stop
    )
    _log.debug("%s ended with %s, %.1f s of CPU", os.path.basename(argv[0]), done.returncode, done.cpu_s)
    return CompilerRun(
        status=done.returncode,
        output=done.output,
        seconds=time.monotonic() - started,
        cpu_seconds=done.cpu_s,
        timed_out=done.timed_out,
        peak_bytes=done.peak_bytes,
        overfull=done.overfull,
        stopped=done.stopped,
    )


def insist_on_room(work: Path) -> None:
    """Raises MachineError where the disk below `work` is full, and not by what lies in `work` itself."""
    disk = os.statvfs(work)
    files = (os.path.join(place, name) for place, _, names in os.walk(work) for name in names)
    own = sum(os.lstat(file).st_blocks * 512 for file in files)
    full = disk.f_bavail * disk.f_frsize + own < ROOM_BYTES
    try:
        with tempfile.TemporaryFile(dir=work) as file:  # a quota shows in no figure of the file system
            os.posix_fallocate(file.fileno(), 0, _QUOTA_BYTES)
    except OSError as error:
        full |= error.errno in (errno.ENOSPC, errno.EDQUOT) and own < ROOM_BYTES
    if full:
        raise MachineError(f"The disk that holds {work.parent} is full: free some space, or set XDG_CACHE_HOME.")


def insist_on_processes(folder: Path) -> None:
    """Raises MachineError where the kernel refuses a tool the processes that a compiler needs, tried in `folder`.

    A failed build proves nothing then, whatever it said: other processes of this user may have all that it may have.
    """
    with tempfile.TemporaryDirectory(dir=folder) as empty:
        tried = run_tool(("/bin/sh", "-c", _NESTED), cwd=Path(empty), deadline_s=_NESTED_S)
    if tried.returncode and not tried.timed_out:
        raise MachineError("No processes are left for compilers: end some of this user's, or raise ulimit -u.")


@functools.cache
def compiler_version(compiler: str) -> str:
    """What `compiler --version` prints. Raises ToolchainError where it cannot be run."""
    try:
        run = subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolchainError(f"{compiler} --version failed ({error}): mend or reinstall it.") from error
    return run.stdout


def readable_folders(layout: TorchLayout, cache: ArtifactCache) -> tuple[Path, ...]:
    """What a build reads beside the base system: torch, the CUDA toolkit, our own headers, prepared tools."""
    toolkit = (layout.toolkit.home, layout.toolkit.nvcc.resolve().parent.parent) if layout.toolkit else ()
    folders = (
        layout.root,
        *layout.cuda_include_dirs,
        layout.python_include,
        *toolkit,
        *_toolchain_folders(),
        *_OURS,
        cache.root / "tools",
    )
    return tuple(folder for folder in folders if folder.exists())


def _toolchain_folders() -> tuple[Path, ...]:
    """Where the host's compilers are installed, as found by PATH and behind its links, beside the base system."""
    programs = [cxx_compiler(), *(shutil.which(name) for name in ("c++", "g++", "gcc", "ld", "as"))]
    found = [Path(program) for program in programs if program is not None]
    folders = (path.parent.parent for program in found for path in (program.absolute(), program.resolve()))
    return tuple(
        dict.fromkeys(folder for folder in folders if not folder.is_relative_to("/usr") and folder != Path("/"))
    )
