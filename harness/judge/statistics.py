"""Statistics over rounds. Raw samples are kept elsewhere; here they become an estimate with its interval."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from harness.schema.record import Interval

RESAMPLES = 2000
SAME = 0.01
"""Two times closer than this are called the same: the harness's own repeatability."""


def ratio_of_medians(reference: Sequence[float], candidate: Sequence[float], *, seed: int = 0) -> Interval:
    """median(reference) / median(candidate) with its 95% percentile bootstrap interval.

    Samples are times of equal unit, at least one each. Resampling is seeded, so that equal samples give an equal
    interval. Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 13.
    """
    generator = np.random.default_rng(seed)
    medians = []
    for samples in (reference, candidate):
        values = np.asarray(samples, dtype=np.float64)
        picks = generator.integers(0, len(values), size=(RESAMPLES, len(values)))
        medians.append(np.median(values[picks], axis=1))
    ratios = medians[0] / medians[1]
    low, high = np.percentile(ratios, [2.5, 97.5])
    value = float(np.median(reference) / np.median(candidate))
    return Interval(value=value, low=min(float(low), value), high=max(float(high), value))


def conclusion(speedup: Interval) -> Literal["faster", "slower", "same", "ambiguous"]:
    """What an interval allows to say: `same` where all of it lies within 1% of 1, else by the side of 1 it lies on."""
    if speedup.low >= 1 - SAME and speedup.high <= 1 + SAME:
        return "same"
    if speedup.low > 1:
        return "faster"
    if speedup.high < 1:
        return "slower"
    return "ambiguous"
