"""The zygote: a process that has imported torch once and touched nothing else, and forks on request.

It has a scrubbed environment, one thread, no CUDA, and no secret. It answers requests on SOCK_SEQPACKET connections:
the starter's, whose end is its own end, and one for each trusted process that it started (a judge starts workers
itself). A request carries the control socket of the new process's supervisor, so the zygote keeps no books: life and
death of a worker are between the supervisor and its owner.
"""

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import traceback
from dataclasses import replace
from typing import NoReturn

from harness.errors import SandboxError
from harness.sandbox import channel, host, processes
from harness.sandbox.cgroup import Groups, NotDelegated, open_groups
from harness.sandbox.policy import Isolation, Policy
from harness.sandbox.supervisor import supervise
from harness.sandbox.zygote_messages import (
    REPLY,
    REQUEST,
    Confinement,
    ConnectRequest,
    Ended,
    Ready,
    Refused,
    SpawnRequest,
    Started,
)


def nothing(_fds: tuple[int, ...]) -> None:
    """The entry that a probe calls: it only had to get this far."""


def main(fd: int, preload: str) -> NoReturn:
    """Import `preload` (a JSON list of module names), say so on `fd`, then serve until the starter is gone."""
    control = socket.socket(fileno=fd)
    os.set_inheritable(fd, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the controller's to handle
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # supervisors need no waiting for
    groups = _groups()
    try:
        # Probed before torch is imported: a fork is cheaper then.
        full_refused, confinement = _probe(groups)
        gc.disable()  # looking for garbage takes a sixth of importing torch, and finds next to none
        for module in json.loads(preload):
            importlib.import_module(module)
        _insist_on_one_thread()
    except Exception as error:  # noqa: BLE001 - the border of this process: its starter must hear of it
        detail = str(error) if isinstance(error, SandboxError) else traceback.format_exc()
        channel.send(control, Refused(detail=detail).model_dump_json().encode())
        _leave(groups, 1)
    machine = host.Host(
        readable=host.readable_base(),
        hidden=host.hidden(),
        groups=groups,
        full_refused=full_refused,
        missing=frozenset(one.partition(":")[0] for one in confinement.missing),
    )
    gc.collect()
    gc.freeze()  # the pages of what is imported stay shared with every fork
    gc.enable()
    with contextlib.suppress(OSError):  # a starter that is gone already is noticed in the loop
        channel.send(control, Ready(confinement=confinement).model_dump_json().encode())
    _Server(control, machine).serve()


def _insist_on_one_thread() -> None:
    count = len(os.listdir("/proc/self/task"))
    if count != 1:
        raise SandboxError(f"The modules to preload started {count - 1} threads; forking is only safe with none.")


def _groups() -> Groups | str:
    try:
        return open_groups()
    except NotDelegated as why:
        return str(why)


def _leave(groups: Groups | str, code: int) -> NoReturn:
    """End, and all supervisors before that: the groups can be removed only when those of their workers are gone."""
    if isinstance(groups, Groups):
        for supervisor in processes.children(os.getpid()):
            processes.kill(supervisor, signal.SIGTERM)
        with contextlib.suppress(ChildProcessError):
            os.wait()  # for all, since SIGCHLD is ignored
        groups.close()
    os._exit(code)


def _probe(groups: Groups | str) -> tuple[str | None, Confinement]:
    """Try the full tier for real, then without namespaces. Returns why full was refused, and what workers will have."""
    machine = host.Host(readable=host.readable_base(), hidden=host.hidden(), groups=groups)
    outcome = _try(machine, "full")
    if isinstance(outcome, Started):
        return None, outcome.confinement
    refused = outcome.detail.strip().splitlines()[-1]
    outcome = _try(replace(machine, full_refused=refused), "auto")
    if isinstance(outcome, Refused):
        raise SandboxError(f"No worker can be started on this machine: {outcome.detail}")
    return refused, outcome.confinement


def _try(machine: host.Host, isolation: Isolation) -> Started | Refused:
    mine, theirs = channel.pair()
    policy = Policy(isolation=isolation, devices=bool(host.gpu_devices()))
    if os.fork() == 0:
        mine.close()
        supervise(SpawnRequest(entry="harness.sandbox.zygote:nothing", policy=policy), theirs, [], machine)
    theirs.close()
    with mine:
        replies = []
        while (heard := channel.receive(mine)) is not None:
            replies.append(REPLY.validate_json(heard[0]))
    match replies:
        case [Started() as started, Ended(exit=end)] if end.code == 0:
            return started
        case [Refused() as refused]:
            return refused
        case _:
            return Refused(detail=f"the probe ended unexpectedly: {replies}")


def _refuse(control: int, detail: str) -> None:
    """Tell the asker at the other end of a control socket that nothing could be started."""
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(control)) as asker:
        channel.send(asker, Refused(detail=detail).model_dump_json().encode())


class _Server:
    """Serves connections, one request at a time. Its starter's is the first; the rest come and go."""

    def __init__(self, starter: socket.socket, machine: host.Host) -> None:
        self._starter = starter
        self._connections = {starter.fileno(): starter}
        self._machine = machine

    def serve(self) -> NoReturn:
        poller = select.poll()
        poller.register(self._starter, select.POLLIN)
        while True:
            for fd, _ in poller.poll():
                connection = self._connections[fd]
                heard = channel.receive(connection)
                if heard is not None:
                    self._answer(*heard, poller)
                elif connection is self._starter:
                    _leave(self._machine.groups, 0)  # supervisors see us die, and their owners
                else:
                    poller.unregister(fd)
                    self._connections.pop(fd).close()

    def _answer(self, message: bytes, fds: list[int], poller: select.poll) -> None:
        request = REQUEST.validate_json(message)
        if isinstance(request, ConnectRequest):
            self._connect(socket.socket(fileno=fds[0]), poller)
            return
        with contextlib.ExitStack() as closing:
            for fd in fds:
                closing.callback(os.close, fd)
            links: tuple[socket.socket, ...] = ()
            try:
                links = channel.pair() if request.policy is None else ()  # a trusted process may start workers itself
                child = os.fork()
            except OSError as error:  # no descriptor or process is left: its asker is told, all others are served on
                for link in links:
                    link.close()
                _refuse(fds[0], f"{os.strerror(error.errno or 0)}: see harness doctor")
                return
            here, there = links or (None, None)
            if child == 0:
                for connection in (*self._connections.values(), *([here] if here else [])):
                    connection.close()
                control, *rest = fds
                own = [*rest, there.detach()] if there else rest
                supervise(request, socket.socket(fileno=control), own, self._machine)
            if here is not None and there is not None:
                there.close()
                self._connect(here, poller)

    def _connect(self, connection: socket.socket, poller: select.poll) -> None:
        self._connections[connection.fileno()] = connection
        poller.register(connection, select.POLLIN)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
