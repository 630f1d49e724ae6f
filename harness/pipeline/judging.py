"""The judge's process: takes jobs from the controller, starts the workers, hands them to the judge as subjects.

Forked from the prepared process, trusted, one per device. It lives for many candidates; the workers it starts live
for one each.
"""

import os
import platform
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import torch

import harness
from harness.errors import DeviceError, HarnessError, ProtocolError
from harness.judge.failure import SubjectFailed
from harness.judge.judge import Bench, judge
from harness.judge.problem import LoadedProblem, load_problem
from harness.judge.subject import Subject
from harness.judge.timing import Plan
from harness.pipeline.conversation import BuildRefused, Conversation, conversing
from harness.pipeline.messages import (
    TO_JUDGE,
    BuildWanted,
    Fault,
    Job,
    Judgement,
    Phase,
    Seat,
    Seated,
)
from harness.pipeline.settings import Settings
from harness.pipeline.sizes import sized
from harness.pipeline.subject import WorkerSubject
from harness.sandbox import Policy, Worker, Zygote
from harness.schema.build import Artifact, BuildFailure, BuildRequest
from harness.schema.record import Environment, SandboxReport
from harness.schema.verdict import Failed
from harness.wire import Channel, Closed
from harness.wire.memory import DeviceArena, HostArena
from harness.wire.messages import Built, Load, Loaded

_HOST_CACHE_BYTES = 64 << 20  # written over to empty the CPU's last cache; larger than most have


def main(descriptors: Sequence[int], zygote: Zygote) -> None:
    """Entry of a judge's process: the descriptor leads to the controller, `zygote` forks its workers."""
    with Channel.from_descriptor(descriptors[0]) as channel:
        seat = channel.receive(TO_JUDGE)
        assert isinstance(seat, Seat)
        try:
            judge_process = JudgeProcess(channel, zygote, seat)
        except HarnessError as error:
            channel.send(Fault(detail=str(error), exit_status=error.exit_status, device_lost=True))
            return
        try:
            judge_process.serve()
        except Closed:
            return


class JudgeProcess:
    """One device's judge."""

    def __init__(self, channel: Channel, zygote: Zygote, seat: Seat) -> None:
        self._channel, self._zygote = channel, zygote
        self._gpu = seat.gpu
        os.environ["CUDA_VISIBLE_DEVICES"] = seat.gpu or ""
        self._device = torch.device("cuda", 0) if seat.gpu is not None else torch.device("cpu")
        if seat.gpu is not None:
            _open_device()
        channel.send(Seated(environment=environment(self._device), device_name=_name(self._device), arch=self._arch()))
        self._bench = Bench(self._device, self._make_arena, _eviction(self._device))

    def serve(self) -> None:
        """Take jobs until the controller hangs up."""
        while True:
            job = self._channel.receive(TO_JUDGE)
            assert isinstance(job, Job)
            try:
                self._channel.send(self._judge(job))
            except HarnessError as error:
                self._channel.send(Fault(detail=str(error), exit_status=error.exit_status, device_lost=False))
            except (torch.OutOfMemoryError, MemoryError) as error:
                detail = f"the judge ran out of memory: {str(error).splitlines()[0]}; use --set to make it smaller"
                self._channel.send(Fault(detail=detail, exit_status=3))
                torch.cuda.empty_cache()
            except RuntimeError as error:  # a CUDA error of the judge's own: its context is lost
                detail = f"the judge failed: {error}\n{traceback.format_exc()}"
                self._channel.send(Fault(detail=detail, exit_status=3, device_lost=True))
                return

    def _judge(self, job: Job) -> Judgement:
        emulated = job.kind == "cpu-emulated"
        source, workload = sized(job.problem, job.settings.workload, emulated=emulated)
        workload = workload.model_copy(update={"precision": job.settings.precision})
        problem = load_problem(job.problem.title, source, device=self._device, precision=job.settings.precision)
        policy = Policy(
            readable=job.readable,
            devices=self._gpu is not None,
            limits=job.settings.limits,
            isolation=job.settings.isolation,
        )
        started = time.monotonic()
        with self._worker(policy) as (worker, conversation):
            report = SandboxReport(layers=worker.layers, missing=worker.missing)
            subject: WorkerSubject | None = None
            try:
                self._channel.send(Phase(name="load"))
                conversation.expect_ready()
                self._load(conversation, job.source, "ModelNew", job)
                loaded_s = time.monotonic() - started
                subject = self._subject(conversation, problem, job.settings)
                self._channel.send(Phase(name="check"))
                finding = judge(
                    problem,
                    subject,
                    None if emulated else self._reference(problem, policy, job),
                    bench=self._bench,
                    plan=Plan(budget_s=job.settings.timing_s, bytes_budget=self._bytes_budget()),
                )
            except BuildRefused as refused:
                verdict = Failed(stage="build", reason=refused.reason, detail=refused.detail, log=refused.log)
                return Judgement(verdict=verdict, workload=workload, sandbox=report)
            except SubjectFailed as failed:
                verdict = Failed(stage="load", reason=failed.reason, detail=failed.detail, log=failed.log)
                return Judgement(verdict=verdict, workload=workload, sandbox=report)
            finally:
                if subject is not None:
                    subject.close()
            worker.kill()
            ended = worker.wait(5.0)
        return Judgement(
            verdict=finding.verdict,
            timing=finding.timing,
            workload=workload,
            sandbox=report,
            substitutions=subject.substitutions,
            phases_s={"load": loaded_s, **finding.phases_s},
            clocks=_clocks_mhz(self._gpu) if self._gpu is not None and finding.timing else {},
            worker_log=ended.log if ended else "",
        )

    # ---- workers -----------------------------------------------------------------------------------------------

    def _worker(self, policy: Policy) -> AbstractContextManager[tuple[Worker, Conversation]]:
        return conversing(self._zygote, policy, self._relay_build)

    def _load(self, conversation: Conversation, source: str, class_name: str, job: Job) -> None:
        request = Load(
            source=source,
            class_name=class_name,
            device="cuda" if self._gpu is not None else "cpu",
            emulate=job.kind == "cpu-emulated",
            gpu=self._gpu,
        )
        conversation.ask(request, Loaded, seconds=job.settings.timeout_s)

    def _subject(self, conversation: Conversation, problem: LoadedProblem, settings: Settings) -> WorkerSubject:
        return WorkerSubject(
            conversation,
            device=self._device,
            init_arguments=problem.init_arguments(),
            precision=settings.precision,
            call_s=settings.timeout_s,
        )

    def _reference(self, problem: LoadedProblem, policy: Policy, job: Job) -> Callable[[], Any]:
        """Opens the reference in a worker of its own, by the same protocol. Its failure is never the candidate's."""

        @contextmanager
        def opened() -> Iterator[Subject]:
            self._channel.send(Phase(name="time"))
            with self._worker(policy) as (_, conversation):
                subject = self._subject(conversation, problem, job.settings)
                try:
                    conversation.expect_ready()
                    self._load(conversation, problem.source, "Model", job)
                except SubjectFailed as failed:
                    raise DeviceError(f"the reference's worker failed: {failed.detail}") from failed
                try:
                    yield _Blameless(subject)
                finally:
                    subject.close()

        return opened

    def _relay_build(self, request: BuildRequest) -> Artifact | BuildFailure:
        self._channel.send(BuildWanted(request=request))
        answer = self._channel.receive(TO_JUDGE)
        assert isinstance(answer, Built)
        outcome = answer.artifact or answer.failure
        assert outcome is not None
        return outcome

    # ---- device ------------------------------------------------------------------------------------------------

    def _make_arena(self, size: int) -> Any:
        return DeviceArena(size, 0) if self._device.type == "cuda" else HostArena(size)

    def _bytes_budget(self) -> int:
        if self._device.type == "cuda":
            free, _ = torch.cuda.mem_get_info()
            return free // 6
        return 1 << 30

    def _arch(self) -> str | None:
        if self._device.type != "cuda":
            return None
        major, minor = torch.cuda.get_device_capability(0)
        return f"{major}.{minor}"


