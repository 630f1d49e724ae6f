"""How what waits is ended: it asks now and then whether it is to go on."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import TypeVar

from harness.errors import GivenUpError

T = TypeVar("T")
POLL_S = 0.1
"""So often something that waits asks whether it is to go on."""

GoOn = Callable[[], None]
"""Asked now and then by what waits or takes long; what it raises ends that."""


def endless() -> None:
    """Go on, however long it takes."""


@dataclass(frozen=True)
class Patience:
    """How long something of a build may take: until then on the monotonic clock, and while it is wanted."""

    until: float
    unwanted: threading.Event

    def left_s(self) -> float:
        return max(0.0, self.until - time.monotonic())

    def go_on(self) -> None:
        """Raises GivenUpError once it is not wanted, TimeoutError once its time is up."""
        if self.unwanted.is_set():
            raise GivenUpError("nobody waits for this build any more")
        if not self.left_s():
            raise TimeoutError


def outcome_of(future: "Future[T]", go_on: GoOn) -> T:
    """What comes of it, waited for. Raises what it raises, and what `go_on` does."""
    while not wait([future], POLL_S).done:
        go_on()
    return future.result()
