"""The judge: from a subject that can be called to a verdict and a time.

    weights from a secret seed ─► trials: fresh inputs, the subject's outputs, the reference's ─► compare
        ─► rounds of candidate and reference in turn ─► a verdict, with its timing where the device allows one

Seeds are drawn here, after the candidate was loaded; none that is still to come is known to it.
"""

import itertools
import math
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, get_args

import torch

from harness.judge.conditioning import FAR, MOST, Other
from harness.judge.correctness import (
    RTOL,
    Agreement,
    Disagreement,
    Expected,
    Own,
    compare,
    known_of,
    not_finite,
)
from harness.judge.criteria import Call, Evidence, first_broken
from harness.judge.failure import RaceFound, SubjectFailed
from harness.judge.inputs import KINDS, LARGE_BYTES, STRESS, Contents, InputSets, permuted, stressed, without_contents
from harness.judge.oracle import FLOAT64_SECONDS, Oracle, ReferenceRaised, reference_must_run
from harness.judge.problem import LoadedProblem
from harness.judge.sampled import at_kept_places
from harness.judge.snapshot import mostly_one_value, rare_places
from harness.judge.spared import Spared
from harness.judge.subject import Round, Subject, Trace
from harness.judge.tensors import leaves, plain, same, size_of
from harness.judge.timing import (
    MIN_ROUNDS,
    QUICK_ROUNDS,
    ROUND_S,
    Device,
    Measured,
    Plan,
    Side,
    Written,
    beside_and_alone,
    measure,
    sets_for,
)
from harness.judge.together import MOST_BYTES, Together, can_be_drawn_together
from harness.judge.told import Told
from harness.schema.audit import Audit
from harness.schema.record import Timing, ToleranceName
from harness.schema.verdict import Correct, ErrorSummary, Mismatch, OracleName, Stage, Verdict, Wrong
from harness.transport.memory import Arena
from harness.transport.values import sample_of
from harness.transport.worker_messages import Order

TRIALS: tuple[tuple[int, str], ...] = (
    (0, "nominal"),
    *((0, kind) for kind in STRESS),
    (1, "nominal"),
    (1, "signed"),
)
"""Weight seed and kind of inputs of each trial, in order. A model without weights skips the second seed."""
FIXED_TRIALS = ((0, "permuted"),)
"""Further ones where nominal inputs, or integers among them, are the same each time."""


MOST_ESTIMATES, MOST_TOO_FEW = 3, 2
"""So often the number of calls in a round is chosen anew where the candidate turns out to be so fast that there should
have been more than so many times as many: what a round costs beyond its calls would be most of it."""
VERIFIED_CALLS = 320
"""How many random calls are verified in the first ten rounds together, and again each time that the rounds have become
e times as many: of a round after r others 320 / max(r, 10), besides the last. A candidate that leaves out calls passes
in less than 1% of all cases or gains less than 2%: tests/judge/test_chances.py."""
MARKED = 3
"""Of outputs that are nearly all one value so many calls of a round are computed before it, to know where to look."""
UNSTABLE_VERIFIED = 2
"""Where rounding decides on outputs so many calls of a round, and the last, are asked how rounding may move them, which
takes long; as many in the rounds of a quick measurement as in ten. Of the others that are verified see USUAL."""
USUAL = 2.0
"""What is out of tolerance in the other calls may be so many times the share of an output that it was, at most, in
those that were asked, and no more than half of the rest besides. Where it is more, the call is asked as well: one that
was left out is out of tolerance nearly all over."""
OFTEN_FLOAT64_SECONDS = 0.1
"""Where an error comes from is asked of nominal inputs only, where a float64 call of the reference takes longer."""
ASKING_SHARE, ASKING_TRIALS_S, LONG_ASKING_S = 0.25, 2.0, 1.0
"""It is asked of a random call of a round until timing is over, as far as that takes no more than this share of it; of
trials until so many seconds were spent on it."""
DOUBT_S, DOUBTS_S = 1.0, 20.0
"""How rounding moves the reference is asked of a call that is out of tolerance for so many seconds of the judge's CPU
time, of all of them together for so many: after that a trial is as it was found, and timed calls cannot be told."""
MOST_KNOWN_ERROR = 0.05
"""What is known of the reference's error over the mean of its outputs widens no tolerance by more than this of it."""
TRACED_CALLS = 3
_DETAIL = 2_000  # characters of what a disagreement says
_WATCHED_TIMES = 15
"""So many times as long a call may take at most while every access of emulated kernels is watched, mostly less."""
_RACE = "its outputs depend on the order in which threads run: they are others in the order {order!r} than ascending"
_TEMPORARIES = 3 << 30  # what comparing takes, and three processes' contexts


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


@dataclass
class _Asked:
    """Of which contents something is held: their kind, how they are had again, and under which seed the call ran.

    `glance`: no more is out of tolerance than was in other calls, if rounding decides on outputs; it is not asked then.
    `others` is what `Oracle.others` says of them, once it was asked for so many `seconds`; `further` the same by so
    many units of rounding that it tells what few elements may be.
    """

    kind: str
    inputs: Callable[[], list[Any]]
    seed: int
    timed: bool = False
    glance: bool = False
    others: tuple[Any, tuple[Other, ...]] = (None, ())
    further: tuple[Other, ...] = ()
    seconds: float = -1.0

    @property
    def trial(self) -> str:
        """What a verdict names it."""
        return "timed" if self.timed else self.kind


@dataclass
class Finding:
    """What came of it. `phases_s` are seconds by phase, in order.

    `evict_s` is the median time that the judge's eviction took before the rounds of one side, None without timing;
    `paused` whether the candidate took longer between its rounds than the reference;
    `other_weights` are its `Subject.weights` where its first answer was wrong and they, of the reference's names and
    shapes, had other values; `reduced` is the relative error of `Agreement.reduced`; `by_tf32` is a relative error
    that is allowed only because PyTorch takes convolutions in tf32 on a GPU, else 0.
    """

    verdict: Verdict
    timing: Timing | None = None
    trace: Trace | None = None
    evict_s: float | None = None
    paused: bool = False
    reduced: float = 0.0
    by_tf32: float = 0.0
    other_weights: Mapping[str, str] | None = None
    phases_s: dict[str, float] = field(default_factory=dict)


