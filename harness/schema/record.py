"""Record: a verdict with everything needed to reproduce and to doubt it."""

from typing import Literal

from pydantic import Field

from harness.schema.base import Frozen, Notes, Said
from harness.schema.build import DeviceKind
from harness.schema.flag import Flag
from harness.schema.problem import ProblemRef
from harness.schema.submission import CandidateRef, SubmissionRef
from harness.schema.verdict import PAST_BUILD, Verdict

SCHEMA_VERSION = 1

TimingMode = Literal["full", "quick", "none"]
"""How much timed rounds are to tell."""
ToleranceName = Literal["scaled", "kernelbench"]


class Interval(Frozen):
    """An estimate with its 95% bootstrap interval."""

    value: float
    low: float
    high: float


CompileMode = Literal["default", "max-autotune-no-cudagraphs"]
TraceWhen = Literal["never", "faster", "always"]
"""Which candidates the profiler looks at: none, those that are faster, all."""
BaselineName = Literal["eager", "compile", "compile-max-autotune"]
Conclusion = Literal["faster", "slower", "same", "ambiguous"]


class Conditions(Frozen):
    """The device beside the timed rounds, as NVML sampled it: medians, MHz, degrees Celsius and watts.

    `throttle` names the reasons that NVML gave for a lowered clock during the rounds ("sw-power-cap", "hw-thermal",
    ...). `disturbed` says that other processes used the device or that the clock changed between the two sides'
    rounds by more than the interval allows for, even when measured again.
    """

    samples: int
    sm_mhz: float
    sm_mhz_lowest: float
    sm_mhz_highest: float
    memory_mhz: float
    temperature_c: float
    power_w: float
    throttle: tuple[str, ...] = ()
    disturbed: bool = False


class Baseline(Frozen):
    """The candidate against another form of the reference, measured in the same way as `Timing`'s own.

    `cached` says that its time was known from before and that a short paired round agreed with it.
    """

    name: BaselineName
    reference_ms: float
    speedup: Interval
    conclusion: Conclusion
    reference_samples_ms: tuple[float, ...] = ()
    cached: bool = False


class Timing(Frozen):
    """What the judge's clock said. Times are milliseconds of one call.

    `speedup` is the median ratio of rounds next to each other, reference over candidate; where the host is busy it may
    differ by some per cent from the ratio of `reference_ms` and `candidate_ms`, which are the medians of either side.
    The samples are mean milliseconds of one call over one round of `calls_per_round` calls, in the order taken, less
    the `hand_over_ms` that a round of the reference takes beyond its calls (median): beyond the span of its device
    events, or with no call at all where there is no device. That grows with how long the device was busy: after a round
    of the reference it is `longer_ms` more than after one of the candidate's, and so much was added to the candidate's
    rounds. It varies from round to round by `hand_over_spread_ms` (between quartiles, beside the candidate and alone),
    which the interval allows for as an error of either side alike. `*_device_ms` are the workers' own events; the
    candidate's are a second opinion that decides nothing. None where there is no device. `*_single_ms` are calls that
    are alone in their round, as a user waits for one, on a host those whose contents are shown one by one, and
    `single_speedup` is their ratio, which is stated where it is the smaller one; None where rounds have one call.
    `depends_on_values`: the candidate was better on what `get_inputs` draws than on other contents, or worse, and
    rounds of the worse sort are counted and shown.
    `reference_alone_ms` is the reference's time once the candidate was gone; where it took longer beside it by a factor
    `reference_slowed`, the samples shown are divided by that. `single_slowed` is the same of its calls that came one by
    one, where it decides: those beside the candidate count as long as they were alone, and are shown so.
    `mode` is "quick" where rounds ended as soon as they told in which band the speed-up lies.
    `baseline` is the form of the reference that was timed, `baselines` are the further ones. `conditions` is the state
    of the GPU beside the rounds.
    """

    candidate_ms: float
    reference_ms: float
    speedup: Interval
    conclusion: Conclusion
    rounds: int
    calls_per_round: int
    hand_over_ms: float = 0.0
    longer_ms: float = 0.0
    hand_over_spread_ms: float = 0.0
    candidate_samples_ms: tuple[float, ...] = ()
    reference_samples_ms: tuple[float, ...] = ()
    candidate_device_ms: float | None = None
    reference_device_ms: float | None = None
    candidate_single_ms: float | None = None
    reference_single_ms: float | None = None
    single_speedup: Interval | None = None
    reference_alone_ms: float | None = None
    reference_slowed: float = 1.0
    single_slowed: float = 1.0
    depends_on_values: bool = False
    mode: Literal["full", "quick"] = "full"
    clock: str = "judge, monotonic"
    transfer: str = ""
    baseline: BaselineName = "eager"
    baselines: tuple[Baseline, ...] = ()
    conditions: Conditions | None = None

    @property
    def slowed(self) -> float:
        """By how much the reference took longer beside the candidate than alone, in rounds or in calls one by one."""
        return max(self.reference_slowed, self.single_slowed)


class Roofline(Frozen):
    """How near the candidate comes to what the device can do. Bytes and flops are those of one call.

    `floor_ms` is the larger of (bytes_read + bytes_written) / bandwidth and flops / matrix rate, `write_floor_ms` is
    bytes_written / bandwidth, both at the rates measured on this device; `fraction` is floor_ms over the
    candidate's time. Source: Williams, Waterman and Patterson, Roofline (CACM 52, 2009).
    """

    bytes_read: int
    bytes_written: int
    flops: int
    bandwidth_gb_s: float
    matrix_tflops: float
    floor_ms: float
    write_floor_ms: float
    fraction: float


