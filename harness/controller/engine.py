"""The engine: what all that judge ask, be it one submission or a queue without end.

    submit ─► queue ─► a core's turn: extract, screen, import, build ─► a device's turn: judge ─► the future

Many are prepared at once and each device judges one at a time, the most urgent first. `Engine` is what is asked,
`LocalEngine` answers with the processes of a session on this machine. What comes back are values.

A future may be cancelled at any time. What waits is let go of at once, what runs at its next phase: the judge is asked
between phases, between trials and between blocks of timed rounds, and is ready for the next when it has let go.
"""

import heapq
import itertools
import os
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, InvalidStateError, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Literal, Self, TypeVar

from harness.controller.auditing import confirm
from harness.controller.evaluate import Evaluated, evaluate
from harness.controller.holder import Holder
from harness.controller.reuse import Reuse
from harness.controller.session import JudgeSeat, OnPhase, Session, open_session
from harness.controller.turns import Turns
from harness.errors import BusyError, DeadlineError, GivenUpError, SandboxError
from harness.schema import Environment, Problem, Submission
from harness.schema.record import ToolName
from harness.settings import Settings

K = TypeVar("K")

Priority = Literal["high", "normal", "low"]
RANKS: dict[Priority, int] = {"high": 0, "normal": 1, "low": 2}
MOST_QUEUED = 100_000
YOUNG_BUILDS, YOUNG_S = 3, 2.0
"""For each device no more builds run at once that began within so many seconds; a fast one takes as long. With sixty at
once, on 64 cores, a build took 13 s on average, with 24 it took 7, and devices waited for the first (H100s, November
2026)."""
BUILDERS_AN_AUDITOR = 4
"""For so many builders there is one thread for what is built on idle cores."""
_STALE = 64
"""So many deadlines of jobs that wait no longer are kept, beside as many as there are that do."""
_NEWS_S = 0.1
"""So often a source is asked again that had nothing at the moment."""


def _untold(name: str) -> None:
    """No caller asked for phases."""


@dataclass(frozen=True)
class Ask:
    """A submission that is to be judged, and how.

    Args:
        rank: lower ones are more urgent; within one the oldest is first.
        deadline: the end of all waiting and judging, on the monotonic clock (s).
        noting: a fault, and a deadline that is over, becomes a record of the kind `infrastructure` with its `fault`.
        tools: run it under these once it is judged.
        later: a verdict that stock is asked about is told before its word is there (`Evaluated.unconfirmed`).
        reuses: take over the verdict on an equal candidate, where this knows one, or will.
        confirms: ask stock about this verdict on the submission, which was told.
        idle: build on cores that nothing else wants, behind all others.
        device: judge it on the device of this name, on any where None.
        on_phase: told each phase as it begins, and "" where it waits for a core or a device; from a thread of the
            engine's.
    """

    submission: Submission
    problem: Problem
    settings: Settings
    rank: int = RANKS["normal"]
    deadline: float | None = None
    noting: bool = False
    tools: Sequence[ToolName] = ()
    later: bool = False
    reuses: Reuse[Evaluated] | None = None
    confirms: Evaluated | None = None
    idle: bool = False
    device: str | None = None
    on_phase: OnPhase = _untold


@dataclass(frozen=True)
class DeviceFacts:
    """A device that an engine judges on: `name` among the others ("cuda:1"), `model` as its driver calls it."""

    name: str
    model: str
    environment: Environment


