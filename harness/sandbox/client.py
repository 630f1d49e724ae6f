"""The owner's side: start a zygote, have it start workers and trusted processes, and hold them."""

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import IO, Self

from harness import logs
from harness.errors import SandboxError
from harness.sandbox import channel, descriptors, host
from harness.sandbox.freezer import Freezer
from harness.sandbox.policy import Exit, Policy, Tier
from harness.sandbox.zygote_messages import (
    KILL,
    REPLY,
    Confinement,
    ConnectRequest,
    Ended,
    Ready,
    Refused,
    SpawnRequest,
    Started,
)

_log = logs.logger("sandbox")
_BOOT = """\
import sys
sys.path[:] = [{root!r}, *sys.path, *(p for p in {more!r} if p not in sys.path)]
from harness.sandbox.zygote import main
main({fd}, {preload!r})
"""
# One thread for each of these pools while they load: a pool that has started threads does not survive a fork.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1")
# torch.cuda.is_available, which torch.utils.cpp_extension calls on import, then asks NVML: asking the CUDA driver would
# start a thread of its own and spoil CUDA in every fork.
_NO_DRIVER = {"PYTORCH_NVML_BASED_CUDA_CHECK": "1", "CUDA_VISIBLE_DEVICES": ""}
_CLOSE_S = 30.0


