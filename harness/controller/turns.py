"""Turns: things that one thread each has at a time, in the order of urgency and then of coming."""

import bisect
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")

NORMAL = 1
"""The rank of what asks for none: lower ones are more urgent."""

TimeLeft = Callable[[], float | None]
"""Seconds that may still be waited, None for any; raises what ends the wait."""


def any_of_them(thing: object) -> bool:
    """One is as good as another."""
    return True


def endless() -> None:
    """Wait as long as it takes."""


class _Waiting(Generic[T]):
    """A thread that waits for its turn: its place in the line, which of the things it can use, and what wakes it."""

    def __init__(self, rank: int, number: int, fits: Callable[[T], bool], guard: threading.Lock) -> None:
        self.place, self.fits, self.news = (rank, number), fits, threading.Condition(guard)


class Turns(Generic[T]):
    """Hands out each of `things` to one thread at a time. Any thread may ask; it must not ask for a second one.

    No more than `young` of them are had that were handed out within the last `young_s` seconds: what begins all at once
    ends all at once, and late.
    """

    def __init__(self, things: Iterable[T], *, young: int | None = None, young_s: float = 0.0) -> None:
        self._free = list(things)
        self._young, self._young_s = young, young_s
        self._since: dict[int, float] = {}
        self._waiting: list[_Waiting[T]] = []
        self._numbers = itertools.count()
        self._guard = threading.Lock()

    @contextmanager
    def turn(
        self, rank: int = NORMAL, *, fits: Callable[[T], bool] = any_of_them, time_left: TimeLeft = endless
    ) -> Iterator[T]:
        """One of the things, of those that it fits, once nothing more urgent waits for it.

        Raises what `time_left` raises, which is asked at once and whenever `look` is called or there is a thing.
        """
        number, thing = self._taken(rank, fits, time_left)
        try:
            yield thing
        finally:
            with self._guard:
                del self._since[number]
                self._free.append(thing)
                self._wake()

    def look(self) -> None:
        """Have those that wait ask how long they still may."""
        with self._guard:
            for one in self._waiting:
                one.news.notify()

    def _taken(self, rank: int, fits: Callable[[T], bool], time_left: TimeLeft) -> tuple[int, T]:
        with self._guard:
            number = next(self._numbers)
            mine = _Waiting(rank, number, fits, self._guard)
            bisect.insort(self._waiting, mine, key=lambda one: one.place)
            try:
                while True:
                    longest_s = time_left()
                    room, more_s = self._room()
                    for one, thing in self._shared_out(room):
                        if one is mine:
                            self._free.remove(thing)
                            self._since[number] = time.monotonic()
                            return number, thing
                    mine.news.wait(_sooner(longest_s, more_s))
            finally:
                self._waiting.remove(mine)
                self._wake()

    def _wake(self) -> None:
        for one, _ in self._shared_out(self._room()[0]):
            one.news.notify()

    def _shared_out(self, room: int) -> Iterator[tuple[_Waiting[T], T]]:
        """Whose turn it is with what is free, of so many: each in the line has the first that fits it and is left."""
        left = list(self._free)
        for one in self._waiting:
            if not left or not room:
                return
            for place, thing in enumerate(left):
                if one.fits(thing):
                    del left[place]
                    room -= 1
                    yield one, thing
                    break

    def _room(self) -> tuple[int, float | None]:
        """How many may be handed out now, and seconds until it may be one more, None where time adds none.

        Where none is young those that have their turn now will be: after that it is looked again.
        """
        if self._young is None:
            return len(self._free), None
        now = time.monotonic()
        young = [age for since in self._since.values() if (age := now - since) < self._young_s]
        return max(0, self._young - len(young)), self._young_s - max(young, default=0.0)


def _sooner(one: float | None, other: float | None) -> float | None:
    return min((seconds for seconds in (one, other) if seconds is not None), default=None)
