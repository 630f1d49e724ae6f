"""Trials: calls of a candidate on fresh contents of each kind, each compared with the reference."""

import secrets
from collections.abc import Callable, Iterator
from typing import Any

from harness.judge.bench import OnBench
from harness.judge.comparison import Comparison
from harness.judge.contents_by_kind import ContentsByKind
from harness.judge.correctness import Expected, not_finite
from harness.judge.failure import WrongAnswer
from harness.judge.inputs import LARGE_BYTES, STRESS, VARIED, Given
from harness.judge.oracle import Oracle, ReferenceRaised, reference_must_run
from harness.judge.orders import ASCENDING, Orders
from harness.judge.outputs_seen import OutputsSeen
from harness.judge.progress import Progress
from harness.judge.question import Question, require_memory, require_outputs
from harness.judge.weights import Weights
from harness.schema.audit import Audit
from harness.schema.verdict import Wrong

TRIALS: tuple[tuple[int, str], ...] = (
    (0, "nominal"),
    *((0, kind) for kind in STRESS),
    (1, "nominal"),
    (1, "signed"),
)
"""Weight seed and kind of inputs of each trial, in order. A model without weights skips the second seed."""
FIXED_TRIALS = ((0, "permuted"),)
"""Further ones where nominal inputs, or integers among them, are the same each time."""
_SHARED = "a second call wrote over what the first one returned: outputs of two calls share memory"