class Engine(ABC):
    """Judges what any thread of this process asks for. A context manager: leaving it closes it.

    A fork of the process that made it may not ask (SandboxError), and ends nothing by leaving.
    """

    def __init__(self, *, width: int, most_queued: int) -> None:
        """`most_queued` may wait for their turn: `submit` raises BusyError beyond that."""
        self.width = width
        """So many can be under way at once: more that wait for their turn hasten nothing."""
        self._most_queued = most_queued
        self._holder = Holder("an engine")

    @property
    @abstractmethod
    def devices(self) -> tuple[DeviceFacts, ...]:
        """What it judges on; starts what has not started. Raises HarnessError where that cannot be."""

    @property
    @abstractmethod
    def is_lost(self) -> bool:
        """Whether nothing can be judged here any more, whatever is asked."""

    @abstractmethod
    def _enter(self, ask: Ask, *, bounded: bool) -> "Future[Evaluated]":
        """Queue it; where `bounded`, `_require_room` first. Raises SandboxError after `stop`."""

    @abstractmethod
    def drain(self, seconds: float | None = None) -> bool:
        """Wait until no work is left, that of cancelled futures included; whether that was within `seconds`."""

    @abstractmethod
    def stop(self) -> None:
        """Let no device begin anything more, and cancel what none has begun. Returns at once."""

    @abstractmethod
    def close(self) -> None:
        """`stop`, and wait for what devices have begun."""

    def submit(self, ask: Ask) -> "Future[Evaluated]":
        """Queue it: the future of what comes of it, which may be cancelled.

        The future raises HarnessError where the problem, the caller or the machine is at fault. Raises BusyError for a
        full queue, SandboxError after `stop`.
        """
        self._holder.require()
        return self._enter(ask, bounded=True)

    def evaluate(self, ask: Ask) -> Evaluated:
        """Judge it and wait for that, however many wait before it. Raises HarnessError."""
        self._holder.require()
        future = self._enter(ask, bounded=False)
        try:
            return _outcome(future)
        finally:
            future.cancel()  # where the wait was interrupted

    def stream(self, source: Iterable[tuple[K, Ask] | None]) -> Iterator[tuple[K, Evaluated]]:
        """Judge what a source gives, each under a key of the caller's: keys and what came of them, as they finish.

        The source is asked as there is need of more, in the thread that iterates, and gives None where it has nothing
        at the moment. Left early, the rest is cancelled. Raises what the futures of `submit` and the source raise.
        """
        tasks, left = iter(source), True
        waiting: dict[Future[Evaluated], tuple[K, bool]] = {}
        finished: queue.SimpleQueue[Future[Evaluated]] = queue.SimpleQueue()
        hurried = 0  # of those that wait: idle ones leave others their room
        try:
            while left or waiting:
                pausing = False
                while left and not pausing and hurried < 2 * self.width:
                    task = next(tasks, False)
                    left, pausing = task is not False, task is None
                    if isinstance(task, tuple):
                        key, ask = task
                        self._holder.require()
                        future = self._enter(ask, bounded=False)
                        waiting[future] = key, not ask.idle
                        hurried += not ask.idle
                        future.add_done_callback(finished.put)
                if not (waiting or pausing):
                    continue
                with suppress(queue.Empty):
                    ended = finished.get(timeout=_NEWS_S if pausing else None)
                    key, was_hurried = waiting.pop(ended)
                    hurried -= was_hurried
                    yield key, _outcome(ended)
        finally:
            for future in waiting:
                future.cancel()

    def _require_room(self, waiting: int) -> None:
        """Raises BusyError where so many wait already as may."""
        if waiting >= self._most_queued:
            raise BusyError(f"{self._most_queued} submissions wait already: ask again when some of them are judged")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _outcome(future: "Future[Evaluated]") -> Evaluated:
    try:
        return future.result()
    except CancelledError:
        raise _closed() from None


def _closed() -> SandboxError:
    return SandboxError("this was closed while it was asked: ask again")


@dataclass(eq=False)
class _Job:
    """An ask on its way. `begun`: a device has it, or had it."""

    ask: Ask
    future: "Future[Evaluated]" = field(default_factory=Future)
    begun: bool = False
    device: str = ""
    device_s: float = 0.0
    told: str | None = None

    def time_left(self) -> float | None:
        """Seconds; None where there is no end. Raises DeadlineError after it, GivenUpError where it was cancelled."""
        if self.future.cancelled():
            raise GivenUpError("cancelled by its caller")
        if self.ask.deadline is None:
            return None
        left = self.ask.deadline - time.monotonic()
        if left <= 0:
            raise DeadlineError("the deadline was over before there was a verdict")
        return left

    def phase(self, name: str) -> None:
        """A phase begins, or goes on. Raises as `time_left`."""
        self.time_left()
        if name != self.told:
            self.told = name
            self.ask.on_phase(name)


