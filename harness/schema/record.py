"""Record: a verdict with everything needed to reproduce and to doubt it."""

from typing import Literal

from pydantic import Field

from harness.schema.base import Frozen
from harness.schema.build import DeviceKind
from harness.schema.flag import Flag
from harness.schema.problem import ProblemRef
from harness.schema.submission import CandidateRef, SubmissionRef
from harness.schema.verdict import Verdict

SCHEMA_VERSION = 1


class Interval(Frozen):
    """An estimate with its 95% bootstrap interval."""

    value: float
    low: float
    high: float


class Timing(Frozen):
    """What the judge's clock said. Times are milliseconds of one call.

    `speedup` is the ratio of the medians, reference over candidate. The samples are mean milliseconds of one call
    over one round of `calls_per_round` calls, in the order taken, less the `hand_over_ms` that an empty round of the
    reference takes (median). `device_*_ms` are the worker's own device events,
    a second opinion that decides nothing; None where there is no device.
    """

    candidate_ms: float
    reference_ms: float
    speedup: Interval
    conclusion: Literal["faster", "slower", "same", "ambiguous"]
    rounds: int
    calls_per_round: int
    hand_over_ms: float = 0.0
    candidate_samples_ms: tuple[float, ...] = ()
    reference_samples_ms: tuple[float, ...] = ()
    candidate_device_ms: float | None = None
    reference_device_ms: float | None = None
    clock: str = "judge, monotonic"
    transfer: str = ""


class Device(Frozen):
    """Where the candidate ran. `cpu-emulated` is CUDA on a CPU: correctness only, never time."""

    kind: DeviceKind
    name: str


class BuildSummary(Frozen):
    """How each extension of the candidate was built."""

    name: str
    toolchain: str
    cached: bool
    seconds: float
    cpu_seconds: float
    notes: tuple[str, ...] = ()


class SandboxReport(Frozen):
    """Which layers of isolation held while the candidate ran, and which this machine lacks."""

    layers: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


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


class Record(Frozen):
    """One judged submission, as it stands in a run's JSON lines."""

    schema_version: Literal[1] = 1
    problem: ProblemRef
    submission: SubmissionRef
    candidate: CandidateRef | None = None
    device: Device
    verdict: Verdict
    timing: Timing | None = None
    flags: tuple[Flag, ...] = ()
    builds: tuple[BuildSummary, ...] = ()
    substitutions: tuple[str, ...] = ()
    sandbox: SandboxReport = SandboxReport()
    phases_s: dict[str, float] = Field(default_factory=dict)
    environment: Environment
    judged_at: str
