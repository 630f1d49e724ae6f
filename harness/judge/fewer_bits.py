"""Fewer bits: when it is asked whether an error all over an output is a smaller type's, which takes float64 calls."""

import time
from typing import Any

from harness.judge.correctness import Expected
from harness.judge.oracle import FLOAT64_SECONDS
from harness.judge.question import Question

OFTEN_FLOAT64_SECONDS = 0.1
"""It is asked of nominal trials only, where a float64 call of the reference takes longer."""
ASKING_SHARE = 0.25
"""It is asked of a random call of a round until timing is over, as far as that takes no more than this share of it."""
LONG_ASKING_S = 1.0
"""Once asking took so long that share bounds the first question of each kind of contents, too."""
ASKING_TRIALS_S = 2.0
"""It is asked of trials until so many seconds were spent on it."""


class FewerBits:
    """What was asked of one candidate. What one call shows says nothing of the next, so that it is asked again."""

    def __init__(self) -> None:
        self._asked: set[tuple[str, str]] = set()
        self._spent_s = {"trial": 0.0, "timed": 0.0}
        self._longest_s = 0.0
        self._timed_from_s = 0.0

    def timing_begins(self) -> None:
        """From now on timed calls may be asked about, for their share of the time."""
        self._timed_from_s = time.monotonic()

    def are_told(self, output: Any, expected: Expected, question: Question) -> bool:
        """Whether the errors of an output are those of a smaller type; False where that was not asked.

        Of trials each is asked about, of timed rounds the first of each kind of contents where that does not take
        long, and of later ones as many as there is time for.
        """
        phase = "timed" if question.timed else "trial"
        again = (question.kind, phase) in self._asked
        started = time.monotonic()
        spent_s = self._spent_s[phase]
        if (
            phase == "timed"
            and (again or self._longest_s > LONG_ASKING_S)
            and spent_s > ASKING_SHARE * (started - self._timed_from_s)
        ):
            return False
        if phase == "trial" and spent_s > ASKING_TRIALS_S:
            return False
        self._asked.add((question.kind, phase))
        most_s = FLOAT64_SECONDS if (question.kind, phase) == ("nominal", "trial") else OFTEN_FLOAT64_SECONDS
        told = question.oracle.coarse(output, expected, question.given.inputs(), most_s=most_s)
        seconds = time.monotonic() - started
        self._spent_s[phase] += seconds
        self._longest_s = max(self._longest_s, seconds)
        return bool(told)
