"""Held worker: all tasks of a worker stopped between its rounds, let run again, and what they did meanwhile."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from harness.judge.failure import SubjectFailed
from harness.judge.worker_conversation import Conversation
from harness.sandbox import NotStopped

_FEW_STRAYS, _STRAY_SHARE = 3, 0.05
"""How often a worker may be found to have run while it was stopped: so many times, or in so many of all stops. A round
whose end that touches does not count; elsewhere it could only have disturbed others."""


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
        self._awake_since: tuple[float, int] | None = None

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
            began, used_ns = self._awake_since
            # A host that others use makes it wait for a core, and threads of a pool spin for a while: neither is work.
            self._aside_s += min(time.monotonic() - began, max(0, self._freezer.used_ns - used_ns) / 1e9)
            self._awake_since = None

    def halt(self) -> None:
        """Stop it at the end of a round. On the host its tasks are waited for, on a device what is read next counts."""
        with _blamed():
            self._freezer.halt()
            if not self._apart:
                self._freezer.settle()

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
        self._awake_since = time.monotonic(), self._freezer.used_ns
        self._freezer.resume()

    def round_begins(self) -> None:
        """What it works now is the round's."""
        self._awake_since = None

    def aside_s(self) -> float:
        """Seconds that it worked besides its rounds since this was asked last (`Subject.aside_s`)."""
        seconds, self._aside_s = self._aside_s, 0.0
        return seconds


@contextmanager
def _blamed() -> Iterator[None]:
    """A worker that cannot be stopped has failed."""
    try:
        yield
    except NotStopped as error:
        raise SubjectFailed("protocol", str(error)) from error
