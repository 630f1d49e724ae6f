"""The supervisor: one per process that the zygote starts. It holds the process's life in its hands.

It outlives the process it started and nothing else: when the owner's end of the control socket closes (because the
owner is done, or was killed), when the zygote dies, or when the process itself ends, every descendant is killed
and waited for, daemons and all; then it reports and is gone. Standard output and error are drained into a capped log
meanwhile, so a flood neither blocks nor fills anything.

    zygote ─► supervisor ─► init (pid 1 of the namespaces, full tier only) ─► the process
"""

import contextlib
import gc
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import NoReturn

from harness.errors import SandboxError
from harness.sandbox import channel, descriptors, host, linux, processes, root
from harness.sandbox.birth import Newborn, describe, resolve
from harness.sandbox.cgroup import Group, Groups
from harness.sandbox.confine import INSIDE_ID, Plan, be_killed_first
from harness.sandbox.log import CappedLog
from harness.sandbox.policy import Cause, Exit, Policy
from harness.sandbox.watchdog import WATCH_SHARE, Watchdog, uncounted
from harness.sandbox.zygote_messages import (
    KILL,
    REPORT,
    Confined,
    Confinement,
    Ended,
    Refused,
    SpawnRequest,
    Started,
    Status,
)

FULL_LAYERS = (
    "user-namespace",
    "mount-namespace",
    "pid-namespace",
    "network-namespace",
    "ipc-namespace",
    "uts-namespace",
)
_ALWAYS = ("session", "subreaper", "environment", "watchdog")
# Layers that do not depend on the policy: one that the probe had, every worker must have.
_STEADY = frozenset(("limits", "capabilities", "no-new-privileges", "landlock", "seccomp"))
# Without these, no tier deserves a name: files, other processes and the network would be within reach.
_BASIC = frozenset(("no-new-privileges", "landlock", "seccomp"))
_NAMESPACES = (
    linux.CLONE_NEWUSER
    | linux.CLONE_NEWNS
    | linux.CLONE_NEWPID
    | linux.CLONE_NEWNET
    | linux.CLONE_NEWIPC
    | linux.CLONE_NEWUTS
)
_FIRST_SLOT = 0x6000_0000  # uids that no distribution hands out; plus the supervisor's pid they are each its own
_TICK_S = 0.025
_LONGEST_PAUSE_S = 1.0
_READ_BYTES = 1 << 16
_GO = b"go"
_PRIORITY = -10
_BOMB = 32  # so many processes may fork faster than they are killed one by one
_CAUSES: dict[int, Cause] = {signal.SIGXCPU: "cpu", signal.SIGXFSZ: "file"}  # what the kernel says by signals
_LIKELY_SHARE = 0.25  # of its limit: the kernel may kill what is small for the sake of others, which is no excess
_GRACE_S = 10.0  # to kill everything; a process in the kernel's hands (a hung driver) may not go


def supervise(request: SpawnRequest, control: socket.socket, fds: list[int], machine: host.Host) -> NoReturn:
    """Run one process to its end and leave. Call it in a fresh fork of the zygote; it never returns."""
    supervisor = Supervisor(request, control, fds, machine)
    outcome: Ended | Refused
    try:
        supervisor.start()
        outcome = supervisor.watch()
    except Exception as error:  # noqa: BLE001 - the border of this process: whatever it was, the owner must hear of it
        outcome = Refused(detail=describe(error))
    try:
        supervisor.clean_up()
    except (SandboxError, OSError) as error:  # a machine that is short of everything must not silence us either
        outcome = Refused(detail=describe(error))
    with contextlib.suppress(OSError):  # the peer may not be listening any more
        channel.send(control, outcome.model_dump_json().encode())
    os._exit(0)


