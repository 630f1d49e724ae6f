"""Birth: what happens in a new process between the fork and the call of its entry."""

import contextlib
import faulthandler
import fcntl
import gc
import os
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn

from harness.errors import SandboxError
from harness.sandbox import host, linux, root
from harness.sandbox.client import Zygote
from harness.sandbox.confine import Plan, confine
from harness.sandbox.policy import Policy
from harness.sandbox.zygote_messages import Confined, Refused, SpawnRequest, Status

Entry = Callable[..., object]


def resolve(entry: str) -> Entry:
    """The function named "module:function". Raises SandboxError."""
    module, _, name = entry.partition(":")
    try:
        function = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise SandboxError(f"There is no entry {entry}: {error}.") from error
    if not callable(function):
        raise SandboxError(f"The entry {entry} is no function.")
    return function  # type: ignore[no-any-return]


class Newborn:
    """A process between the fork and its entry. `run_as_init` or `run`, once; neither returns."""

    def __init__(
        self,
        request: SpawnRequest,
        entry: Entry,
        plan: Plan | None,
        scratch: str | None,
        report: socket.socket,
        fds: Sequence[int],
        log_fd: int,
    ) -> None:
        self._request = request
        self._entry = entry
        self._plan = plan
        self._scratch = scratch or (root.SCRATCH if plan is not None else None)
        self._report = report
        self._fds = list(fds)
        self._log_fd = log_fd

    def run_as_init(self) -> NoReturn:
        """Be pid 1: build the root, fork the process, reap whatever comes, tell how the process ended."""
        try:
            linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
            _reset_signals()
            self._report.recv(8)  # the supervisor has mapped our ids
            plan, policy = self._plan, self._request.policy
            assert plan is not None
            assert policy is not None
            root.enter(
                root.Root(
                    readable=plan.readable,
                    hidden=plan.hidden,
                    devices=plan.devices,
                    scratch_bytes=policy.limits.scratch_bytes,
                )
            )
            socket.sethostname("candidate")
            process = os.fork()
        except Exception as error:  # noqa: BLE001 - the border of this process: the supervisor must hear of it
            self._refuse(error)
        if process == 0:
            self.run()
        os.closerange(0, self._report.fileno())
        os.closerange(self._report.fileno() + 1, 1 << 20)
        while True:
            pid, status = os.wait()
            if pid == process:
                with contextlib.suppress(OSError):
                    self._report.send(Status(status=status).model_dump_json().encode())
                os._exit(0)

    def run(self) -> NoReturn:
        """Be the process: confine, report, call the entry."""
        try:
            self._prepare()
            layers = confine(self._plan) if self._plan is not None else None
            held, missing = (tuple(layers.held), tuple(layers.missing)) if layers is not None else ((), ())
            self._report.send(Confined(layers=held, missing=missing).model_dump_json().encode())
        except Exception as error:  # noqa: BLE001 - the border of this process: the supervisor must hear of it
            self._refuse(error)
        if not self._report.recv(8):  # what it uses now is known, and counts as ours from here on
            os._exit(1)
        self._report.close()
        fds = tuple(range(3, 3 + len(self._fds)))
        if self._request.policy is None:  # the last descriptor is its own connection to the zygote
            _call(self._entry, fds[:-1], Zygote.connected(fds[-1]))
        _call(self._entry, fds)

    def _refuse(self, error: Exception) -> NoReturn:
        with contextlib.suppress(OSError):
            self._report.send(Refused(detail=describe(error)).model_dump_json().encode())
        os._exit(1)

    def _prepare(self) -> None:
        if self._plan is None or not self._plan.inside_namespaces:
            linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)  # in the namespaces, init's death is enough
        os.setsid()
        _reset_signals()
        gc.enable()
        self._renumber()
        os.chdir(self._scratch or "/")
        _clean_interpreter(self._request.policy)
        environment = _environment(self._scratch, self._request.policy)
        os.environ.clear()
        os.environ.update(environment)

    def _renumber(self) -> None:
        """Descriptors: null, log, log, then those that were given; everything else is closed but the report's."""
        last = 3 + len(self._fds)
        given = (self._log_fd, self._report.fileno(), *self._fds)
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, last + 1) for fd in given]  # out of the way of what is overwritten below
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        for target, source in ((1, high[0]), (2, high[0]), (last, high[1])):
            os.dup2(source, target, inheritable=target < 3)
        for index, source in enumerate(high[2:]):
            os.dup2(source, 3 + index, inheritable=False)
        self._report.detach()
        self._report = socket.socket(fileno=last)
        os.closerange(last + 1, 1 << 20)


def describe(error: Exception) -> str:
    """What an owner needs to hear of an error that is being handled."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) if isinstance(error, SandboxError) else traceback.format_exc()


def _reset_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _clean_interpreter(policy: Policy | None) -> None:
    """Undo what the prepared process's life left in the interpreter."""
    tempfile.tempdir = None
    faulthandler.enable(file=2)
    if policy is not None:
        sys.path[:] = [entry for entry in sys.path if host.CHECKOUT is None or entry != str(host.CHECKOUT)]
    sys.argv[:] = ["candidate" if policy is not None else "harness"]
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]


def _environment(scratch: str | None, policy: Policy | None) -> dict[str, str]:
    """What a process of ours finds in its environment: nothing of the user's but paths, locale and device choice."""
    environment = {name: os.environ[name] for name in host.KEPT_VARIABLES if name in os.environ}
    if policy is not None and scratch is not None:
        environment |= {"HOME": scratch, "TMPDIR": scratch, "USER": "candidate", "LOGNAME": "candidate"}
        environment |= policy.environment
    return environment


def _call(entry: Entry, *arguments: object) -> NoReturn:
    """Call the entry as a script is run: SystemExit's code counts, a traceback goes to standard error."""
    code = 0
    try:
        entry(*arguments)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:  # noqa: BLE001 - the border of the process
        traceback.print_exc()
        code = 1
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the candidate may have closed or replaced it
            stream.flush()
    os._exit(code & 0xFF)
