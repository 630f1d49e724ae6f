"""Bench: the device that the judge tries candidates on, and a candidate on it with the inputs that lie before it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from harness.judge.inputs import InputSets
from harness.judge.rounds import Device
from harness.judge.subject import Subject
from harness.transport.memory import Arena


def _as_it_is() -> None:
    """The device is free anyway, and no judgement is given up."""


@dataclass(frozen=True)
class Bench:
    """The device as the judge uses it: memory to share, and what a clock needs.

    `arena_copies` is how often what lies in the sets takes device memory while two subjects are timed. `take` is called
    before anything is timed, and returns when the device is this judge's alone. `proceed` is called before each trial
    and between blocks of rounds, and raises where no caller waits for the rest.
    """

    device: torch.device
    make_arena: Callable[[int], Arena]
    clock: Device
    arena_copies: int = 3
    take: Callable[[], None] = _as_it_is
    proceed: Callable[[], None] = _as_it_is

    def wait(self) -> None:
        """Wait for what the judge itself has queued on the device."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()


class OnBench:
    """A candidate on the bench, and the input sets that lie before it."""

    def __init__(self, candidate: Subject, bench: Bench) -> None:
        self.candidate, self.bench = candidate, bench
        self.sets: InputSets | None = None

    def one_slot(self, example: list[Any]) -> InputSets:
        """The sets that lie there, or some of one slot that is laid out like `example`."""
        if self.sets is None:
            self.sets = InputSets(example, 1, self.bench.make_arena)
            self.candidate.attach(self.sets)
        return self.sets

    def show(self) -> None:
        """Show the candidate all that was written to the sets, between its calls."""
        assert self.sets is not None
        self.sets.reveal()
        self.bench.wait()

    def take_away(self) -> None:
        """Take the sets from the candidate and let go of them."""
        if self.sets is not None:
            self.candidate.detach()
            self.close()

    def close(self) -> None:
        """Let go of the sets' memory; the candidate may be gone by now."""
        if self.sets is not None:
            self.bench.wait()
            self.sets.close()
            self.sets = None
