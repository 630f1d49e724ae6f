"""Question: a call whose outputs are held against the reference's, and how much time there is for doubts about it."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from harness.judge.conditioning import Other
from harness.judge.correctness import Expected
from harness.judge.criteria import Call, Evidence, first_broken
from harness.judge.failure import WrongAnswer
from harness.judge.inputs import Given, InputSets
from harness.judge.oracle import Oracle, Otherwise
from harness.schema.verdict import Wrong

DOUBTS_S = 40.0
"""Seconds of the judge's CPU time for doubts about one candidate. After that a trial is as it was found, and one timed
call more is asked about: it is wrong, or nothing is timed."""


SHAPES_VARY = "the shapes of the reference's outputs depend on the contents of its inputs, so that nothing is timed"


class CannotBeTimed(Exception):
    """Why a verdict stands without a time, in words. No call that is known to be wrong is passed by it."""

    def __init__(self, why: str = "rounding decides on outputs, and telling so of timed calls takes too long") -> None:
        super().__init__(why)


@dataclass
class Question:
    """What a call was given, the kind of these contents, and the seed that it ran under; the reference beside it.

    `hint` ends the words of a wrong answer. `timed`: it is a call of a timed round. `glance`: where no more is out of
    tolerance than was in other calls, as rounding decides on outputs, no more is asked of it. `otherwise` is what
    `Oracle.otherwise` says of these contents, once it was asked: `others` are the samples that were taken so far and
    `coming` gives more; `further` are those by so many units of rounding that they tell what few elements may be.
    `widened` is what is expected with float64, once that was asked.
    `has_doubts`: the reference was asked about these contents again.
    `row_was_asked`: rows do not mix, and that of the worst element was asked alone (`witness`).
    """

    oracle: Oracle
    kind: str
    given: Given
    seed: int
    hint: str = ""
    timed: bool = False
    glance: bool = False
    otherwise: Otherwise | None = None
    coming: Iterator[Other] = field(default_factory=lambda: iter(()))
    others: tuple[Other, ...] = ()
    further: tuple[Other, ...] = ()
    widened: Expected | None = None
    has_doubts: bool = False
    row_was_asked: bool = False

    def forget(self) -> None:
        """Let go of the samples, which are many and as large as outputs."""
        self.otherwise, self.coming, self.others, self.further = None, iter(()), (), ()
        self.has_doubts = False

    @property
    def trial(self) -> str:
        """What a verdict names it."""
        return "timed" if self.timed else self.kind


def require_memory(question: Question) -> None:
    """Raise WrongAnswer where a call left the memory that it saw otherwise than it may (`criteria`)."""
    given, oracle = question.given, question.oracle
    call = Call(given.sets, given.slot, given.inputs, [], oracle.changes_inputs, oracle.aliases_inputs)
    _require("memory", call, question.trial)


def require_outputs(outputs: list[Any], sets: InputSets, oracle: Oracle, trial: str) -> None:
    """Raise WrongAnswer where outputs of calls on these sets lie where they may not (`criteria`)."""
    _require("outputs", Call(sets, 0, list, outputs, oracle.changes_inputs, oracle.aliases_inputs), trial)


def _require(evidence: Evidence, call: Call, trial: str) -> None:
    broken = first_broken(evidence, call)
    if broken is not None:
        raise WrongAnswer(Wrong(reason=broken[0], detail=broken[1], trial=trial))


class TimeForDoubts:
    """The judge's CPU time that doubts about one candidate took. `trim` gives memory back to the device."""

    def __init__(self, trim: Callable[[], None]) -> None:
        self._trim = trim
        self._seconds = 0.0

    @property
    def is_spent(self) -> bool:
        """Whether DOUBTS_S are over."""
        return self._seconds > DOUBTS_S

    def begin_anew(self) -> None:
        """Have as much of it as one last call takes."""
        self._seconds = -math.inf

    @contextmanager
    def spent(self) -> Iterator[None]:
        """Count what is asked within. What cannot be asked for want of memory excuses nothing, and is no fault."""
        started = time.process_time()
        try:
            yield
        except torch.OutOfMemoryError:
            self._trim()
        finally:
            self._seconds += time.process_time() - started
