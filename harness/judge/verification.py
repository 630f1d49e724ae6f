"""Verification: which calls of a timed round are verified, and how."""

import math
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.judge.comparison import Comparison
from harness.judge.correctness import Expected
from harness.judge.failure import SubjectFailed, WrongAnswer
from harness.judge.inputs import Given, InputSets
from harness.judge.oracle import reference_must_run
from harness.judge.output_layouts import MOST_LAYOUTS
from harness.judge.outputs_seen import Form, form_of
from harness.judge.question import SHAPES_VARY, CannotBeTimed, Question, require_memory, require_outputs
from harness.judge.rounds import Alone, Side, Written
from harness.judge.sampled import lies_so, nearest
from harness.judge.settled import Kept, kept_alike
from harness.judge.snapshot import rare_places
from harness.judge.subject import Subject, Unsettled
from harness.judge.tensors import in_each, leaves
from harness.judge.timing import MIN_ROUNDS
from harness.judge.weights import Weights

VERIFIED_CALLS = 320
"""How many random calls are verified in the first ten rounds together, and again each time that the rounds have become
e times as many: of a round after r others 320 / max(r, 10), besides the last. A candidate that leaves out calls passes
in less than 1% of all cases or gains less than 2%: tests/judge/test_chances.py."""
VERIFIED_QUICKLY = 240
"""The same of a quick measurement, in its first four rounds: it may end after these, and has fewer in all."""
MARKED = 3
"""Of outputs that are nearly all one value so many calls of a round are computed before it, to know where to look."""
UNSTABLE_VERIFIED = 2
"""Where rounding decides on outputs so many calls of a round, and the last, are asked how rounding may move them, which
takes long; as many in the rounds of a quick measurement as in ten. The others that are verified are glanced at."""


