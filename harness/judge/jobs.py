"""What controller and judge say to each other. Both are trusted; the frames are those of the workers' wire.

Whatever either says of a job carries the job's id, and neither takes anything that carries another: a verdict cannot
become that of another submission, nor a build that of another candidate.

The judge asks at every phase whether it is to go on (`Phase`), and between trials and between blocks of timed rounds,
never in one. Told to give up, it ends the job's workers, gives back the device and says `GaveUp`; the next job is taken
by the same process.
"""

import secrets
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from harness.errors import DeviceError, HarnessError, InputError, ProblemError
from harness.logs import Level
from harness.schema.audit import Audit
from harness.schema.base import Frozen
from harness.schema.build import Artifact, BuildFailure, BuildRequest, DeviceKind
from harness.schema.flag import Flag
from harness.schema.problem import Problem, Workload
from harness.schema.record import Environment, Profile, Roofline, SandboxReport, Timing
from harness.schema.verdict import Failed, Verdict
from harness.settings import Settings


def new_id() -> str:
    """An id that no other job has."""
    return secrets.token_hex(16)


class _OfAJob(Frozen):
    """What is said of one job; "" before there is any."""

    job: str = ""


class Seat(Frozen):
    """The first message to a judge: the device that it is for. `backend` and `gpu` are as in `harness.backends`.

    `core` is the CPU that timed workers call their models on, None where none could be kept free for that. `copied`:
    copy memory even where the driver could share it. `name` is the device's for people ("cuda:1"). `log`: events from
    which level on come back as `Logged`. `environment`: variables that say where the user's caches lie, for the judge
    alone.
    """

    say: Literal["seat"] = "seat"
    backend: DeviceKind
    gpu: str | None
    name: str = "the device"
    core: int | None = None
    copied: bool = False
    log: Level = ""
    environment: dict[str, str] = Field(default_factory=dict)


class Seated(Frozen):
    """The judge is ready; `device_name` is the GPU's or the CPU's. `arch` is the GPU's capability ("9.0")."""

    say: Literal["seated"] = "seated"
    environment: Environment
    device_name: str
    arch: str | None = None


class Job(Frozen):
    """Judge this candidate on this problem. `id` is new for each that is sent.

    `writes_kernels` says whether the candidate's source is more than calls of PyTorch; None where it cannot be told.
    """

    say: Literal["job"] = "job"
    id: str = Field(default_factory=new_id)
    problem: Problem
    source: str
    kind: DeviceKind
    settings: Settings
    writes_kernels: bool | None = True


class Check(Frozen):
    """Say what is known of this problem. Answer: `Checked`."""

    say: Literal["check"] = "check"
    id: str = Field(default_factory=new_id)
    problem: Problem
    settings: Settings


class Checked(_OfAJob):
    """What running the reference a few times showed, at these sizes."""

    say: Literal["checked"] = "checked"
    audit: Audit
    workload: Workload


class Phase(_OfAJob):
    """The phase that begins, or goes on. Answer: `Proceed` or `GiveUp`."""

    say: Literal["phase"] = "phase"
    name: str


class Proceed(_OfAJob):
    """Go on with the phase."""

    say: Literal["proceed"] = "proceed"


class GiveUp(_OfAJob):
    """No caller waits for this job any more. Answer: `GaveUp`."""

    say: Literal["give-up"] = "give-up"


class GaveUp(_OfAJob):
    """The end of a job that was given up: its workers are gone and the device is free."""

    say: Literal["gave-up"] = "gave-up"


class Logged(_OfAJob):
    """One event of the judge's process, for the controller's log (`harness.logs`)."""

    say: Literal["logged"] = "logged"
    room: str
    level: Level
    text: str


class BuildWanted(_OfAJob):
    """The candidate asks for a build while it is judged. Answer: `BuildDone`."""

    say: Literal["build-wanted"] = "build-wanted"
    request: BuildRequest


class BuildDone(_OfAJob):
    """What came of the build that was asked for last."""

    say: Literal["build-done"] = "build-done"
    outcome: Artifact | BuildFailure


class Judgement(_OfAJob):
    """The end of a job."""

    say: Literal["judgement"] = "judgement"
    verdict: Verdict
    timing: Timing | None = None
    roofline: Roofline | None = None
    profile: Profile | None = None
    audit: tuple[Flag, ...] = ()
    flags: tuple[Flag, ...] = ()
    workload: Workload = Workload()
    sandbox: SandboxReport = SandboxReport()
    substitutions: tuple[str, ...] = ()
    phases_s: dict[str, float] = Field(default_factory=dict)
    clocks: dict[str, float] = Field(default_factory=dict)
    worker_log: str = ""

    @property
    def lacked_memory(self) -> bool:
        """Whether the candidate failed for want of device memory."""
        return isinstance(self.verdict, Failed) and self.verdict.reason == "device-memory"


class Fault(_OfAJob):
    """No answer: the problem is at fault, with whatever else was given, or the device, with the rest of the machine.

    `device_lost`: the judge's process has ended with it, and a new one must be started.
    """

    say: Literal["fault"] = "fault"
    kind: Literal["problem", "device"]
    detail: str
    device_lost: bool = False

    @classmethod
    def of(cls, error: HarnessError, *, device_lost: bool = False) -> "Fault":
        """What the other side is told of an error."""
        kind: Literal["problem", "device"] = "problem" if isinstance(error, InputError) else "device"
        return cls(kind=kind, detail=str(error), device_lost=device_lost)

    def error(self) -> ProblemError | DeviceError:
        """The error that it stands for."""
        return ProblemError(self.detail) if self.kind == "problem" else DeviceError(self.detail)


ToJudge = Annotated[Seat | Job | Check | Proceed | GiveUp | BuildDone, Field(discriminator="say")]
FromJudge = Annotated[
    Seated | Phase | Logged | BuildWanted | GaveUp | Judgement | Checked | Fault, Field(discriminator="say")
]
TO_JUDGE: TypeAdapter[ToJudge] = TypeAdapter(ToJudge)
FROM_JUDGE: TypeAdapter[FromJudge] = TypeAdapter(FromJudge)
