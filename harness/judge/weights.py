"""Weights: the candidate and the reference built from one secret seed, so that their weights are equal."""

import secrets
from collections.abc import Mapping

from harness.judge.failure import SubjectFailed
from harness.judge.oracle import Oracle
from harness.judge.problem import LoadedProblem
from harness.judge.progress import Progress
from harness.judge.subject import Subject
from harness.transport.values import sample_of


class Weights:
    """Two sets of weights, one at a time in use. The seeds are drawn here, and none is known before it is used.

    `random`: the reference draws random numbers. `by_name` is None, or what `Subject.weights` were under another seed:
    then the candidate is given the reference's.
    """

    def __init__(
        self,
        problem: LoadedProblem,
        candidate: Subject,
        progress: Progress,
        *,
        random: bool,
        by_name: Mapping[str, str] | None,
    ) -> None:
        self._problem, self._candidate, self._progress = problem, candidate, progress
        self._by_name = by_name
        self.random = random
        self._arguments = problem.init_arguments()
        self._seeds = [secrets.randbits(62) for _ in range(2)]
        self._oracle: Oracle | None = None
        self.index = -1
        """Which ones are in use; none before the first."""
        self.differ = False
        """Whether the candidate's, of the reference's names and shapes, have other values than the reference's."""
        self.hint = ""
        """What is said besides of a wrong answer where they cannot be equal."""

    @property
    def oracle(self) -> Oracle:
        """The reference with the weights in use."""
        assert self._oracle is not None
        return self._oracle

    def are_there(self) -> bool:
        """Whether the reference has any."""
        return bool(self._oracle and self._oracle.shapes())

    def use(self, index: int) -> None:
        """Build candidate and reference anew, where other weights are in use. Raises SubjectFailed."""
        if self.index == index:
            return
        self._progress.stage = "load"
        self._oracle = None  # one set of weights in memory at a time
        parameters = self._candidate.construct(self._seeds[index])
        self._oracle = oracle = Oracle(self._problem, self._arguments, self._seeds[index], random=self.random)
        self.index = index
        alike = oracle.shapes() == parameters
        if self._by_name is not None and (not alike or self._candidate.weights == self._by_name):
            raise SubjectFailed("exception", "draws the same weights from every seed, or others each time")
        if self._by_name is not None:
            self._candidate.take_weights(oracle.weights())
        drawn = {name: sample_of(value) for name, value in oracle.weights().items()} if alike else {}
        self.differ = alike and self._by_name is None and drawn != self._candidate.weights
        self.hint = _hint(oracle.shapes(), parameters)
        self._progress.stage = "run"

    def give_first(self, subject: Subject) -> None:
        """Build another subject from the first seed."""
        subject.construct(self._seeds[0])


_Shapes = dict[str, tuple[str, tuple[int, ...]]]


def _hint(reference: _Shapes, candidate: _Shapes) -> str:
    """A sentence for a candidate whose weights cannot be the reference's; empty where they look alike.

    Weights are equal by seed: they agree where both draw the same tensors in the same order. Names may differ.
    """
    if sorted(reference.values()) == sorted(candidate.values()):
        return ""
    missing = [name for name in reference if name not in candidate]
    named = f" (it has no {', '.join(missing[:3])})" if missing else ""
    return f". Its parameters are not the reference's{named}, so its weights may differ from those of the reference"
