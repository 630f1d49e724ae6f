"""Estimates and what may be said of them."""

import numpy as np
import pytest

from harness.judge.statistics import conclusion, longer_at_least, longer_on_average_at_least, median_ratio
from harness.schema import Interval


def test_equal_samples_give_one_exactly():
    assert median_ratio([2.0] * 10, [2.0] * 10) == Interval(value=1.0, low=1.0, high=1.0)


def test_the_interval_holds_the_ratio_and_narrows_with_more_samples():
    generator = np.random.default_rng(1)
    widths = []
    for count in (10, 100, 1000):
        slow, fast = generator.normal(4, 0.1, count), generator.normal(2, 0.05, count)
        found = median_ratio(slow, fast)
        assert found.low <= found.value <= found.high
        assert found.value == pytest.approx(2.0, rel=0.05)
        widths.append(found.high - found.low)
    assert widths[0] > widths[1] > widths[2]


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    generator = np.random.default_rng(2)
    hits = 0
    for _ in range(200):
        samples = generator.normal(1, 0.02, 30), generator.normal(1, 0.02, 30)
        found = median_ratio(*samples)
        hits += found.low <= 1 <= found.high
    assert hits >= 180


def test_equal_samples_give_an_equal_interval():
    samples = [1.0, 1.1, 0.9, 1.2], [2.0, 2.2, 1.9, 2.1]
    assert median_ratio(*samples) == median_ratio(*samples)


def test_what_slows_a_host_for_some_rounds_moves_nothing():
    generator = np.random.default_rng(4)
    host = np.repeat(generator.choice([1.0, 1.4], size=12), 5)
    slow, fast = (ms * host * generator.normal(1, 0.01, 60) for ms in (4, 2))
    found = median_ratio(slow, fast)
    assert found.value == pytest.approx(2.0, rel=0.01)
    assert found.high / found.low < 1.02


def test_rounds_that_are_not_in_pairs_are_refused():
    with pytest.raises(ValueError, match="shorter"):
        median_ratio([1.0, 1.0], [1.0])


def test_one_outlier_moves_nothing():
    assert median_ratio([1.0] * 20 + [99.0], [1.0] * 21).value == 1.0


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1.2, 1.4, "faster"),
        (0.7, 0.9, "slower"),
        (0.995, 1.005, "same"),
        (0.9, 1.1, "ambiguous"),
        (1.001, 1.3, "faster"),
    ],
)
def test_a_conclusion_is_what_the_interval_allows(low, high, said):
    assert conclusion(Interval(value=(low + high) / 2, low=low, high=high)) == said


def test_the_interval_is_as_wide_as_that_of_a_median_at_95_percent():
    """The asymptotic standard error of a median of n normal values is sqrt(pi / 2) sigma / sqrt(n)."""
    generator = np.random.default_rng(3)
    count, sigma = 400, 0.01
    widths = []
    for _ in range(40):
        found = median_ratio(np.exp(generator.normal(0, sigma, count)), np.ones(count))
        widths.append(found.high - found.low)
    half_width = 1.96 * np.sqrt(np.pi / 2) * sigma / np.sqrt(count)
    assert np.mean(widths) == pytest.approx(2 * half_width, rel=0.08)  # 90% would be narrower by 16%


def test_what_is_long_in_few_of_the_samples_is_longer_on_average_though_not_in_the_middle():
    seldom, never = [1.0, 1.0, 10.0] * 8, [1.0, 1.01, 0.99] * 8
    assert longer_at_least(seldom, never) < 0.1
    assert longer_on_average_at_least(seldom, never) > 1.0
    assert longer_on_average_at_least(never, seldom) < 0
