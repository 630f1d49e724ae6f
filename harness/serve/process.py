"""The server's process: it binds, serves, and on SIGTERM drains and leaves with 0."""

import asyncio
import contextlib
import os
import selectors
import signal
import socket
from collections.abc import Callable, Iterator

import uvicorn

from harness.errors import InputError, MachineError
from harness.serve.app import make_app
from harness.serve.changes import Changes, phase_of
from harness.serve.connections import ACCEPTED_AT_ONCE, Connection, most_connections
from harness.serve.desk import Desk
from harness.serve.engine import Engine
from harness.serve.guard import Guard
from harness.serve.metrics import Metrics

GRACE_S = 5
"""What open connections are given to take their last answer."""
LOOPBACK = ("127.0.0.1", "::1", "localhost")


class _Server(uvicorn.Server):
    """uvicorn without its handling of signals, which would end this process by the signal that drained it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Telling(Metrics):
    """Counts, and wakes callers that wait."""

    def __init__(self, changes: Changes) -> None:
        super().__init__()
        self._changes = changes

    def changed(self, id: str) -> None:
        self._changes.announce(id)

    def phase(self, id: str) -> None:
        self._changes.announce(phase_of(id))


def bound(host: str, port: int, *, token: str) -> socket.socket:
    """A socket that listens at that address; port 0 takes any that is free.

    Raises InputError for an address that others can reach where there is no token, and for one that cannot be had.
    """
    if host not in LOOPBACK and not token:
        raise InputError(
            f"{host} can be reached from other machines, and whoever reaches it has code run here: set HARNESS_TOKEN, "
            "or use --host 127.0.0.1"
        )
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=ACCEPTED_AT_ONCE)
    except OSError as error:
        raise InputError(f"{host}:{port} cannot be used: {error.strerror or error}") from None


def application(engine: Engine, changes: Changes, telling: Metrics, *, token: str, most: int) -> Guard:
    """The routes over an engine, with the guard in front. Of `most` connections half may wait for judgements."""
    desk = Desk(engine, changes, telling, trusted=bool(token), most_waiting=max(1, most // 2))
    return Guard(make_app(desk), token=token)


def server_of(guarded: Guard, connection: type[Connection]) -> uvicorn.Server:
    """What speaks HTTP. It leaves signals alone."""
    config = uvicorn.Config(
        guarded,
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        http=connection,
        backlog=ACCEPTED_AT_ONCE,
        ws="none",
        timeout_graceful_shutdown=GRACE_S,
        timeout_keep_alive=30,
    )
    return _Server(config)


def serve(
    listening: socket.socket,
    make_engine: Callable[[Telling], Engine],
    *,
    token: str,
    drain_s: float,
    on_ready: Callable[[Engine], None] = lambda engine: None,
) -> None:
    """Serve until SIGTERM or SIGINT, then drain: finish what devices judge, leave the rest queued.

    What is not finished within `drain_s` is left as well, and judged by the next server on the same state; a second
    signal does so at once. Raises HarnessError where the engine cannot be started, MachineError where it ended.
    """
    changes = Changes()
    telling = Telling(changes)
    most = most_connections()
    engine = make_engine(telling)
    engine.start()
    try:
        guarded = application(engine, changes, telling, token=token, most=most)
        server = server_of(guarded, Connection.of_at_most(most))
        on_ready(engine)
        with asyncio.Runner(loop_factory=_polling_loop) as runner:
            runner.run(_serve(server, listening, engine, changes, drain_s))
        if not engine.drained(0):
            _leave()
    finally:
        engine.close()
    if engine.fault is not None:
        raise MachineError(f"the server could not go on: {engine.fault}")


def _polling_loop() -> asyncio.AbstractEventLoop:
    """A loop that waits by poll: watches of epoll are counted for the whole user, and a worker could take them all."""
    return asyncio.SelectorEventLoop(selectors.PollSelector())


async def _serve(
    server: uvicorn.Server, listening: socket.socket, engine: Engine, changes: Changes, drain_s: float
) -> None:
    loop = asyncio.get_running_loop()
    changes.attach(loop)
    told = asyncio.Event()

    def stop() -> None:
        if told.is_set():
            _leave()
        told.set()
        engine.stop()
        changes.announce("")

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    ending = asyncio.create_task(_end(server, engine, told, drain_s))
    try:
        await server.serve(sockets=[listening])
    finally:
        changes.attach(None)
        ending.cancel()


async def _end(server: uvicorn.Server, engine: Engine, told: asyncio.Event, drain_s: float) -> None:
    """Have the server leave once the engine has drained, or has ended by itself."""
    while not told.is_set() and not engine.drained(0):
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(told.wait(), 1.0)
    await asyncio.to_thread(engine.drained, drain_s)
    server.should_exit = True


def _leave() -> None:
    """End this process now. Everything that it started ends with it; what is kept is durable line by line."""
    os._exit(0)
