"""What a judgement makes one wonder about."""

import pytest

from harness.judge.doubts import (
    COPIED_MEMORY,
    DOUBTS,
    WORK_OUTSIDE_THE_CLOCK,
    Case,
    doubts,
    profile_of,
)
from harness.judge.judge import Finding
from harness.judge.subject import KernelUse, Trace
from harness.languages import defined_kernels
from harness.schema import Conditions, Correct, Interval, Roofline, Timing
from harness.settings import REJECTABLE

FLOOR = Roofline(
    bytes_read=10**6,
    bytes_written=10**6,
    flops=0,
    bandwidth_gb_s=1000,
    matrix_tflops=100,
    floor_ms=0.5,
    write_floor_ms=0.2,
    fraction=0.5,
)


def timing(**more):
    given = {
        "candidate_ms": 1.0,
        "reference_ms": 2.0,
        "speedup": Interval(value=2.0, low=1.9, high=2.1),
        "conclusion": "faster",
        "rounds": 10,
        "calls_per_round": 256,
    }
    return Timing(**{**given, **more})


def rules(*, floor=FLOOR, profile=None, writes_kernels=True, reduced=0.0, by_tf32=0.0, **more):
    finding = Finding(Correct(trials=9), timing=timing(**more), reduced=reduced, by_tf32=by_tf32)
    return {flag.rule: flag.severity for flag in doubts(Case(finding, floor, profile, writes_kernels))}


def test_an_ordinary_judgement_raises_no_doubt():
    assert rules() == {}


def test_a_time_below_the_floor_is_doubted_and_one_below_writing_rejected():
    assert rules(candidate_ms=0.4) == {"below-roofline": "warn"}
    assert rules(candidate_ms=0.1) == {"below-roofline": "warn", "faster-than-writing": "reject"}
    assert rules(candidate_ms=0.48) == {}  # the rates are measured too


@pytest.mark.parametrize(("high", "flags"), [(0.7, {"batched-calls": "reject"}), (0.8, {})])
def test_a_candidate_that_is_faster_only_over_whole_rounds_did_the_work_of_several_calls_in_one(high, flags):
    single = Interval(value=0.5, low=0.1, high=high)  # what is certain counts, not what is likely
    cheat = {"candidate_ms": 0.002, "reference_ms": 0.006, "speedup": Interval(value=high, low=0.1, high=high)}
    on_device = {**cheat, "candidate_device_ms": 0.002, "reference_device_ms": 0.006}
    assert rules(**on_device, single_speedup=single, floor=None) == {**flags, "launch-bound": "info"}
    silent = rules(**{**on_device, "candidate_device_ms": None}, single_speedup=single, floor=None)
    assert silent == {**flags, "launch-bound": "info", "device-events-disagree": "warn"}
    on_host = rules(**cheat, single_speedup=single, floor=None)  # others use its cores: what is smaller is stated
    assert on_host == {"launch-bound": "info"}


def test_launches_that_overlap_are_no_batching():
    honest = {"candidate_ms": 0.006, "reference_ms": 0.045, "speedup": Interval(value=7.5, low=7.4, high=7.6)}
    single = Interval(value=4, low=3, high=5)
    assert rules(**honest, single_speedup=single, floor=None) == {"launch-bound": "info"}


def test_what_is_no_faster_over_rounds_is_not_accused_of_batching_for_single_calls_that_are_slow():
    """Memory taken anew in single calls, on a busy host: 0.34 times over rounds, 0.025 over single calls (H200)."""
    slow = {"candidate_ms": 0.036, "reference_ms": 0.012, "speedup": Interval(value=0.025, low=0.01, high=0.026)}
    single = Interval(value=0.02, low=0.01, high=0.025)
    assert rules(**slow, single_speedup=single, floor=None) == {"launch-bound": "info"}


def test_calls_that_are_long_are_not_called_launch_bound():
    assert "launch-bound" not in rules(single_speedup=Interval(value=1, low=0.9, high=1.1))


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        ({"depends_on_values": True}, "depends-on-values"),
        ({"reference_slowed": 1.3}, "slowed-reference"),
        ({"single_slowed": 1.3}, "slowed-reference"),
    ],
)
def test_what_was_not_taken_from_all_rounds_as_they_were_is_named(changed, rule):
    assert rules(**changed)[rule] == "warn"
    assert rule not in rules()


