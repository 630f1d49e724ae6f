"""A node's process: an ordinary session with the engine of one machine over it, asked by messages."""

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress

import harness
from harness.cluster.messages import Asked, Fault, GivenUp, Opened, Opening, Outcome, Told, seen
from harness.controller.engine import Engine, open_engine
from harness.controller.evaluate import Evaluated
from harness.controller.reuse import Reuse
from harness.errors import HarnessError, MachineError

OpenEngine = Callable[[Opening], AbstractContextManager[Engine]]


def open_session_engine(opening: Opening) -> AbstractContextManager[Engine]:
    """The engine of a session on this node."""
    return open_engine(opening.device, opening.settings, builders=opening.builders)


class NodeProcess:
    """Judges what it is asked. All of it is called on one event loop, that of an actor."""

    def __init__(self, opens: OpenEngine = open_session_engine) -> None:
        self._opens = opens
        self._engine: Engine | None = None
        self._under_way: dict[int, Future[Evaluated]] = {}
        self._known: Reuse[Evaluated] = Reuse()
        self._opened: Future[Opened | Fault] = Future()

    async def version(self) -> str:
        return harness.__version__

    async def open(self, opening: Opening) -> Opened | Fault:
        """Open the session, in a thread that stays: the cores that it is kept on, and what is given to threads and
        processes that it starts, are that thread's.
        """
        threading.Thread(target=self._hold, args=(opening,), name="session", daemon=True).start()
        return await asyncio.wrap_future(self._opened)

    async def judge(self, asked: Asked) -> Outcome:
        assert self._engine is not None
        try:
            future = self._engine.submit(asked.ask(self._known))
        except HarnessError as error:
            return Fault.of(error)
        self._under_way[asked.number] = future
        try:
            evaluated = await asyncio.wrap_future(future)
            if isinstance(evaluated.fault, MachineError) and self._engine.is_lost:
                return Fault.of(evaluated.fault)  # no record says what another session has to be asked
            return Told.of(evaluated)
        except asyncio.CancelledError:
            return GivenUp()
        except HarnessError as error:
            return Fault.of(error)
        finally:
            self._under_way.pop(asked.number, None)

    async def give_up(self, number: int) -> None:
        if (future := self._under_way.get(number)) is not None:
            future.cancel()

    async def stop(self) -> None:
        if self._engine is not None:
            self._engine.stop()

    def _hold(self, opening: Opening) -> None:
        with suppress(OSError):  # where that is not ours to say, it is as many nodes with cores of their own
            os.sched_setaffinity(0, share(os.sched_getaffinity(0), *opening.part))
        try:
            with self._opens(opening) as engine:
                opened = Opened(devices=tuple(map(seen, engine.devices)), width=engine.width)
                self._engine = engine
                self._opened.set_result(opened)
                threading.Event().wait()  # for the end of this process
        except HarnessError as error:
            self._opened.set_result(Fault.of(error))
        except BaseException as error:  # noqa: BLE001  # it is raised where the session was asked for
            self._opened.set_exception(error)


def share(cores: set[int], part: int, of: int) -> set[int]:
    """The part-th of `of` equal shares of the cores, from 0; all of them where there are fewer cores than shares."""
    order = sorted(cores)
    return set(order[part * len(order) // of : (part + 1) * len(order) // of]) if len(order) >= of else cores