class Supervisor:
    """The state of one supervision. `start`, then `watch`, then `clean_up`."""

    def __init__(self, request: SpawnRequest, control: socket.socket, fds: list[int], machine: host.Host) -> None:
        self._request = request
        self._policy = request.policy
        self._control = control
        self._fds = fds
        self._machine = machine
        self._log = CappedLog((self._policy or Policy()).limits.log_bytes)
        self._written_bytes = 0
        self._scratch: str | None = None
        self._group: Group | None = None
        self._watchdog: Watchdog | None = None  # which has seen what the process used before anything of the entry ran
        self._child = 0
        self._pid = 0
        self._status: int | None = None  # the process's raw wait status, once it is known
        self._alive = False  # whether there is a direct child that has not been waited for
        self._cause: Cause | None = None
        self._terminated = False
        self._slot: int | None = None
        self._oom_kills = processes.kernel_oom_kills()

    # -- starting

    def start(self) -> None:
        """Fork and confine the process and tell the owner. Raises SandboxError or OSError."""
        self._become_supervisor()
        entry = resolve(self._request.entry)
        plan = self._plan()
        self._wake_fd = _wake_on_signals()
        self._report, theirs = channel.pair()
        self._report.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        log_read, log_write = os.pipe()
        self._log_fd = log_read
        os.set_blocking(log_read, False)
        in_namespaces = plan is not None and plan.inside_namespaces
        if self._policy is not None and isinstance(self._machine.groups, Groups):
            self._group = self._machine.groups.new(self._policy.limits)
        group_fd = self._group.fd if self._group is not None else None
        self._child = linux.fork_with(_NAMESPACES if in_namespaces else 0, group_fd)
        if self._child == 0:
            self._control.close()
            os.close(log_read)
            self._report.close()
            process = Newborn(self._request, entry, plan, self._scratch, theirs, self._fds, log_write)
            process.run_as_init() if in_namespaces else process.run()
        self._alive = True
        with contextlib.suppress(PermissionError):  # only root may; a fork bomb leaves other processes little of a core
            os.setpriority(os.PRIO_PROCESS, 0, _PRIORITY)
        if not in_namespaces:
            # The worker's Landlock rule for /proc/self names this very directory, which the kernel would make anew,
            # and so unnamed, were it not held.
            self._held_fd = os.open(f"/proc/{self._child}", os.O_PATH)
        theirs.close()
        os.close(log_write)
        for fd in self._fds:
            os.close(fd)
        if plan is not None and in_namespaces:
            self._map_identities(plan.slot)
            be_killed_first(self._child)  # in its user namespace it could not say it for good
            self._report.send(_GO)
        confinement = self._hear_of_confinement(in_namespaces)
        if self._policy is not None:
            self._watchdog = Watchdog(self._policy.limits, self._scratch, self._group, self._is_called)
        self._report.send(_GO)
        group = str(self._group.path) if self._group is not None else None
        started = Started(pid=self._pid, confinement=confinement, group=group)
        channel.send(self._control, started.model_dump_json().encode())

    def _become_supervisor(self) -> None:
        linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)  # only to wake the poll
        signal.signal(signal.SIGTERM, self._on_sigterm)
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGTERM)
        gc.disable()  # a collection would touch, and so copy, pages shared with the zygote

    def _on_sigterm(self, _number: int, _frame: FrameType | None) -> None:
        self._terminated = True

    def _plan(self) -> Plan | None:
        policy = self._policy
        if policy is None:
            return None
        if policy.isolation == "none":
            self._make_scratch(None)
            return None
        best = policy.isolation in ("auto", "basic-or-more")
        full = self._machine.full_refused is None if best else policy.isolation == "full"
        readable = (*self._machine.readable, *map(str, policy.readable))
        for path in policy.readable:
            if path.resolve() == Path("/") or not path.exists():
                raise SandboxError(f"A policy can make readable what exists and is not the whole root, not {path}.")
        slot, refused = self._choose_slot(full, policy, readable)
        for path in policy.readable if slot is not None else ():
            if closed := host.closed_within(path):
                raise SandboxError(f"{closed} is closed to workers, which run as another user: chmod -R a+rX {path}")
        self._slot = slot
        if not full:
            self._make_scratch(slot)
        return Plan(
            limits=policy.limits,
            readable=readable,
            hidden=self._machine.hidden,
            writable=(root.SCRATCH, root.SHARED_MEMORY) if self._scratch is None else (self._scratch,),
            devices=policy.devices,
            inside_namespaces=full,
            slot=slot,
            slot_refused=refused,
            tracer=_peer_pid(self._control),
        )

    def _choose_slot(self, full: bool, policy: Policy, readable: tuple[str, ...]) -> tuple[int | None, str | None]:
        """A uid of the worker's own, or why there is none."""
        if os.geteuid() != 0:
            return None, "only root can give a worker a uid of its own"
        if not full and (closed := host.closed_to_others(readable)):
            return None, f"{closed} is closed to other users"
        if not full and not policy.devices and not host.can_trace_other_users():
            return None, "the judge could not read the outputs of another user's process without CAP_SYS_PTRACE"
        if not full and not host.can_use_files_of_others():
            return None, "its scratch folder could be neither watched nor removed without CAP_DAC_OVERRIDE"
        return _FIRST_SLOT + os.getpid(), None

    def _make_scratch(self, slot: int | None) -> None:
        self._scratch = tempfile.mkdtemp(prefix="harness-scratch-")
        if slot is not None:
            os.chown(self._scratch, slot, slot)

    def _map_identities(self, slot: int | None) -> None:
        """Give the user namespace of init its ids: only the owner's own, or root's and the slot's."""
        proc = Path(f"/proc/{self._child}")
        if slot is None:
            (proc / "setgroups").write_text("deny")  # without it an unprivileged gid_map is refused
            (proc / "uid_map").write_text(f"{INSIDE_ID} {os.geteuid()} 1\n")
            (proc / "gid_map").write_text(f"{INSIDE_ID} {os.getegid()} 1\n")
        else:
            for name in ("uid_map", "gid_map"):
                (proc / name).write_text(f"0 0 1\n{INSIDE_ID} {slot} 1\n")

    def _hear_of_confinement(self, in_namespaces: bool) -> Confinement:
        message, sender = _receive_report(self._report)
        if message is None:
            raise SandboxError(f"The worker died while it was being confined: {self._drain_and_read()}")
        if not isinstance(message, Confined):
            raise SandboxError(message.detail if isinstance(message, Refused) else f"Unexpected message {message}.")
        self._pid = sender
        if self._policy is None:
            return Confinement(tier="none")
        always = _ALWAYS if self._group is None else (*_ALWAYS, "cgroup")
        no_group = (f"cgroup: {self._machine.groups}; {uncounted()}",) if self._group is None else ()
        if self._policy.isolation == "none":
            return Confinement(tier="none", layers=always, missing=no_group)
        self._insist_on_what_was_probed(message)
        absent = () if in_namespaces else tuple(f"{layer}: {self._why_basic()}" for layer in FULL_LAYERS)
        layers = (*(FULL_LAYERS if in_namespaces else ()), *message.layers, *always)
        missing = (*absent, *message.missing, *no_group)
        if in_namespaces:
            return Confinement(tier="full", layers=layers, missing=missing)
        if lacking := [one for one in message.missing if one.partition(":")[0] in _BASIC]:
            if self._policy.isolation != "auto":
                raise SandboxError(f"{self._policy.isolation} isolation cannot be had: {'; '.join(lacking)}")
            return Confinement(tier="none", layers=layers, missing=missing)
        return Confinement(tier="basic", layers=layers, missing=missing)

    def _insist_on_what_was_probed(self, message: Confined) -> None:
        if self._machine.missing is None:
            return
        lost = [one for one in message.missing if one.partition(":")[0] in _STEADY - self._machine.missing]
        if lost:
            raise SandboxError(f"Layers that held when this run began do not hold now: {', '.join(lost)}.")

    def _why_basic(self) -> str:
        return self._machine.full_refused or "not asked for"

    # -- watching

    def watch(self) -> Ended:
        """Wait for the end, whatever brings it, and kill what is left."""
        poller = select.poll()
        for fd in (self._control.fileno(), self._log_fd, self._report.fileno(), self._wake_fd):
            poller.register(fd, select.POLLIN)
        watchdog = self._watchdog
        next_look = 0.0
        while self._status is None and self._cause is None:
            timeout_s = None if watchdog is None else max(0.001, next_look - time.monotonic())
            ready = {fd for fd, _ in poller.poll(None if timeout_s is None else timeout_s * 1000)}
            if self._wake_fd in ready:
                os.read(self._wake_fd, _READ_BYTES)
            if self._log_fd in ready and not self._drain():
                poller.unregister(self._log_fd)  # every writer closed it; the process may live on
            if self._control.fileno() in ready:
                self._hear_owner()
            if self._report.fileno() in ready and not self._hear_status():
                poller.unregister(self._report.fileno())
            self._reap()
            if self._terminated:
                self._cause = "killed"
            is_due = time.monotonic() >= next_look
            if watchdog is not None and self._status is None and self._cause is None and is_due:
                # By CPU time: a fork bomb that keeps us off the cores must not make us look more seldom as well.
                before_s = time.process_time()
                self._cause = watchdog.look()
                pause_s = max(_TICK_S, (time.process_time() - before_s) / WATCH_SHARE)
                next_look = time.monotonic() + min(pause_s, _LONGEST_PAUSE_S)
        if self._status is not None:
            self._cause = None  # it ended by itself before anything was done about it
        self._kill_everything()
        self._drain_for_good()
        return Ended(exit=self._exit())

    def _is_called(self) -> bool:
        """Whether the owner has said something, or is gone, or we are to end. A worker can bring about none of that."""
        return self._terminated or descriptors.readable(self._control.fileno(), 0)

    def _hear_owner(self) -> None:
        heard = channel.receive(self._control)
        if heard is None or heard[0] == KILL:
            self._cause = "killed"

    def _hear_status(self) -> bool:
        message, _ = _receive_report(self._report)
        if isinstance(message, Status):
            self._status = message.status
        return message is not None

    def _drain(self) -> bool:
        """Take one piece of the log. False at its end."""
        try:
            data = os.read(self._log_fd, _READ_BYTES)
        except BlockingIOError:
            return True
        self._log.write(data)
        self._written_bytes += len(data)
        if self._policy is not None and self._written_bytes > self._policy.limits.output_bytes:
            self._cause = "output"
        return bool(data)

    def _drain_for_good(self) -> None:
        """Take what is left in the pipe: its capacity at most, since every writer is dead."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._log_fd, _READ_BYTES):
                self._log.write(data)

    def _drain_and_read(self) -> str:
        self._drain_for_good()
        return self._log.text() or "it left no message"

    def _reap(self) -> None:
        """Wait for what has ended: the child, or orphans that came to us as their subreaper."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self._child:
                    self._alive = False
                    if self._status is None:
                        self._status = status if self._child == self._pid else self._last_report(status)

    def _last_report(self, init_status: int) -> int:
        """Init told of the process's end just before its own, unless it was killed itself."""
        with contextlib.suppress(BlockingIOError):
            self._report.setblocking(False)
            message, _ = _receive_report(self._report)
            if isinstance(message, Status):
                return message.status
        return init_status

    def _kill_everything(self) -> None:
        if self._group is not None:
            self._group.kill()
        deadline, least = time.monotonic() + _GRACE_S, 1 << 30
        while time.monotonic() < deadline:
            if self._alive and self._child != self._pid:
                processes.kill(self._child)  # init: the kernel ends its whole namespace with it
            if self._alive and 0 < self._child == self._pid:
                # All of its group at one stroke: a fork bomb cannot outrun that. Only while its pid is still ours.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._pid, signal.SIGKILL)
            living = processes.descendants(os.getpid())
            if len(living) < least:  # a thousand processes take a while to go
                deadline, least = time.monotonic() + _GRACE_S, len(living)
            if self._slot is not None and len(living) > _BOMB:
                _kill_all_of(self._slot)
            for pid in living:
                processes.kill(pid)
            self._reap()
            try:
                os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            time.sleep(0.001)
        raise SandboxError(f"Process {self._pid} cannot be killed; it hangs in the kernel (a driver, most likely).")

    def _exit(self) -> Exit:
        status = self._status if self._status is not None else signal.SIGKILL
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        # The kernel forgets what those used that die with their init; their group remembers, or the watchdog saw most.
        watchdog = self._watchdog
        peak_bytes, cpu_s = (watchdog.peak_bytes, watchdog.cpu_s) if watchdog else (0, 0.0)
        if self._group is not None:
            in_group = self._group.usage()
            peak_bytes, cpu_s = max(peak_bytes, in_group.peak_bytes), in_group.cpu_s
        signalled = os.WIFSIGNALED(status)
        enforced = self._group.exceeded() if self._group is not None else None
        cause: Cause = enforced or self._cause or ("signal" if signalled else "exited")
        if cause == "signal" and os.WTERMSIG(status) == signal.SIGKILL:
            large = (
                max(peak_bytes, used.ru_maxrss * 1024) > _LIKELY_SHARE * (self._policy or Policy()).limits.memory_bytes
            )
            if self._group is None and large and processes.kernel_oom_kills() > self._oom_kills:  # ours, most likely
                cause = "memory"
        elif cause == "signal":
            cause = _CAUSES.get(os.WTERMSIG(status), cause)
        return Exit(
            code=None if signalled else os.WEXITSTATUS(status),
            signal=os.WTERMSIG(status) if signalled else None,
            cause=cause,
            log=self._log.text(),
            peak_rss_bytes=max(peak_bytes, used.ru_maxrss * 1024),
            cpu_s=max(cpu_s, used.ru_utime + used.ru_stime),
        )

    def clean_up(self) -> None:
        """Kill what `watch` has not, then remove the scratch folder, whatever is in it, and the group.

        Raises SandboxError where a process cannot be killed, OSError where the group cannot be removed.
        """
        self._kill_everything()
        if self._scratch is not None:
            for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):  # neither follows links, nor minds the depth
                subprocess.run([*command, "--", self._scratch], stderr=subprocess.DEVNULL, check=False)
        if self._group is not None:
            self._group.remove()


