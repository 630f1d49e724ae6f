"""Session: the processes that serve a run, started once and ended together.

The controller holds it and loads no torch. One prepared process (the zygote) imports torch; judges and workers are
forked from it. Builders are threads of the controller whose compilers are processes of their own.
"""

import os
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from harness.compile import ArtifactCache, Builder, find_torch, to_candidate_lines
from harness.controller.holder import Holder
from harness.errors import DeviceError, GivenUpError, HarnessError, InputError, MachineError, ProblemError, SandboxError
from harness.judge.jobs import (
    FROM_JUDGE,
    BuildDone,
    BuildWanted,
    Check,
    Checked,
    Fault,
    GaveUp,
    GiveUp,
    Job,
    Judgement,
    Phase,
    Proceed,
    Seat,
    Seated,
    new_id,
)
from harness.sandbox import RISING, Isolation, Trusted, Zygote
from harness.schema.build import Artifact, BuildFailure, BuildRequest, DeviceKind, ToolchainChoice
from harness.schema.problem import Problem
from harness.schema.submission import Candidate
from harness.settings import Settings
from harness.transport import Channel, Closed, Late

JUDGE_ENTRY = "harness.judge.process:main"
WORKER_MODULES = ("harness.worker.serve", "torch.utils.cpp_extension")
"""What the prepared process imports for the workers; nothing of the judge's is among it."""
CORES_FOR_A_GPU = 3  # the judge, the candidate's worker and the reference's
IDLE_PATIENCE = 4
"""So many times the time that a build may take is given to one that has no core of its own."""
_SEAT_S = 120.0  # a GPU's first context may take long on a machine with many of them

OnPhase = Callable[[str], None]
"""Told the phase that begins or goes on. Where it raises GivenUpError, the job ends there."""
Build = Callable[[BuildRequest], Artifact | BuildFailure]


class JudgeLost(DeviceError):
    """A judge's process died or lost its device; a new one can be started."""


@dataclass(frozen=True)
class DeviceChoice:
    """A device to judge on: `gpu` as CUDA_VISIBLE_DEVICES names it, None for the CPU.

    `core` is a CPU that nothing but its timed workers is put on; None where the machine has too few. `copied`: copy
    memory between judge and workers as where the driver shares none, which tests and benchmarks ask for.
    """

    name: str
    gpu: str | None
    core: int | None = None
    copied: bool = False


def choose_devices(wanted: str) -> list[DeviceChoice]:
    """The devices that `auto`, `cpu`, `cuda` (all of them) or `cuda:N` means here.

    Raises InputError for anything else, DeviceError where there is no such GPU.
    """
    if wanted == "cpu":
        return [DeviceChoice("cpu", None)]
    if wanted != "auto" and wanted != "cuda" and not (wanted.startswith("cuda:") and wanted[5:].isdecimal()):
        raise InputError(f"there is no device {wanted!r}: give auto, cpu, cuda or cuda:N")
    gpus = [DeviceChoice(f"cuda:{index}", gpu) for index, gpu in enumerate(_visible_gpus())]
    if wanted == "auto":
        return gpus if gpus and find_torch().cuda is not None else [DeviceChoice("cpu", None)]
    if not gpus:
        raise DeviceError("there is no NVIDIA GPU here: use --device cpu, and see harness doctor")
    if find_torch().cuda is None:
        raise DeviceError("the torch that is installed is a CPU build: install a CUDA build, or use --device cpu")
    if wanted == "cuda":
        return gpus
    index = int(wanted[5:])
    if index >= len(gpus):
        raise DeviceError(f"there is no {wanted}: this machine shows {len(gpus)} GPU(s)")
    return [gpus[index]]


def _visible_gpus() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    import pynvml

    try:
        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
    except pynvml.NVMLError:
        return []
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return [str(index) for index in range(count)]
    return [part.strip() for part in visible.split(",") if part.strip() and part.strip() != "-1"]


