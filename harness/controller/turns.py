"""Turns: things that one thread each has at a time, in the order of urgency and then of coming."""

import bisect
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")

NORMAL = 1
"""The rank of whoever asks for none: lower ones are more urgent."""

TimeLeft = Callable[[], float | None]
"""Seconds that may still be waited, None for any; raises what ends the wait."""


def endless() -> None:
    """Wait as long as it takes."""


class Turns(Generic[T]):
    """Hands out each of `things` to one thread at a time. Any thread may ask; it must not ask for a second one."""

    def __init__(self, things: Iterable[T]) -> None:
        self._free = list(things)
        self._waiting: list[tuple[int, int]] = []
        self._numbers = itertools.count()
        self._news = threading.Condition()

    @contextmanager
    def turn(self, rank: int = NORMAL, *, time_left: TimeLeft = endless) -> Iterator[T]:
        """One of the things, once nobody more urgent waits.

        Raises what `time_left` raises, which is asked at once and whenever something has changed.
        """
        thing = self._taken(rank, time_left)
        try:
            yield thing
        finally:
            with self._news:
                self._free.append(thing)
                self._news.notify_all()

    def look(self) -> None:
        """Have those that wait ask how long they still may."""
        with self._news:
            self._news.notify_all()

    def _taken(self, rank: int, time_left: TimeLeft) -> T:
        with self._news:
            mine = rank, next(self._numbers)
            bisect.insort(self._waiting, mine)
            try:
                while True:
                    longest_s = time_left()
                    if self._free and self._waiting[0] == mine:
                        return self._free.pop(0)
                    self._news.wait(longest_s)
            finally:
                self._waiting.remove(mine)
                self._news.notify_all()