def _kill_all_of(uid: int) -> None:
    """SIGKILL to every process of a user at one stroke, which no fork bomb outruns. Needs root, and a process."""
    try:
        pid = os.fork()
    except OSError:  # the bomb has them all: those that are killed one by one make room
        return
    if pid == 0:
        with contextlib.suppress(OSError):
            os.setresuid(uid, uid, uid)
            os.kill(-1, signal.SIGKILL)
        os._exit(0)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _wake_on_signals() -> int:
    """A descriptor that becomes readable with every signal."""
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_read, False)
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    return wake_read


def _peer_pid(sock: socket.socket) -> int:
    """The pid of the process that made this pair of sockets: the owner."""
    pid: int = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    return pid


def _receive_report(sock: socket.socket) -> tuple[Confined | Refused | Status | None, int]:
    """The next report and the host pid of its sender, which the kernel vouches for; None at the end."""
    try:
        data, ancillary, _, _ = sock.recvmsg(_READ_BYTES, socket.CMSG_SPACE(12))
    except ConnectionResetError:  # told once, as in `channel.receive`: the process was killed before it read our word
        data, ancillary, _, _ = sock.recvmsg(_READ_BYTES, socket.CMSG_SPACE(12))
    if not data:
        return None, 0
    pid = next(
        (struct.unpack("3i", value)[0] for _, kind, value in ancillary if kind == socket.SCM_CREDENTIALS),
        0,
    )
    return REPORT.validate_json(data), pid
