"""Roofline: how near a time comes to what the device can do, and times that no device can reach.

Source of the model: Williams, Waterman and Patterson, "Roofline: an insightful visual performance model" (CACM 52,
2009). The device's rates are measured (`backends/rates.py`), not looked up.
"""

from harness.backends.rates import Rates
from harness.schema.audit import Audit
from harness.schema.record import Roofline, Timing


def roofline(problem: Audit, rates: Rates, timing: Timing) -> Roofline:
    """The floor of one call, and the fraction of it that the candidate reached.

    Inputs count as read once and outputs as written once. Weights count only where they outgrow the last cache: they
    are the same in every call and may stay there.
    """
    weights = problem.weight_bytes if problem.weight_bytes > rates.cache_bytes else 0
    read, written = problem.input_bytes + weights, problem.output_bytes
    floor_s = max((read + written) / rates.copy, problem.flops / rates.flops)
    return Roofline(
        bytes_read=read,
        bytes_written=written,
        flops=problem.flops,
        bandwidth_gb_s=rates.copy / 1e9,
        matrix_tflops=rates.flops / 1e12,
        floor_ms=floor_s * 1e3,
        write_floor_ms=_write_floor_s(problem, rates, timing) * 1e3,
        fraction=floor_s * 1e3 / timing.candidate_ms,
    )


def _write_floor_s(problem: Audit, rates: Rates, timing: Timing) -> float:
    """Seconds that writing the outputs of one call takes at least.

    What fits into the last cache need not have reached memory when the clock stops: that much of a round is free.
    """
    round_bytes = problem.output_bytes * timing.calls_per_round
    return max(0.0, round_bytes - 2 * rates.cache_bytes) / rates.fill / timing.calls_per_round
