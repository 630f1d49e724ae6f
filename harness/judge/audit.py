"""Audit: whether a problem can tell a right answer from a wrong one, and what one call of it takes.

A problem whose output is constant, does not depend on an input or accepts zeros judges nothing; one that draws random
numbers can be compared only where both sides drew the same. Such findings go into the record of every candidate that is
judged on it.
"""

import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

from harness.backends.rates import DTYPES
from harness.errors import ProblemError
from harness.judge.conditioning import MOST, Other
from harness.judge.correctness import RTOL, Agreement, Expected, all_finite, compare, not_finite
from harness.judge.inputs import LARGE_BYTES, STRESS, VARIED, may_be_permuted, stressed, varied
from harness.judge.operator_mode import OperatorMode
from harness.judge.oracle import Oracle, ReferenceRaised, reference_must_run
from harness.judge.outputs_seen import form_of
from harness.judge.own_error import own_errors
from harness.judge.problem import GIVES, LoadedProblem
from harness.judge.question import SHAPES_VARY
from harness.judge.tensors import leaves, mapped, pieces, same, size_of, storages
from harness.judge.unread import OutOfTime, Part, Unread, Until, is_more_than_a_vector, listed
from harness.schema.audit import Audit, OwnError
from harness.schema.flag import Flag
from harness.schema.record import ToleranceName

BUDGET_S = 10.0
"""Once an audit took longer than this, what is left of it is left out, and the findings say so."""
OTHERS_S = 2.0
"""How rounding moves the outputs is asked for so long, where they are off float64."""
UNREAD_S = 3.0
"""What parts of inputs and which weights matter is searched for so long; what was found is asked again beyond that."""
QUICK_S = 0.05
"""A call that takes less is timed more than once."""


class _Spent(Exception):
    """There is no time or no memory for the rest; says what a call takes."""


def audit(problem: LoadedProblem, *, tolerance: ToleranceName = "scaled") -> Audit:
    """Run the reference a few times and look at what it does.

    Raises ProblemError where it raises on its own inputs.
    """
    return _Auditor(problem, tolerance).run()


