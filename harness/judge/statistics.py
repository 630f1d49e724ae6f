"""Statistics over rounds. Raw samples are kept elsewhere; here they become an estimate with its interval."""

import functools
import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from harness.schema.record import Interval

RESAMPLES, FEW_RESAMPLES = 2000, 400
"""For what is stated, and to find out while rounds go on whether they suffice."""
SAME = 0.01
"""Two times closer than this are called the same: the harness's own repeatability."""
PERCENTILES, SURE_PERCENTILES = (2.5, 97.5), (0.5, 99.5)
"""The ends of a bootstrap interval: 95% of what is resampled lies between them, or 99%, where one of several is picked
for what it says."""


Samples = Sequence[float]
_Array = np.ndarray[Any, np.dtype[np.float64]]


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
    mine, theirs = map(_medians, _resampled(above, below, seed=seed))
    return _interval(median(above) / median(below), mine / theirs)


def longer_at_least(above: Samples, below: Samples, *, of: float = 50, seed: int = 0) -> float:
    """By how much the median of samples, or another percentile `of` them, is above that of others: the low end of a 95%
    bootstrap interval.
    """
    mine, theirs = (
        _medians(rows) if of == 50 else np.percentile(rows, of, axis=1) for rows in _resampled(above, below, seed=seed)
    )
    return float(np.percentile(mine - theirs, PERCENTILES[0]))


def longer_on_average_at_least(above: Samples, below: Samples, *, at: float = PERCENTILES[0], seed: int = 0) -> float:
    """The same of means, which what is long in few of the samples moves; `at` is the percentile that is taken."""
    mine, theirs = (np.mean(rows, axis=1) for rows in _resampled(above, below, seed=seed))
    return float(np.percentile(mine - theirs, at))


def ratio_by_difference(
    reference_s: float,
    reference: Samples,
    candidate: Samples,
    *,
    least: float,
    at: float = 25,
    ends: tuple[float, float] = PERCENTILES,
    seed: int = 0,
) -> tuple[float, Interval]:
    """What a candidate takes by its single rounds, and how much less that is than the reference's `reference_s`.

    The samples are seconds of rounds of one call: whatever a round costs beyond its call cancels in their difference,
    which is taken between percentiles: lower quartiles, because others on the machine can only make a round longer. No
    time is less than `least`. The interval resamples both sides, so that what is small beside the noise has a wide one.
    """
    of_candidate, of_reference = (
        np.percentile(rows, at, axis=1) for rows in _resampled(candidate, reference, seed=seed)
    )
    longer = float(np.percentile(candidate, at) - np.percentile(reference, at))
    mine = max(reference_s + longer, least)
    resampled = reference_s / np.maximum(reference_s + of_candidate - of_reference, least)
    return mine, _interval(reference_s / mine, resampled, ends)


def ratio_by_relative_differences(
    differences: Samples, *, least: float, ends: tuple[float, float] = PERCENTILES, seed: int = 0
) -> Interval:
    """The same by the median of differences of samples that were taken next to each other, the candidate's less the
    reference's, each as a share of what the reference takes; no candidate takes less than the share `least`.

    What slows a host down for some of them slows both: their differences do not feel it. Resampling is in pairs.
    """
    (rows,) = _resampled(differences, seed=seed)
    value = 1.0 / max(1.0 + median(differences), least)
    return _interval(value, 1.0 / np.maximum(1.0 + _medians(rows), least), ends)


def _resampled(*samples: Samples, seed: int, resamples: int = RESAMPLES) -> list[_Array]:
    """Of each of the samples so many rows of as many values, drawn with replacement."""
    picks = _picks(seed, resamples, tuple(map(len, samples)))
    return [np.asarray(values, dtype=np.float64)[places] for values, places in zip(samples, picks, strict=True)]


@functools.lru_cache(maxsize=4)
def _picks(seed: int, resamples: int, counts: tuple[int, ...]) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
    """Which values are drawn. Kept, because as many rounds are asked about several times."""
    generator = np.random.default_rng(seed)
    return [generator.integers(0, count, size=(resamples, count)) for count in counts]


def _medians(rows: _Array) -> _Array:
    """Those of rows, which are put in order: a quarter of what `np.median` takes for rows of some tens."""
    rows.sort(axis=1)
    count = rows.shape[1]
    medians: _Array = (rows[:, (count - 1) // 2] + rows[:, count // 2]) / 2
    return medians


def _interval(value: float, resampled: _Array, ends: tuple[float, float] = PERCENTILES) -> Interval:
    low, high = np.percentile(resampled, ends)
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
    ratios = [[math.log(one / other) for one, other in zip(above, below, strict=True)] for above, below in pairs]
    value = sum(map(median, ratios))
    resampled = sum(map(_medians, _resampled(*ratios, seed=seed, resamples=resamples)), np.zeros(resamples))
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