def test_a_candidate_without_a_kernel_of_its_own_is_named():
    assert rules(writes_kernels=False) == {"no-custom-kernel": "warn"}


def test_where_the_source_cannot_tell_who_wrote_the_kernels_the_profile_does():
    own = profile_of(Trace(us=30.0, calls=3, kernels=(KernelUse("fancy", us=30.0, launches=3),)), "import some_dsl\n")
    assert rules(writes_kernels=None, profile=own) == {}
    operators = (KernelUse("aten::add", us=10.0, launches=3),)  # on a CPU: what else ran was not looked at
    on_cpu = profile_of(Trace(us=30.0, calls=3, kernels=operators), "import some_dsl\n")
    assert rules(writes_kernels=None, profile=on_cpu) == {"no-custom-kernel": "warn"}
    assert rules(writes_kernels=None) == {"no-custom-kernel": "warn"}
    assert rules(writes_kernels=False, profile=own) == {"no-custom-kernel": "warn"}, "nothing in it can make a kernel"


@pytest.mark.parametrize(("device_ms", "flagged"), [(1.02, False), (0.5, True)])
def test_device_events_that_disagree_are_named(device_ms, flagged):
    assert ("device-events-disagree" in rules(candidate_device_ms=device_ms, reference_device_ms=2.0)) == flagged


def test_a_clock_that_moved_is_named():
    conditions = Conditions(
        samples=20,
        sm_mhz=1500,
        sm_mhz_lowest=1200,
        sm_mhz_highest=1980,
        memory_mhz=3201,
        temperature_c=60,
        power_w=700,
        throttle=("hw-thermal",),
        disturbed=True,
    )
    assert rules(conditions=conditions) == {"disturbed-timing": "warn"}


def test_an_error_of_half_arithmetic_is_named():
    assert rules(reduced=3e-4) == {"reduced-precision": "warn"}


def test_an_error_that_only_tf32_excuses_is_named_where_the_verdict_is_correct():
    assert rules(by_tf32=3e-4) == {"by-tf32": "info"}


def test_a_judgement_without_a_time_is_doubted_for_its_error_and_its_kernels_alone():
    half = Case(Finding(Correct(trials=7), reduced=3e-4), None, None, writes_kernels=True)
    assert [flag.rule for flag in doubts(half)] == ["reduced-precision"]
    calls = Case(Finding(Correct(trials=7)), None, None, writes_kernels=False)
    assert [flag.rule for flag in doubts(calls)] == ["no-custom-kernel"]


def test_every_flag_that_may_reject_is_one_that_is_raised():
    assert {*DOUBTS, WORK_OUTSIDE_THE_CLOCK.rule, COPIED_MEMORY.rule} == set(REJECTABLE)


SOURCE = """
template <typename T> __global__ void __launch_bounds__(256) fused(const T* x) {}
__global__ void plain (float* x) {}
@triton.jit
def rows(x, BLOCK: tl.constexpr):
    pass
"""


def test_kernels_that_a_source_defines_are_found():
    assert defined_kernels(SOURCE) == {"fused", "plain", "rows"}


def test_the_share_of_custom_kernels_is_that_of_their_time():
    used = (
        KernelUse("void fused<float>(float const*)", us=30.0, launches=3),
        KernelUse("sm80_xmma_gemm_f32f32_tn", us=60.0, launches=3),
        KernelUse("void at::native::vectorized_elementwise_kernel<4>(int)", us=10.0, launches=3),
    )
    profile = profile_of(Trace(us=100.0, calls=3, kernels=used), SOURCE)
    assert profile.custom_kernel_share == pytest.approx(0.3)
    assert [kernel.origin for kernel in profile.kernels] == ["candidate", "library", "library"]
    assert profile.kernels[0].ms == pytest.approx(0.01)
    assert profile.kernels[0].launches == 1


def test_a_decoy_that_never_ran_is_named():
    used = (KernelUse("void at::native::vectorized_elementwise_kernel<4>(int)", us=10.0, launches=3),)
    profile = profile_of(Trace(us=10.0, calls=3, kernels=used), SOURCE)
    assert rules(profile=profile) == {"no-custom-kernel": "warn"}
