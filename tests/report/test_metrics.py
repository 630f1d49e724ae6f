import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.report.metrics import (
    FEWEST,
    _bootstrap_medians,
    best_of_k,
    bootstrap,
    fast_p,
    geometric_mean_of_each,
    geometric_means,
    medians,
    paired_p,
    pass_at_k,
    ratio_of_speedups,
    spread,
)

ANSWERS = st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=14)


def by_problem(pairs):
    found = {}
    for problem, value in pairs:
        found.setdefault(problem, []).append(value)
    return found


def columns(pairs, dtype=None):
    problems, values = zip(*pairs, strict=True)
    return np.array(problems), np.array(values, dtype)


# pass@k


def test_pass_at_k_is_the_share_of_draws_of_k_that_hold_one_that_passes():
    problems, passed = columns([(0, n < 2) for n in range(7)])
    for k in range(1, 8):
        draws = list(itertools.combinations([True] * 2 + [False] * 5, k))
        assert pass_at_k(problems, passed, k=k, asked=1) == pytest.approx(sum(map(any, draws)) / len(draws))


@given(ANSWERS, st.integers(1, 4), st.integers(0, 3))
def test_pass_at_k_agrees_with_the_formula_of_chen_et_al(pairs, k, unanswered):
    answers = by_problem(pairs)
    asked = len(answers) + unanswered
    found = pass_at_k(*columns(pairs, bool), k=k, asked=asked)
    if min(map(len, answers.values())) < k:
        assert found is None
    else:
        each = [1 - math.comb(len(a) - sum(a), k) / math.comb(len(a), k) for a in answers.values()]
        assert found == pytest.approx(sum(each) / asked)


def test_many_answers_overflow_nothing():
    problems, passed = columns([(0, n == 0) for n in range(10_000)])
    assert pass_at_k(problems, passed, k=100, asked=1) == pytest.approx(0.01)


def test_problems_without_an_answer_count_as_not_passed():
    assert pass_at_k(np.array([3]), np.array([True]), k=1, asked=4) == 0.25


# fast_p


def test_fast_p_is_strict_and_divides_by_all_that_was_asked():
    problems, speedups = columns(enumerate([0.5, 1.0, 1.5, 2.0, 3.0]))
    assert fast_p(problems, speedups, p=0, asked=10) == 0.5
    assert fast_p(problems, speedups, p=1, asked=10) == pytest.approx(0.3)
    assert fast_p(problems, speedups, p=2, asked=10) == 0.1


def test_an_incorrect_answer_is_not_fast_and_an_untimed_one_is_correct():
    problems, speedups = columns(enumerate([math.nan, math.inf, 0.5, 4.0]))
    assert fast_p(problems, speedups, p=0, asked=4) == 0.75


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=20), st.floats(0, 50), st.floats(0, 50))
def test_fast_p_falls_as_p_rises(speedups, p, q):
    problems, values = columns(enumerate(speedups))
    low, high = sorted((p, q))
    assert fast_p(problems, values, p=low, asked=20) >= fast_p(problems, values, p=high, asked=20)


# best of k


@given(st.lists(st.one_of(st.just(math.nan), st.floats(0.1, 10)), min_size=1, max_size=7), st.data())
def test_the_best_of_k_is_the_mean_over_all_draws(speedups, data):
    k = data.draw(st.integers(1, len(speedups)))
    gains = [max(1.0, speedup) if speedup == speedup else 1.0 for speedup in speedups]
    logs = [math.log(max(draw)) for draw in itertools.combinations(gains, k)]
    expected = math.exp(sum(logs) / len(logs))
    assert best_of_k(*columns([(0, speedup) for speedup in speedups]), k=k, asked=1) == pytest.approx(expected)


def test_the_best_of_k_is_a_geometric_mean_over_problems_and_the_reference_stays_where_nothing_is_faster():
    problems, speedups = columns([(0, 4.0), (0, 1.0), (5, 0.1), (5, math.nan)])
    assert best_of_k(problems, speedups, k=2, asked=2) == pytest.approx(2.0)
    assert best_of_k(problems, speedups, k=2, asked=4) == pytest.approx(math.sqrt(2.0))
    assert best_of_k(problems, speedups, k=3, asked=2) is None


# Means and intervals


def test_the_geometric_mean_cancels_twice_and_half_as_fast():
    assert geometric_means(np.array([[2.0, 0.5]]))[0] == pytest.approx(1.0)
    assert geometric_means(np.array([[5.37, 1.03, 1.01, 0.63, 0.62]]))[0] == pytest.approx(1.1688883)


def test_each_problem_has_one_figure_however_many_answers():
    problems, speedups = columns([(2, 4.0), (0, 3.0), (2, 1.0)])
    assert geometric_mean_of_each(problems, speedups) == pytest.approx([3.0, 2.0])


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30))
def test_an_interval_holds_its_value_and_lies_within_the_values(values):
    found = bootstrap(np.array(values), geometric_means)
    assert min(values) * (1 - 1e-9) <= found.value <= max(values) * (1 + 1e-9)
    if len(values) < FEWEST:
        assert (found.low, found.high) == (None, None)
    else:
        assert min(values) * (1 - 1e-9) <= found.low <= found.value <= found.high <= max(values) * (1 + 1e-9)


