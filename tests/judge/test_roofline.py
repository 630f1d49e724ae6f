"""Floors of a time, by arithmetic on made-up rates."""

import pytest

from harness.judge.roofline import Rates, roofline
from harness.schema import Interval, Timing
from harness.schema.audit import Audit

RATES = Rates(copy=1e12, fill=2e12, flops=1e14, cache_bytes=1_000_000)
GIGA = 10**9


def timing(candidate_ms, calls=4):
    return Timing(
        candidate_ms=candidate_ms,
        reference_ms=1.0,
        speedup=Interval(value=1, low=1, high=1),
        conclusion="same",
        rounds=10,
        calls_per_round=calls,
    )


def test_memory_bounds_a_call_with_few_flops():
    found = roofline(Audit(input_bytes=GIGA, output_bytes=GIGA, flops=10**6), RATES, timing(4.0))
    assert found.floor_ms == pytest.approx(2.0)
    assert found.fraction == pytest.approx(0.5)


def test_arithmetic_bounds_a_call_with_many_flops():
    found = roofline(Audit(input_bytes=1000, output_bytes=1000, flops=10**12), RATES, timing(20.0))
    assert found.floor_ms == pytest.approx(10.0)


def test_weights_count_only_where_they_outgrow_the_cache():
    small, large = (Audit(input_bytes=0, output_bytes=0, weight_bytes=size) for size in (999_999, 2_000_000))
    assert roofline(small, RATES, timing(1.0)).bytes_read == 0
    assert roofline(large, RATES, timing(1.0)).bytes_read == 2_000_000


def test_what_stays_in_the_cache_at_the_end_of_a_round_need_not_be_written_within_it():
    found = roofline(Audit(output_bytes=1_000_000), RATES, timing(1.0, calls=4))
    assert found.write_floor_ms == pytest.approx((4_000_000 - 2_000_000) / 2e12 / 4 * 1e3)
    assert roofline(Audit(output_bytes=1_000_000), RATES, timing(1.0, calls=2)).write_floor_ms == 0
