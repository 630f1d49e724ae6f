"""Baselines: the reference in other forms (torch.compile), timed once for each problem and device.

Each is timed side by side with the reference as written, by the rounds of `judge.timing`. A candidate is timed
against the reference as written only; its speed-up over another form follows from both ratios, each with its
samples. What is known from before counts as long as the reference as written takes what it took then.
"""

import secrets
from functools import partial

from harness.judge.bench import Bench
from harness.judge.inputs import Contents, InputSets
from harness.judge.problem import LoadedProblem
from harness.judge.rounds import Side
from harness.judge.statistics import conclusion, median, product_of_ratios
from harness.judge.subject import Subject
from harness.judge.timing import Plan, measure
from harness.schema.base import Frozen
from harness.schema.record import Baseline, BaselineName, Timing

AGREES = 0.02
"""How far the reference's time may lie from that of the day when the baseline was timed, for that to count still."""


class BaselinePair(Frozen):
    """Milliseconds of one call of the reference as written and of its other form, taken in turn."""

    eager_samples_ms: tuple[float, ...]
    samples_ms: tuple[float, ...]


def time_pair(
    problem: LoadedProblem, eager: Subject, other: Subject, *, count: int, bench: Bench, plan: Plan
) -> BaselinePair:
    """Time two forms of the reference side by side, over `count` input sets."""
    seed = secrets.randbits(62)

    def draw(kind: str, calls: int) -> list[Contents]:
        return [Contents(partial(problem.draw, secrets.randbits(62))) for _ in range(calls)]

    example = problem.draw(seed)
    sets = InputSets(example, count, bench.make_arena)
    sides = Side(other, sets), Side(eager, InputSets(example, count, bench.make_arena, beside=sets))
    try:
        for side in sides:
            side.subject.construct(seed)
            side.subject.attach(side.sets)
        timing = measure(*sides, draw=draw, device=bench.clock, plan=plan, proceed=bench.proceed).timing
    finally:
        for side in sides:
            side.sets.close()
    return BaselinePair(eager_samples_ms=timing.reference_samples_ms, samples_ms=timing.candidate_samples_ms)


def versus(name: BaselineName, timing: Timing, pair: BaselinePair, *, cached: bool) -> Baseline:
    """The candidate of `timing` against the form of the reference that `pair` timed."""
    speedup = product_of_ratios(
        (timing.reference_samples_ms, timing.candidate_samples_ms), (pair.samples_ms, pair.eager_samples_ms)
    )
    return Baseline(
        name=name,
        reference_ms=median(pair.samples_ms) * timing.reference_ms / median(pair.eager_samples_ms),
        speedup=speedup,
        conclusion=conclusion(speedup),
        reference_samples_ms=pair.samples_ms,
        cached=cached,
    )


def still_true(pair: BaselinePair, timing: Timing) -> bool:
    """Whether the reference as written takes what it took when the pair was timed: the short paired check."""
    then = median(pair.eager_samples_ms)
    return abs(then - timing.reference_ms) <= AGREES * timing.reference_ms