class JudgeSeat:
    """The controller's end of one judge. Any thread may ask; one job at a time is judged, the others wait.

    The judge's process is started anew when it is lost, and whenever a conversation with it ends before its answer has
    come: whose the next one is could not be told.
    """

    def __init__(self, zygote: Zygote, device: DeviceChoice) -> None:
        self._zygote, self.device = zygote, device
        self._open: ExitStack | None = None
        self._channel: Channel | None = None
        self._seated: Seated | None = None
        self._asking = threading.RLock()
        self._holder = Holder("a session")

    @property
    def seated(self) -> Seated:
        """What the judge said of its device when it started; starts it where none runs. Waits for no job."""
        self._holder.require()
        if self._channel is not None and self._seated is not None:
            return self._seated
        with self._asking:
            self._start()
        assert self._seated is not None
        return self._seated

    def judge(self, job: Job, *, build: Build, on_phase: OnPhase) -> Judgement:
        """Have a job judged. Raises JudgeLost where the process died, another HarnessError for its faults.

        Where `on_phase` raises GivenUpError, so does this, once the judge has let go of the job and is ready for
        another.
        """
        answer = self._ask(job, build, on_phase)
        assert isinstance(answer, Judgement)
        return answer

    def check(self, problem: Problem, settings: Settings, *, on_phase: OnPhase = lambda name: None) -> Checked:
        """Have a problem looked at. Raises ProblemError where its reference cannot be run, other HarnessErrors."""
        answer = self._ask(Check(problem=problem, settings=settings), None, on_phase)
        assert isinstance(answer, Checked)
        return answer

    def _ask(self, job: Job | Check, build: Build | None, on_phase: OnPhase) -> Judgement | Checked:
        self._holder.require()
        with self._asking:
            channel = self._start()
            job = job.model_copy(update={"id": new_id()})
            try:
                channel.send(job)
                answer = self._converse(channel, job, build, on_phase)
            except Closed:
                raise JudgeLost(self._how_it_ended()) from None
            except BaseException:
                self.close()
                raise
            if isinstance(answer, Fault):
                raise self._fault(answer)
            if isinstance(answer, GivenUpError):
                raise answer
            return answer

    def _converse(
        self, channel: Channel, job: Job | Check, build: Build | None, on_phase: OnPhase
    ) -> Judgement | Checked | Fault | GivenUpError:
        """Answer the judge until it says what came of the job; why it was given up, where it was."""
        given_up: GivenUpError | None = None
        while True:
            message = channel.receive(FROM_JUDGE)
            if isinstance(message, Seated) or message.job != job.id:
                raise DeviceError(f"the judge said {message.say!r} of another job than the one that it was given")
            match message:
                case Phase() if given_up is None:
                    try:
                        on_phase(message.name)
                    except GivenUpError as error:
                        given_up = error
                    channel.send(Proceed(job=job.id) if given_up is None else GiveUp(job=job.id))
                case BuildWanted() if build is not None and given_up is None:
                    channel.send(BuildDone(job=job.id, outcome=build(message.request)))
                case GaveUp() if given_up is not None:
                    return given_up
                case Fault():
                    return message
                case Judgement() | Checked() if given_up is None:
                    return message
                case _:
                    raise DeviceError(f"the judge said {message.say!r} in the middle of a job")

    def _fault(self, fault: Fault) -> HarnessError:
        if fault.device_lost:
            self.close()
        if fault.exit_status == InputError.exit_status:
            return ProblemError(fault.detail)
        return JudgeLost(fault.detail) if fault.device_lost else DeviceError(fault.detail)

    def _start(self) -> Channel:
        if self._channel is not None:
            return self._channel
        with ExitStack() as opening:
            channel, theirs = Channel.pair()
            opening.enter_context(channel)
            with theirs:
                process = self._zygote.spawn_trusted(JUDGE_ENTRY, [theirs.fileno()])
            opening.enter_context(process)
            self._process: Trusted = process
            try:
                device = self.device
                channel.send(Seat(gpu=device.gpu, name=device.name, core=device.core, copied=device.copied))
                answer = channel.receive(FROM_JUDGE, deadline=time.monotonic() + _SEAT_S)
            except Closed:
                raise DeviceError(self._how_it_ended()) from None
            except Late:
                raise DeviceError(f"{self.device.name} did not answer within {_SEAT_S:.0f} s: see nvidia-smi") from None
            if isinstance(answer, Fault):
                raise DeviceError(answer.detail)
            assert isinstance(answer, Seated)
            self._seated, self._channel = answer, channel
            self._open = opening.pop_all()
        return channel

    def _how_it_ended(self) -> str:
        try:
            ended = self._process.wait(5.0)
        finally:
            self.close()
        tail = ended.log.strip().splitlines()[-1:] if ended else []
        how = f" ({'; '.join(tail)})" if tail else ""
        return f"the judge's process for {self.device.name} died{how}"

    def close(self) -> None:
        """End the judge's process, if there is one. Raises SandboxError where it was lost; the next job starts anew."""
        opened, self._open, self._channel = self._open, None, None
        if opened is not None:
            opened.close()


