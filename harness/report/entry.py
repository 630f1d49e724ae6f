"""Entry: the parts of a record that a leaderboard needs, so that a long run is read in half the time.

An entry has the names of `Record`, so whatever ranks entries ranks records too.
"""

from pydantic import BaseModel, ConfigDict

from harness.schema import DeviceKind, Interval
from harness.schema.flag import Severity
from harness.schema.problem import Precision


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class WorkloadPart(_Part):
    reduced: bool = False
    precision: Precision = "fp32"


class ProblemPart(_Part):
    set: str
    name: str
    workload: WorkloadPart = WorkloadPart()

    @property
    def title(self) -> str:
        return f"{self.set}/{self.name}" if self.set else self.name


class SubmissionPart(_Part):
    path: str
    sample: int = 0
    model: str = ""


class DevicePart(_Part):
    kind: DeviceKind
    name: str


class VerdictPart(_Part):
    kind: str
    stage: str | None = None


class TimingPart(_Part):
    speedup: Interval


class FlagPart(_Part):
    severity: Severity


class SandboxPart(_Part):
    layers: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class Entry(_Part):
    """What a leaderboard reads of one record."""

    problem: ProblemPart
    submission: SubmissionPart
    device: DevicePart
    verdict: VerdictPart
    timing: TimingPart | None = None
    flags: tuple[FlagPart, ...] = ()
    sandbox: SandboxPart = SandboxPart()
