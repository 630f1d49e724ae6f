"""The judge: from a subject that can be called to a verdict and a time.

    weights from a secret seed ─► trials: fresh inputs, the subject's outputs, the reference's ─► compare
        ─► rounds of candidate and reference in turn ─► a verdict, with its timing where the device allows one

Seeds are drawn here, after the candidate was loaded; none that is still to come is known to it.
"""

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from harness.judge.correctness import Agreement, Disagreement, Expected, all_finite, compare
from harness.judge.failure import SubjectFailed
from harness.judge.inputs import STRESS, InputSets, stressed
from harness.judge.oracle import Oracle, ReferenceRaised, reference_must_run
from harness.judge.problem import LoadedProblem
from harness.judge.subject import Subject
from harness.judge.timing import Plan, measure, sets_for
from harness.schema.record import Timing
from harness.schema.verdict import Correct, ErrorSummary, Failed, Stage, Verdict, Wrong
from harness.wire.memory import Arena

TRIALS: tuple[tuple[int, str], ...] = (
    (0, "nominal"),
    *((0, kind) for kind in STRESS),
    (1, "nominal"),
    (1, "signed"),
)
"""Weight seed and kind of inputs of each trial, in order. A model without weights skips the second seed."""


@dataclass(frozen=True)
class Bench:
    """The device as the judge uses it: memory to share, and a way to empty the last cache.

    `evict` also waits until the judge's own work on the device is done.
    """

    device: torch.device
    make_arena: Callable[[int], Arena]
    evict: Callable[[], None]


@dataclass
class Finding:
    """What came of it. `phases_s` are seconds by phase, in order."""

    verdict: Verdict
    timing: Timing | None = None
    phases_s: dict[str, float] = field(default_factory=dict)


class _WrongAnswer(Exception):
    def __init__(self, verdict: Wrong) -> None:
        super().__init__(verdict.detail)
        self.verdict = verdict


def judge(
    problem: LoadedProblem,
    candidate: Subject,
    open_reference: Callable[[], AbstractContextManager[Subject]] | None,
    *,
    bench: Bench,
    plan: Plan,
) -> Finding:
    """Try `candidate` on the problem and, where `open_reference` is given, time it against the reference.

    Raises ProblemError where the reference fails on its own inputs, torch.OutOfMemoryError where the judge's own
    device memory does not suffice.
    """
    case = _Case(problem, candidate, bench)
    try:
        verdict: Verdict = case.check()
        timing = None
        if open_reference is not None:
            timing = case.time(open_reference, plan)
            verdict = case.correct()
    except _WrongAnswer as wrong:
        verdict, timing = wrong.verdict, None
    except SubjectFailed as failed:
        verdict = Failed(stage=case.stage, reason=failed.reason, detail=failed.detail, log=failed.log)
        timing = None
    finally:
        case.close()
    return Finding(verdict, timing, case.phases_s)


