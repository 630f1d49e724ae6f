"""Stock's word on verdicts that were told already, asked for in the background.

Of the sample that `--audit sample` draws stock's builds are made by threads of their own, on cores that nobody else
wants. What they have built takes its turn on a device between the others, and the record is told once more.
"""

import queue
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from harness.controller.evaluate import Draft, Evaluated, confirmed, examine_or_note, settle_or_record, stock_draft
from harness.controller.session import JudgeSeat, Session
from harness.errors import MachineError
from harness.schema import Failed

T = TypeVar("T")
BUILDERS_AN_AUDITOR = 4
"""For so many builders of a batch there is one thread that builds by stock."""
_POLL_S = 0.1
_SAYS_NOTHING = frozenset({"timeout", "out-of-memory"})


@dataclass(frozen=True)
class Audit(Generic[T]):
    """A verdict that was told, and the same submission as stock has built it, or the fault that was met there.

    `seconds` is how long stock's build was waited for.
    """

    task: T
    fast: Evaluated
    stock: Draft
    seconds: float


class Audits(Generic[T]):
    """The verdicts of a batch that are asked of stock. Its methods may be called from any thread.

    A context manager; left early, it waits for the builds under way and forgets the others.
    """

    def __init__(self, tasks: Iterable[T | None], *, session: Session, builders: int) -> None:
        self._tasks, self._session = tasks, session
        self._pool = ThreadPoolExecutor(max(1, builders // BUILDERS_AN_AUDITOR), thread_name_prefix="auditor")
        self._ready: queue.SimpleQueue[Audit[T]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._open = 0

    def __enter__(self) -> "Audits[T]":
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def work(self) -> Iterator["T | Audit[T] | None"]:
        """The tasks, and between and behind them what stock has built; None now and then while there is neither."""
        for task in self._tasks:
            while not self._ready.empty():
                yield self._ready.get()
            if task is not None:
                self._count(1)
            yield task
        while self._open:
            try:
                yield self._ready.get(timeout=_POLL_S)
            except queue.Empty:
                yield None

    def told(self, task: T, draft: Draft, evaluated: Evaluated) -> None:
        """A task has been judged: where stock is to confirm it, its build is begun."""
        if draft.audited and draft.later and evaluated.fault is None:
            self._pool.submit(self._build, task, draft, evaluated)
        else:
            self._count(-1)

    def _build(self, task: T, draft: Draft, fast: Evaluated) -> None:
        started = time.monotonic()
        stock = stock_draft(draft.submission, draft.problem, draft.settings, session=self._session)
        stock.idle = True
        try:
            examine_or_note(stock, session=self._session)
        except Exception as error:  # noqa: BLE001  # a thread that ended silently would be waited for without end
            stock.fault = MachineError(f"stock could not be asked ({type(error).__name__}: {error})")
        self._ready.put(Audit(task, fast, stock, time.monotonic() - started))

    def settle(self, audit: Audit[T], seat: JudgeSeat) -> Evaluated:
        """The record once more, with stock's word on it."""
        try:
            return settle_audit(audit.fast, audit.stock, audit.seconds, session=self._session, seat=seat)
        finally:
            self._count(-1)

    def _count(self, by: int) -> None:
        with self._lock:
            self._open += by


def settle_audit(fast: Evaluated, stock: Draft, seconds: float, *, session: Session, seat: JudgeSeat) -> Evaluated:
    """Judge what stock has built, and say what it means for the verdict that was told.

    Where the machine or the problem is at fault, or stock's build was ended for want of time or memory, the verdict
    stays unconfirmed and `fault` says why. Raises HarnessError where the seat's judge cannot be started again.
    """
    by_stock = settle_or_record(stock, session=session, seat=seat)
    fault = by_stock.fault
    if isinstance(end := stock.failure, Failed) and end.stage == "build" and end.reason in _SAYS_NOTHING:
        fault = MachineError(f"stock's build came to no end: {end.detail}")
    if fault is not None:
        return replace(fast, fault=fault, told=True)
    return replace(confirmed(fast, by_stock, seconds), told=True)