class _Blameless:
    """The reference as a subject: whatever it fails at is ours."""

    def __init__(self, inner: WorkerSubject) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)

        def call(*arguments: Any) -> Any:
            try:
                return method(*arguments)
            except (SubjectFailed, ProtocolError) as failed:
                raise DeviceError(f"the reference's worker failed: {failed}") from failed

        return call


def _open_device() -> None:
    try:
        torch.cuda.init()
        torch.zeros(1, device="cuda")
    except RuntimeError as error:
        raise DeviceError(f"the GPU cannot be used: {str(error).splitlines()[0]}; see harness doctor") from error


def _eviction(device: torch.device) -> Callable[[], None]:
    """A function that writes over twice the last cache, so that every timed call reads cold memory."""
    if device.type == "cuda":
        scratch = torch.empty(2 * torch.cuda.get_device_properties(0).L2_cache_size, dtype=torch.uint8, device=device)
    else:
        scratch = torch.empty(_HOST_CACHE_BYTES, dtype=torch.uint8)

    def evict() -> None:
        scratch.fill_(1)
        if device.type == "cuda":
            torch.cuda.synchronize()

    return evict


def environment(device: torch.device) -> Environment:
    """The machine as records name it."""
    on_gpu = device.type == "cuda"
    return Environment(
        harness=harness.__version__,
        python=platform.python_version(),
        torch=torch.__version__,
        cuda=torch.version.cuda,
        driver=_driver_version() if on_gpu else None,
        gpu=_name(device) if on_gpu else None,
        host=platform.node(),
        cpu=_cpu_name(),
        cores=len(os.sched_getaffinity(0)),
    )


def _name(device: torch.device) -> str:
    return torch.cuda.get_device_name(0) if device.type == "cuda" else _cpu_name()


def _cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _clocks_mhz(gpu: str) -> dict[str, float]:
    """The GPU's clocks right after the timed rounds, and the highest it knows; empty where NVML does not tell."""
    import pynvml

    try:
        pynvml.nvmlInit()
        found = (
            pynvml.nvmlDeviceGetHandleByIndex(int(gpu)) if gpu.isdecimal() else pynvml.nvmlDeviceGetHandleByUUID(gpu)
        )
        return {
            "sm": pynvml.nvmlDeviceGetClockInfo(found, pynvml.NVML_CLOCK_SM),
            "memory": pynvml.nvmlDeviceGetClockInfo(found, pynvml.NVML_CLOCK_MEM),
            "sm_max": pynvml.nvmlDeviceGetMaxClockInfo(found, pynvml.NVML_CLOCK_SM),
        }
    except pynvml.NVMLError:
        return {}


def _driver_version() -> str | None:
    import pynvml

    try:
        pynvml.nvmlInit()
        return str(pynvml.nvmlSystemGetDriverVersion())
    except pynvml.NVMLError:
        return None