class Session:
    """The prepared process, a judge for each device and the builders. Made by `open_session`."""

    def __init__(self, zygote: Zygote, devices: list[DeviceChoice], settings: Settings, on_phase: OnPhase) -> None:
        self.zygote, self.settings = zygote, settings
        self.seats = [JudgeSeat(zygote, device) for device in devices]
        self.cache = ArtifactCache()
        self._builders: dict[tuple[DeviceKind, bool, ToolchainChoice, bool], Builder] = {}
        self._guard = threading.Lock()
        self._on_phase = on_phase

    @property
    def on_gpu(self) -> bool:
        return self.seats[0].device.gpu is not None

    @property
    def device_names(self) -> str:
        return ", ".join(seat.device.name for seat in self.seats)

    def build(
        self,
        kind: DeviceKind,
        request: BuildRequest,
        candidate: Candidate,
        *,
        inspected: bool = False,
        choice: ToolchainChoice | None = None,
        idle: bool = False,
    ) -> Artifact | BuildFailure:
        """Build for a kind of device, or take it from the cache; compiler messages name the candidate's own lines.

        `inspected` builds are for the tools of `harness.inspect`, `choice` is the settings' where None, `idle` ones
        take the cores that nobody else wants, and IDLE_PATIENCE times as long. Thread-safe.
        """
        builder = self._builder(kind, inspected, choice or self.settings.toolchain, idle)
        deadline_s = self.settings.build_timeout_s * (IDLE_PATIENCE if idle else 1)
        try:
            outcome = builder.build(request, deadline_s=deadline_s)
        except HarnessError:
            raise
        except (OSError, MemoryError) as error:
            raise MachineError(f"a build could not be begun ({error}): see harness doctor") from error
        except Exception as error:  # noqa: BLE001  # the border to sources that anybody may have written
            detail = f"the sources could not be read: {type(error).__name__}: {error}"[:500]
            outcome = BuildFailure(reason="unsupported", detail=detail, log=traceback.format_exc(), toolchain="none")
        if isinstance(outcome, Artifact):
            return outcome
        texts = {
            name: to_candidate_lines(getattr(outcome, name), request, candidate.source) for name in ("detail", "log")
        }
        return outcome.model_copy(update=texts)

    def _builder(self, kind: DeviceKind, inspected: bool, choice: ToolchainChoice, idle: bool) -> Builder:
        with self._guard:
            if (kind, inspected, choice, idle) not in self._builders:
                self._builders[kind, inspected, choice, idle] = Builder(
                    cache=self.cache,
                    target=kind,
                    arch=self.seats[0].seated.arch if kind == "cuda" else None,
                    choice=choice,
                    inspected=inspected,
                    idle=idle,
                    on_status=self._on_phase,
                )
            return self._builders[kind, inspected, choice, idle]

    def close(self) -> None:
        for seat in self.seats:
            seat.close()


@contextmanager
def open_session(device: str, settings: Settings, *, on_phase: OnPhase = lambda name: None) -> Iterator[Session]:
    """Start what judging on `device` needs. Raises InputError, DeviceError or SandboxError where that cannot be."""
    devices, others = _with_cores(choose_devices(device))
    with Zygote.start(preload=WORKER_MODULES) as zygote, _on_cores(others):
        _check_isolation(zygote, settings.isolation)
        session = Session(zygote, devices, settings, on_phase)
        try:
            yield session
        finally:
            session.close()


def _with_cores(devices: list[DeviceChoice]) -> tuple[list[DeviceChoice], set[int]]:
    """Give each GPU cores of its own; the devices with one of them, and the cores that are left for the builders.

    Judge, candidate and reference wait awake during timed rounds. Where compilers keep every core busy, the hand-over
    takes 2 to 6 ms instead of 0.2, measured on 16 cores with an H200. A machine with too few cores is left as it is.
    Timed workers have the last one of theirs: the first core of a machine does the kernel's chores as well.
    """
    cores = sorted(os.sched_getaffinity(0))
    kept_free = CORES_FOR_A_GPU * sum(choice.gpu is not None for choice in devices)
    if not kept_free or len(cores) <= 2 * kept_free:
        return devices, set(cores)
    chosen = [replace(choice, core=cores[CORES_FOR_A_GPU * (index + 1) - 1]) for index, choice in enumerate(devices)]
    return chosen, set(cores[kept_free:])


@contextmanager
def _on_cores(cores: set[int]) -> Iterator[None]:
    """Keep this thread, and with it the builders and their compilers, on these cores.

    The judges' processes are forked from the zygote, which started before, and may use all.
    """
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _check_isolation(zygote: Zygote, wanted: Isolation) -> None:
    """Raises SandboxError where workers cannot be confined as asked: here, once, and not for every candidate."""
    least = "basic" if wanted == "basic-or-more" else wanted
    if least == "auto" or RISING.index((found := zygote.ready()).tier) >= RISING.index(least):
        return
    why = f" ({'; '.join(found.missing)})" if found.missing else ""
    raise SandboxError(
        f"{least} isolation is wanted, {found.tier} is all that this machine gives{why}; see harness doctor"
    )
