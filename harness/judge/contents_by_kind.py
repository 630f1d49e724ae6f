"""Contents by kind: what calls are given, drawn as the problem draws it or changed, and on which kinds there is a time.

Each time from a seed of its own, which nothing can know before.
"""

import secrets
from typing import Any

from harness.judge.inputs import KINDS, VARIED, Contents, permuted, stressed, varied
from harness.judge.problem import LoadedProblem
from harness.judge.tensors import same
from harness.judge.together import Together, can_be_drawn_together
from harness.schema.audit import Audit


class ContentsByKind:
    """Draws contents of a problem, and keeps the kinds besides nominal ones that trials had."""

    def __init__(self, problem: LoadedProblem, audit: Audit) -> None:
        self._problem, self._audit = problem, audit
        self._tried: list[str] = []
        self._together: bool | None = None

    def of(self, kind: str) -> Contents:
        """Those of one call."""
        seed, stress_seed = secrets.randbits(62), secrets.randbits(62)

        def draw() -> list[Any]:
            inputs = self._problem.draw(seed)
            if kind == "permuted" or (kind != "nominal" and "permuted" in self._tried):
                inputs = permuted(inputs, stress_seed, self._audit.fixed_integers or None)
            if kind in VARIED:
                return varied(inputs, kind, stress_seed, self._audit.fixed_floats)
            return stressed(inputs, kind, stress_seed) if kind in KINDS else inputs

        return Contents(draw)

    def of_round(self, kind: str, calls: int, *, at_once: bool) -> Together | list[Contents]:
        """Those of so many calls, drawn together where they may be, `at_once`, and where that can be."""
        apart = kind in ("permuted", *VARIED) or "permuted" in self._tried  # in an order of each call's own
        if calls == 1 or apart or not at_once or not self._can_be_drawn_together():
            return [self.of(kind) for _ in range(calls)]
        seed, stress_seed = secrets.randbits(62), secrets.randbits(62)

        def draw() -> list[Any]:
            inputs = self._problem.draw_together(seed, calls)
            return stressed(inputs, kind, stress_seed) if kind in KINDS else inputs

        return Together(draw)

    def _can_be_drawn_together(self) -> bool:
        if self._together is None:
            self._together = can_be_drawn_together(self._problem)
        return self._together

    # ---- kinds -------------------------------------------------------------------------------------------------

    def note_trial(self, kind: str) -> None:
        """Take down that there is a trial of this kind, unless its contents are nominal ones all the same."""
        if kind != "nominal" and not self._is_nominal(kind):
            self._tried.append(kind)

    def _is_nominal(self, kind: str) -> bool:
        """Whether contents of a kind are nominal ones all the same, of a varied one any that it is there for."""
        if kind not in VARIED and not self._audit.fixed:
            return False
        mine, nominal = self.of(kind).get(), self.of("nominal").get()
        if kind in VARIED:
            return any(same(mine[place], nominal[place]) for place in self._audit.fixed_floats)
        return same(mine, nominal)

    def leave_out(self, kind: str) -> None:
        """Time no more on a kind of which nothing can be told, where others are left."""
        if kind in self._tried and len(self._tried) > 1:
            self._tried.remove(kind)

    @property
    def keeps_floats(self) -> bool:
        """Whether floating values are the same at every draw, and in all kinds that there was a trial of."""
        return bool(self._audit.fixed_floats) and not any(kind in KINDS or kind in VARIED for kind in self._tried)

    @property
    def can_be_timed(self) -> bool:
        """Whether there are contents of which no candidate can remember answers, or what follows from floating values.

        Ask once all trials are over.
        """
        return not self.keeps_floats and (not self._audit.fixed or bool(self._tried))

    @property
    def shapes_vary(self) -> bool:
        """Whether what is drawn decides on the shapes of the reference's outputs, as the audit found."""
        return self._audit.shapes_vary

    def timed(self) -> tuple[str, tuple[str, ...]]:
        """The kind of contents that every other block of rounds has, and those that the rest has.

        Nominal ones are left out where they come out alike each time they are drawn.
        """
        others = tuple(self._tried)
        if self._audit.fixed:
            return others[0], others[1:]
        return "nominal", others
