"""Session: the processes that serve a run, started once and ended together.

The controller holds it and loads no torch. One prepared process (the zygote) imports torch; judges and workers are
forked from it. Builders are threads of the controller whose compilers are processes of their own.
"""

import os
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from harness import logs
from harness.backends import BACKENDS, Backend
from harness.cache_folder import cache_folder
from harness.catalog.hub import hub_cache
from harness.compile import ArtifactCache, Builder, GoOn, endless, find_torch, to_candidate_lines
from harness.controller.holder import Holder
from harness.errors import (
    DeviceError,
    GivenUpError,
    HarnessError,
    InputError,
    MachineError,
    ProtocolError,
    SandboxError,
)
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
    Logged,
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

_log = logs.logger("controller")
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


_BuilderKey = tuple[DeviceKind, str | None, bool, ToolchainChoice, bool]
"""Target, architecture, whether a tool will look at what is built, choice of toolchain, whether it is idle."""


class JudgeLost(DeviceError):
    """A judge's process died or lost its device; a new one can be started."""


@dataclass(frozen=True)
class DeviceChoice:
    """A device to judge on: `name` is its backend's with its number, `gpu` the handle that the backend has for it.

    `core` is a CPU that nothing but its timed workers is put on; None where the machine has too few. `copied`: copy
    memory between judge and workers as where the driver shares none, which tests and benchmarks ask for.
    """

    name: str
    gpu: str | None
    core: int | None = None
    copied: bool = False

    @property
    def backend(self) -> Backend:
        return BACKENDS[self.name.partition(":")[0]]


def choose_devices(wanted: str) -> list[DeviceChoice]:
    """The devices that `auto`, `cpu`, `cuda` (all of them) or `cuda:N` means here, and so for each selectable backend.

    Raises InputError for anything else, DeviceError where there is no such device.
    """
    selectable = {name: backend for name, backend in BACKENDS.items() if backend.selectable}
    if wanted == "auto":
        return next(devices for backend in selectable.values() if (devices := _usable(backend)))
    name, numbered, index = wanted.partition(":")
    backend = selectable.get(name)
    if backend is None or (numbered and not (backend.numbered and index.isdecimal())):
        raise InputError(f"there is no device {wanted!r}: give {_forms(selectable.values())}")
    devices = _devices_of(backend)
    if not devices:
        raise DeviceError(backend.absent)
    if why_not := _why_not(backend):
        raise DeviceError(why_not)
    if not numbered:
        return devices
    if int(index) >= len(devices):
        raise DeviceError(f"there is no {wanted}: this machine shows {len(devices)} GPU(s)")
    return [devices[int(index)]]


def _usable(backend: Backend) -> list[DeviceChoice]:
    """The devices of a backend that torch can use here."""
    devices = _devices_of(backend)
    return devices if devices and not _why_not(backend) else []


def _why_not(backend: Backend) -> str:
    return backend.why_not(find_torch()) if backend.why_not is not None else ""


def _devices_of(backend: Backend) -> list[DeviceChoice]:
    handles = backend.find()
    names = [f"{backend.name}:{index}" if backend.numbered else backend.name for index in range(len(handles))]
    return [DeviceChoice(name, handle) for name, handle in zip(names, handles, strict=True)]


def _forms(selectable: Iterable[Backend]) -> str:
    """What may be given for a device, those without a number first."""
    rows = sorted(selectable, key=lambda backend: backend.numbered)
    forms = ["auto", *(form for row in rows for form in (row.name, *([f"{row.name}:N"] if row.numbered else [])))]
    return f"{', '.join(forms[:-1])} or {forms[-1]}"


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

    def start(self) -> Seated:
        """What the judge says of its device. Starts its process where there is none, and waits for no job.

        Raises DeviceError where that cannot be.
        """
        self._holder.require()
        if self._channel is not None and self._seated is not None:
            return self._seated
        with self._asking:
            self._start()
        assert self._seated is not None
        return self._seated

    def known(self) -> Seated | None:
        """What the judge that was started last said of its device; None before any was. Starts nothing."""
        return self._seated

    @property
    def pid(self) -> int | None:
        """Of the judge's process; None where there is none."""
        return self._process.pid if self._channel is not None else None

    def judge(self, job: Job, *, build: Build, on_phase: OnPhase) -> Judgement:
        """Have a job judged. Raises JudgeLost where the process died, another HarnessError for its faults.

        Where `on_phase` or `build` raises GivenUpError, so does this, once the judge has let go of the job and is
        ready for another.
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
            except ProtocolError as error:  # what a candidate has said or built may be more than a frame holds
                self.close()
                raise JudgeLost(f"the conversation about it broke off: {error}") from error
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
            if isinstance(message, Logged):  # a line for the log decides nothing, whichever job it is of
                logs.relayed(message.room, message.level, message.text, origin=f"judge:{self.device.name}")
                continue
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
                    try:
                        channel.send(BuildDone(job=job.id, outcome=build(message.request)))
                    except GivenUpError as error:
                        given_up = error
                        channel.send(GiveUp(job=job.id))
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
        error = fault.error()
        return JudgeLost(fault.detail) if fault.device_lost and fault.kind == "device" else error

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
                seat = Seat(
                    backend=device.backend.name,
                    gpu=device.gpu,
                    name=device.name,
                    core=device.core,
                    copied=device.copied,
                    log=logs.wanted(),
                    environment=_caches(),
                )
                channel.send(seat)
                answer = channel.receive(FROM_JUDGE, deadline=time.monotonic() + _SEAT_S)
            except Closed:
                raise DeviceError(self._how_it_ended()) from None
            except Late:
                raise DeviceError(f"{self.device.name} did not answer within {_SEAT_S:.0f} s: see nvidia-smi") from None
            if isinstance(answer, Fault):
                raise DeviceError(answer.detail)
            assert isinstance(answer, Seated)
            self._seated, self._channel = answer, channel
            _log.info("the judge of %s is ready (%s)", device.name, answer.device_name)
            self._open = opening.pop_all()
        return channel

    def _how_it_ended(self) -> str:
        try:
            ended = self._process.wait(5.0)
        finally:
            self.close()
        _log.info("the judge of %s is lost", self.device.name)
        if ended is None:
            return f"the judge's process for {self.device.name} hung up and did not end"
        said = ended.log.strip().splitlines()[-1:]
        how = f"signal {ended.signal}" if ended.code is None else f"exit status {ended.code}"
        return f"the judge's process for {self.device.name} died ({'; '.join([how, *said])})"

    def close(self) -> None:
        """End the judge's process, if there is one. Raises SandboxError where it was lost; the next job starts anew."""
        opened, self._open, self._channel = self._open, None, None
        if opened is not None:
            opened.close()