@dataclass(frozen=True)
class Verification:
    """Holds calls of the rounds of one measurement against the reference.

    `sets` are those that the candidate sees. `form` is that of all outputs in trials; `mostly_one_value` says so of
    them; `least` is the number of rounds after which the measurement may end; `tight`: both sides have no room in
    memory beside each other.
    """

    comparison: Comparison
    weights: Weights
    sets: InputSets
    form: Form | None = None
    mostly_one_value: bool = False
    least: int = MIN_ROUNDS
    tight: bool = False

    def choose(self, calls: int, rounds: int) -> Iterable[int]:
        """Which of so many calls to verify: the last one, which unfinished work would miss, and others at random."""
        others = verified_calls(calls, rounds, self.least)
        return {calls - 1, *secrets.SystemRandom().sample(range(calls), min(calls, others))}

    def mark(self, side: Side, written: Sequence[Written]) -> frozenset[int]:
        """Have it looked where outputs are not what they nearly all are, at calls that are drawn before the round.

        Of both sides alike: what is computed for it leaves caches and clocks as it does.
        """
        oracle = self.weights.oracle
        if not self.mostly_one_value or not oracle.repeats:
            return frozenset()
        calls = secrets.SystemRandom().sample(range(len(written)), min(MARKED, len(written)))
        places: dict[int, list[torch.Tensor | None]] = {}
        for call in calls:
            of = written[call]
            inputs = Given(of.contents, side.sets, of.slot).inputs()
            expected = reference_must_run(oracle, inputs, widened=False)
            places[call] = [rare_places(leaf) for leaf in leaves(expected.like)]
            of.contents.forget()
            del expected, inputs
        side.subject.look_at(places)
        return frozenset(calls)

    def verify(self, subject: Subject, written: dict[int, Written], seed: int) -> None:
        """Hold these calls of a round, which ran under that seed, against the reference.

        Raises WrongAnswer, SubjectFailed, and CannotBeTimed where there is no time left for doubts, or where the
        reference's outputs have another form than in trials.
        """
        oracle, calls = self.weights.oracle, list(written)
        changed, is_shared = written if oracle.changes_inputs else {}, self.sets.arena.shared
        left = self._left_in(changed) if is_shared else {}
        outputs = subject.outputs(calls)
        if not is_shared:  # what calls left there comes with their outputs
            left = self._left_in(changed)
        require_outputs(outputs, self.sets, oracle, "timed")
        if self.tight:  # what is compared was copied
            subject.release(trim=True)
        untouched = self.sets.is_apart and self.sets.untouched([of.slot for of in written.values()])
        calls_of = dict(zip(calls, outputs, strict=True))
        del outputs
        asked, doubted = secrets.choice(calls), self.doubted(calls)

        def hold(call: int, *, alone: bool) -> Kept | None:
            """Hold a call; where it may be settled with others, and is not held `alone`, what that takes instead."""
            of, output = written[call], calls_of[call]
            given, glance = Given(of.contents, self.sets, of.slot), call not in doubted
            question = Question(oracle, of.kind, given, seed, self.weights.hint, timed=True, glance=glance)
            if not oracle.changes_inputs and not untouched:  # says where
                require_memory(question)
            expected = self._expected(call, given.inputs(), seed)
            if call in left:
                self.comparison.hold_left(left.pop(call), expected, question)
            kept = None if alone or oracle.changes_inputs else kept_alike(output, expected)
            if kept is None:
                found = self.comparison.hold(output, expected, question)
                if call == asked:  # one that is settled has no error all over it
                    self.comparison.ask_fewer_bits(found, output, expected, question)
            self.comparison.let_go(question)
            of.contents.forget()
            return kept

        self._hold_each({call: of.kind for call, of in written.items()}, hold)

    def verify_steps(self, calls: Sequence[Alone]) -> None:
        """Hold calls that came one by one, by what was read of each when it was answered: by the way to read it that is
        nearest to what is expected. Raises WrongAnswer, and Unsettled where an output could not be read, or may lie in
        another way than is remembered.
        """
        oracle = self.weights.oracle
        if not all(call.outputs for call in calls):
            raise Unsettled

        def hold(call: int, *, alone: bool) -> Kept | None:
            of, seed, outputs = calls[call]
            given = Given(of.contents, self.sets, of.slot)
            expected = self._expected(0, given.inputs(), seed)
            of.contents.forget()
            output = nearest(outputs, expected)
            kept = None if alone or oracle.changes_inputs else kept_alike(output, expected)
            if kept is None:
                question = Question(oracle, of.kind, given, seed, self.weights.hint, timed=True, glance=True)
                try:
                    self.comparison.hold(output, expected, question)
                except WrongAnswer:
                    if len(outputs) < MOST_LAYOUTS or lies_so(output, expected):
                        raise
                    raise Unsettled from None
                self.comparison.let_go(question)
            return kept

        self._hold_each({call: each.written.kind for call, each in enumerate(calls)}, hold)

    def _hold_each(self, kinds: Mapping[int, str], hold: Callable[..., Kept | None]) -> None:
        """Hold calls, each on contents of a kind: those that may be settled together are, and others alone.

        `hold(call, alone=...)` holds a call, and says what settling it takes where it did not.
        """
        waiting: dict[int, Kept] = {}
        for call, kind in kinds.items():  # where the last of a kind was not settled others are not either, as a rule
            kept = hold(call, alone=kind not in self.comparison.settles)
            if kept is not None:
                waiting[call] = kept
        for call, is_settled in zip(waiting, self.comparison.settle(list(waiting.values())), strict=True):
            if not is_settled:
                hold(call, alone=True)

    def _expected(self, call: int, inputs: list[Any], seed: int) -> Expected:
        """What is expected of a call of a round that ran under a seed. Raises CannotBeTimed for another form."""
        oracle = self.weights.oracle
        before, at_once = call if oracle.random else 0, not oracle.repeats
        expected = reference_must_run(oracle, inputs, seed=seed, calls_before=before, quick=True, widened=at_once)
        self._require_form(expected.like)
        return expected

    def require_forms(self, written: dict[int, Written]) -> None:
        """Raise CannotBeTimed where the reference's outputs of one of these calls have another form than in trials.

        Asked where outputs of a subject lie otherwise than was known: it may have had to lay them out so.
        """
        for of in written.values():
            inputs = Given(of.contents, self.sets, of.slot).inputs()
            self._require_form(reference_must_run(self.weights.oracle, inputs, widened=False).like)
            of.contents.forget()

    def _require_form(self, output: Any) -> None:
        if self.form is not None and form_of(output) != self.form:
            raise CannotBeTimed(SHAPES_VARY)

    def doubted(self, calls: list[int]) -> set[int]:
        """Those of the verified calls that are asked how rounding moves them, if they are out of tolerance."""
        most = math.ceil(UNSTABLE_VERIFIED * MIN_ROUNDS / self.least)
        return {max(calls), *secrets.SystemRandom().sample(calls, min(len(calls), most))}

    def _left_in(self, written: dict[int, Written]) -> dict[int, list[Any]]:
        """Copies of what calls left in their arguments. On the host nothing of the subject's runs as they are made."""
        return {call: in_each(self.sets.arguments(of.slot), torch.clone) for call, of in written.items()}

    def require_intact(self, reference: Side, slots: Sequence[int]) -> None:
        """Raise where the reference's inputs are not what they were when its round began, and it changes none."""
        if not self.weights.oracle.changes_inputs and not reference.sets.untouched(slots):
            raise SubjectFailed("protocol", "the reference's inputs were changed while it was timed")


def verified_calls(calls: int, rounds: int, least: int = MIN_ROUNDS) -> int:
    """How many random calls of a round of so many are verified once so many rounds have been taken.

    `least` is the number of rounds after which a measurement may end.
    """
    in_all = VERIFIED_CALLS if least >= MIN_ROUNDS else VERIFIED_QUICKLY
    return min(calls, math.ceil(in_all / max(least, rounds)))