class _Case:
    """One candidate under judgement: the state that trials and timing share."""

    def __init__(self, problem: LoadedProblem, candidate: Subject, bench: Bench) -> None:
        self._problem, self._candidate, self._bench = problem, candidate, bench
        self._arguments = problem.init_arguments()
        self._seeds = [secrets.randbits(62) for _ in range(2)]
        self._oracle: Oracle | None = None
        self._weights = -1
        self._sets: InputSets | None = None
        self._trials = 0
        self._agreement = Agreement()
        self._hint = ""
        self._call_s = 0.0
        self._output_bytes = 0
        self.stage: Stage = "load"
        self.phases_s: dict[str, float] = {}

    # ---- correctness -------------------------------------------------------------------------------------------

    def check(self) -> Correct:
        with self._phase("check"):
            for weights, kind in TRIALS:
                if weights and not self._has_weights():
                    continue
                self._use_weights(weights)
                self._trial(kind)
        return self.correct()

    def correct(self) -> Correct:
        found = self._agreement
        return Correct(
            trials=self._trials,
            error=ErrorSummary(
                relative=found.relative,
                reference_relative=found.reference_relative,
                of_tolerance=found.of_tolerance,
            ),
        )

    def _has_weights(self) -> bool:
        return bool(self._oracle and self._oracle.shapes())

    def _use_weights(self, index: int) -> None:
        if self._weights == index:
            return
        self.stage = "load"
        self._oracle = None  # one set of weights in memory at a time
        parameters = self._candidate.construct(self._seeds[index])
        self._oracle = Oracle(self._problem, self._arguments, self._seeds[index])
        self._weights = index
        self._hint = _weights_hint(self._oracle.shapes(), parameters)
        self.stage = "run"

    def _trial(self, kind: str) -> None:
        """One call on fresh inputs, compared; a stressed trial only where the reference stays finite."""
        assert self._oracle is not None
        inputs = self._problem.draw(secrets.randbits(62))
        if kind != "nominal":
            inputs = stressed(inputs, kind, secrets.randbits(62))
        sets = self._one_slot(inputs)
        sets.write(0, inputs)
        if kind == "nominal":
            expected = reference_must_run(self._oracle, inputs, self._problem.title)
        else:
            try:
                expected = self._oracle.expected(inputs)
            except ReferenceRaised:
                return
            if not all_finite(expected.like):
                return
        self._wait()
        calls = [0, 0] if kind == "nominal" and not self._oracle.changes_inputs else [0]
        result = self._candidate.round(calls)
        self._call_s = result.seconds / result.calls
        outputs = self._candidate.outputs(list(range(len(calls))))
        self._check_memory(sets, inputs, kind)
        for output in outputs:
            self._hold(output, expected, kind)
        self._output_bytes = _bytes_of(expected.like)
        del outputs, output
        self._candidate.release()

    def _one_slot(self, inputs: list[Any]) -> InputSets:
        if self._sets is None:
            self._sets = InputSets(inputs, 1, self._bench.make_arena)
            self._candidate.attach(self._sets)
        return self._sets

    def _check_memory(self, sets: InputSets, inputs: list[Any], trial: str) -> None:
        assert self._oracle is not None
        if not sets.red_zones_intact(0):
            detail = "wrote outside of its tensors: the bytes between the inputs were changed"
            raise _WrongAnswer(Wrong(reason="inputs-changed", detail=detail, trial=trial))
        if not self._oracle.changes_inputs and not sets.unchanged(0, inputs):
            detail = "changed its inputs in place, which the reference does not"
            raise _WrongAnswer(Wrong(reason="inputs-changed", detail=detail, trial=trial))

    def _hold(self, output: Any, expected: Expected, trial: str) -> None:
        """Compare one call's outputs. Raises `_WrongAnswer`."""
        found = compare(output, expected)
        self._trials += 1
        if isinstance(found, Disagreement):
            detail = found.detail + self._hint
            raise _WrongAnswer(Wrong(reason=found.reason, detail=detail, trial=trial, mismatch=found.mismatch))
        self._agreement = self._agreement | found

    # ---- time --------------------------------------------------------------------------------------------------

    def time(self, open_reference: Callable[[], AbstractContextManager[Subject]], plan: Plan) -> Timing:
        assert self._sets is not None
        with self._phase("time"):
            example = self._problem.draw(secrets.randbits(62))
            self._use_weights(0)
            self._drop_sets()
            call_s = self._estimate(example)
            count = sets_for(call_s, InputSets.size_of(example), self._output_bytes, plan)
            del example
            with open_reference() as reference:
                reference.construct(self._seeds[0])
                self._sets = sets = InputSets(self._problem.draw(0), count, self._bench.make_arena)
                self._candidate.attach(sets)
                reference.attach(sets)
                self.stage = "time"
                return measure(
                    self._candidate,
                    reference,
                    sets,
                    draw=lambda: self._problem.draw(secrets.randbits(62)),
                    evict=self._bench.evict,
                    verify=self._verify_round,
                    plan=plan,
                )

    def _estimate(self, example: list[Any]) -> float:
        """Seconds of one warm call, a first guess that the number of input sets is chosen by."""
        sets = self._one_slot(example)

        def best_of(calls: int) -> float:
            seconds = []
            for _ in range(3):
                sets.write(0, example)
                self._wait()
                seconds.append(self._candidate.round([0] * calls).seconds)
                self._candidate.release()
            return min(seconds)

        few, many = 1, 5 if self._call_s > 1e-3 else 21
        estimate = (best_of(many) - best_of(few)) / (many - few)  # the difference is free of the hand-over
        self._drop_sets()
        return max(estimate, 1e-6)

    def _verify_round(self, subject: Subject, written: dict[int, list[Any]]) -> None:
        assert self._oracle is not None
        for slot, inputs in written.items():
            (output,) = subject.outputs([slot])
            expected = reference_must_run(self._oracle, inputs, self._problem.title)
            self._hold(output, expected, "timed")

    # ---- housekeeping ------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        if self._bench.device.type == "cuda":
            torch.cuda.synchronize()

    def _drop_sets(self) -> None:
        if self._sets is not None:
            self._candidate.detach()
            self._wait()
            self._sets.close()
            self._sets = None

    def close(self) -> None:
        """Let go of shared memory; the candidate may be gone by now."""
        if self._sets is not None:
            self._wait()
            self._sets.close()
            self._sets = None

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            self.phases_s[name] = time.monotonic() - started


_Shapes = dict[str, tuple[str, tuple[int, ...]]]


def _weights_hint(reference: _Shapes, candidate: _Shapes) -> str:
    """A sentence for a candidate whose weights cannot be the reference's; empty where they look alike.

    Weights are equal by seed: they agree where both draw the same tensors in the same order. Names may differ.
    """
    if sorted(reference.values()) == sorted(candidate.values()):
        return ""
    missing = [name for name in reference if name not in candidate]
    named = f" (it has no {', '.join(missing[:3])})" if missing else ""
    return f". Its parameters are not the reference's{named}, so its weights may differ from those of the reference"


def _bytes_of(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size()
    if isinstance(value, dict):
        return sum(_bytes_of(item) for item in value.values())
    if isinstance(value, list | tuple):
        return sum(_bytes_of(item) for item in value)
    return 0
