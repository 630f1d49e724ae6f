"""Bench: a session as the engine uses it. Tests put one in its place that needs no device."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import harness
from harness.controller.batch import default_builders
from harness.controller.evaluate import Draft, Evaluated, begin, examine_or_note, settle_or_record
from harness.controller.session import JudgeSeat, OnPhase, Session, open_session
from harness.serve.asked import Work
from harness.settings import Settings


class Bench(Protocol):
    """Where work is prepared, many at once, and judged, one at a time on each device."""

    @property
    def devices(self) -> Sequence[Any]: ...

    @property
    def device_names(self) -> str: ...

    @property
    def builders(self) -> int:
        """How many may be prepared at once."""

    @property
    def made_of(self) -> tuple[str, ...]:
        """What of this machine and this harness decides a verdict."""

    def prepare(self, work: Work, *, on_phase: OnPhase) -> Any:
        """The half that needs no device. A fault waits in what it returns."""

    def judge(self, device: Any, prepared: Any, *, on_phase: OnPhase) -> Evaluated:
        """The half on a device. Raises HarnessError where no other submission would fare better on it."""


class SessionBench:
    """A bench over a session of the harness's own."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.devices: Sequence[JudgeSeat] = session.seats
        self.device_names = session.device_names
        self.builders = default_builders(len(session.seats))
        self.made_of = _made_of(session)

    def prepare(self, work: Work, *, on_phase: OnPhase) -> Draft:
        draft = begin(work.submission, work.problem, session=self._session, settings=work.settings)
        examine_or_note(draft, session=self._session, on_phase=on_phase)
        return draft

    def judge(self, device: JudgeSeat, prepared: Draft, *, on_phase: OnPhase) -> Evaluated:
        return settle_or_record(prepared, session=self._session, seat=device, on_phase=on_phase)


@contextmanager
def open_bench(device: str, settings: Settings) -> Iterator[Bench]:
    """Start a session and its judges. Raises InputError, DeviceError or SandboxError where that cannot be."""
    with open_session(device, settings) as session:
        yield SessionBench(session)


def _made_of(session: Session) -> tuple[str, ...]:
    """The harness's version, and what each sort of device is: GPUs of one kind give one verdict. Starts the judges."""
    sorts = set()
    for seat in session.seats:
        seated = seat.start()
        told = seated.environment
        sorts.add("|".join((seated.device_name, str(told.gpu), str(told.driver), told.torch, str(told.cuda))))
    return harness.__version__, *sorted(sorts)
