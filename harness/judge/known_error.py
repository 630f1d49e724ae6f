"""Known error: how far the reference is known to be off itself, by kind of contents, where no float64 is at hand."""

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from harness.judge.correctness import Expected, known_of
from harness.judge.output_scale import Own
from harness.schema.audit import OwnError
from harness.schema.verdict import OracleName

MOST_KNOWN_ERROR = 0.05
"""What is known of the reference's error over the mean of its outputs widens no tolerance by more than this of it."""
_WEAKER = get_args(OracleName)


class KnownError:
    """What the audit says (`own_errors`), and what trials that had float64 have shown since."""

    def __init__(self, own_errors: Sequence[OwnError]) -> None:
        self._audited = {one.kind: one for one in own_errors}
        self._known: dict[str, tuple[Own, ...]] = {
            one.kind: (
                Own(min(one.relative, MOST_KNOWN_ERROR), one.share, min(one.usual, MOST_KNOWN_ERROR), one.rough),
            )
            for one in own_errors
        }
        self._oracles: set[OracleName] = set()
        self._used: dict[str, float] = {}

    def beside(self, expected: Expected, kind: str) -> Expected:
        """What is expected on contents of a kind, with what is known where it has no float64 of its own."""
        if expected.exact is not expected.like:
            return expected
        return replace(expected, known=self._known.get(kind, ()))

    def note_trial(self, expected: Expected, kind: str) -> None:
        """Take down what a trial is held to."""
        if expected.exact is not expected.like:
            self._oracles.add("float64")
            return
        own = self._audited.get(kind)
        self._oracles.add(own.oracle if own else "as-written")
        self._used[kind] = own.relative if own else 0.0

    def learn(self, own: Sequence[Own], kind: str) -> None:
        """Take in what the reference was off by, of each output."""
        if own:
            known = self._known.get(kind, ())
            self._known[kind] = tuple(known_of(known, at) | one for at, one in enumerate(own))

    @property
    def relative(self) -> float:
        """The largest error over the mean that the audit knew of a kind that a trial without float64 had."""
        return max(self._used.values(), default=0.0)

    @property
    def weakest(self) -> OracleName:
        """What told the least of all that trials were held to."""
        return max(self._oracles, key=_WEAKER.index, default="float64")