class Kernel(Frozen):
    """A device kernel that ran: milliseconds and launches of one call. `origin` says whose code it is."""

    name: str
    origin: Literal["candidate", "library"]
    ms: float
    launches: float


class Profile(Frozen):
    """What torch's profiler saw in the candidate's own process: an explanation, by which nothing is decided.

    `device_ms` is the time of all kernels of one call, which for small ones is less than a call takes;
    `custom_kernel_share` is the share of it spent in kernels that the candidate's source defines.
    """

    device_ms: float
    custom_kernel_share: float
    kernels: tuple[Kernel, ...] = ()


ToolName = Literal["memcheck", "racecheck", "initcheck", "ncu"]


class ToolReport(Frozen):
    """What a tool that was asked for found: compute-sanitizer, AddressSanitizer, Nsight Compute.

    `ran` is False where it came to no result (unsupported here, not permitted, out of time); it is then not `clean`
    either. `lines` are 1-based lines of the candidate that the findings mean. The whole output is an attachment.
    """

    tool: ToolName
    clean: bool
    ran: bool = True
    summary: str
    lines: tuple[int, ...] = ()


class Device(Frozen):
    """Where the candidate ran. `cpu-emulated` is CUDA on a CPU: correctness only, never time.

    `gpu` says which of the machine's GPUs it was, as CUDA_VISIBLE_DEVICES names it.
    """

    kind: DeviceKind
    name: str
    gpu: str | None = None


class BuildSummary(Frozen):
    """How an extension of the candidate was built, or by which rule it was `decided` that stock would refuse it too."""

    name: Said
    toolchain: str
    cached: bool
    seconds: float
    cpu_seconds: float
    notes: Notes = ()
    decided: str = ""


class SandboxReport(Frozen):
    """Which layers of isolation held while the candidate ran, and which this machine lacks."""

    layers: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def weakened(self) -> bool:
        """Whether something missing leaves within reach what should not be."""
        return any(weakens(one) for one in self.missing)


def weakens(missing: str) -> bool:
    """Whether the lack of a layer matters to a result: without groups, a watchdog enforces the same limits."""
    return missing.partition(":")[0] != "cgroup"


class Environment(Frozen):
    """The machine. Clocks are MHz as sampled beside the timed rounds."""

    harness: str
    python: str
    torch: str
    cuda: str | None = None
    driver: str | None = None
    gpu: str | None = None
    host: str = ""
    cpu: str = ""
    cores: int = 0
    clocks: dict[str, float] = Field(default_factory=dict)


DIFFERED = "fast-build-differed"
"""The flag of a record whose verdict over a fast build was another than over stock's, which stands in its place."""
UNCONFIRMED = "fast-build-unconfirmed"
"""The flag of a record about which stock was asked in vain: its build came to no end, or the machine failed."""


class Summary(Frozen):
    """What a trainer needs of a record. `detail` is "" where the candidate is correct, `flags` are names of rules.

    `speedup` is None where the candidate is not correct or was not timed. `kind` is that of the verdict:
    "infrastructure" says nothing of the candidate and is no reward.
    """

    kind: str
    compiled: bool
    correct: bool
    speedup: Interval | None = None
    detail: str = ""
    flags: tuple[str, ...] = ()


class Record(Frozen):
    """One judged submission, as it stands in a run's JSON lines.

    `flags` are doubts about the candidate, `audit` those about the problem itself. `confirmed`: "stock"
    where a verdict over a fast build was asked of stock too, and it is stock's word in either case. `reused` names the
    submission of the same session with an equal candidate whose verdict this is, "" where this one was judged itself.
    """

    schema_version: Literal[1] = 1
    problem: ProblemRef
    submission: SubmissionRef
    candidate: CandidateRef | None = None
    device: Device
    verdict: Verdict
    tolerance: ToleranceName = "scaled"
    timing: Timing | None = None
    roofline: Roofline | None = None
    profile: Profile | None = None
    tools: tuple[ToolReport, ...] = ()
    audit: tuple[Flag, ...] = ()
    flags: tuple[Flag, ...] = ()
    confirmed: Literal["stock", "none"] = "none"
    reused: str = ""
    builds: tuple[BuildSummary, ...] = ()
    substitutions: Notes = ()
    sandbox: SandboxReport = SandboxReport()
    phases_s: dict[str, float] = Field(default_factory=dict)
    environment: Environment
    judged_at: str

    @property
    def correct(self) -> bool:
        """Whether the verdict is `correct`. `infrastructure` says nothing of a candidate: look at `verdict.kind`."""
        return self.verdict.kind == "correct"

    @property
    def compiled(self) -> bool:
        """Whether everything that was to be compiled was, and the candidate came as far as being run or refused."""
        return self.verdict.kind in ("correct", "wrong", "rejected") or (
            self.verdict.kind == "failed" and self.verdict.stage in PAST_BUILD
        )

    @property
    def speedup(self) -> Interval | None:
        """How many times faster than the reference as written; None where it is not correct, or was not timed."""
        return self.timing.speedup if self.correct and self.timing is not None else None

    def summary(self) -> Summary:
        """The record in the few words that a server answers with and `harness.client.reward` takes."""
        return Summary(
            kind=self.verdict.kind,
            compiled=self.compiled,
            correct=self.correct,
            speedup=self.speedup,
            detail=getattr(self.verdict, "detail", ""),
            flags=tuple(flag.rule for flag in self.flags),
        )
