"""Baselines: the reference in other forms (torch.compile), timed once for each problem and device.

Each is timed side by side with the reference as written, by the rounds of `judge.timing`. A candidate is timed
against the reference as written only; its speed-up over another form follows from both ratios, each with its
samples. What is known from before counts as long as the reference as written takes what it took then.
"""

import hashlib
import json
import os
import secrets
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.build import default_root
from harness.judge.inputs import Contents, InputSets
from harness.judge.judge import Bench
from harness.judge.problem import LoadedProblem
from harness.judge.statistics import conclusion, product_of_ratios
from harness.judge.subject import Subject
from harness.judge.timing import Plan, measure, median
from harness.schema.base import Frozen
from harness.schema.problem import Problem, Workload
from harness.schema.record import Baseline, BaselineName, Environment, Timing

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

    def draw() -> Contents:
        drawn = secrets.randbits(62)
        return Contents(lambda: problem.draw(drawn))

    sets = InputSets(draw().get(), count, bench.make_arena)
    try:
        for subject in (other, eager):
            subject.construct(seed)
            subject.attach(sets)
        timing = measure(other, eager, sets, draw=draw, device=bench.clock, plan=plan).timing
    finally:
        sets.close()
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


class BaselineStore:
    """Pairs by key, each a file in the cache. A file that cannot be read is none."""

    def __init__(self, root: Path | None = None) -> None:
        self._root = root or default_root() / "baselines"

    @staticmethod
    def key(problem: Problem, workload: Workload, environment: Environment, device: str, name: BaselineName) -> str:
        """Equal for an equal problem, workload, device, driver and torch."""
        parts: list[Any] = [
            problem.sha256,
            workload.model_dump(mode="json"),
            device,
            environment.driver,
            environment.torch,
            environment.cuda,
            environment.harness,
            name,
        ]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def find(self, key: str, *, reference_ms: float) -> BaselinePair | None:
        """What is known, unless the reference as written now takes another time than then."""
        try:
            pair = BaselinePair.model_validate_json((self._root / f"{key}.json").read_bytes())
        except (OSError, ValidationError):
            return None
        then = median(pair.eager_samples_ms)
        return pair if abs(then - reference_ms) <= AGREES * reference_ms else None

    def keep(self, key: str, pair: BaselinePair) -> None:
        self._root.mkdir(parents=True, exist_ok=True)
        partial = self._root / f".{key}.{os.getpid()}"
        partial.write_text(pair.model_dump_json())
        partial.replace(self._root / f"{key}.json")
