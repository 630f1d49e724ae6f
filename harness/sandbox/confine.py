"""What a worker does to itself after the fork and before any code of the candidate.

Covered in the full tier, beside what `root` builds: no privileges to gain, no capabilities, Landlock on top of the
allow-list root, a seccomp deny-list, limits. In the basic tier these stand alone, so names of files outside the
allow-list can be seen (stat is not Landlock's), though not their contents; and the command lines of other processes.
Not covered in either: what the kernel and the GPU's driver let a process do by their own bugs.
"""

import contextlib
import os
import resource
from collections.abc import Callable
from dataclasses import dataclass, field

from harness.sandbox import descriptors, host, landlock, linux, processes, seccomp
from harness.sandbox.policy import Limits

# The kernel's limit stands a little above the watchdog's, which then ends a fork bomb with a reason of its own.
_SPARE_THREADS = 64
INSIDE_ID = 1000  # uid and gid that a worker has in its user namespace


@dataclass(frozen=True)
class Plan:
    """How one worker is to be confined.

    `hidden` are folders within `readable` that it may not read, `slot` is a uid and gid of its own (only root can give
    one), `inside_namespaces` the full tier, `writable` the scratch folders as the worker sees them, `tracer` the host
    pid that may read this worker's memory.
    """

    limits: Limits
    readable: tuple[str, ...]
    hidden: tuple[str, ...]
    writable: tuple[str, ...]
    devices: bool
    inside_namespaces: bool
    slot: int | None
    slot_refused: str | None
    tracer: int


@dataclass
class Layers:
    """Which layers held and which did not, in the order tried."""

    held: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def attempt(self, name: str, action: Callable[[], str | None]) -> bool:
        """Do it; an OSError means that this machine lacks the layer. `action` may return a better name."""
        try:
            better = action()
        except OSError as error:
            self.missing.append(f"{name}: {error.strerror or error}")
            return False
        self.held.append(better or name)
        return True


def confine(plan: Plan) -> Layers:
    """Confine this process for good. The caller has checked that it is single-threaded."""
    layers = Layers()
    be_killed_first("self")
    layers.attempt("limits", lambda: _limit(plan))
    linux.drop_capabilities()
    if plan.slot is None:
        layers.missing.append(f"uid: {plan.slot_refused}")
    else:
        layers.attempt("uid", lambda: _change_identity(plan))
    layers.attempt("capabilities", _clear_capabilities)
    linux.prctl(linux.PR_SET_DUMPABLE, 1)  # or the judge could not read this process; a change of uid clears it
    if not plan.inside_namespaces:
        with contextlib.suppress(OSError):  # Yama, where it is, lets only ancestors read; the judge is none
            linux.prctl(linux.PR_SET_PTRACER, plan.tracer)
    layers.attempt("no-new-privileges", _no_new_privileges)
    layers.attempt("landlock", lambda: _restrict_files(plan))
    signals_scoped = plan.inside_namespaces or plan.slot is not None or landlock.abi() >= landlock.SCOPES_SIGNALS
    layers.attempt("seccomp", lambda: _filter_calls(plan, signals_scoped=signals_scoped))
    return layers


def be_killed_first(pid: int | str) -> None:
    """Make a process, and what it forks, the out-of-memory killer's first choice, where that may be said.

    Where one with CAP_SYS_RESOURCE on the machine says it, only such a one can take it back; else the process itself
    may go down to what it was born with, where it may write to its files in /proc.
    """
    with contextlib.suppress(OSError), open(f"/proc/{pid}/oom_score_adj", "w") as file:
        file.write("1000")


def _limit(plan: Plan) -> str | None:
    limits = plan.limits
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NOFILE: descriptors.confined(limits.open_files),
        resource.RLIMIT_CPU: int(limits.cpu_s) + 2,  # the supervisor's count, of all processes, comes first
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_RTPRIO: 0,
        resource.RLIMIT_NICE: 0,
    }
    if not (plan.devices or limits.sparse_memory):  # CUDA reserves address space far beyond what it uses
        wanted[resource.RLIMIT_DATA] = processes.data_bytes() + limits.memory_bytes
    own_count = plan.inside_namespaces and host.kernel() >= (5, 14)  # before, the count was the host user's
    if plan.slot is not None or own_count:
        wanted[resource.RLIMIT_NPROC] = limits.threads + _SPARE_THREADS  # the kernel counts threads
    for which, value in wanted.items():
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))
    return None


def _change_identity(plan: Plan) -> str | None:
    assert plan.slot is not None
    identity = INSIDE_ID if plan.inside_namespaces else plan.slot
    os.setgroups([])
    os.setresgid(identity, identity, identity)
    os.setresuid(identity, identity, identity)
    return None


def _clear_capabilities() -> str | None:
    linux.clear_capabilities()
    return None


def _no_new_privileges() -> str | None:
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    return None


def _restrict_files(plan: Plan) -> str | None:
    # /proc is read by CUDA and by the interpreter. Only libcuda writes there, the names of its threads; where it is the
    # host's, only into the process's own part of it. What else can be written there, a worker could spare itself by
    # (oom_score_adj).
    readable = ("/",) if plan.inside_namespaces else (*plan.readable, "/proc", "/sys")
    hidden = () if plan.inside_namespaces else plan.hidden
    proc = ("/proc" if plan.inside_namespaces else "/proc/self",) if plan.devices else ()
    devices = (*host.SAFE_DEVICES, *(host.gpu_devices() if plan.devices else ()))
    version = landlock.restrict(
        readable=readable, hidden=hidden, writable=plan.writable, devices=devices, writable_files=proc
    )
    return f"landlock-{version}"


def _filter_calls(plan: Plan, *, signals_scoped: bool) -> str | None:
    linux.install_seccomp(
        seccomp.program(
            network=plan.inside_namespaces,
            other_processes=plan.inside_namespaces or plan.slot is not None,
            signals=signals_scoped,
            pid=os.getpid(),
        )
    )
    return None