class Process:
    """A process that the zygote started, held by the control socket of its supervisor.

    Leaving it as a context manager, or this process's own death, kills it and everything that it started. `pid` is
    its pid as this process sees it. A fork of this process holds nothing: what it closes goes on here.
    """

    def __init__(self, control: socket.socket, started: Started) -> None:
        self._control = control
        self._holder = os.getpid()
        self._exit: Exit | None = None
        self.pid = started.pid
        self.confinement = started.confinement
        self._group = started.group

    def fileno(self) -> int:
        """Readable when the process has ended, so that it can be polled beside other descriptors."""
        return self._control.fileno()

    def kill(self) -> None:
        """Ask for its end and return at once; `wait` tells when it and all its descendants are gone."""
        if self._exit is None and os.getpid() == self._holder:
            with contextlib.suppress(OSError):  # it ended by itself just now
                channel.send(self._control, KILL)

    def wait(self, timeout_s: float | None = None) -> Exit | None:
        """How it ended, or None where it still runs after `timeout_s`; None waits for ever.

        Raises SandboxError where its supervisor was lost, or could not get rid of it.
        """
        if self._exit is None and descriptors.readable(self._control.fileno(), timeout_s):
            reply = _reply(self._control)
            if not isinstance(reply, Ended):
                raise SandboxError(reply.detail if isinstance(reply, Refused) else f"Unexpected reply {reply}.")
            self._exit = reply.exit
            how = reply.exit
            code, cause = how.code if how.code is not None else f"signal {how.signal}", how.cause
            _log.debug("process %d ended: %s (%s), %.1f s of CPU", self.pid, code, cause, how.cpu_s)
        return self._exit

    def close(self) -> None:
        """Kill it if it runs, and wait until everything of it is gone. Raises SandboxError where that fails."""
        if self._control.fileno() < 0:
            return
        if os.getpid() != self._holder:
            self._control.close()
            return
        try:
            self.kill()
            if self.wait(_CLOSE_S) is None:
                raise SandboxError(f"Process {self.pid} did not end within {_CLOSE_S:.0f} s of being killed.")
        finally:
            self._control.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Worker(Process):
    """An untrusted process. `layers` held when it started; `missing` are those that this machine lacks, with why."""

    @property
    def tier(self) -> Tier:
        """The tier that its layers add up to."""
        return self.confinement.tier

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers of isolation that hold."""
        return self.confinement.layers

    @property
    def missing(self) -> tuple[str, ...]:
        """The layers that do not, each with its reason."""
        return self.confinement.missing

    def freezer(self) -> Freezer:
        """What stops all of its tasks, and resumes them."""
        return Freezer(self.pid, self._group)


class Trusted(Process):
    """A process of ours, unconfined. Its entry is called with its descriptors and a `Zygote` of its own."""


class Zygote:
    """A connection to the prepared process. Safe to use from several threads.

    The process that `start`s it is its owner: with the owner's connection closed, by `close` or by death, the zygote
    and everything it ever started is gone. A fork of the owner has nothing to say to it: SandboxError.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._holder = os.getpid()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._confinement: Confinement | None = None

    @classmethod
    def start(cls, preload: Sequence[str] = ("torch",), *, python: str = sys.executable) -> "Zygote":
        """Start a zygote that imports `preload`, which must not start threads or touch CUDA.

        Returns at once; the imports go on meanwhile, and `ready` or the first spawn waits for them. What a worker
        will need later must be imported by then: the files of this package may be out of its sight. Raises
        SandboxError where `python` cannot be run.

        This process and all that the zygote forks, but for workers, may have as many descriptors open afterwards as the
        machine lets them.
        """
        descriptors.raise_limit()
        ours, theirs = channel.pair()
        zygote = cls(ours)
        # Where this interpreter finds packages that an isolated one would not (PYTHONPATH, a user's site).
        more = [entry for entry in sys.path if os.path.isdir(entry)] if python == sys.executable else []
        boot = _BOOT.format(
            root=str(host.PACKAGE_ROOT), more=more, fd=theirs.fileno(), preload=json.dumps(list(preload))
        )
        environment = (
            {name: os.environ[name] for name in host.KEPT_VARIABLES if name in os.environ} | _ONE_THREAD | _NO_DRIVER
        )
        zygote._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        try:
            zygote._process = subprocess.Popen(
                [python, "-I", "-c", boot],
                pass_fds=[theirs.fileno()],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=zygote._errors,
                stderr=zygote._errors,
                start_new_session=True,
            )
        except OSError as error:
            zygote.close()
            raise SandboxError(f"{python} cannot be run: {error.strerror}.") from error
        finally:
            theirs.close()
        return zygote

    @classmethod
    def connected(cls, fd: int) -> "Zygote":
        """Use a connection that was inherited."""
        return cls(socket.socket(fileno=fd))

    @property
    def pid(self) -> int | None:
        """Of its process, for its owner; None for others."""
        return self._process.pid if self._process is not None else None

    def lives_on(self, seconds: float) -> bool:
        """Whether its process still runs so many seconds from now; returns at once where it does not.

        Only its owner can tell, for others it is True. A process that ends closes its sockets before it can be waited
        for, and whatever ends with it goes by such a socket too.
        """
        if self._process is None:
            return True
        if self._connection.fileno() < 0 or self._process.poll() is not None:
            return False
        poller = select.poll()
        poller.register(self._connection, 0)  # that the other end is closed is told without being asked for
        return not poller.poll(seconds * 1000)

    def ready(self) -> Confinement:
        """Wait for the imports; say what workers will get. Only for the owner. Raises SandboxError where they fail."""
        self._require_holder()
        with self._lock:
            if self._confinement is None:
                if self._process is None:
                    raise SandboxError("Only the zygote's owner is told when it is ready.")
                reply = _reply(self._connection, self._last_words)
                if not isinstance(reply, Ready):
                    detail = reply.detail.strip() if isinstance(reply, Refused) else reply
                    raise SandboxError(f"The prepared process could not be made ready: {detail}")
                self._confinement = reply.confinement
                _log.info("zygote %d is ready: workers get %s", self._process.pid, reply.confinement.tier)
            return self._confinement

    def spawn_worker(self, entry: str, fds: Sequence[int], policy: Policy) -> Worker:
        """Start an untrusted process that calls `entry` ("module:function") with its descriptors as a tuple.

        Returns when it is confined and about to call. `fds` stay open here; there they are 3, 4, ..., in order, and
        all that is open beside standard input (empty), output and error (its log). Raises SandboxError where it
        cannot be started or confined as the policy asks.
        """
        return Worker(*self._spawn(SpawnRequest(entry=entry, policy=policy), fds))

    def spawn_trusted(self, entry: str, fds: Sequence[int]) -> Trusted:
        """Start an unconfined process of ours that calls `entry` with its descriptors and a `Zygote`.

        Raises SandboxError where it cannot be started.
        """
        return Trusted(*self._spawn(SpawnRequest(entry=entry), fds))

    def connection(self) -> socket.socket:
        """A new connection, to be handed to another process of ours and used there by `connected`."""
        ours, theirs = channel.pair()
        with theirs:
            self._send(ConnectRequest(), [theirs.fileno()])
        return ours

    def _spawn(self, request: SpawnRequest, fds: Sequence[int]) -> tuple[socket.socket, Started]:
        if self._process is not None:
            self.ready()
        ours, theirs = channel.pair()
        try:
            with theirs:
                self._send(request, [theirs.fileno(), *fds])
            reply = _reply(ours, self._last_words)
            if not isinstance(reply, Started):
                detail = reply.detail.strip() if isinstance(reply, Refused) else reply
                raise SandboxError(f"A process for {request.entry} could not be started: {detail}")
        except BaseException:
            ours.close()
            raise
        kind = "trusted process" if request.policy is None else "worker"
        _log.debug("%s %d starts at %s (%s)", kind, reply.pid, request.entry, reply.confinement.tier)
        return ours, reply

    def _send(self, request: SpawnRequest | ConnectRequest, fds: Sequence[int]) -> None:
        self._require_holder()
        try:
            with self._lock:
                channel.send(self._connection, request.model_dump_json().encode(), fds)
        except OSError as error:
            raise SandboxError(f"The prepared process is gone ({error.strerror}). {self._last_words()}") from error

    def _require_holder(self) -> None:
        if os.getpid() != self._holder:
            raise SandboxError("What another process has opened cannot be used in a fork of it: open it here anew.")

    def _last_words(self) -> str:
        """What the zygote wrote before it died."""
        if self._errors is None:
            return ""
        with contextlib.suppress(OSError):
            size = self._errors.seek(0, os.SEEK_END)
            self._errors.seek(max(0, size - 2000))
            return self._errors.read().decode("utf-8", "replace").strip()
        return ""

    def close(self) -> None:
        """Let go. If this is the owner, the zygote and everything it started ends."""
        self._connection.close()
        if self._process is not None and os.getpid() == self._holder:
            try:
                self._process.wait(_CLOSE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._errors is not None:
            self._errors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _reply(sock: socket.socket, last_words: Callable[[], str] = str) -> Ready | Started | Refused | Ended:
    heard = channel.receive(sock)
    if heard is None:
        raise SandboxError(f"The prepared process, or a supervisor, died unexpectedly. {last_words()}".strip())
    return REPLY.validate_json(heard[0])
