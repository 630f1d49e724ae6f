"""Samples: figures of one side's rounds."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

from harness.backends.reading import Reading
from harness.judge.statistics import longer_at_least, longer_on_average_at_least, median

_Key = TypeVar("_Key")


@dataclass
class Samples:
    """Figures of one side's rounds, in the order taken: seconds, device milliseconds of one call, the device's state.

    `nominal` says whether a round's contents were of the base kind: what `get_inputs` draws, where that varies. `kinds`
    names what they were. `worked_s` is how much of each round was work: on a host waiting for a core is not. `aside_s`
    is how long the side worked around each round, on a host, besides it; of calls shown one by one the share of a call.
    `loop_s` is what a loop of plain Python took in its process after each, on a device. `empty_s` is what a call that
    comes one by one took on a host besides itself, next to each round. `between_s` is what lay, on a device, after the
    side's round before until contents of whatever came next were there, `busy_s` that or 0 where it was not busy then
    (`between_rounds`).
    """

    round_s: list[float] = field(default_factory=list)
    device_ms: list[float] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    nominal: list[bool] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    worked_s: list[float] = field(default_factory=list)
    aside_s: list[float] = field(default_factory=list)
    loop_s: list[float] = field(default_factory=list)
    empty_s: list[float] = field(default_factory=list)
    between_s: list[float] = field(default_factory=list)
    busy_s: list[float] = field(default_factory=list)

    def beyond_events_s(self, calls: int) -> list[float]:
        """Seconds that each round of so many calls took beyond the span between its device events."""
        return [seconds - ms * calls / 1e3 for seconds, ms in zip(self.round_s, self.device_ms, strict=True)]

    def call_ms(self, hand_over_s: float, calls: int) -> list[float]:
        """Milliseconds of one call. No less than a tenth of what was measured, should the hand-over be overrated."""
        return [max(seconds - hand_over_s, seconds / 10) / calls * 1e3 for seconds in self.round_s]

    def and_each(self, more_s: float) -> "Samples":
        """The same with every round so many seconds longer."""
        return replace(self, round_s=[seconds + more_s for seconds in self.round_s])

    def at(self, rounds: Sequence[int]) -> "Samples":
        """Those of some rounds alone. The device's state is told of as many of the last ones."""
        columns = {one.name: getattr(self, one.name) for one in fields(self)}
        some = {name: [column[at] for at in rounds] for name, column in columns.items() if len(column) > max(rounds)}
        return Samples(**{**some, "readings": self.readings[-len(rounds) :]})

    def and_those_of(self, more: "Samples") -> "Samples":
        """The same with rounds that were taken later."""
        return Samples(*([*getattr(self, one.name), *getattr(more, one.name)] for one in fields(self)))

    def usual_loop_s(self) -> float:
        """The median of what the loop took; 0 where nothing told."""
        told = list(filter(None, self.loop_s))
        return median(told) if told else 0.0

    def mhz(self) -> float:
        """The median clock of the device; 0 where nothing told."""
        return median([reading.sm_mhz for reading in self.readings]) if self.readings else 0.0


def grouped(keys: Sequence[_Key], values: Sequence[float]) -> dict[_Key, list[float]]:
    """The values of each key, in the order that they have."""
    found: dict[_Key, list[float]] = {}
    for key, value in zip(keys, values, strict=True):
        found.setdefault(key, []).append(value)
    return found


def longer_besides(mine: Samples, theirs: Samples) -> float:
    """Seconds a round, of calls shown one by one a call, that the candidate worked longer than the reference, besides:
    beyond the noise of both, in most rounds or, where it is much in few, on average.
    """
    if not mine.aside_s or not theirs.aside_s:
        return 0.0
    in_most, on_average = longer_at_least, longer_on_average_at_least
    return max(0.0, in_most(mine.aside_s, theirs.aside_s), on_average(mine.aside_s, theirs.aside_s))