def test_the_interval_covers_the_true_value_about_as_often_as_it_says():
    generator = random.Random(7)
    hits = 0
    for _ in range(200):
        values = np.array([math.exp(generator.gauss(0.0, 0.5)) for _ in range(40)])
        found = bootstrap(values, geometric_means)
        hits += found.low <= 1.0 <= found.high
    assert 178 <= hits <= 200  # of 200 at 95%: five standard deviations


def test_the_median_is_the_middle_and_equal_values_give_an_equal_interval():
    values = np.array([5.0, 1.0, 3.0, 2.0, 4.0])
    assert bootstrap(values, medians).value == 3.0
    assert bootstrap(values, medians) == bootstrap(values.copy(), medians)


def test_many_values_are_resampled_in_parts_to_the_same_effect():
    values = np.exp(np.random.default_rng(1).normal(0.0, 1.0, 20_000))
    found = bootstrap(values, geometric_means)
    assert found.high / found.low == pytest.approx(math.exp(2 * 1.96 / math.sqrt(20_000)), rel=0.01)


# Two measurements against each other


def samples(median, spread, n=30, seed=0):
    generator = random.Random(seed)
    return [median * math.exp(generator.gauss(0.0, spread)) for _ in range(n)]


def test_what_slows_a_host_for_some_rounds_is_not_in_the_ratio_of_two_speed_ups():
    busy = [10.0, 10.1, 16.0, 16.2, 16.1, 10.0, 9.9, 16.0, 16.3, 10.1]
    found = ratio_of_speedups((busy, [time / 2 for time in busy]), ([3.0] * 10, [3.0] * 10))
    assert found.value == pytest.approx(2.0)
    assert found.high - found.low < 1e-9


def test_the_ratio_of_two_speed_ups_is_that_of_four_medians_where_they_were_taken_apart():
    found = ratio_of_speedups(([8.0, 8.0, 9.0], [2.0] * 5), ([6.0] * 4, [3.0] * 7))
    assert found.value == pytest.approx(2.0)
    assert found.over == 3


def test_the_ratio_of_two_speed_ups_is_that_of_their_rounds():
    found = ratio_of_speedups(([4.0] * 5, [1.0] * 5), ([6.0] * 5, [3.0] * 5))
    assert (found.value, found.low, found.high) == (2.0, 2.0, 2.0)


def test_noise_in_any_of_the_four_widens_the_interval():
    calm = samples(1.0, 0.001)
    for noisy in range(4):
        four = [samples(1.0, 0.2, seed=9) if n == noisy else calm for n in range(4)]
        found = ratio_of_speedups((four[0], four[1]), (four[2], four[3]))
        assert found.high / found.low > 1.05


@pytest.mark.parametrize("broken", [[], [0.0, 1.0], [-1.0]])
def test_without_samples_there_is_no_ratio(broken):
    assert ratio_of_speedups(([1.0], broken), ([1.0], [1.0])) is None


@pytest.mark.parametrize("n", [1, 2, 9, 10])
def test_medians_of_resamples_are_distributed_as_those_of_drawn_resamples(n):
    generator = np.random.default_rng(3)
    values = np.arange(1.0, n + 1)
    quick = np.concatenate([_bootstrap_medians(values, generator) for _ in range(10)])
    drawn = np.median(values[generator.integers(0, n, (20_000, n))], axis=1)
    assert set(quick.tolist()) <= {half / 2 for half in range(2, 2 * n + 1)}
    for value in np.unique(drawn):
        assert (quick <= value).mean() == pytest.approx((drawn <= value).mean(), abs=0.02)


# How sure a share and a difference are


def test_the_standard_error_is_that_of_a_mean_over_all_problems_asked():
    found = spread(np.array([1.0, 1.0, 0.0]), asked=5)
    assert found.standard_error == pytest.approx(np.std([1, 1, 0, 0, 0], ddof=1) / math.sqrt(5))


def test_the_interval_of_a_share_is_wilsons():
    found = spread(np.array([1.0] * 8), asked=10)
    assert (found.low, found.high) == (pytest.approx(0.490, abs=1e-3), pytest.approx(0.943, abs=1e-3))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.integers(0, 5))
def test_an_interval_holds_its_share_and_stays_within_0_and_1(values, unanswered):
    asked = len(values) + unanswered
    found = spread(np.array(values), asked=asked)
    assert 0 <= found.low <= sum(values) / asked + 1e-12
    assert sum(values) / asked - 1e-12 <= found.high <= 1


def test_the_paired_test_is_that_of_all_choices_of_signs():
    differences = np.array([0.5, 0.0, 1.0, -0.25, 2.0])
    kept = [d for d in differences if d]
    sums = [abs(sum(s * d for s, d in zip(signs, kept, strict=True))) for signs in itertools.product((1, -1), repeat=4)]
    expected = sum(each >= 3.25 - 1e-9 for each in sums) / len(sums)
    assert paired_p(differences) == expected
    assert paired_p(np.zeros(3)) == 1.0


def test_many_problems_are_tested_by_random_signs_that_are_the_same_each_time():
    generator = np.random.default_rng(1)
    assert paired_p(generator.normal(1.0, 1.0, 50)) < 0.001
    noise = generator.normal(0.0, 1.0, 50)
    assert paired_p(noise) == paired_p(noise)