def _caches() -> dict[str, str]:
    """Where the caches of this process lie: the judge has neither the variables nor, maybe, a home to tell it from."""
    return {"XDG_CACHE_HOME": str(cache_folder().absolute().parent), "HF_HUB_CACHE": str(hub_cache().absolute())}


class Session:
    """The prepared process, a judge for each device and the builders. Made by `open_session`."""

    def __init__(self, zygote: Zygote, devices: list[DeviceChoice], settings: Settings, on_phase: OnPhase) -> None:
        self.zygote, self.settings = zygote, settings
        self.seats = [JudgeSeat(zygote, device) for device in devices]
        self.cache = ArtifactCache()
        self._builders: dict[_BuilderKey, Builder] = {}
        self._guard = threading.Lock()
        self._on_phase = on_phase
        self._emulating: JudgeSeat | None = None

    def emulating_seat(self) -> JudgeSeat:
        """A judge on the host, whatever the devices are; one for all that ask."""
        with self._guard:
            if self._emulating is None:
                self._emulating = JudgeSeat(self.zygote, DeviceChoice("cpu", None))
            return self._emulating

    @property
    def backend(self) -> Backend:
        """What its devices are; they are all of one kind."""
        return self.seats[0].device.backend

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
        seat: JudgeSeat | None = None,
        go_on: GoOn = endless,
    ) -> Artifact | BuildFailure:
        """Build for a kind of device, or take it from the cache; compiler messages name the candidate's own lines.

        `inspected` builds are for the tools of `harness.inspect`, `choice` is the settings' where None, `idle` ones
        take the cores that nothing else wants, and IDLE_PATIENCE times as long. For a GPU the architecture is that of
        `seat`, or of the first one where None: it is not known yet then where it will run, and a seat with another
        architecture builds it again. What `go_on` raises ends the wait, and the build where nobody else waits for it.
        Thread-safe.
        """
        arch = (seat or self.seats[0]).start().arch if BACKENDS[kind].is_gpu else None
        builder = self._builder((kind, arch, inspected, choice or self.settings.toolchain, idle))
        deadline_s = self.settings.build_timeout_s * (IDLE_PATIENCE if idle else 1)
        try:
            outcome = builder.build(request, deadline_s=deadline_s, go_on=go_on)
        except HarnessError:
            raise
        except (OSError, MemoryError) as error:
            raise MachineError(f"a build could not be begun ({error}): see harness doctor") from error
        except Exception as error:  # noqa: BLE001  # the border to sources of unknown origin
            detail = f"the sources could not be read: {type(error).__name__}: {error}"[:500]
            outcome = BuildFailure(reason="unsupported", detail=detail, log=traceback.format_exc(), toolchain="none")
        if isinstance(outcome, Artifact):
            how = "from the cache" if outcome.cached else f"in {outcome.seconds:.1f} s"
            _log.info("built %r by %s %s", request.name, outcome.toolchain, how)
            return outcome
        _log.info("build of %r failed (%s, %s)", request.name, outcome.toolchain, outcome.reason)
        texts = {
            name: to_candidate_lines(getattr(outcome, name), request, candidate.source) for name in ("detail", "log")
        }
        return outcome.model_copy(update=texts)

    def _builder(self, key: "_BuilderKey") -> Builder:
        kind, arch, inspected, choice, idle = key
        with self._guard:
            if key not in self._builders:
                self._builders[key] = Builder(
                    cache=self.cache,
                    target=kind,
                    arch=arch,
                    choice=choice,
                    inspected=inspected,
                    idle=idle,
                    on_status=self._on_phase,
                )
            return self._builders[key]

    def close(self) -> None:
        for builder in self._builders.values():
            builder.close()
        for seat in (*self.seats, *filter(None, [self._emulating])):
            seat.close()


@contextmanager
def open_session(device: str, settings: Settings, *, on_phase: OnPhase = lambda name: None) -> Iterator[Session]:
    """Start what judging on `device` needs. Raises InputError, DeviceError or SandboxError where that cannot be."""
    logs.configure()
    devices, others = _with_cores(choose_devices(device))
    with Zygote.start(preload=WORKER_MODULES) as zygote, _on_cores(others):
        _check_isolation(zygote, settings.isolation)
        session = Session(zygote, devices, settings, on_phase)
        _log.info("session on %s", session.device_names)
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
