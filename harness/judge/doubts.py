"""Doubts: what a judgement makes one wonder about, one function a flag. A setting may let any of them reject.

Does without torch, so that the command line knows the names of the flags.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.languages import defined_kernels, is_own_kernel
from harness.schema.flag import Flag, JudgeFlag, Severity
from harness.schema.record import Kernel, Profile, Roofline

if TYPE_CHECKING:
    from harness.judge.judge import Finding
    from harness.judge.subject import Trace

BATCHED_FACTOR = 4.0
"""How much larger a speed-up over whole rounds may be than single calls leave open at most, before it is doubted: more
than launches that overlap with kernels explain."""
LAUNCH_BOUND_MS = 0.1
EVENTS_APART = 0.05
EVENTS_APART_MS = 0.02
FLOOR_MARGIN = WRITE_MARGIN = 0.9
"""Rates are measured too, within some per cent, and a copy is not the best that memory can do."""
_SHOWN_KERNELS = 20


@dataclass(frozen=True)
class Case:
    """What is known of a candidate once it was judged.

    `writes_kernels`: its source is more than PyTorch calls; None where that cannot be told from it.
    """

    finding: Finding
    roofline: Roofline | None
    profile: Profile | None
    writes_kernels: bool | None


def doubts(case: Case) -> tuple[Flag, ...]:
    """Every flag that the judgement gives rise to."""
    return tuple(flag for flag in (doubt(case) for doubt in DOUBTS.values()) if flag is not None)


def _reduced_precision(case: Case) -> Flag | None:
    error = case.finding.reduced
    if not error:
        return None
    detail = f"its relative error of {error:.1e} throughout is that of arithmetic in fewer bits than the reference's"
    return _flag("reduced-precision", "warn", detail)


def _by_tf32(case: Case) -> Flag | None:
    error = case.finding.by_tf32
    if not error or case.finding.verdict.kind != "correct":
        return None
    detail = (
        f"its relative error of {error:.1e} is more than float32 leaves, and allowed because PyTorch computes "
        "convolutions in tf32 on a GPU"
    )
    return _flag("by-tf32", "info", detail)


def _no_custom_kernel(case: Case) -> Flag | None:
    if case.finding.verdict.kind != "correct":
        return None
    kernels = case.profile.kernels if case.profile else ()
    seen = any(kernel.origin == "candidate" for kernel in kernels)
    if case.writes_kernels is False or (case.writes_kernels is None and not seen):
        return _flag("no-custom-kernel", "warn", "the candidate defines no kernel of its own: PyTorch does the work")
    if case.profile is not None and case.profile.kernels and case.profile.custom_kernel_share == 0:
        detail = "no kernel of the candidate's ran in the traced calls: a library does the work"
        return _flag("no-custom-kernel", "warn", detail)
    return None


def _below_roofline(case: Case) -> Flag | None:
    roofline, timing = case.roofline, case.finding.timing
    if roofline is None or timing is None or timing.candidate_ms >= FLOOR_MARGIN * roofline.floor_ms:
        return None
    moved = (roofline.bytes_read + roofline.bytes_written) / 1e6
    detail = (
        f"{timing.candidate_ms:.4g} ms is less than the floor of {roofline.floor_ms:.4g} ms: {moved:.4g} MB "
        f"at {roofline.bandwidth_gb_s:.0f} GB/s, {roofline.flops / 1e9:.4g} GFLOP at {roofline.matrix_tflops:.0f} "
        "TFLOP/s. Does the problem need all of its inputs?"
    )
    return _flag("below-roofline", "warn", detail)


def _faster_than_writing(case: Case) -> Flag | None:
    roofline, timing = case.roofline, case.finding.timing
    if roofline is None or timing is None or timing.candidate_ms >= WRITE_MARGIN * roofline.write_floor_ms:
        return None
    detail = (
        f"{timing.candidate_ms:.4g} ms is less than writing the {roofline.bytes_written / 1e6:.4g} MB of outputs takes "
        f"({roofline.write_floor_ms:.4g} ms)"
    )
    return _flag("faster-than-writing", "reject", detail)


def _batched_calls(case: Case) -> Flag | None:
    timing = case.finding.timing
    if timing is None or timing.single_speedup is None or timing.reference_device_ms is None:
        return None  # on a host others use the cores too: the smaller figure is stated, and nobody accused
    in_rounds, at_most = timing.reference_ms / timing.candidate_ms, timing.single_speedup.high
    if in_rounds <= max(1.0, BATCHED_FACTOR * at_most):  # what claims no gain has none: the smaller figure is stated
        return None
    detail = (
        f"{in_rounds:.3g} times faster over rounds of {timing.calls_per_round} calls, but at most {at_most:.3g} "
        "times over single calls: work of several calls seems to be done in one"
    )
    return _flag("batched-calls", "reject", detail)


def _disturbed_timing(case: Case) -> Flag | None:
    conditions = case.finding.timing.conditions if case.finding.timing else None
    if conditions is None or not conditions.disturbed:
        return None
    why = f", throttled: {', '.join(conditions.throttle)}" if conditions.throttle else ""
    detail = (
        f"the GPU's clock moved between {conditions.sm_mhz_lowest:.0f} and {conditions.sm_mhz_highest:.0f} MHz"
        f"{why}, also when measured again"
    )
    return _flag("disturbed-timing", "warn", detail)


def _device_events_disagree(case: Case) -> Flag | None:
    timing = case.finding.timing
    if timing is None or timing.reference_device_ms is None:
        return None
    if timing.candidate_device_ms is None:
        return _flag("device-events-disagree", "warn", "the candidate's process named no time of its device events")
    apart = abs(timing.candidate_device_ms - timing.candidate_ms)
    if apart <= EVENTS_APART_MS or apart <= EVENTS_APART * timing.candidate_ms:
        return None
    detail = (
        f"device events in the candidate's process say {timing.candidate_device_ms:.4g} ms a call, the judge's clock "
        f"{timing.candidate_ms:.4g} ms; the judge's stands"
    )
    return _flag("device-events-disagree", "warn", detail)


def _launch_bound(case: Case) -> Flag | None:
    timing = case.finding.timing
    if timing is None or timing.single_speedup is None or timing.candidate_ms >= LAUNCH_BOUND_MS:
        return None
    single = timing.single_speedup
    in_rounds = timing.reference_ms / timing.candidate_ms
    detail = (
        f"a call is so short that launching it is most of its time: {in_rounds:.3g} times faster over rounds, "
        f"{single.low:.3g} to {single.high:.3g} times over single calls. A candidate that has launches ready before it "
        "is asked, or does several calls at once, can look better by up to what single calls leave open"
    )
    if timing.reference_device_ms is None:
        detail += "; one that has a loop of its own in the place of the worker's by some 15 us of a call"
    return _flag("launch-bound", "info", detail)


def _depends_on_values(case: Case) -> Flag | None:
    timing = case.finding.timing
    if timing is None or not timing.depends_on_values:
        return None
    detail = (
        "it was faster on what get_inputs draws than on other contents, or slower, and counts as it was on the worse"
    )
    return _flag("depends-on-values", "warn", detail)


def _slowed_reference(case: Case) -> Flag | None:
    timing = case.finding.timing
    if timing is None or timing.slowed <= 1.0:
        return None
    calls = "" if timing.reference_slowed > 1.0 else ", in calls that came alone"
    detail = (
        f"the reference took {timing.slowed:.3g} times as long beside it as alone{calls}, and counts as it is alone"
    )
    return _flag("slowed-reference", "warn", detail)


def _not_timed(case: Case) -> Flag | None:
    return _flag("not-timed", "info", case.finding.untimed) if case.finding.untimed else None


DOUBTS: dict[JudgeFlag, Callable[[Case], Flag | None]] = {
    "reduced-precision": _reduced_precision,
    "by-tf32": _by_tf32,
    "no-custom-kernel": _no_custom_kernel,
    "below-roofline": _below_roofline,
    "faster-than-writing": _faster_than_writing,
    "batched-calls": _batched_calls,
    "launch-bound": _launch_bound,
    "depends-on-values": _depends_on_values,
    "slowed-reference": _slowed_reference,
    "disturbed-timing": _disturbed_timing,
    "device-events-disagree": _device_events_disagree,
    "not-timed": _not_timed,
}


WORK_OUTSIDE_THE_CLOCK = Flag(
    rule="work-outside-the-clock",
    severity="reject",
    detail="the device was busy with work of the candidate's between its rounds, and idle once it was gone",
)
PAUSED_BETWEEN_ROUNDS = WORK_OUTSIDE_THE_CLOCK.model_copy(
    update={"detail": "it took longer to answer between its rounds than the reference, and worked there"}
)
COPIED_MEMORY = Flag(
    rule="copied-memory",
    severity="warn",
    detail="the driver shares no device memory between processes, so the candidate's process copied its outputs to the "
    "host after the clock had stopped: what it still owed then would not show in its time",
)
"""These are raised by the judge's process, which holds the device and can look at it once the candidate is gone."""


def _flag(rule: JudgeFlag, severity: Severity, detail: str) -> Flag:
    return Flag(rule=rule, severity=severity, detail=detail)


# ---- whose work it was -----------------------------------------------------------------------------------------------


def profile_of(trace: Trace, source: str) -> Profile | None:
    """What a trace says of whose work it was; None for one without any time.

    A kernel is the candidate's where its source defines that name, or where it looks like no library's. On a CPU the
    trace names torch's operators, and the candidate did what they did not.
    """
    if trace.us <= 0:
        return None
    defined = defined_kernels(source)
    kernels = [
        Kernel(
            name=used.name,
            origin="candidate" if is_own_kernel(used.name, defined) else "library",
            ms=used.us / trace.calls / 1e3,
            launches=used.launches / trace.calls,
        )
        for used in trace.kernels
    ]
    library_us = sum(kernel.ms for kernel in kernels if kernel.origin == "library") * trace.calls * 1e3
    return Profile(
        device_ms=trace.us / trace.calls / 1e3,
        custom_kernel_share=min(1.0, max(0.0, 1 - library_us / trace.us)),
        kernels=tuple(kernels[:_SHOWN_KERNELS]),
    )
