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


def any_of_them(thing: object) -> bool:
    """One is as good as another."""
    return True


def endless() -> None:
    """Wait as long as it takes."""


class _Waiting(Generic[T]):
    """A thread that waits for its turn: its place in the line, and which of the things it can use."""

    def __init__(self, rank: int, number: int, fits: Callable[[T], bool]) -> None:
        self.place, self.fits = (rank, number), fits


class Turns(Generic[T]):
    """Hands out each of `things` to one thread at a time. Any thread may ask; it must not ask for a second one."""

    def __init__(self, things: Iterable[T]) -> None:
        self._free = list(things)
        self._waiting: list[_Waiting[T]] = []
        self._numbers = itertools.count()
        self._news = threading.Condition()

    @contextmanager
    def turn(
        self, rank: int = NORMAL, *, fits: Callable[[T], bool] = any_of_them, time_left: TimeLeft = endless
    ) -> Iterator[T]:
        """One of the things, of those that it fits, once nobody more urgent waits for it.

        Raises what `time_left` raises, which is asked at once and whenever something has changed.
        """
        thing = self._taken(rank, fits, time_left)
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

    def _taken(self, rank: int, fits: Callable[[T], bool], time_left: TimeLeft) -> T:
        with self._news:
            mine = _Waiting(rank, next(self._numbers), fits)
            bisect.insort(self._waiting, mine, key=lambda one: one.place)
            try:
                while True:
                    longest_s = time_left()
                    for thing in self._for(mine):
                        self._free.remove(thing)
                        return thing
                    self._news.wait(longest_s)
            finally:
                self._waiting.remove(mine)
                self._news.notify_all()

    def _for(self, mine: _Waiting[T]) -> list[T]:
        """The free thing that is its turn, if any: each before it is left the first one that fits."""
        left = list(self._free)
        for one in self._waiting:
            thing = [thing for thing in left if one.fits(thing)][:1]
            if one is mine:
                return thing
            left = [other for other in left if not thing or other is not thing[0]]
        return []