class _Auditor:
    def __init__(self, problem: LoadedProblem, tolerance: ToleranceName) -> None:
        self._problem, self._tolerance = problem, tolerance
        self._findings: list[Flag] = []
        self._arguments = problem.init_arguments()
        started = time.monotonic()
        self._oracle = Oracle(problem, self._arguments, secrets.randbits(62))
        self._construct_s = time.monotonic() - started
        self._otherwise: tuple[Any, tuple[Other, ...]] | None = None
        self._fixed_floats: tuple[int, ...] = ()
        self._call_s = 0.0
        self._deadline = time.monotonic() + BUDGET_S

    def run(self) -> Audit:
        inputs = self._draw()
        self._problem.require_form(inputs, f"{self._problem.form.inputs} {GIVES}")
        expected = self._expected(inputs, 1)
        self._problem.require_form(expected.like, "the reference returns {}, which cannot be compared: return")
        self._call_s = self._time_of(inputs)
        random = self._is_random(inputs, expected)
        unstable = 0.0 if random else self._unstable(inputs, expected)
        again = self._draw()
        fixed = same(inputs, again)
        shapes_vary = not fixed and self._shapes_vary(again, expected)
        permutable = () if fixed else self._fixed_integers(inputs, again)
        self._fixed_floats = tuple(
            place for place, pair in enumerate(zip(inputs, again, strict=True)) if _alike(*pair, floats=True)
        )
        del again
        if fixed:
            detail = (
                "get_inputs draws the same each time, so that answers can be remembered: candidates are timed on other "
                "contents, and not at all where no others can be made"
            )
            self._find("fixed-inputs", "warn", detail)
        elif self._fixed_floats:
            self._name_fixed_floats(expected)
        facts = Audit(
            random=random,
            fixed=fixed,
            fixed_integers=permutable,
            fixed_floats=self._fixed_floats,
            input_bytes=size_of(inputs),
            weight_bytes=size_of([*self._oracle.model.parameters(), *self._oracle.model.buffers()]),
            output_bytes=self._bytes_written(inputs, expected),
            flops=self._flops(inputs),
            call_s=self._call_s,
            construct_s=self._construct_s,
            unstable=unstable,
            shapes_vary=shapes_vary,
        )
        if not (self._oracle.affordable or random or self._oracle.changes_inputs):
            facts = facts.model_copy(update={"own_errors": self._own_errors(facts)})
        if not random:
            self._too_narrow(inputs, expected)
        if not all_finite(expected.like):
            self._find("non-finite", "warn", "the reference's outputs are not all finite on its own inputs")
        if self._oracle.changes_inputs:
            self._find("changes-inputs", "info", "the reference changes its inputs in place")
        elif not random:
            try:
                if (bytes_held := facts.input_bytes + size_of(expected.like)) > LARGE_BYTES:
                    raise _Spent(f"takes {bytes_held / 1e9:.2g} GB")
                self._degenerate(inputs, expected)
                self._dependence(inputs, expected)
            except _Spent as spent:
                detail = f"left out, one call {spent}: whether inputs, weights and the answer matter"
                self._find("audit-incomplete", "info", detail)
        return facts.model_copy(update={"findings": tuple(self._findings)})

    # ---- what is looked at -------------------------------------------------------------------------------------

    def _is_random(self, inputs: list[Any], expected: Expected) -> bool:
        """Whether equal inputs give equal outputs: under the same seed, and under another."""
        again = self._written(inputs, 1)
        if self._oracle.changes_inputs:
            return False
        bitwise = same(again, expected.like)
        if not (bitwise or self._agrees_but_for_rounding(again, inputs, expected)):
            detail = "equal inputs, weights and seeds give other outputs: nothing can be judged by this reference"
            self._find("not-repeatable", "warn", detail)
            return True
        if not bitwise:
            self._find("not-bitwise", "info", "equal inputs give outputs that agree only within the tolerance")
        del again  # a large problem's outputs take gigabytes
        if not self._draws(inputs, expected, bitwise=bitwise):
            return False
        detail = (
            "the reference draws random numbers (dropout in training mode?): only a candidate that draws the same ones "
            "in the same order can be right"
        )
        self._find("random", "warn", detail)
        return True

    def _draws(self, inputs: list[Any], expected: Expected, *, bitwise: bool) -> bool:
        """Whether other seeds give other outputs. Where equal ones give equal bits (`bitwise`), bits tell.

        No tolerance does: float64 draws other numbers, and what they are apart would widen it.
        """
        other = self._written(inputs, 2)
        if same(other, expected.like):
            return False
        alike = bitwise and same(self._written(inputs, 2), other)  # two may have been equal by chance
        if alike and same(self._written(inputs, 1), expected.like):
            return True
        return not self._agrees_but_for_rounding(other, inputs, expected)

    def _own_errors(self, facts: Audit) -> tuple[OwnError, ...]:
        """For trials that cannot afford float64."""
        kinds = ("nominal", *STRESS, *(VARIED if self._fixed_floats else ()))
        draws: dict[str, Callable[[], list[Any]]] = {kind: partial(self._drawn, kind) for kind in kinds}
        return own_errors(self._oracle, draws, call_s=facts.call_s, flops=facts.flops)

    def _shapes_vary(self, again: list[Any], expected: Expected) -> bool:
        """Whether contents decide on the shapes of outputs: how those of a timed round lie could not be foreseen.

        Two draws and two outputs take more memory than a trial. Rounds notice it as well, and are no time then.
        """
        try:
            found = self._oracle.as_written(again, 1)
        except torch.OutOfMemoryError:
            detail = "left out, there is no memory: whether contents decide on the shapes of outputs"
            self._find("audit-incomplete", "info", detail)
            return False
        mine = form_of(expected.like)
        other = mine if found is None else form_of(found)
        if mine != other:
            shapes = " and ".join(str([list(shape) for _, shape in form]) for form in (mine, other))
            self._find("shapes-vary", "warn", f"{SHAPES_VARY}: {shapes[:400]} in two draws")
        return mine != other

    def _agrees_but_for_rounding(self, given: Any, inputs: list[Any], expected: Expected) -> bool:
        if self._agrees(given, expected):
            return True
        doubted = self._doubted(inputs, expected)
        return doubted is not None and self._agrees(given, doubted)

    def _unstable(self, inputs: list[Any], expected: Expected) -> float:
        """The share of an output that rounding alone moves as far as it is large. 0 where float64 has no say."""
        if self._oracle.changes_inputs or self._agrees(expected.like, expected):
            return 0.0
        doubted = self._doubted(inputs, expected)
        found = None if doubted is None else compare(expected.like, doubted, self._tolerance)
        share = found.unstable if isinstance(found, Agreement) else 0.0
        if share > MOST:
            detail = (
                f"rounding alone moves {share:.0%} of an output by half of its size or more, whatever computes it: "
                "the tolerance follows it, zeros may pass, and nothing can be learnt from this problem"
            )
            self._find("rounding-noise", "warn", detail)
        return share

    def _too_narrow(self, inputs: list[Any], expected: Expected) -> None:
        """Whether the reference in half or bfloat16 is further off than its outputs are held to."""
        precision = self._problem.precision
        if precision == "fp32" or self._oracle.changes_inputs:
            return
        if not all_finite(expected.like):
            found = "overflows"
        else:
            off, tolerance = self._oracle.off(expected.like, inputs, seed=1), RTOL[DTYPES[precision]]
            if off is None or off <= tolerance:
                return
            found = f"is off by {off:.2g} of the size of its outputs, which are held to {tolerance:.2g}"
        detail = f"in {precision} the reference itself {found}: it needs float32 inside, and judges others in fp32 only"
        self._find("needs-float32", "warn", detail)

    def _doubted(self, inputs: list[Any], expected: Expected) -> Expected | None:
        """The same with what the reference says where its rounding falls otherwise, asked once."""
        if self._otherwise is None:
            asked = self._oracle.otherwise(expected.like, inputs, seed=1)
            others = () if asked is None else tuple(asked.samples(time.process_time() + OTHERS_S))
            self._otherwise = None if asked is None else asked.exact, others
        exact, others = self._otherwise
        if not others:
            return None
        return replace(expected, exact=expected.exact if exact is None else exact, others=others)

    def _fixed_integers(self, inputs: list[Any], again: list[Any]) -> tuple[int, ...]:
        """Inputs of whole numbers that come out alike each time while others do not, as far as they can be changed."""
        alike = [place for place, (one, other) in enumerate(zip(inputs, again, strict=True)) if _alike(one, other)]
        changed = tuple(
            place
            for place in alike
            if any(leaf.dtype != torch.bool and may_be_permuted(leaf) for leaf in _alike(inputs[place], again[place]))
        )
        if alike:
            named = ", ".join(str(place) for place in alike)
            orders = (
                f"; of {', '.join(map(str, changed))} the order is another in half of the rounds" if changed else ""
            )
            detail = f"get_inputs draws input {named} the same each time, and what follows from that can be remembered"
            self._find("fixed-inputs", "info", f"{detail}{orders}")
        return changed

    def _name_fixed_floats(self, expected: Expected) -> None:
        """Say so where floating values come out alike each time, and nothing but varying them would change that."""
        alike = f"get_inputs draws input {', '.join(map(str, self._fixed_floats))} the same each time"
        try:
            if any(self._stays_finite(kind, expected) for kind in STRESS):
                return
            if any(self._stays_finite(kind, expected) for kind in VARIED):
                detail = f"{alike}, and what follows from that can be remembered; in half of the rounds it is varied"
                self._find("fixed-inputs", "info", detail)
                return
        except _Spent as spent:
            detail = f"left out, one call {spent}: {alike}, and whether the reference stays finite on anything else"
            self._find("audit-incomplete", "info", detail)
            return
        detail = f"{alike}, and the reference stays finite on nothing else that could take its place"
        self._find("fixed-inputs", "warn", f"{detail}: what follows from it can be remembered, so nothing is timed")

    def _stays_finite(self, kind: str, expected: Expected) -> bool:
        """Whether the reference does on contents of a kind, as far as on nominal ones."""
        self._check_budget()
        found = self._oracle.as_written(self._drawn(kind), 1)
        return found is not None and not_finite(found) <= not_finite(expected.like)

    def _degenerate(self, inputs: list[Any], expected: Expected) -> None:
        """Answers that need no computing, and that pass on every kind of inputs."""
        self._otherwise = None
        constant = mapped(self._written(self._draw(), 1), _flat)
        answers: dict[str, _Answer] = {**_TRIVIAL, "a constant": lambda inputs, like: constant}
        for name, answer in answers.items():
            if all(self._passes(answer, *case) for case in self._cases(inputs, expected)):
                self._find("degenerate", "warn", f"{name} passes for the answer on every kind of inputs")

    def _cases(self, inputs: list[Any], expected: Expected) -> Iterator[tuple[list[Any], Expected]]:
        yield inputs, expected
        for kind in STRESS:
            self._check_budget()
            changed = self._drawn(kind)
            try:
                found = self._oracle.expected(changed, seed=1)
            except ReferenceRaised:
                continue
            if all_finite(found.like):
                yield changed, found

    def _passes(self, answer: "_Answer", inputs: list[Any], expected: Expected) -> bool:
        given = answer(inputs, expected.like)
        return given is not None and self._agrees(given, expected)

    def _dependence(self, inputs: list[Any], expected: Expected) -> None:
        """Inputs, parts of them, and weights that the output does not depend on."""
        self._check_budget()
        unread = Unread(
            self._oracle,
            inputs,
            expected,
            another=lambda: Oracle(self._problem, self._arguments, secrets.randbits(62)),
            draw=self._drawn,
            agrees=self._agrees,
            until=Until(min(self._deadline, time.monotonic() + UNREAD_S), self._deadline, self._call_s),
        )
        try:
            self._unread(unread)
        except (OutOfTime, torch.OutOfMemoryError) as error:
            lack = f"one call takes {self._call_s:.2g} s" if isinstance(error, OutOfTime) else "there is no memory"
            detail = f"left out, {lack}: whether all parts of inputs, and all weights, matter"
            self._find("audit-incomplete", "info", detail)

    def _unread(self, unread: Unread) -> None:
        """What is cheap and tells most first."""
        whole: set[Part] = set()
        for part in unread.wholes():
            whole.add(part)
            self._find("unread-input", "warn", f"{unread.named(part)} does not matter to the output")
        weights = self._oracle.weights()
        none_matters = bool(weights) and unread.no_weight_matters()
        if none_matters:
            self._find("unread-weights", "warn", "the weights do not matter to the output")
        elif alike := unread.constant() if weights else []:
            detail = f"{listed(alike)}: of one value each, whatever the seed, so that an answer need not read them"
            self._find("constant-weights", "info", detail)
        for part in unread.halves(whole):
            where = f"elements {part.begin} to {part.end - 1} along dimension {part.dimension}"
            self._find("unread-input", "warn", f"of {unread.named(part)} {where} do not matter to the output")
        if weights and not none_matters and (names := unread.weights()):
            severity = "warn" if any(is_more_than_a_vector(weights[name]) for name in names) else "info"
            self._find("unread-weights", severity, f"the weights {listed(names)} do not matter to the output")

    # ---- means -------------------------------------------------------------------------------------------------

    def _draw(self) -> list[Any]:
        return self._problem.draw(secrets.randbits(62))

    def _drawn(self, kind: str) -> list[Any]:
        drawn, seed = self._draw(), secrets.randbits(62)
        if kind in VARIED:
            return varied(drawn, kind, seed, self._fixed_floats)
        return drawn if kind == "nominal" else stressed(drawn, kind, seed)

    def _expected(self, inputs: list[Any], seed: int) -> Expected:
        return reference_must_run(self._oracle, inputs, seed=seed)

    def _written(self, inputs: list[Any], seed: int) -> Any:
        """What the reference as written says, without float64."""
        return reference_must_run(self._oracle, inputs, seed=seed, widened=False).like

    def _bytes_written(self, inputs: list[Any], expected: Expected) -> int:
        """Bytes that a call has to write: a view of what it was given costs nothing, an expanded row is one row."""
        given = set() if self._oracle.changes_inputs else storages([inputs, *self._oracle.model.state_dict().values()])
        parts: dict[int, tuple[int, int]] = {}
        for leaf in leaves(expected.like):
            memory = leaf.untyped_storage()
            if leaf.numel() and memory.data_ptr() not in given:
                before, _ = parts.get(memory.data_ptr(), (0, 0))
                parts[memory.data_ptr()] = before + leaf.numel() * leaf.element_size(), memory.nbytes()
        return sum(min(part) for part in parts.values())

    def _agrees(self, given: Any, expected: Expected) -> bool:
        return isinstance(compare(given, expected, self._tolerance), Agreement)

    def _time_of(self, inputs: list[Any]) -> float:
        """Seconds of a call; the shortest of three where that is quick: the first may ask for memory."""
        seconds: list[float] = []
        self._wait()
        while len(seconds) < 3 and sum(seconds) < QUICK_S:
            started = time.monotonic()
            self._call(inputs)
            self._wait()
            seconds.append(time.monotonic() - started)
        return min(seconds)

    def _flops(self, inputs: list[Any]) -> int:
        with _Flops() as counter:
            self._call(inputs)
        total: int = counter.total
        return total

    def _call(self, inputs: list[Any]) -> None:
        try:
            with torch.no_grad():
                self._oracle.model(*inputs)
        except torch.OutOfMemoryError:
            raise
        except Exception as error:
            detail = f"problem {self._problem.title}: the reference raised {type(error).__name__}: {error}"
            raise ProblemError(detail) from error

    def _wait(self) -> None:
        if self._problem.device.type == "cuda":
            torch.cuda.synchronize()

    def _check_budget(self) -> None:
        if time.monotonic() > self._deadline:
            raise _Spent(f"takes {self._call_s:.2g} s")

    def _find(self, rule: str, severity: Any, detail: str) -> None:
        self._findings.append(Flag(rule=rule, severity=severity, detail=detail))


