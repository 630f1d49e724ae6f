"""The formulas. Pure functions over answers; each names its source. Needs numpy.

An answer is one sample: `problems[n]` is the problem that the n-th answers, a number from 0; what is said of it stands
in a second array at the same place.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from harness.schema import Frozen

RESAMPLES = 2000
FEWEST = 5
"""Of fewer values a percentile bootstrap says nothing: it can only ever draw those few again."""

Wholes = NDArray[np.integer]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


class Estimate(Frozen):
    """A figure over `over` values with its 95% bootstrap interval, None where there are fewer than FEWEST."""

    value: float
    low: float | None
    high: float | None
    over: int


class Spread(Frozen):
    """How far a share over problems may be off: its standard error, and a 95% interval."""

    standard_error: float
    low: float
    high: float


def spread(each: Floats, *, asked: int) -> Spread:
    """The spread of the mean of `each`, one value from 0 to 1 a problem, over all problems asked.

    Problems are what was drawn, so several answers to one are one value. The standard error is that of a mean over
    `asked` values (Miller, "Adding Error Bars to Evals", 2024, arXiv 2411.00640, section 2). The interval is Wilson's
    (Journal of the American Statistical Association 22, 1927), which stays within 0 and 1 and has a width where all
    pass or none does; of values between 0 and 1 it is wider than it need be.

    Args:
        asked: at least as many as `each` and at least 1; the others are 0.
    """
    value = float(each.sum()) / asked
    variance = (float(((each - value) ** 2).sum()) + (asked - len(each)) * value**2) / max(1, asked - 1)
    z = 1.959964
    middle = (value + z * z / (2 * asked)) / (1 + z * z / asked)
    half = z / (1 + z * z / asked) * ((value * (1 - value) / asked + z * z / (4 * asked * asked)) ** 0.5)
    low, high = max(0.0, min(middle - half, value)), min(1.0, max(middle + half, value))
    return Spread(standard_error=(variance / asked) ** 0.5, low=low, high=high)


def paired_p(differences: Floats) -> float:
    """How often chance alone would give a mean difference as large as this, either way: a paired permutation test.

    If neither side were better, each problem's difference could as well have the other sign. Every choice of signs is
    tried where there are at most 2^12 of them, else 20,000 random ones (seeded). 1 where nothing differs. Source: Good,
    Permutation, Parametric and Bootstrap Tests of Hypotheses (2005), section 3.2.

    Args:
        differences: one a problem.
    """
    differing = differences[differences != 0]
    n = len(differing)
    if not n:
        return 1.0
    limit = abs(float(differing.sum())) * (1 - 1e-9)
    if n <= _MOST_ENUMERATED:
        signs = 1 - 2 * ((np.arange(2**n)[:, np.newaxis] >> np.arange(n)) & 1)
        return float((np.abs(signs @ differing) >= limit).mean())
    generator = np.random.default_rng(0)
    as_large = 0
    for _ in range(_FLIPS // 1000):
        signs = generator.integers(0, 2, (1000, n)) * 2 - 1
        as_large += int((np.abs(signs @ differing) >= limit).sum())
    return (as_large + 1) / (_FLIPS + 1)


_MOST_ENUMERATED = 12
_FLIPS = 20_000


def pass_at_k_of_each(problems: Wholes, passed: Bools, *, k: int) -> Floats | None:
    """`pass_at_k` of each problem that has answers, in the order of the problems; None where one has fewer than `k`."""
    answers = np.bincount(problems)
    right = np.bincount(problems, passed, len(answers))[answers > 0]
    answers = answers[answers > 0]
    if (answers < k).any():
        return None
    if k == 1:  # the same, without the rounding of 1 - (1 - c/n)
        return np.asarray(right / answers)
    # C(n - c, k) / C(n, k) as a product of ratios that stay small; a factor of 0 is right where fewer than k fail.
    none_passes = np.ones(len(answers))
    for taken in range(k):
        none_passes *= np.maximum(answers - right - taken, 0) / (answers - taken)
    return 1.0 - none_passes


def pass_at_k(problems: Wholes, passed: Bools, *, k: int, asked: int) -> float | None:
    """The chance that at least one of `k` answers passes, averaged over all problems that were asked.

    1 - C(n - c, k) / C(n, k) for a problem with n answers of which c pass: unbiased, where 1 - (1 - c/n)^k is not.
    With k = 1 the share of answers that pass, every problem with equal weight. None where a problem has answers, but
    fewer than `k`. Source: Chen et al., "Evaluating Large Language Models Trained on Code", 2021, arXiv 2107.03374,
    section 2.1, equation 1.

    Args:
        asked: the problems to average over, at least as many as have answers and at least 1; those without an answer
            count as not passed.
    """
    each = pass_at_k_of_each(problems, passed, k=k)
    return None if each is None else float(each.sum()) / asked


def fast_p(problems: Wholes, speedups: Floats, *, p: float, asked: int, k: int = 1) -> float | None:
    """The share of all problems asked whose answer is correct and more than `p` times as fast as the reference.

    fast_p = 1/N * sum over i of 1(correct_i and speedup_i > p), strictly greater, N all problems asked. With several
    answers to a problem, `pass_at_k` of being correct and that fast; None as there. Source: Ouyang et al.,
    "KernelBench: Can LLMs Write Efficient GPU Kernels?", 2025, arXiv 2502.10517, section 3.3.

    Args:
        speedups: reference time over candidate time; NaN for an answer that is not correct, infinity for one that is
            and was not timed (with p = 0 it counts: every correct answer is more than 0 times as fast).
        p: 0 for the share that is correct, 1 for faster than the reference.
        asked: N, as for `pass_at_k`.
    """
    return pass_at_k(problems, speedups > p, k=k, asked=asked)


def best_of_k(problems: Wholes, speedups: Floats, *, k: int, asked: int) -> float | None:
    """The speed-up to expect from the best of `k` answers, where the reference is kept if none of them is faster.

    exp of the mean over all problems asked of E[log max(1, best of k)]; the expectation over draws of k of the n
    answers without replacement is sum over i of log(x_i) * C(i - 1, k - 1) / C(n, k), x_1 <= ... <= x_n. None where a
    problem has answers, but fewer than `k`. Source: the estimator of expected maximum performance, Dodge et al.,
    "Show Your Work", EMNLP 2019, arXiv 1909.03004, section 3, drawn without replacement as `pass_at_k` is.

    Args:
        speedups: as for `fast_p`, but NaN also for what was not timed.
        asked: as for `pass_at_k`; a problem without an answer keeps its reference.
    """
    gains = np.log(np.fmax(speedups, 1.0))  # fmax: 1 where there is no speed-up
    order = np.lexsort((gains, problems))
    counts = np.bincount(problems)
    counts = counts[counts > 0]
    if (counts < k).any():
        return None
    total = 0.0
    for mine in np.split(gains[order], np.cumsum(counts)[:-1]):
        total += float(mine @ _share_of_draws(len(mine), k)) if len(mine) else 0.0
    return float(np.exp(total / asked))


@lru_cache(maxsize=64)  # most problems have equally many answers
def _share_of_draws(n: int, k: int) -> Floats:
    """For the i-th smallest of n: the share of the draws of k in which it is the largest."""
    shares = np.zeros(n)
    i = np.arange(n - 1, k - 1, -1)
    shares[k - 1 :] = k / n * np.cumprod([1.0, *((i - k + 1) / i)])[::-1]  # C(i - 1, k - 1) / C(i, k - 1) a step
    return shares


def geometric_mean_of_each(problems: Wholes, speedups: Floats) -> Floats:
    """One figure a problem: the geometric mean of the speed-ups of its answers, in the order of the problems.

    Answers to one problem are no independent samples of anything, and a problem that was answered often should not
    weigh more: what is averaged further, and resampled for its interval, is problems.
    """
    answers = np.bincount(problems)
    sums = np.bincount(problems, np.log(speedups), len(answers))
    return np.exp(sums[answers > 0] / answers[answers > 0])


def bootstrap(values: Floats, statistic: Callable[[Floats], Floats]) -> Estimate:
    """`statistic` of the values with its 95% percentile bootstrap interval.

    Resampling is seeded, so that equal values give an equal interval. Source: Efron and Tibshirani, An Introduction to
    the Bootstrap (1993), chapter 13.

    Args:
        values: at least one.
        statistic: of each row of a matrix, `over_rows`.
    """
    value = float(statistic(values[np.newaxis])[0])
    if len(values) < FEWEST:
        return Estimate(value=value, low=None, high=None, over=len(values))
    generator = np.random.default_rng(0)
    rows = max(1, 4_000_000 // len(values))  # at most 32 MB at once
    found = [
        statistic(values[generator.integers(0, len(values), (min(rows, RESAMPLES - done), len(values)))])
        for done in range(0, RESAMPLES, rows)
    ]
    low, high = np.percentile(np.concatenate(found), [2.5, 97.5])
    return Estimate(value=value, low=min(float(low), value), high=max(float(high), value), over=len(values))


def geometric_means(values: Floats) -> Floats:
    """The geometric mean of each row, for `bootstrap`: exp(mean(log v)), by which twice and half as fast cancel.

    Source: Fleming and Wallace, "How not to lie with statistics: the correct way to summarize benchmark results",
    Communications of the ACM 29(3), 1986.

    Args:
        values: a matrix, each value above 0.
    """
    return np.asarray(np.exp(np.log(values).mean(axis=1)))


def medians(values: Floats) -> Floats:
    """The median of each row, for `bootstrap`."""
    return np.asarray(np.median(values, axis=1))


def ratio_of_speedups(
    after: tuple[Iterable[float], Iterable[float]], before: tuple[Iterable[float], Iterable[float]]
) -> Estimate | None:
    """How many times the speed-up of one measurement is that of another, from the raw samples of both.

    Each measurement is the samples of its reference and those of its candidate; its speed-up is the median ratio of
    rounds next to each other, as in `Timing`, and the ratio of their medians where the reference was timed at another
    time: then there are seldom as many of both. Every measurement is resampled for itself, so the interval knows of
    the spread within either, and not of what may differ between two starts of a process. None where one of the four
    has no samples.

    Source: as `bootstrap`.
    """
    generator = np.random.default_rng(0)
    times = [np.fromiter(samples, np.float64) for samples in (*after, *before)]
    if any(not len(side) or not (side > 0).all() for side in times):
        return None
    resampled, value = np.zeros(RESAMPLES), 0.0
    for sign, (reference, candidate) in ((1, times[:2]), (-1, times[2:])):
        above, below = np.log(reference), -np.log(candidate)
        for logs in (above + below,) if len(above) == len(below) else (above, below):
            resampled += sign * _bootstrap_medians(logs, generator)
            value += sign * float(np.median(logs))
    low, high = np.exp(np.percentile(resampled, [2.5, 97.5]))
    ratio = float(np.exp(value))
    return Estimate(value=ratio, low=min(float(low), ratio), high=max(float(high), ratio), over=min(map(len, times)))


def _bootstrap_medians(values: Floats, generator: np.random.Generator) -> Floats:
    """Medians of RESAMPLES resamples of n values, without drawing n values for each of them.

    The m-th smallest of n draws is the value at place floor(n * U), U the m-th smallest of n uniform numbers, which is
    Beta(m, n - m + 1); given that, the next is U + (1 - U) * Beta(1, n - m). Source: David and Nagaraja, Order
    Statistics (2003), sections 2.1 and 2.5.
    """
    ordered, n = np.sort(values), len(values)
    middle = (n + 1) // 2
    place = generator.beta(middle, n - middle + 1, RESAMPLES)
    found = ordered[np.minimum(place * n, n - 1).astype(np.int64)]
    if n % 2 == 0:
        place += (1 - place) * generator.beta(1, n - middle, RESAMPLES)
        found = (found + ordered[np.minimum(place * n, n - 1).astype(np.int64)]) / 2
    return np.asarray(found)