class Trials:
    """Those of one candidate. `seen` is what they show of the reference's outputs, `call_s` what the last call took."""

    def __init__(
        self,
        placed: OnBench,
        audit: Audit,
        *,
        progress: Progress,
        weights: Weights,
        contents: ContentsByKind,
        comparison: Comparison,
        orders_s: float,
        bytes_budget: int,
    ) -> None:
        """`orders_s` are seconds to call the trials of an emulated candidate again in, 0 for any other.

        `bytes_budget` is what outputs of several calls may take of a device's memory together.
        """
        self._placed, self._candidate, self._audit, self._progress = placed, placed.candidate, audit, progress
        self._weights, self._contents, self._comparison = weights, contents, comparison
        self._orders = Orders(placed.candidate, comparison, orders_s)
        self._bytes_budget = bytes_budget
        self._not_finite = 0
        self._place, self._also_asked = -1, 1 + secrets.randbelow(len(STRESS))
        self.seen = OutputsSeen()
        self.call_s = 0.0

    def run(self) -> None:
        """All of them. Raises WrongAnswer and SubjectFailed."""
        with self._progress.phase("check"):
            for weights, kind in self._planned():
                if weights and not self._weights.are_there():
                    continue
                self._placed.bench.proceed()
                self._weights.use(weights)
                self._trial(kind)
            self._require_outputs_of_their_own()

    def _planned(self) -> Iterator[tuple[int, str]]:
        """Where integers never change, theirs comes second: whether the reference takes them decides on the rest.

        Where floating values never change, and the reference stayed finite on no kind that changes them, they are
        varied. Then small ones of either sign, where of narrow ones nothing is left, and last some near one, where all
        others together say nothing of some elements.
        """
        permutes = bool(self._audit.fixed_integers)
        yield TRIALS[0]
        yield from FIXED_TRIALS if permutes else ()
        yield from TRIALS[1:]
        yield from FIXED_TRIALS if self._audit.fixed and not permutes else ()
        last = int(self._weights.are_there())
        for kind in VARIED:
            if self._contents.keeps_floats:
                yield last, kind
        if self.seen.lost_narrow:
            yield last, "small"
        if self.seen.told.leaves_out:
            yield last, "units"

    def _trial(self, kind: str) -> None:
        """One call on fresh inputs, compared; a stressed trial only where the reference stays finite.

        Outputs leave poison behind for those of the next trial.
        """
        self._progress.kind = kind
        self._place += 1
        oracle, contents = self._weights.oracle, self._contents.of(kind)
        sets = self._placed.one_slot(contents.get())
        question = Question(oracle, kind, Given(contents, sets), secrets.randbits(62), self._weights.hint)
        question.given.write()
        expected = self._expected(question)
        if expected is None:
            return
        self._contents.note_trial(kind)
        if oracle.changes_inputs:
            question.given.write_anew()
        self._placed.show()
        if contents.large:  # a device may have no room for them three times beside two outputs
            contents.forget()
            sets.let_go()
        self.seen.learn(expected.like, oracle, kind, first_weights=self._weights.index == 0)
        outputs = self._called(question, expected)
        self._hold(outputs, expected, question)
        self._comparison.let_go(question)
        del outputs, expected
        self._candidate.release(poison=True)
        if contents.large:  # there is room to draw them again now
            require_memory(question)

    def _require_outputs_of_their_own(self) -> None:
        """Raise WrongAnswer where a call writes over what an earlier one returned, which its caller still has.

        Two calls on what lies in the sets, whose outputs are not read. Comes last: which outputs may be handed out
        again (`Spared`) is known then. Not asked where it takes more memory, or of an emulated candidate more time,
        than there is, nor where the inputs are gone with the first call.
        """
        room = self._bytes_budget if self._placed.bench.device.type == "cuda" else LARGE_BYTES
        if self._weights.oracle.changes_inputs or 2 * self.seen.bytes > room or not self._orders.allow(2 * self.call_s):
            return
        self._candidate.spare(self.seen.spared.places)
        self._candidate.round([0, 0], seed=secrets.randbits(62), order=ASCENDING if self._orders.matter else None)
        if self._candidate.shares_outputs():
            raise WrongAnswer(Wrong(reason="aliased-output", detail=_SHARED, trial="nominal"))
        self._candidate.release()

    def _expected(self, question: Question) -> Expected | None:
        """What the reference says; None where a stressed trial is none because it raises or overflows.

        What it fills in as infinite, under a mask, is so in nominal trials too.
        """
        if question.kind == "nominal":
            expected = self._asked(question, reference_must_run)
            self._not_finite = not_finite(expected.like)
            return expected
        try:
            expected = self._asked(question, Oracle.expected)
        except ReferenceRaised:
            return None
        if not_finite(expected.like) <= self._not_finite:
            return expected
        self.seen.learn_what_stays(expected.like, question.oracle, first_weights=self._weights.index == 0)
        return None

    def _asked(self, question: Question, ask: Callable[..., Expected]) -> Expected:
        """What the reference says, by `ask`.

        Float64 is asked at once where the inputs would be gone, of the first trial and of one that nothing can know, of
        the others once the reference as written does not settle it.
        """
        oracle, given = question.oracle, question.given
        at_once = self._place in (0, self._also_asked) or not oracle.repeats
        expected = ask(oracle, given.inputs(), seed=question.seed, widened=at_once)
        if oracle.changes_inputs and not at_once:  # which these weights or contents are the first to show
            given.write_anew()
            expected = ask(oracle, given.inputs(), seed=question.seed)
        return expected

    def _called(self, question: Question, expected: Expected) -> list[Any]:
        """The outputs of a call, and in a nominal trial of a second one on the same inputs.

        Not of two where both outputs take much memory, nor of an emulated candidate, which is called again anyway.
        """
        large = question.given.contents.large or self.seen.bytes > LARGE_BYTES
        twice = question.kind == "nominal" and question.oracle.repeats and not large and not self._orders.matter
        calls = [0, 0] if twice else [0]
        order = ASCENDING if self._orders.matter else None
        result = self._candidate.round(calls, seed=question.seed, order=order)
        self.call_s = result.seconds / result.calls
        return self._candidate.outputs(list(range(len(calls))), like=expected.like)

    def _hold(self, outputs: list[Any], expected: Expected, question: Question) -> None:
        """Hold outputs, and what the call left in memory, against all that is expected. Raises WrongAnswer."""
        given, wrong = question.given, None
        try:
            if not given.contents.large:
                require_memory(question)
            self._comparison.hold_left(given.sets.arguments(0), expected, question)
            require_outputs(outputs, given.sets, question.oracle, question.trial)
            found = self._comparison.hold_all(outputs, expected, question)
        except WrongAnswer as answer:
            if not self._orders.matter:
                raise
            wrong = answer.verdict
        if self._orders.matter:
            self._orders.try_others(expected, question, outputs[0], wrong, call_s=self.call_s)
        self._comparison.ask_fewer_bits(found, outputs[0], expected, question)