class _CannotBeTimed(Exception):
    """Rounding decides on outputs, and telling so of timed calls takes too long: the verdict stands without a time."""


class _WrongAnswer(Exception):
    def __init__(self, verdict: Wrong) -> None:
        super().__init__(verdict.detail)
        self.verdict = verdict


def judge(
    problem: LoadedProblem,
    candidate: Subject,
    open_reference: Callable[[], AbstractContextManager[Subject]] | None,
    *,
    audit: Audit,
    bench: Bench,
    plan: Plan,
    tolerance: ToleranceName = "scaled",
    orders_s: float = 0.0,
    by_name: Mapping[str, str] | None = None,
) -> Finding:
    """Try `candidate` on the problem and, where `open_reference` is given, time it against the reference.

    `audit` says what is known of the problem. `orders_s`: seconds to spend on calling the trials of an emulated
    candidate again, with the threads of its kernels in other orders. `by_name`: the candidate is given the reference's
    weights instead of only the seed that they were drawn with; it is what `Subject.weights` were under another seed,
    and fails where they are the same again. Raises ProblemError where the reference fails on its own inputs,
    torch.OutOfMemoryError where the judge's own device memory does not suffice.
    """
    case = _Case(problem, candidate, bench, audit, tolerance, orders_s=orders_s, by_name=by_name)
    measured: Measured | None = None
    trace: Trace | None = None
    try:
        verdict: Verdict = case.check()
        if open_reference is not None:
            if case.can_be_timed:
                measured, trace = case.time(open_reference, plan)
            verdict = case.correct()
    except _WrongAnswer as wrong:
        verdict, measured = wrong.verdict, None
    except _CannotBeTimed:
        verdict, measured = case.correct(), None
    except RaceFound as race:
        verdict, measured = Wrong(reason="data-race", detail=race.detail, trial=case.kind), None
    except SubjectFailed as failed:
        verdict = failed.at(case.stage)
        measured = None
    finally:
        case.close()
    return Finding(
        verdict,
        timing=measured.timing if measured else None,
        trace=trace,
        evict_s=measured.evict_s if measured else None,
        paused=measured.paused if measured else False,
        reduced=case.reduced,
        by_tf32=case.by_tf32,
        other_weights=candidate.weights if _wrong_at_once(case, verdict) else None,
        phases_s=case.phases_s,
    )


