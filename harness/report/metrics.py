"""The formulas. Pure functions over speed-ups; each names its source."""

import math
from collections.abc import Sequence


def fast_p(speedups: Sequence[float], *, asked: int, p: float) -> float:
    """The fraction of all that was asked whose answer is correct and more than `p` times as fast as the reference.

    fast_p = 1/N * sum over i of 1(correct_i and speedup_i > p), strictly greater.
    Source: Ouyang et al., "KernelBench: Can LLMs Write Efficient GPU Kernels?", 2025, arXiv 2502.10517, section 3.3.

    Args:
        speedups: reference time over candidate time of the correct answers, each above 0.
        asked: N, right or wrong, at least 1.
        p: 0 for the fraction that is correct, 1 for faster than the reference.
    """
    return sum(speedup > p for speedup in speedups) / asked


def geometric_mean(values: Sequence[float]) -> float | None:
    """exp(mean(log v)): the mean for ratios, by which twice and half as fast cancel. None where there is no value.

    Source: Fleming and Wallace, "How not to lie with statistics: the correct way to summarize benchmark results",
    Communications of the ACM 29(3), 1986.

    Args:
        values: each above 0.
    """
    if not values:
        return None
    return math.exp(math.fsum(map(math.log, values)) / len(values))