class _Line:
    """Jobs that wait for one of some threads, the most urgent first."""

    def __init__(self, threads: int, name: str) -> None:
        """The threads, and what they start, keep to the cores of the thread that makes them."""
        self.threads = ThreadPoolExecutor(
            threads, thread_name_prefix=name, initializer=_keep_to, initargs=(os.sched_getaffinity(0),)
        )
        self.jobs: list[tuple[int, int, _Job]] = []


def _keep_to(cores: set[int]) -> None:
    with suppress(OSError):  # where the machine has others now
        os.sched_setaffinity(0, cores)


class LocalEngine(Engine):
    """Judges on this machine, with the processes of a session, which stays the caller's to end."""

    def __init__(self, session: Session, *, builders: int | None = None, most_queued: int = MOST_QUEUED) -> None:
        """`builders` are prepared at once; where None, as many as the devices leave cores."""
        devices = len(session.seats)
        builders = builders or default_builders(devices)
        super().__init__(width=builders + devices, most_queued=most_queued)
        self._session = session
        self._cores = Turns(range(builders), young=max(1, YOUNG_BUILDS * devices), young_s=YOUNG_S)
        self._seats = Turns(session.seats)
        # As many again as are built at once may wait for an equal candidate, and keep nobody from a core.
        self._line = _Line(self.width + builders, "engine")
        self._idle_line = _Line(max(1, builders // BUILDERS_AN_AUDITOR), "engine-idle")
        self._numbers = itertools.count()
        guard = threading.RLock()
        self._news, self._due = threading.Condition(guard), threading.Condition(guard)
        self._open: set[_Job] = set()
        self._waiting: set[_Job] = set()
        self._deadlines: list[tuple[float, int, _Job]] = []
        self._keeper: threading.Thread | None = None
        self._stopped = False

    @property
    def devices(self) -> tuple[DeviceFacts, ...]:
        told = [(seat.device.name, seat.start()) for seat in self._session.seats]
        return tuple(DeviceFacts(name, seated.device_name, seated.environment) for name, seated in told)

    @property
    def is_lost(self) -> bool:
        """Whether the process that everything is forked from is gone."""
        return not self._session.zygote.lives_on(0.0)

    def drain(self, seconds: float | None = None) -> bool:
        self._holder.require()
        with self._news:
            return self._news.wait_for(lambda: not self._open, seconds)

    def stop(self) -> None:
        if not self._holder.is_here:
            return
        with self._news:
            self._stopped = True
            self._due.notify()
            left = [job for job in self._open if not job.begun]
        for job in left:
            job.future.cancel()

    def close(self) -> None:
        if not self._holder.is_here:
            return
        self.stop()
        self._line.threads.shutdown()
        self._idle_line.threads.shutdown()
        if self._keeper is not None:
            self._keeper.join()

    def _enter(self, ask: Ask, *, bounded: bool) -> "Future[Evaluated]":
        job = _Job(ask)
        line = self._idle_line if ask.idle else self._line
        with self._news:
            if self._stopped:
                raise _closed()
            if bounded:
                self._require_room(len(self._waiting))
            try:
                line.threads.submit(self._take, line)
            except RuntimeError:  # this process is about to end
                raise _closed() from None
            self._open.add(job)
            self._waiting.add(job)
            number = next(self._numbers)
            heapq.heappush(line.jobs, (ask.rank, number, job))
            if ask.deadline is not None:
                self._keep_deadline(ask.deadline, number, job)
        job.future.add_done_callback(lambda future: self._cancelled(job) if future.cancelled() else None)
        return job.future

    def _cancelled(self, job: _Job) -> None:
        """Its caller has gone: let go of it where it waits. What runs looks for itself at its next phase."""
        job.future.set_running_or_notify_cancel()  # tells `concurrent.futures.wait`
        with self._news:
            if job in self._waiting:
                self._waiting.discard(job)
                self._leave(job)
        self._cores.look()
        self._seats.look()

    def _leave(self, job: _Job) -> None:
        self._open.discard(job)
        self._news.notify_all()

    def _keep_deadline(self, deadline: float, number: int, job: _Job) -> None:
        """See to it that a job that waits ends with its deadline, though no thread has taken it."""
        if len(self._deadlines) > 2 * len(self._waiting) + _STALE:
            self._deadlines = [one for one in self._deadlines if one[2] in self._waiting]
            heapq.heapify(self._deadlines)
        heapq.heappush(self._deadlines, (deadline, number, job))
        if self._deadlines[0][2] is job:
            self._due.notify()
        if self._keeper is None:
            self._keeper = threading.Thread(target=self._end_what_is_late, name="engine-deadlines", daemon=True)
            self._keeper.start()

    def _end_what_is_late(self) -> None:
        """A thread of its own: what is over its deadline while it waits ends there."""
        while (job := self._next_late()) is not None:
            self._run(job)

    def _next_late(self) -> _Job | None:
        """A job that waits and is over its deadline, waited for; None once nothing is begun any more."""
        with self._news:
            while not self._stopped:
                left_s = self._deadlines[0][0] - time.monotonic() if self._deadlines else None
                if left_s is None or left_s > 0:
                    self._due.wait(left_s)
                    continue
                job = heapq.heappop(self._deadlines)[2]
                if job in self._waiting:
                    self._waiting.discard(job)
                    return job
            return None

    def _take(self, line: _Line) -> None:
        """One of a line's threads judges the most urgent."""
        with self._news:
            job = heapq.heappop(line.jobs)[2]
            if job not in self._waiting:
                return
            self._waiting.discard(job)
        self._run(job)

    def _run(self, job: _Job) -> None:
        """Judge it, and tell whoever asked."""
        try:
            evaluated = replace(self._judge(job), device=job.device, device_s=job.device_s)
        except BaseException as error:  # noqa: BLE001  # it is raised where the future is asked
            if isinstance(error, GivenUpError) and not isinstance(error, DeadlineError):
                job.future.cancel()
            with suppress(InvalidStateError):  # it was cancelled
                job.future.set_exception(error)
        else:
            with suppress(InvalidStateError):
                job.future.set_result(evaluated)
        finally:
            with self._news:
                self._leave(job)

    def _judge(self, job: _Job) -> Evaluated:
        ask = job.ask
        core = self._core(job)
        if ask.confirms is not None:
            return confirm(
                ask.confirms,
                ask.submission,
                ask.problem,
                session=self._session,
                settings=ask.settings,
                idle=ask.idle,
                core=core,
                seat=self._seat(job),
                on_phase=job.phase,
            )
        return evaluate(
            ask.submission,
            ask.problem,
            session=self._session,
            settings=ask.settings,
            tools=ask.tools,
            later=ask.later,
            reuses=ask.reuses,
            rank=ask.rank,
            noting=ask.noting,
            core=core,
            seat=self._seat(job),
            on_phase=job.phase,
        )

    @contextmanager
    def _core(self, job: _Job) -> Iterator[None]:
        """A core's turn. What is idle has a thread of its own and takes no core from others."""
        if job.ask.idle:
            yield
        else:
            if job.told is not None:
                job.phase("")
            with self._cores.turn(job.ask.rank, time_left=job.time_left):
                yield

    @contextmanager
    def _seat(self, job: _Job) -> Iterator[JudgeSeat]:
        """A device's turn. Raises GivenUpError where `stop` came first."""
        job.phase("")

        def fits(seat: JudgeSeat) -> bool:
            return job.ask.device in (None, seat.device.name)

        with self._seats.turn(job.ask.rank, fits=fits, time_left=job.time_left) as seat:
            with self._news:
                if self._stopped:
                    raise GivenUpError("closed before a device was free for it")
                job.begun = True
            started = time.monotonic()
            job.device = seat.device.name
            try:
                yield seat
            finally:
                job.device_s += time.monotonic() - started


@contextmanager
def open_engine(
    device: str,
    settings: Settings,
    *,
    builders: int | None = None,
    most_queued: int = MOST_QUEUED,
    on_phase: OnPhase = _untold,
) -> Iterator[Engine]:
    """An engine over a session of its own on `device`. Raises InputError, DeviceError or SandboxError.

    `on_phase` is told what is done for all, such as building what the toolchain needs once.
    """
    with (
        open_session(device, settings, on_phase=on_phase) as session,
        LocalEngine(session, builders=builders, most_queued=most_queued) as engine,
    ):
        yield engine


def default_builders(devices: int) -> int:
    """Submissions prepared at once: the cores that a session leaves to builders, one less where it leaves them all."""
    return max(1, len(os.sched_getaffinity(0)) - devices)
