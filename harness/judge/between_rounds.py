"""Between rounds: what a device did after a side's round until contents of the next one were there.

A candidate may queue work behind a copy that no kernel has to wait for, so that the device is idle when it is asked and
busy a moment later, while contents are drawn: it made outputs of its next round ready so, 1.6 times for 0.8 (H200,
November 2026). What the judge draws takes longer by that, or the device is busy at a moment that nothing can know: in
one such moment after each round a trifle is done on a stream that goes first. Where it has to wait the device was
another's, for as long as lay between, on average.
"""

import random
import time
from collections import deque
from typing import NamedTuple, Protocol

from harness.judge.statistics import median

BUSY_S = 3e-4
"""More than a switch between two processes takes (0.15 ms), less than another's time slice (2 ms; both H200). What the
trifle itself takes was not measured."""
_FIRST_S, _KNOWN = 2e-3, 16
"""What lies between rounds is taken for so long at first, then for the median of so many."""


class Glancing(Protocol):
    def glance(self) -> float:
        """Seconds until a trifle is done that goes before whatever the judge itself has queued on the device."""


class Between(NamedTuple):
    """Seconds that lay after rounds of a side, and those of them in which the device was busy when it was looked at."""

    seconds: float = 0.0
    busy_s: float = 0.0


class BetweenRounds:
    """Told of rounds of either side, by its id."""

    def __init__(self, device: Glancing) -> None:
        self._device, self._chance = device, random.SystemRandom()
        self._usual_s: deque[float] = deque(maxlen=_KNOWN)
        self._after: int | None = None
        self._began = self._look_at = 0.0
        self._waited_s: float | None = None
        self._found: dict[int, Between] = {}

    def begins(self, side: int) -> None:
        """A side is held after its round."""
        usual_s = median(self._usual_s) if self._usual_s else _FIRST_S
        self._after, self._began, self._waited_s = side, time.monotonic(), None
        self._look_at = self._began + self._chance.random() * usual_s

    def look(self, *, last: bool = False) -> None:
        """Look at the device if the moment has come, once; the `last` time that moment is waited for."""
        if self._after is None or self._waited_s is not None:
            return
        while last and time.monotonic() < self._look_at:
            pass
        if last or time.monotonic() >= self._look_at:
            self._waited_s = self._device.glance()

    def ends(self) -> None:
        """The device has done all that was queued, whoever queued it."""
        if self._after is None:
            return
        between_s = time.monotonic() - self._began
        was_busy = self._waited_s is not None and self._waited_s > BUSY_S
        before = self._found.get(self._after, Between())
        self._found[self._after] = Between(before.seconds + between_s, before.busy_s + between_s * was_busy)
        self._usual_s.append(between_s)
        self._after = None

    def taken(self, side: int) -> Between:
        """What lay after a side's rounds since this was asked last."""
        return self._found.pop(side, Between())
