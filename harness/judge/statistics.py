"""Statistics over rounds. Raw samples are kept elsewhere; here they become an estimate with its interval."""

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from harness.schema.record import Interval

RESAMPLES, FEW_RESAMPLES = 2000, 400
"""For what is stated, and to find out while rounds go on whether they suffice."""
SAME = 0.01
"""Two times closer than this are called the same: the harness's own repeatability."""
PERCENTILES = (2.5, 97.5)
"""The ends of a bootstrap interval: 95% of what is resampled lies between them."""


Samples = Sequence[float]


def median(values: Samples) -> float:
    """The median of at least one value."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def percentile(values: Samples, at: float) -> float:
    """The percentile of at least one value."""
    return float(np.percentile(np.asarray(values), at))


def ratio_of_medians(above: Samples, below: Samples, *, seed: int = 0) -> Interval:
    """The ratio of the medians of samples that were taken at different times, with its 95% bootstrap interval."""
    generator = np.random.default_rng(seed)
    resampled = _medians(above, generator) / _medians(below, generator)
    return _interval(median(above) / median(below), resampled)


def longer_at_least(above: Samples, below: Samples, *, seed: int = 0) -> float:
    """By how much the median of samples is above that of others: the low end of a 95% bootstrap interval."""
    generator = np.random.default_rng(seed)
    return float(np.percentile(_medians(above, generator) - _medians(below, generator), PERCENTILES[0]))


def longer_on_average_at_least(above: Samples, below: Samples, *, at: float = PERCENTILES[0], seed: int = 0) -> float:
    """The same of means, which what is long in few of the samples moves; `at` is the percentile that is taken."""
    generator = np.random.default_rng(seed)
    means = [
        np.mean(np.asarray(values)[generator.integers(0, len(values), size=(RESAMPLES, len(values)))], axis=1)
        for values in (above, below)
    ]
    return float(np.percentile(means[0] - means[1], at))


def ratio_by_difference(
    reference_s: float, reference: Samples, candidate: Samples, *, least: float, at: float = 25, seed: int = 0
) -> tuple[float, Interval]:
    """What a candidate takes by its single rounds, and how much less that is than the reference's `reference_s`.

    The samples are seconds of rounds of one call: whatever a round costs beyond its call cancels in their difference,
    which is taken between percentiles: lower quartiles, because others on the machine can only make a round longer. No
    time is less than `least`. The interval resamples both sides, so that what is small beside the noise has a wide one.
    """
    generator = np.random.default_rng(seed)

    def quartiles(values: Samples) -> np.ndarray[Any, np.dtype[np.float64]]:
        picks = generator.integers(0, len(values), size=(RESAMPLES, len(values)))
        found: np.ndarray[Any, np.dtype[np.float64]] = np.percentile(np.asarray(values)[picks], at, axis=1)
        return found

    longer = float(np.percentile(candidate, at) - np.percentile(reference, at))
    mine = max(reference_s + longer, least)
    resampled = reference_s / np.maximum(reference_s + quartiles(candidate) - quartiles(reference), least)
    return mine, _interval(reference_s / mine, resampled)


def ratio_by_paired_difference(
    reference_s: float, reference: Samples, candidate: Samples, *, least: float, seed: int = 0
) -> tuple[float, Interval]:
    """The same by medians of samples of which those of one index were taken next to each other, as many of either.

    What slows a host down for some of them slows both: their differences do not feel it. Resampling is in pairs.
    """
    differences = np.asarray(candidate) - np.asarray(reference)
    longer = _medians(differences.tolist(), np.random.default_rng(seed))
    mine = max(reference_s + float(np.median(differences)), least)
    return mine, _interval(reference_s / mine, reference_s / np.maximum(reference_s + longer, least))


def _medians(values: Samples, generator: np.random.Generator) -> np.ndarray[Any, np.dtype[np.float64]]:
    picks = generator.integers(0, len(values), size=(RESAMPLES, len(values)))
    medians: np.ndarray[Any, np.dtype[np.float64]] = np.median(np.asarray(values)[picks], axis=1)
    return medians


def _interval(value: float, resampled: np.ndarray[Any, np.dtype[np.float64]]) -> Interval:
    low, high = np.percentile(resampled, PERCENTILES)
    return Interval(value=value, low=min(float(low), value), high=max(float(high), value))


def median_ratio(reference: Samples, candidate: Samples, *, seed: int = 0, resamples: int = RESAMPLES) -> Interval:
    """The median over rounds of reference / candidate, with its 95% percentile bootstrap interval.

    Samples are times of equal unit, as many of either, at least one; those of one index are of rounds next to each
    other. What slows a host down for some tens of rounds slows both, so that their ratio does not feel it, which the
    ratio of the medians does. Resampling is of rounds in pairs, and seeded, so that equal samples give an equal
    interval. Raises ValueError where one side has more samples. Source: Efron and Tibshirani, An Introduction to the
    Bootstrap (1993), chapter 13.
    """
    return product_of_ratios((reference, candidate), seed=seed, resamples=resamples)


def product_of_ratios(*pairs: tuple[Samples, Samples], seed: int = 0, resamples: int = RESAMPLES) -> Interval:
    """The product of the `median_ratio` of pairs that were measured apart."""
    generator = np.random.default_rng(seed)
    value, resampled = 0.0, np.zeros(resamples)
    for above, below in pairs:
        ratios = np.array([math.log(one / other) for one, other in zip(above, below, strict=True)])
        picks = generator.integers(0, len(ratios), size=(resamples, len(ratios)))
        resampled += np.median(ratios[picks], axis=1)
        value += float(np.median(ratios))
    low, high = np.percentile(resampled, PERCENTILES)
    return Interval(value=math.exp(value), low=math.exp(min(float(low), value)), high=math.exp(max(float(high), value)))


REPEATABILITY_MS = 1e-4
REPEATABILITY = 1e-3
"""How far the time of a call lies from that of an equal process, for reasons that no number of rounds shows: where
its memory and its code lie. Measured on an H200 by timing PyTorch against itself in fresh processes, see
benchmarks/judge.py."""


def with_repeatability(speedup: Interval, candidate_ms: float, reference_ms: float, unsure_ms: float = 0.0) -> Interval:
    """The interval with the repeatability of processes added to what the rounds showed, as independent errors add.

    So is `unsure_ms`, by which both times may be too long or too short: it moves none of equal ones.
    """
    both = unsure_ms * abs(1 / candidate_ms - 1 / reference_ms)
    between = math.hypot(REPEATABILITY, REPEATABILITY_MS / candidate_ms, REPEATABILITY_MS / reference_ms, both)
    low, high = (math.hypot(abs(end / speedup.value - 1), between) for end in (speedup.low, speedup.high))
    return Interval(value=speedup.value, low=speedup.value * max(0.0, 1 - low), high=speedup.value * (1 + high))


def spread(values: Samples) -> float:
    """The distance between the quartiles."""
    low, high = np.percentile(np.asarray(values), (25, 75))
    return float(high - low)


def conclusion(speedup: Interval) -> Literal["faster", "slower", "same", "ambiguous"]:
    """What an interval allows to say: `same` where all of it lies within 1% of 1, else by the side of 1 it lies on."""
    if speedup.low >= 1 - SAME and speedup.high <= 1 + SAME:
        return "same"
    if speedup.low > 1:
        return "faster"
    if speedup.high < 1:
        return "slower"
    return "ambiguous"