class _Case:
    """One candidate under judgement: the state that trials and timing share."""

    def __init__(
        self,
        problem: LoadedProblem,
        candidate: Subject,
        bench: Bench,
        audit: Audit,
        tolerance: ToleranceName,
        *,
        orders_s: float,
        by_name: Mapping[str, str] | None,
    ) -> None:
        self._problem, self._candidate, self._bench = problem, candidate, bench
        self._audit, self._tolerance, self._by_name = audit, tolerance, by_name
        self.other_weights = False
        self._arguments = problem.init_arguments()
        self._seeds = [secrets.randbits(62) for _ in range(2)]
        self._oracle: Oracle | None = None
        self._weights = -1
        self._sets: InputSets | None = None
        self._trials = 0
        self._stressed_kinds: list[str] = []
        self._agreement = Agreement()
        self._own = {one.kind: one for one in audit.own_errors}
        self._known: dict[str, tuple[Own, ...]] = {
            kind: (Own(min(one.relative, MOST_KNOWN_ERROR), one.share, min(one.usual, MOST_KNOWN_ERROR), one.rough),)
            for kind, one in self._own.items()
        }
        self._oracles: set[OracleName] = set()
        self._used_own: dict[str, float] = {}
        self._unstable: dict[str, float] = {"nominal": audit.unstable}
        self._usual: dict[tuple[str, int], float] = {}
        self._left_out: list[str] = []
        self._doubts_s = 0.0
        self.by_tf32 = 0.0
        self._agreed_in_class = self._is_nearer = False
        self._bitwise: bool | None = None
        self._asked_rounding: set[tuple[str, str]] = set()
        self._asking_s = {"trial": 0.0, "timed": 0.0}
        self._longest_asking_s = 0.0
        self._timed_from_s = 0.0
        self._least = MIN_ROUNDS
        self._hint = ""
        self._call_s = 0.0
        self._orders_s = orders_s
        self._order_trials = 0
        self._input_bytes = self._output_bytes = 0
        self._together: bool | None = None
        self._tight = False
        self._mostly_one_value = False
        self._spared = Spared()
        self._told = Told()
        self._not_finite = 0
        self.stage: Stage = "load"
        self.kind = "nominal"
        self.phases_s: dict[str, float] = {}

    @property
    def trials(self) -> int:
        return self._trials

    @property
    def reduced(self) -> float:
        """The relative error of `Agreement.reduced`; 0 where it is that of convolutions in tf32, flagged as such."""
        return 0.0 if self.by_tf32 else self._agreement.reduced

    # ---- correctness -------------------------------------------------------------------------------------------

    def check(self) -> Correct:
        with self._phase("check"):
            for weights, kind in self._planned_trials():
                if weights and not self._has_weights():
                    continue
                self._bench.proceed()
                self._use_weights(weights)
                self._trial(kind)
        return self.correct()

    def _planned_trials(self) -> Iterator[tuple[int, str]]:
        """Where integers never change, theirs comes second: whether the reference takes them decides on the rest.

        Last one near one, where all others together say nothing of some elements.
        """
        permutes = bool(self._audit.fixed_integers)
        yield TRIALS[0]
        yield from FIXED_TRIALS if permutes else ()
        yield from TRIALS[1:]
        yield from FIXED_TRIALS if self._audit.fixed and not permutes else ()
        if self._told.leaves_out:
            yield int(self._has_weights()), "units"

    def correct(self) -> Correct:
        found = self._agreement
        return Correct(
            trials=self._trials,
            error=ErrorSummary(
                relative=found.relative,
                reference_relative=max(found.reference_relative, *self._used_own.values(), 0.0),
                of_tolerance=found.of_tolerance,
                oracle=max(self._oracles, key=_WEAKER.index, default="float64"),
            ),
            repeatable=None if self._bitwise is None else "bitwise" if self._bitwise else "within-tolerance",
            left_out=tuple(self._left_out),
            weights="by-seed" if self._by_name is None else "by-name",
        )

    def _has_weights(self) -> bool:
        return bool(self._oracle and self._oracle.shapes())

    def _use_weights(self, index: int) -> None:
        if self._weights == index:
            return
        self.stage = "load"
        self._oracle = None  # one set of weights in memory at a time
        parameters = self._candidate.construct(self._seeds[index])
        self._oracle = Oracle(self._problem, self._arguments, self._seeds[index], random=self._audit.random)
        self._weights = index
        alike = self._oracle.shapes() == parameters
        if self._by_name is not None and (not alike or self._candidate.weights == self._by_name):
            raise SubjectFailed("exception", "draws the same weights from every seed, or others each time")
        if self._by_name is not None:
            self._candidate.take_weights(self._oracle.weights())
        drawn = {name: sample_of(value) for name, value in self._oracle.weights().items()} if alike else {}
        self.other_weights = alike and self._by_name is None and drawn != self._candidate.weights
        self._hint = _weights_hint(self._oracle.shapes(), parameters)
        self.stage = "run"

    def _trial(self, kind: str) -> None:
        """One call on fresh inputs, compared; a stressed trial only where the reference stays finite.

        A nominal one calls twice on the same inputs. Outputs leave poison behind for those of the next trial.
        """
        assert self._oracle is not None
        self.kind = kind
        contents = self._contents(kind)
        sets = self._one_slot(contents.get())
        sets.write(0, contents.get())
        seed = secrets.randbits(62)
        expected = self._expected(contents, sets, kind, seed)
        if expected is None:
            return
        if kind != "nominal" and not (self._audit.fixed and self._is_nominal(kind)):
            self._stressed_kinds.append(kind)
        if self._oracle.changes_inputs:
            contents.forget()
            sets.write(0, contents.get())
        if contents.large:
            contents.forget()
        sets.reveal()
        self._wait()
        self._learn(expected.like)
        large = contents.large or self._output_bytes > LARGE_BYTES  # of two calls both outputs would be held
        once = self._oracle.changes_inputs or self._audit.random or large
        twice = kind == "nominal" and not once and not self._orders_s  # there it is called again anyway
        calls = [0, 0] if twice else [0]
        result = self._called(calls, seed)
        self._call_s = result.seconds / result.calls
        outputs = self._candidate.outputs(list(range(len(calls))), like=expected.like)
        if expected.exact is expected.like:
            expected = replace(expected, known=self._known.get(kind, ()))
            own = self._own.get(kind)
            self._oracles.add(own.oracle if own else "as-written")
            self._used_own[kind] = own.relative if own else 0.0
        else:
            self._oracles.add("float64")
        asked = _Asked(kind, partial(self._inputs, contents, sets, 0), seed)
        wrong = None
        try:
            if not contents.large:
                self._check_memory(sets, contents, kind)
            self._check_left(sets.arguments(0), expected, kind)
            self._check_aliases(sets, outputs, kind)
            found = self._hold_all(outputs, expected, asked)
        except _WrongAnswer as answer:
            wrong = answer.verdict
            if not self._orders_s:
                raise
        if self._orders_s:
            self._in_other_orders(contents, sets, expected, asked, outputs[0], wrong)
        self._ask_rounding(found, outputs[0], expected, lambda: self._inputs(contents, sets, 0), kind, "trial")
        del outputs, expected
        self._candidate.release(poison=True)
        if contents.large:  # there is room to draw them again now
            self._check_memory(sets, contents, kind)

    def _learn(self, said: Any) -> None:
        """What the reference's outputs are like."""
        assert self._oracle is not None
        self._output_bytes = size_of(said)
        self._mostly_one_value |= any(mostly_one_value(leaf) for leaf in leaves(said))
        self._told.learn(said)
        if self._weights == 0 and not self._audit.random:
            self._spared.learn(said, self._oracle.model)

    def _called(self, calls: list[int], seed: int) -> Round:
        """A round of a trial; that of an emulated candidate with its threads in ascending order."""
        if not self._orders_s:
            return self._candidate.round(calls, seed=seed)
        return self._candidate.round(calls, seed=seed, order=Order(kind="ascending"))

    def _is_nominal(self, kind: str) -> bool:
        """Whether contents of a kind are nominal ones all the same: what nothing can change."""
        return same(self._contents(kind).get(), self._contents("nominal").get())

    def _contents(self, kind: str) -> Contents:
        seed, stress_seed = secrets.randbits(62), secrets.randbits(62)

        def draw() -> list[Any]:
            inputs = self._problem.draw(seed)
            if kind == "permuted" or (kind != "nominal" and "permuted" in self._stressed_kinds):
                inputs = permuted(inputs, stress_seed, self._audit.fixed_integers or None)
            return stressed(inputs, kind, stress_seed) if kind in KINDS else inputs

        return Contents(draw)

    def _contents_of_round(self, kind: str, calls: int) -> Together | list[Contents]:
        """Contents of a kind for so many calls, drawn together where that can be and does not take much memory."""
        permutes = kind == "permuted" or "permuted" in self._stressed_kinds
        small = calls * self._input_bytes <= MOST_BYTES and not self._tight
        if calls == 1 or permutes or not small:
            return [self._contents(kind) for _ in range(calls)]
        if self._together is None:
            self._together = can_be_drawn_together(self._problem)
        if not self._together:
            return [self._contents(kind) for _ in range(calls)]
        seed, stress_seed = secrets.randbits(62), secrets.randbits(62)

        def draw() -> list[Any]:
            inputs = self._problem.draw_together(seed, calls)
            return stressed(inputs, kind, stress_seed) if kind in KINDS else inputs

        return Together(draw)

    def _expected(self, contents: Contents, sets: InputSets, kind: str, seed: int) -> Expected | None:
        """What the reference says; None where a stressed trial is none because it raises or overflows.

        What it fills in as infinite, under a mask, is so in nominal trials too.
        """
        assert self._oracle is not None
        inputs = self._inputs(contents, sets, 0)
        if kind == "nominal":
            expected = reference_must_run(self._oracle, inputs, self._problem.title, seed=seed)
            self._not_finite = not_finite(expected.like)
            return expected
        try:
            expected = self._oracle.expected(inputs, seed=seed)
        except ReferenceRaised:
            return None
        return expected if not_finite(expected.like) <= self._not_finite else None

    def _inputs(self, contents: Contents, sets: InputSets, slot: int) -> list[Any]:
        """What a slot was given: drawn again, or large ones where they were written. Never from shared memory."""
        apart = sets.written_apart(slot) if contents.large else None
        if apart is None:
            return contents.get()
        contents.forget()
        return apart

    def _one_slot(self, inputs: list[Any]) -> InputSets:
        if self._sets is None:
            self._sets = InputSets(inputs, 1, self._bench.make_arena)
            self._candidate.attach(self._sets)
        return self._sets

    def _check_memory(self, sets: InputSets, contents: Contents, trial: str, slot: int = 0) -> None:
        self._hold_to_criteria("memory", sets, trial, slot=slot, inputs=lambda: self._inputs(contents, sets, slot))

    def _check_left(self, arguments: list[Any], expected: Expected, trial: str) -> None:
        """Hold what a call left in its arguments against what the reference left there, where it changes them."""
        found = None if expected.left is None else compare(arguments, expected.left, self._tolerance)
        if isinstance(found, Disagreement) and found.reason in ("values", "non-finite"):
            named = found.detail[:_DETAIL].replace("output[", "input[", 1)
            detail = f"left its inputs otherwise than the reference does, {named}"
            raise _WrongAnswer(Wrong(reason="inputs-changed", detail=detail, trial=trial, mismatch=found.mismatch))

    def _check_aliases(self, sets: InputSets, outputs: list[Any], trial: str) -> None:
        self._hold_to_criteria("outputs", sets, trial, outputs=outputs)

    def _hold_to_criteria(
        self,
        evidence: Evidence,
        sets: InputSets,
        trial: str,
        *,
        slot: int = 0,
        inputs: Callable[[], list[Any]] = list,
        outputs: Sequence[Any] = (),
    ) -> None:
        assert self._oracle is not None
        call = Call(sets, slot, inputs, list(outputs), self._oracle.changes_inputs, self._oracle.aliases_inputs)
        broken = first_broken(evidence, call)
        if broken is not None:
            raise _WrongAnswer(Wrong(reason=broken[0], detail=broken[1], trial=trial))

    def _hold_all(self, outputs: list[Any], expected: Expected, asked: "_Asked") -> Agreement:
        """Compare outputs of calls on equal inputs with the reference, and with each other. How the first agrees."""
        found = self._hold(outputs[0], expected, asked)
        for again in outputs[1:]:
            try:
                self._hold(again, expected, asked)
            except _WrongAnswer as wrong:
                raise _WrongAnswer(_not_repeatable(wrong.verdict)) from None
            self._bitwise = same(outputs[0], again) and self._bitwise is not False
        return found

    def _in_other_orders(
        self,
        contents: Contents,
        sets: InputSets,
        expected: Expected,
        asked: "_Asked",
        first: Any,
        wrong: Wrong | None,
    ) -> None:
        """Call a trial again with the threads of kernels in other orders, none of which may decide on the outputs.

        `first` is what it gave in ascending order, `wrong` what was found of that. In one of the orders every access is
        watched. Raises `_WrongAnswer`, and SubjectFailed where what is watched shows a fault.
        """
        assert self._oracle is not None
        self._order_trials += 1
        call_s = self._call_s
        for order in self._orders():
            costs_s = call_s * (_WATCHED_TIMES if order.watch != "nothing" else 1)
            if costs_s > self._orders_s:
                continue
            started = time.monotonic()
            again = self._again(contents, sets, expected, order, asked.seed)
            if wrong is not None and wrong.reason not in ("values", "non-finite"):
                continue  # looked for a fault that explains it
            other = self._wrong_by(again, expected, asked)
            if (other is None) != (wrong is None) or (wrong and _are_apart(first, again, self._tolerance)):
                same_order = self._again(contents, sets, expected, Order(kind="ascending"), asked.seed)
                if _are_apart(first, same_order, self._tolerance):  # by chance, and not by the order
                    found = wrong or other
                    assert found is not None
                    raise _WrongAnswer(found if wrong else _not_repeatable(found))
                self._explain_race(order, asked.seed)
                shown = other or wrong
                mismatch = shown.mismatch if shown else None
                detail = _RACE.format(order=order.kind)
                raise _WrongAnswer(Wrong(reason="data-race", detail=detail, trial=self.kind, mismatch=mismatch))
            if wrong is None:
                self._bitwise = same(first, again) and self._bitwise is not False
            self._orders_s = max(1e-9, self._orders_s - (time.monotonic() - started))
        if wrong is not None:
            raise _WrongAnswer(wrong)

    def _again(self, contents: Contents, sets: InputSets, expected: Expected, order: Order, seed: int) -> Any:
        """What a trial's candidate gives once more, in this order."""
        assert self._oracle is not None
        if self._oracle.changes_inputs:
            contents.forget()
            sets.write(0, contents.get())
        sets.reveal()
        self._candidate.release(poison=True)
        self._candidate.round([0], seed=seed, order=order)
        return self._candidate.outputs([0], like=expected.like)[0]

    def _wrong_by(self, output: Any, expected: Expected, asked: "_Asked") -> Wrong | None:
        """What is wrong with an output; None where nothing is."""
        try:
            self._hold(output, expected, asked)
        except _WrongAnswer as wrong:
            return wrong.verdict
        return None

    def _orders(self) -> tuple[Order, Order]:
        """Two orders besides the ascending one; the one that is watched changes from trial to trial."""
        first = self._order_trials % 2
        watch: tuple[Literal["faults", "nothing"], ...] = ("faults", "nothing")
        at_random: Literal["by-warps", "by-threads"] = "by-warps" if self._order_trials % 4 > 1 else "by-threads"
        return (
            Order(kind="descending", seed=secrets.randbits(63), watch=watch[first]),
            Order(kind=at_random, seed=secrets.randbits(63), watch=watch[1 - first]),
        )

    def _explain_race(self, order: Order, seed: int) -> None:
        """Raises RaceFound where watching every access shows which one it is."""
        if self._call_s * _WATCHED_TIMES > self._orders_s:
            return
        for kind in (order.kind, "ascending"):
            with _unless_a_race():
                strictly = Order(kind=kind, seed=order.seed, watch="strictly")
                self._candidate.round([0], seed=seed, order=strictly)

    def _ask_rounding(
        self, found: Agreement, output: Any, expected: Expected, inputs: Callable[[], list[Any]], kind: str, phase: str
    ) -> None:
        """Ask whether an error all over an output is a smaller type's. What one call shows says nothing of the next.

        Of trials each is asked about, of timed rounds the first of each kind of contents where that does not take
        long, and of later ones as many as there is time for.
        """
        assert self._oracle is not None
        if not found.spread or self._agreement.reduced:
            return
        again = (kind, phase) in self._asked_rounding
        started = time.monotonic()
        spent_s = self._asking_s[phase]
        if (
            phase == "timed"
            and (again or self._longest_asking_s > LONG_ASKING_S)
            and spent_s > ASKING_SHARE * (started - self._timed_from_s)
        ):
            return
        if phase == "trial" and spent_s > ASKING_TRIALS_S:
            return
        self._asked_rounding.add((kind, phase))
        most_s = FLOAT64_SECONDS if (kind, phase) == ("nominal", "trial") else OFTEN_FLOAT64_SECONDS
        if self._oracle.coarse(output, expected, inputs(), most_s=most_s):
            self._agreement = self._agreement | Agreement(reduced=found.spread)
        seconds = time.monotonic() - started
        self._asking_s[phase] += seconds
        self._longest_asking_s = max(self._longest_asking_s, seconds)

    def _hold(self, output: Any, expected: Expected, asked: "_Asked") -> Agreement:
        """Compare one call's outputs, once more where rounding may explain what differs. Raises `_WrongAnswer`."""
        found = compare(*at_kept_places(output, expected), self._tolerance)
        self._trials += 1
        if isinstance(found, Disagreement) and found.reason == "values":
            found = self._hold_in_tf32(output, expected, asked, found)
        elif isinstance(found, Agreement):
            self._ask_tf32(output, expected, asked, found)
        if isinstance(found, Disagreement) and found.reason in ("values", "non-finite"):
            usual = asked.glance and self._is_usual(output, expected, asked)
            found = Agreement() if usual else self._hold_in_doubt(output, expected, asked, found)
        if isinstance(found, Disagreement):
            detail = found.detail[:_DETAIL] + self._hint  # names of types and keys are as long as a candidate likes
            raise _WrongAnswer(Wrong(reason=found.reason, detail=detail, trial=asked.trial, mismatch=found.mismatch))
        if self.by_tf32 or (found.reduced and self._is_nearer_than_tf32(output, expected, asked)):
            found = replace(found, spread=0.0, reduced=0.0)
        known = self._known.get(asked.kind, ())
        if found.own:
            self._known[asked.kind] = tuple(known_of(known, at) | own for at, own in enumerate(found.own))
        self._agreement = self._agreement | found
        return found

    def _hold_in_tf32(
        self, output: Any, expected: Expected, asked: "_Asked", found: Disagreement
    ) -> Agreement | Disagreement:
        """Compare again with what tf32 leaves of the reference's convolutions, whatever it is that computed them here.

        A GPU takes them in tf32 or not by sizes and layouts, a CPU never does. What agrees with them in tf32 alone is
        flagged; what agrees with them without it is nearer to the truth than the reference as written. The time for it
        is that for doubts.
        """
        if self._doubts_s > DOUBTS_S:
            if self._agreed_in_class and asked.timed:
                raise _CannotBeTimed
            return found
        started = time.process_time()
        try:
            for tf32 in (True,) if expected.exact is not expected.like else (False, True):
                again = self._in_class(output, expected, asked, tf32=tf32)
                if isinstance(again, Agreement):
                    self._agreed_in_class = True
                    self.by_tf32 = max(self.by_tf32, again.relative) if tf32 else self.by_tf32
                    return replace(again, spread=0.0, reduced=0.0, own=())
        except torch.OutOfMemoryError:  # what cannot be asked excuses nothing, and is no fault
            self._bench.clock.trim()
        finally:
            self._doubts_s += time.process_time() - started
        return found

    def _ask_tf32(self, output: Any, expected: Expected, asked: "_Asked", found: Agreement) -> None:
        """Ask in trials on a GPU, until it was found once, whether what agrees does so only because of tf32."""
        tolerance = RTOL[torch.float32]
        if self._bench.device.type != "cuda" or asked.timed or self.by_tf32 or found.relative <= tolerance:
            return
        with suppress(torch.OutOfMemoryError):
            if isinstance(self._in_class(output, expected, asked, tf32=False), Disagreement):
                self.by_tf32 = found.relative

    def _is_nearer_than_tf32(self, output: Any, expected: Expected, asked: "_Asked") -> bool:
        """Whether an error all over an output is that of a reference as written, which took tf32 and has no float64.

        Once it was, it is not asked again: tf32 in convolutions is what the reference has as well.
        """
        can_be = self._bench.device.type == "cuda" and expected.exact is expected.like
        if can_be and not self._is_nearer and not self._agreement.reduced:
            with suppress(torch.OutOfMemoryError):
                exact = self._in_class(output, expected, asked, tf32=False, is_exact=True)
                self._is_nearer = isinstance(exact, Agreement) and not exact.reduced
        return can_be and self._is_nearer

    def _in_class(
        self, output: Any, expected: Expected, asked: "_Asked", *, tf32: bool, is_exact: bool = False
    ) -> Agreement | Disagreement | None:
        """Compare with the own error of the reference with its convolutions in tf32, or without any.

        `is_exact`: with that in the place of what is expected. None where it has none that may be, or where that
        cannot be told.
        """
        assert self._oracle is not None
        if self._oracle.changes_inputs or self._audit.random:
            return None
        like = self._oracle.in_class(expected.like, asked.inputs(), seed=asked.seed, tf32=tf32)
        if like is None:
            return None
        other = replace(expected, like=like, exact=like if is_exact else expected.exact)
        return compare(*at_kept_places(output, other), self._tolerance)

    def _hold_in_doubt(
        self, output: Any, expected: Expected, asked: "_Asked", found: Disagreement
    ) -> Agreement | Disagreement:
        """Compare again, with what rounding alone moves of the reference's outputs on these very contents.

        Once the time for that is spent a trial is as it was found. A timed call cannot be told then, and what cannot be
        told is not excused: raises `_CannotBeTimed`.
        """
        assert self._oracle is not None
        if self._oracle.changes_inputs or self._audit.random:
            return found
        share = self._unstable.get(asked.kind, 0.0)
        if self._doubts_s > DOUBTS_S:
            if asked.timed and share:
                raise _CannotBeTimed
            return self._as_before(expected, asked, found)
        started = time.process_time()
        try:
            again = self._compare_doubted(output, expected, asked, found)
        except torch.OutOfMemoryError:  # what cannot be asked excuses nothing, and is no fault
            self._bench.clock.trim()
            return found
        finally:
            self._doubts_s += time.process_time() - started
        if again is None:
            return found
        if isinstance(again, Disagreement):
            return again
        self._note_usual(output, expected, asked)
        self._unstable[asked.kind] = max(share, again.unstable)
        if again.unstable > MOST and asked.kind not in self._left_out:
            self._left_out.append(asked.kind)
            if asked.kind in self._stressed_kinds and len(self._stressed_kinds) > 1:
                self._stressed_kinds.remove(asked.kind)  # nor is it timed on
        return again

    def _out_of_tolerance(self, output: Any, expected: Expected) -> list[float] | None:
        """Which share of each tensor's elements is out of tolerance; None where something else is wrong as well."""
        output, expected = at_kept_places(output, expected)
        if any(not isinstance(one, torch.Tensor) for one in plain(output)):
            return None
        shares = []
        for place, parts in enumerate(zip(*map(leaves, (output, expected.like, expected.exact)), strict=True)):
            actual, like, exact = parts
            known = (known_of(expected.known, place),)
            found = compare(actual, Expected(like, exact, known=known), self._tolerance)
            if isinstance(found, Disagreement) and (found.reason != "values" or found.mismatch is None):
                return None
            mismatch = found.mismatch if isinstance(found, Disagreement) else None
            shares.append(mismatch.mismatched / mismatch.elements if mismatch else 0.0)
        return shares

    def _note_usual(self, output: Any, expected: Expected, asked: "_Asked") -> None:
        """Remember how much of an output was out of tolerance that rounding explains."""
        for place, share in enumerate(self._out_of_tolerance(output, expected) or ()):
            self._usual[asked.kind, place] = max(share, self._usual.get((asked.kind, place), 0.0))

    def _is_usual(self, output: Any, expected: Expected, asked: "_Asked") -> bool:
        """Whether no more of an output is out of tolerance than rounding explained in other calls on such contents."""
        shares = self._out_of_tolerance(output, expected)
        usual = (self._usual.get((asked.kind, place), 0.0) for place in itertools.count())
        return shares is not None and all(
            share <= min(USUAL * most, (1 + most) / 2) for share, most in zip(shares, usual, strict=False)
        )

    def _as_before(self, expected: Expected, asked: "_Asked", found: Disagreement) -> Agreement | Disagreement:
        """What is said of a trial that nobody has time to ask about.

        It is left out where rounding decided on the reference's one output on every other kind of inputs.
        """
        nothing_told = len(leaves(expected.like)) == 1 and min(self._unstable.values()) > MOST
        if asked.timed or found.reason != "values" or not nothing_told:
            return found
        self._unstable[asked.kind] = 1.0
        if asked.kind not in self._left_out:
            self._left_out.append(asked.kind)
        return Agreement(unstable=1.0)

    def _compare_doubted(
        self, output: Any, expected: Expected, asked: "_Asked", found: Disagreement
    ) -> Agreement | Disagreement | None:
        """Compare with what the reference says where its rounding falls otherwise; None where that cannot be asked.

        The fewest samples first: where they explain hardly anything of what was found, more would not, and where they
        took all the time there are no more.
        """
        assert self._oracle is not None
        again: Agreement | Disagreement = found
        started = time.process_time()
        for seconds in (0.0, DOUBT_S):
            if seconds and time.process_time() - started > seconds:
                break
            if asked.seconds < seconds:
                asked.others = self._oracle.others(expected.like, asked.inputs(), seed=asked.seed, seconds=seconds)
                asked.seconds = seconds
            exact, others = asked.others
            if not others:
                return None
            doubted = replace(expected, others=others)
            if exact is not None:
                doubted = replace(doubted, exact=exact, known=())
            again = compare(*at_kept_places(output, doubted), self._tolerance)
            if isinstance(again, Agreement) or _hardly_less(again.mismatch, found.mismatch):
                break
        if isinstance(again, Disagreement) and _few(again.mismatch):
            return self._compare_further(output, expected, asked, again)
        return again

    def _compare_further(
        self, output: Any, expected: Expected, asked: "_Asked", found: Disagreement
    ) -> Agreement | Disagreement:
        """Compare once more where few elements are left: no sample moved them, and a further one may."""
        assert self._oracle is not None
        if not asked.further:
            given = asked.inputs()
            _, asked.further = self._oracle.others(expected.like, given, seed=asked.seed, seconds=DOUBT_S, scales=FAR)
        exact, others = asked.others
        doubted = replace(expected, others=(*others, *asked.further))
        if exact is not None:
            doubted = replace(doubted, exact=exact, known=())
        again = compare(*at_kept_places(output, doubted), self._tolerance)
        return again if isinstance(again, Agreement) else found

    # ---- time --------------------------------------------------------------------------------------------------

    def time(
        self, open_reference: Callable[[], AbstractContextManager[Subject]], plan: Plan
    ) -> tuple[Measured, Trace | None]:
        """Time the candidate against the reference; a disturbed measurement is taken once more.

        Then a few calls under the candidate's own profiler, where that is wanted; then the candidate is ended, and the
        reference timed alone. All of it with the device for this judge alone.
        """
        self._bench.take()
        self._least = QUICK_ROUNDS if plan.quick else MIN_ROUNDS
        with self._phase("time"):
            self._timed_from_s = time.monotonic()
            self._use_weights(0)
            kinds = self._timed_kinds()
            drawn = self._contents(kinds[0]).get()
            example = without_contents(drawn)
            self._drop_sets()
            call_s = self._estimate(drawn, plan.bytes_budget)
            del drawn
        with open_reference() as subject:
            with self._phase("time"):
                for one in (self._candidate, subject):
                    one.spare(self._spared.places)
                subject.construct(self._seeds[0])
                self.stage = "time"
            for _ in range(MOST_ESTIMATES):
                count = self._count(example, call_s, plan)
                with self._two_sides(example, count, subject) as (candidate, reference):
                    with self._phase("time"):
                        measured = self._measure(candidate, reference, kinds, plan)
                        if measured.timing.conditions and measured.timing.conditions.disturbed:
                            measured = self._measure(candidate, reference, kinds, plan)
                    call_s = measured.timing.candidate_ms / 1e3
                    if self._count(example, call_s, plan) > MOST_TOO_FEW * count:
                        self._drop_sets()
                        continue  # it was slower when it was asked how long it takes
                    wanted = plan.trace == "always" or (
                        plan.trace == "faster" and measured.timing.conclusion == "faster"
                    )
                    trace = self._trace() if wanted else None
                    with self._phase("alone"):
                        return self._alone(measured, candidate, reference, kinds), trace
        raise SubjectFailed(
            "protocol", "was slower each time that it was asked how long it takes than when it was timed"
        )

    def _count(self, example: list[Any], call_s: float, plan: Plan) -> int:
        """How many sets a round has; decides whether both sides have room beside each other."""
        slot_bytes = self._input_bytes = InputSets.size_of(example)
        in_all = slot_bytes * self._bench.arena_copies
        count = sets_for(call_s, self._audit.call_s or call_s, in_all, self._output_bytes, plan)
        # Besides, the judge draws the contents of one call, or computes one output, and compares.
        outputs, one = count * self._output_bytes, max(slot_bytes, self._output_bytes)
        self._tight = count * in_all + 2 * outputs + one + _TEMPORARIES > plan.memory_bytes
        return count

    def _alone(
        self, measured: Measured, candidate: Side, reference: Side, kinds: tuple[str, tuple[str, ...]]
    ) -> Measured:
        """End the candidate, and hold what was measured against the reference alone."""
        self._candidate.end()
        if self._tight:
            candidate.sets.put_away()
            reference.sets.lay_out()
            reference.subject.attach(reference.sets)
        clock, draw = self._bench.clock, self._contents_of_round
        return beside_and_alone(measured, reference, draw=draw, base=kinds[0], kinds=kinds[1], device=clock)

    @contextmanager
    def _two_sides(self, example: list[Any], count: int, reference: Subject) -> Iterator[tuple[Side, Side]]:
        """Candidate and reference, each with sets of its own laid before it, as far as there is room for both."""
        self._candidate.release(trim=self._tight)
        self._bench.clock.trim()
        self._sets = mine = InputSets(example, count, self._bench.make_arena)
        if self._tight:
            mine.put_away()
        theirs = InputSets(example, count, self._bench.make_arena, beside=mine)
        try:
            if self._tight:
                theirs.put_away()
            else:
                self._candidate.attach(mine)
                reference.attach(theirs)
            yield Side(self._candidate, mine), Side(reference, theirs)
            reference.detach()
        finally:
            theirs.close()

    def _measure(self, candidate: Side, reference: Side, kinds: tuple[str, tuple[str, ...]], plan: Plan) -> Measured:
        return measure(
            candidate,
            reference,
            draw=self._contents_of_round,
            base=kinds[0],
            kinds=kinds[1],
            device=self._bench.clock,
            verify=self._verify_round,
            intact=self._require_intact,
            choose=partial(self._choose, least=self._least),
            mark=self._mark,
            proceed=self._bench.proceed,
            plan=plan,
            tight=self._tight,
        )

    def _require_intact(self, reference: Side, slots: Sequence[int]) -> None:
        """Raise where the reference's inputs are not what they were when its round began, and it changes none."""
        assert self._oracle is not None
        if not self._oracle.changes_inputs and not reference.sets.untouched(slots):
            raise SubjectFailed("protocol", "the reference's inputs were changed while it was timed")

    def _trace(self) -> Trace | None:
        """A few calls under the candidate's own profiler.

        None where it fails at that: the profiler explains, and is not what a candidate was asked for.
        """
        assert self._sets is not None
        with self._phase("trace"), suppress(SubjectFailed):
            return self._candidate.trace([call % self._sets.count for call in range(TRACED_CALLS)])
        return None

    @property
    def can_be_timed(self) -> bool:
        """Whether there are contents whose answers no candidate can remember. Ask once it was checked."""
        return not self._audit.fixed or bool(self._stressed_kinds)

    def _timed_kinds(self) -> tuple[str, tuple[str, ...]]:
        """The kind of inputs that every other block of rounds has, and those that the rest has.

        Nominal ones are left out where they come out alike each time they are drawn.
        """
        others = tuple(self._stressed_kinds)
        if self._audit.fixed:
            return others[0], others[1:]
        return "nominal", others

    def _choose(self, calls: int, rounds: int, *, least: int = MIN_ROUNDS) -> Iterable[int]:
        """Which of so many calls to verify: the last one, which unfinished work would miss, and others at random."""
        others = verified_calls(calls, rounds, least)
        return {calls - 1, *secrets.SystemRandom().sample(range(calls), min(calls, others))}

    def _mark(self, side: Side, written: Sequence[Written]) -> frozenset[int]:
        """Have it looked where outputs are not what they nearly all are, at calls that are drawn before the round.

        Of both sides alike: what is computed for it leaves caches and clocks as it does.
        """
        assert self._oracle is not None
        if not self._mostly_one_value or self._audit.random or self._oracle.changes_inputs:
            return frozenset()
        calls = secrets.SystemRandom().sample(range(len(written)), min(MARKED, len(written)))
        places: dict[int, list[torch.Tensor | None]] = {}
        for call in calls:
            of = written[call]
            inputs = self._inputs(of.contents, side.sets, of.slot)
            expected = reference_must_run(self._oracle, inputs, self._problem.title, quick=True)
            places[call] = [rare_places(leaf) for leaf in leaves(expected.like)]
            of.contents.forget()
            del expected, inputs
        side.subject.look_at(places)
        return frozenset(calls)

    def _estimate(self, example: list[Any], bytes_budget: int) -> float:
        """Seconds of one warm call, a first guess that the number of input sets is chosen by."""
        sets = self._one_slot(example)

        def best_of(calls: int) -> float:
            seconds = []
            for _ in range(3):
                sets.write(0, example)
                sets.reveal()
                self._wait()
                seconds.append(self._candidate.round([0] * calls, seed=0).seconds)
                self._candidate.release()
            return min(seconds)

        fits = bytes_budget // max(1, self._output_bytes)
        many = 1 if self._call_s > ROUND_S or fits < 5 else 5 if self._call_s > 1e-3 else 21
        one = best_of(1)
        estimate = one if many == 1 else (best_of(many) - one) / (many - 1)  # the difference is free of the hand-over
        self._drop_sets()
        return max(estimate, 1e-6)

    def _verify_round(self, subject: Subject, written: dict[int, Written], seed: int) -> None:
        assert self._oracle is not None
        assert self._sets is not None
        left = self._left_in(written) if self._oracle.changes_inputs else {}
        outputs = subject.outputs(list(written))
        self._check_aliases(self._sets, outputs, "timed")
        if self._tight:  # what is compared was copied
            subject.release(trim=True)
        asked = secrets.choice(list(written))
        doubted = self._doubted(list(written))
        untouched = self._sets.is_apart and self._sets.untouched([of.slot for of in written.values()])
        for (call, of), output in zip(written.items(), outputs, strict=True):
            if not self._oracle.changes_inputs and not untouched:  # says where
                self._check_memory(self._sets, of.contents, "timed", of.slot)
            inputs = self._inputs(of.contents, self._sets, of.slot)
            before = call if self._audit.random else 0
            expected = reference_must_run(
                self._oracle, inputs, self._problem.title, seed=seed, calls_before=before, quick=True
            )
            known = self._known.get(of.kind, ())
            again = partial(self._inputs, of.contents, self._sets, of.slot)
            asked_of = _Asked(of.kind, again, seed, timed=True, glance=call not in doubted)
            if expected.exact is expected.like:  # elsewhere its own error is at hand
                expected = replace(expected, known=known)
            if call in left:
                self._check_left(left.pop(call), expected, "timed")
            found = self._hold(output, expected, asked_of)
            if call == asked:
                self._ask_rounding(found, output, expected, again, of.kind, "timed")
            of.contents.forget()
            del expected, inputs

    def _doubted(self, calls: list[int]) -> set[int]:
        """Those of the verified calls that are asked how rounding moves them, if they are out of tolerance."""
        most = math.ceil(UNSTABLE_VERIFIED * MIN_ROUNDS / self._least)
        return {max(calls), *secrets.SystemRandom().sample(calls, min(len(calls), most))}

    def _left_in(self, written: dict[int, Written]) -> dict[int, list[Any]]:
        """Copies of what calls left in their arguments. On the host nothing of the subject's runs as they are made."""
        assert self._sets is not None
        sets = self._sets
        return {
            call: [value.clone() if isinstance(value, torch.Tensor) else value for value in sets.arguments(of.slot)]
            for call, of in written.items()
        }

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
            self.phases_s[name] = self.phases_s.get(name, 0.0) + time.monotonic() - started


