"""How what waits is ended: it asks now and then whether it is to go on."""

from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

T = TypeVar("T")
POLL_S = 0.1
"""So often something that waits asks whether it is to go on."""

GoOn = Callable[[], None]
"""Asked now and then by what waits or takes long; what it raises ends that."""


def endless() -> None:
    """Go on, however long it takes."""


def outcome_of(future: "Future[T]", go_on: GoOn) -> T:
    """What comes of it, waited for. Raises what it raises, and what `go_on` does."""
    while not wait([future], POLL_S).done:
        go_on()
    return future.result()
