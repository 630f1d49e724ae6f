"""Held worker: all tasks of a worker stopped between its rounds, let run again, and what they did meanwhile."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from harness.judge.failure import SubjectFailed
from harness.judge.worker_conversation import Conversation
from harness.sandbox import NotStopped, Used

_FEW_STRAYS, _STRAY_SHARE = 3, 0.05
"""How often a worker may be found to have run while it was stopped: so many times, or in so many of all stops. A round
whose end that touches does not count; elsewhere it could only have disturbed others."""


@dataclass(frozen=True)
class _Moment:
    """When a worker was resumed, and what its processes had used by then."""

    at: float
    used: Used


class HeldWorker:
    """Stops the worker of a conversation. `apart`: it computes on a device, whose memory is not the host's.

    `core` is the CPU that the thread which calls the model runs on in timed rounds. Methods raise SubjectFailed where
    the worker cannot be stopped.
    """

    def __init__(self, conversation: Conversation, *, apart: bool, core: int | None) -> None:
        self._talk, self._freezer = conversation, conversation.freezer()
        self._apart, self._core = apart, core
        self._stops = self._strays = 0
        self._looked = False
        self._aside_s = 0.0
        self._awake_since: _Moment | None = None
        self._round_since: _Moment | None = None
        self.worked_s: float | None = None

    @property
    def holds(self) -> bool:
        """Whether it is stopped."""
        return self._freezer.holds

    def start_anew(self) -> None:
        """Let it run, and forget how often it ran while it was stopped."""
        self.resume()
        self._stops = self._strays = 0

    def stop(self) -> None:
        """Stop the worker and whatever it started. A worker that is gone by now shows at the next question."""
        if self._freezer.holds:
            return
        if self._core is not None:  # only the thread that calls the model: whatever else there is may run elsewhere
            with suppress(OSError):
                os.sched_setaffinity(self._talk.pid, {self._core})
        with _blamed():
            self._freezer.stop()
        if self._awake_since is not None:
            self._aside_s += self._worked_since(self._awake_since)
            self._awake_since = None

    def halt(self) -> None:
        """Stop it at the end of a round. On the host its tasks are waited for, on a device what is read next counts.

        `worked_s` is then how long it worked on the host since it was resumed, None where it was not before the round.
        """
        with _blamed():
            self._freezer.halt()
            if not self._apart:
                self._freezer.settle()
        since = None if self._apart else self._round_since
        self.worked_s = None if since is None else self._worked_since(since)

    def settle(self) -> None:
        """Wait until all tasks have stopped, which on the host they have."""
        if self._freezer.holds and self._apart:
            with _blamed():
                self._freezer.settle()

    def rests(self) -> bool:
        """Whether it has not run since it was stopped. Raises SubjectFailed where it has too often."""
        if not self._freezer.holds:
            return True
        self._looked = True
        self._stops += 1
        ran = self._freezer.ran()
        self._strays += ran
        if self._strays > max(_FEW_STRAYS, self._stops * _STRAY_SHARE):
            raise SubjectFailed("protocol", "ran while it was stopped between rounds")
        return not ran

    def ran(self) -> bool:
        """Whether it has run since it was stopped, as a question that does not count."""
        return self._freezer.ran()

    def resume(self) -> None:
        """Let it run. From now on it works besides its rounds, until it is stopped or one begins."""
        if not self._freezer.holds:
            return
        if not self._looked:
            self.rests()
        self._looked = False
        self._awake_since = _Moment(time.monotonic(), self._freezer.used())
        self._freezer.resume()

    def round_begins(self) -> None:
        """What it works now is the round's, and what it worked since it was resumed."""
        self._round_since, self._awake_since = self._awake_since, None

    def aside_s(self) -> float:
        """Seconds that it worked besides its rounds since this was asked last (`Subject.aside_s`)."""
        seconds, self._aside_s = self._aside_s, 0.0
        return seconds

    def _worked_since(self, since: _Moment) -> float:
        """Seconds that it worked between a moment and now that it is stopped.

        A host that others use makes it wait for a core, and threads of a pool spin for a while: neither is work.
        """
        return self._freezer.used().worked_since(since.used, time.monotonic() - since.at)


@contextmanager
def _blamed() -> Iterator[None]:
    """A worker that cannot be stopped has failed."""
    try:
        yield
    except NotStopped as error:
        raise SubjectFailed("protocol", str(error)) from error