_WEAKER = get_args(OracleName)


def _wrong_at_once(case: _Case, verdict: Verdict) -> bool:
    return case.other_weights and isinstance(verdict, Wrong) and case.trials <= 1


def _hardly_less(now: Mismatch | None, before: Mismatch | None) -> bool:
    """Whether many elements differed, and more than half as many still do."""
    if now is None or before is None:
        return False
    return before.mismatched > max(32, before.elements // 100) and now.mismatched > before.mismatched // 2


def _few(left: Mismatch | None) -> bool:
    """Whether so few elements are left that they may be ones that no sample moved."""
    return left is not None and left.mismatched <= max(32, left.elements // 100)


def _are_apart(first: Any, again: Any, tolerance: ToleranceName) -> bool:
    """Whether two outputs differ from each other by more than one may from the reference."""
    return isinstance(compare(again, Expected(like=first, exact=first), tolerance), Disagreement)


def _not_repeatable(wrong: Wrong) -> Wrong:
    """The verdict on an answer that was right before, on the same inputs."""
    detail = f"a second call on the same inputs gave another answer. {wrong.detail}"
    return wrong.model_copy(update={"reason": "not-repeatable", "detail": detail})


@contextmanager
def _unless_a_race() -> Iterator[None]:
    """Let what the subject fails at pass, unless a race was found."""
    try:
        yield
    except RaceFound:
        raise
    except SubjectFailed:
        return


def verified_calls(calls: int, rounds: int, least: int = MIN_ROUNDS) -> int:
    """How many random calls of a round of so many are verified once so many rounds have been taken.

    `least` is the number of rounds after which a measurement may end.
    """
    return min(calls, math.ceil(VERIFIED_CALLS / max(least, rounds)))


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
