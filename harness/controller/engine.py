"""The engine of the library: submissions of any number of callers over one session, the most urgent first.

    submit ─► queue ─► a builder's turn: extract, screen, import, build ─► a device's turn: judge ─► the future

Whoever cancels, or comes too late, is let go of in the queue, between the phases of the first half and while it waits
for a device. What a device has begun is ended: its judge would have to be started anew, and others wait for it.
"""

import heapq
import itertools
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Literal

from harness.controller.batch import default_builders
from harness.controller.evaluate import begin, examine, noted, settle
from harness.controller.session import OnPhase, Session
from harness.controller.turns import Turns
from harness.errors import BusyError, DeadlineError, HarnessError, SandboxError
from harness.schema import Problem, Record, Submission
from harness.settings import Settings

Priority = Literal["high", "normal", "low"]
RANKS: dict[Priority, int] = {"high": 0, "normal": 1, "low": 2}
MOST_QUEUED = 100_000


class _GivenUp(HarnessError):
    """Its future was cancelled; `told`: those that wait for it know."""

    def __init__(self, *, told: bool) -> None:
        super().__init__("cancelled by its caller")
        self.told = told


def _untold(name: str) -> None:
    """Nobody asked for phases."""


@dataclass(frozen=True)
class Ask:
    """A submission that is to be judged. `deadline` is on the monotonic clock; `noting`: a fault becomes a record."""

    submission: Submission
    problem: Problem
    settings: Settings
    rank: int = RANKS["normal"]
    deadline: float | None = None
    noting: bool = False
    on_phase: OnPhase = _untold
    future: "Future[Record]" = field(default_factory=Future)

    def time_left(self) -> float | None:
        """Seconds; None where there is no end. Raises DeadlineError after it, and where the future was cancelled."""
        if self.future.cancelled():
            raise _GivenUp(told=False)
        if self.deadline is None:
            return None
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise DeadlineError("the deadline was over before a device was free for it")
        return left

    def phase(self, name: str) -> None:
        """A phase of the first half begins. Raises as `time_left`."""
        self.time_left()
        self.on_phase(name)


class Engine:
    """Judges what any thread of this process asks for: so many prepared at once as there are cores, one on each device.

    Ends nothing of the session, which is the caller's.
    """

    def __init__(self, session: Session, *, most_queued: int = MOST_QUEUED) -> None:
        devices = len(session.seats)
        builders = default_builders(devices)
        self.width = builders + devices
        """So many can be under way at once: more that wait for their turn hasten nothing."""
        self._session, self._most = session, most_queued
        self._building = Turns(range(builders))
        self._pool = ThreadPoolExecutor(self.width, thread_name_prefix="evaluator")
        self._queue: list[tuple[int, int, Ask]] = []
        self._numbers = itertools.count()
        self._news = threading.Condition()
        self._open: set[Future[Record]] = set()

    @property
    def is_lost(self) -> bool:
        """Whether the process that everything is forked from is gone: nothing can be judged here any more."""
        return not self._session.zygote.lives_on(0.0)

    def evaluate(self, ask: Ask) -> Record:
        """Judge in the caller's own thread, which waits for its turns like the others. Raises HarnessError."""
        return self._judged(ask)

    def submit(self, ask: Ask) -> "Future[Record]":
        """Queue it: its future, which may be cancelled until a device has begun.

        Raises BusyError for a full queue, SandboxError where `close` came first.
        """
        with self._news:
            if len(self._queue) >= self._most:
                raise BusyError(f"{self._most} submissions wait already: ask again when some of them are judged")
            heapq.heappush(self._queue, (ask.rank, next(self._numbers), ask))
            self._open.add(ask.future)
        ask.future.add_done_callback(self._ended)
        try:
            self._pool.submit(self._take)
        except RuntimeError as error:  # what the pool raises once it was shut down
            ask.future.cancel()
            raise SandboxError("this was closed while it was asked: ask again") from error
        return ask.future

    def stream(self, asks: Iterable[Ask]) -> Iterator[tuple[int, Record]]:
        """Judge them: the place of each, from 0, and what came of it, in the order in which they finish.

        They are taken as they are needed. Left early, what is not on a device yet is cancelled.
        """
        waiting: dict[Future[Record], int] = {}
        try:
            for place, ask in enumerate(asks):
                waiting[self.submit(ask)] = place
                if len(waiting) >= 2 * self.width:
                    yield from _finished(waiting)
            while waiting:
                yield from _finished(waiting)
        finally:
            for future in waiting:
                future.cancel()

    def drain(self, seconds: float | None = None) -> bool:
        """Wait until everything that was submitted has ended; whether it did within `seconds`."""
        with self._news:
            return self._news.wait_for(lambda: not self._open, seconds)

    def close(self) -> None:
        """Cancel what no device has begun, and wait for the rest."""
        with self._news:
            left = list(self._open)
        for future in left:
            future.cancel()
        self._pool.shutdown()

    def _ended(self, future: "Future[Record]") -> None:
        with self._news:
            self._open.discard(future)
            self._news.notify_all()
        if future.cancelled():
            self._building.look()
            self._session.free.look()

    def _take(self) -> None:
        """One of the pool's threads judges the most urgent."""
        with self._news:
            ask = heapq.heappop(self._queue)[2]
        try:
            record = self._judged(ask)
        except _GivenUp as end:
            if not end.told:
                ask.future.set_running_or_notify_cancel()
        except BaseException as error:  # noqa: BLE001  # it is raised where the future is asked
            if _is_wanted(ask.future):
                ask.future.set_exception(error)
        else:
            if _is_wanted(ask.future):
                ask.future.set_result(record)

    def _judged(self, ask: Ask) -> Record:
        draft = begin(ask.submission, ask.problem, session=self._session, settings=ask.settings)
        seat = self._session.seats[0]
        try:
            with self._building.turn(ask.rank, time_left=ask.time_left):
                examine(draft, session=self._session, on_phase=ask.phase)
            with self._session.free_seat(ask.rank, time_left=ask.time_left) as seat:
                if not ask.future.set_running_or_notify_cancel():
                    raise _GivenUp(told=True)
                return settle(draft, session=self._session, seat=seat, on_phase=ask.on_phase).record
        except _GivenUp:
            raise
        except HarnessError as error:
            if not ask.noting:
                raise
            return noted(draft, error, seat=seat).record


def _is_wanted(future: "Future[Record]") -> bool:
    """Whether nobody has cancelled it, which from now on nobody can."""
    return future.running() or future.set_running_or_notify_cancel()


def _finished(waiting: "dict[Future[Record], int]") -> Iterator[tuple[int, Record]]:
    """Wait for some of `waiting` to finish, and take them out."""
    for future in wait(waiting, return_when=FIRST_COMPLETED).done:
        yield waiting.pop(future), future.result()
