"""Stock's word on verdicts that were told already.

Of the sample that `--audit sample` draws stock's builds are made behind the others, on cores that nothing else wants
(`Ask.idle`). What they have built takes its turn on a device between the others, and the record is told once more.
"""

import time
from contextlib import AbstractContextManager
from dataclasses import replace

from harness.controller.evaluate import Draft, Evaluated, confirmed, examine, no_end, settle_or_record, stock_draft
from harness.controller.session import JudgeSeat, OnPhase, Session
from harness.errors import GivenUpError, HarnessError, InputError
from harness.schema import Candidate, Problem, Record, Submission
from harness.settings import Settings


def confirm(
    fast: Evaluated,
    submission: Submission,
    problem: Problem,
    *,
    session: Session,
    settings: Settings,
    idle: bool,
    core: AbstractContextManager[object],
    seat: AbstractContextManager[JudgeSeat],
    on_phase: OnPhase,
) -> Evaluated:
    """Have stock build a submission that has its verdict, judge that, and say what it means for the verdict.

    Where stock cannot be asked the verdict stays unconfirmed, and `fault` says why. Raises GivenUpError where
    `on_phase` does, HarnessError where the seat's judge cannot be started again.

    Args:
        idle: build on cores that nothing else wants.
        core, seat: as of `evaluate`.
    """
    stock = stock_draft(submission, problem, settings, session=session)
    stock.idle = idle
    try:
        with core:
            started = time.monotonic()
            examine(stock, session=session, on_phase=on_phase)
            seconds = time.monotonic() - started
        _check_same(stock.candidate, fast.record)
    except GivenUpError:
        raise
    except HarnessError as error:
        return replace(fast, fault=error, unconfirmed=False, told=True)
    with seat as at:
        return _settle_audit(fast, stock, seconds, session=session, seat=at, on_phase=on_phase)


def _check_same(candidate: Candidate | None, record: Record) -> None:
    """Of a long submission the middle is not kept beside its record. Raises InputError."""
    if candidate is None or record.candidate is None or candidate.sha256 != record.candidate.sha256:
        raise InputError("its text was not kept whole")


def _settle_audit(
    fast: Evaluated, stock: Draft, seconds: float, *, session: Session, seat: JudgeSeat, on_phase: OnPhase
) -> Evaluated:
    """Judge what stock has built, and say what it means for the verdict that was told.

    Where the machine or the problem is at fault, or stock's build was ended for want of time or memory, the verdict
    stays unconfirmed and `fault` says why.
    """
    by_stock = settle_or_record(stock, session=session, seat=seat, on_phase=on_phase)
    fault = by_stock.fault or no_end(by_stock)
    if fault is not None:
        return replace(fast, fault=fault, unconfirmed=False, told=True)
    return replace(confirmed(fast, by_stock, seconds), unconfirmed=False, told=True)
