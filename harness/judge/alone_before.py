"""Alone before: what rounds of one reference took once candidates before were gone, within the last minute.

A reference that takes no longer beside a candidate than in the fastest of these was not slowed by it, and need not be
timed alone again. Where it took longer, by whatever, that decides nothing: it is timed anew.

A host that shares its cores out changes their speed from one second to the next, and launches with it. So only those
tell after which a loop of the host took as long in the reference's process as it does after its rounds now.
"""

import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from harness.judge.samples import Samples
from harness.judge.statistics import median

MOST_AGE_S = 60.0
"""What is older tells nothing any more."""
_KEPT = 8
_AS_FAST = 0.05
"""By this share the loop of the host may have taken longer or shorter."""


@dataclass(frozen=True)
class Taken:
    """Rounds of so many calls at a time of `time.monotonic`. Of calls that came one by one `calls` is the most, looked
    at by so many `copies`, and `allowed` the share by which a candidate may make them longer.
    """

    at: float
    calls: int
    samples: Samples
    copies: int = 0
    allowed: float = 0.0


class AloneBefore:
    """Of one reference on a device, in rounds of several calls and in calls that came one by one."""

    def __init__(self) -> None:
        self._rounds: deque[Taken] = deque(maxlen=_KEPT)
        self._steps: deque[Taken] = deque(maxlen=_KEPT)

    def forget(self) -> None:
        """Know nothing any more."""
        self._rounds.clear()
        self._steps.clear()

    def keep_rounds(self, samples: Samples, calls: int) -> None:
        """Rounds of so many calls, which have device events."""
        self._rounds.append(Taken(time.monotonic(), calls, samples))

    def keep_steps(self, samples: Samples, calls: int, copies: int, allowed: float) -> None:
        """Rounds of calls that came one by one (`Taken`)."""
        self._steps.append(Taken(time.monotonic(), calls, samples, copies, allowed))

    def rounds(self, kinds: Sequence[str], calls: int, beside: Samples) -> Samples | None:
        """The fastest rounds, with some of each kind of contents, as if they were of so many calls; of those on a core
        as fast as the reference had `beside` a candidate.
        """
        found = [one for one in _alike(self._rounds, kinds, beside) if calls / 2 <= one.calls <= calls * 2]
        if not found:
            return None
        fastest = min(found, key=lambda one: median(one.samples.device_ms))
        samples = fastest.samples
        spans = zip(samples.beyond_events_s(fastest.calls), samples.device_ms, strict=True)
        return replace(samples, round_s=[beyond_s + ms * calls / 1e3 for beyond_s, ms in spans])

    def steps(self, kinds: Sequence[str], calls: int, copies: int, beside: Samples) -> Taken | None:
        """The fastest of as many calls at most, looked at alike, on such a core."""
        found = [one for one in _alike(self._steps, kinds, beside) if (one.calls, one.copies) == (calls, copies)]
        return min(found, key=lambda one: median(one.samples.round_s), default=None)


def _alike(taken: Iterable[Taken], kinds: Sequence[str], beside: Samples) -> list[Taken]:
    oldest, loop_s = time.monotonic() - MOST_AGE_S, beside.usual_loop_s()
    return [
        one
        for one in taken
        if one.at >= oldest
        and set(kinds) <= set(one.samples.kinds)
        and abs(one.samples.usual_loop_s() - loop_s) <= _AS_FAST * loop_s
    ]