class _Flops(OperatorMode):
    """Counts as torch's FlopCounterMode does, by the same formulas, without the 800 modules that it imports."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch gives it no types
        self.total: int = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:  # else torch imports its compiler here, which takes seconds
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        formula = flop_registry.get(func._overloadpacket)
        if formula is not None:
            self.total += int(formula(*args, **(kwargs or {}), out_val=out))
        return out


def _alike(one: Any, other: Any, *, floats: bool = False) -> list[torch.Tensor]:
    """The tensors of whole numbers in an argument, or of others (`floats`), that are the same in another draw of it."""
    return [
        leaf
        for leaf, drawn in zip(leaves(one), leaves(other), strict=False)  # of another number where lengths are drawn
        if leaf.numel() > 1 and (leaf.is_floating_point() or leaf.is_complex()) == floats and same(leaf, drawn)
    ]


_Answer = Callable[[list[Any], Any], Any]
_NUMBERS = (torch.Tensor, bool, int, float)


def _filled(value: int) -> _Answer:
    """The reference's outputs with every number replaced."""

    def fill(leaf: Any) -> Any:
        return torch.full_like(leaf, value) if isinstance(leaf, torch.Tensor) else type(leaf)(value)

    return lambda inputs, like: mapped(like, fill, _NUMBERS)


def _flat(leaf: torch.Tensor) -> torch.Tensor:
    """A tensor of a tensor's mean: of other inputs' outputs, the best guess that depends on none."""
    if leaf.is_complex() or not leaf.numel():
        return leaf
    total = sum(float(piece.double().sum()) for _, (piece,) in pieces(leaf))
    return torch.full_like(leaf, total / leaf.numel())


def _identity(inputs: list[Any], like: Any) -> Any:
    """An input of the output's shape and dtype, where there is one."""
    if not isinstance(like, torch.Tensor):
        return None
    for value in leaves(inputs):
        if value.shape == like.shape and value.dtype == like.dtype:
            return value
    return None


_TRIVIAL: dict[str, _Answer] = {
    "zeros": _filled(0),
    "ones": _filled(1),
    "an input itself": _identity,
}
