"""The judge's process: takes jobs from the controller, starts the workers, hands them to the judge as subjects.

Forked from the prepared process, trusted, one per device. It lives for many candidates; the workers it starts live
for one each.
"""

import gc
import itertools
import math
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

import torch

from harness import logs
from harness.backends import BACKENDS
from harness.catalog.hub import hub_environment, models_of
from harness.errors import DeviceError, HarnessError, ProtocolError, SandboxError
from harness.formats import FORMATS
from harness.judge.alone_before import AloneBefore
from harness.judge.audit import audit
from harness.judge.baselines import BaselinePair, still_true, time_pair, versus
from harness.judge.bench import Bench
from harness.judge.deadlines import ANSWERS_S, Deadlines, compiles_when_called
from harness.judge.device_lock import DeviceLock, waiting_for
from harness.judge.doubts import COPIED_MEMORY, PAUSED_BETWEEN_ROUNDS, WORK_OUTSIDE_THE_CLOCK, Case, doubts, profile_of
from harness.judge.failure import LaidOutAnew, SubjectFailed
from harness.judge.jobs import (
    TO_JUDGE,
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
)
from harness.judge.judge import Finding, judge
from harness.judge.known_facts import Known, key_of
from harness.judge.problem import LoadedProblem, load_problem
from harness.judge.roofline import roofline
from harness.judge.spare_workers import SpareWorkers
from harness.judge.subject import Subject
from harness.judge.timing import Plan
from harness.judge.worker_conversation import BuildRefused, Conversation, conversing
from harness.judge.worker_subject import WorkerSubject
from harness.judge.workload_sizes import original_sizes, sized
from harness.sandbox import Policy, Worker, Zygote
from harness.schema.audit import Audit
from harness.schema.build import Artifact, BuildFailure, BuildRequest
from harness.schema.flag import Flag
from harness.schema.problem import Problem, Workload
from harness.schema.record import Baseline, BaselineName, CompileMode, SandboxReport
from harness.schema.verdict import Correct, Failed, Rejected, Verdict, Wrong
from harness.settings import Settings
from harness.transport import Channel, Closed
from harness.transport.worker_messages import Load, Loaded, OpenDevice

_log = logs.logger("judge")
_COMPILE_MODES: dict[BaselineName, CompileMode | None] = {
    "eager": None,
    "compile": "default",
    "compile-max-autotune": "max-autotune-no-cudagraphs",  # a graph's outputs are gone with the next call
}
_REFERENCE_CPU_S, _REFERENCE_OUTPUT_BYTES = 1e6, 1 << 50  # it serves many candidates
_AUDIT_S = 60.0  # what running the reference some dozen times may take at least, whatever candidates may
_FAIR_SHARE = 0.5  # of the device memory that was free: holding more is to blame where the judge has too little
_ASK_EVERY_S = 0.25
"""So often at most the controller is asked within a phase whether to go on: an answer takes it some tenths of a
millisecond, and longer on a machine whose cores are all busy."""
_ORDERS_S = 20.0
"""What calling an emulated candidate's trials again in other orders of threads may take, and one such call."""
_COMPILING_S = 900.0  # what torch.compile may take for a baseline; max-autotune tries many kernels


class _GivenUp(Exception):
    """The controller has no use for this job any more."""


class _Misheard(Exception):
    """The controller said what no job of this judge's was waiting for."""


def main(descriptors: Sequence[int], zygote: Zygote) -> None:
    """Entry of a judge's process: the descriptor leads to the controller, `zygote` forks its workers."""
    with Channel.from_descriptor(descriptors[0]) as channel:
        seat = channel.receive(TO_JUDGE)
        assert isinstance(seat, Seat)
        try:
            judge_process = JudgeProcess(channel, zygote, seat)
        except HarnessError as error:
            channel.send(Fault.of(error, device_lost=True))
            return
        try:
            judge_process.serve()
        except Closed:
            return


class JudgeProcess:
    """One device's judge."""

    def __init__(self, channel: Channel, zygote: Zygote, seat: Seat) -> None:
        self._channel, self._zygote = channel, zygote
        self._backend, self._core, self._name = BACKENDS[seat.backend], seat.core, seat.name
        self._visible = dict(self._backend.visibility(seat.gpu))
        os.environ.update(seat.environment | self._visible)
        self._hardware = self._backend.open(seat.gpu, seat.core)
        self._device = self._hardware.device
        self._lock = DeviceLock(self._hardware.identity)
        opens = OpenDevice(visible=self._visible) if self._backend.is_gpu else None
        self._spares = SpareWorkers(lambda policy: conversing(zygote, policy, self._relay_build), opens)
        self._environment = self._hardware.environment()
        if self._core is not None:  # whoever is timed has that core alone
            with suppress(OSError):
                os.sched_setaffinity(0, os.sched_getaffinity(0) - {self._core})
        self._held: _Reference | None = None
        self._alone_before: tuple[tuple[str, ...], AloneBefore] = (), AloneBefore()
        self._job, self._phase, self._asked_at = "", "", 0.0
        self._is_one_of_many = False
        self._waited_s = 0.0
        self._audits = Known("audits", Audit)
        self._baselines = Known("baselines", BaselinePair)
        channel.send(Seated(environment=self._environment, device_name=self._hardware.name, arch=self._hardware.arch))
        logs.relay(seat.log, lambda room, level, text: self._tell(Logged(room=room, level=level, text=text)))
        self._copied = seat.copied or not self._hardware.shares_memory()
        # What is written, and what candidate and reference see; copied memory is two of the latter for each.
        copies = 5 if self._copied else 3
        self._bench = Bench(
            self._device,
            self._make_arena,
            self._hardware,
            arena_copies=copies,
            take=self._take_device,
            proceed=self._ask_to_proceed,
        )

    def serve(self) -> None:
        """Take jobs until the controller hangs up."""
        for number in itertools.count():
            job = self._channel.receive(TO_JUDGE)
            assert isinstance(job, Job | Check)
            self._is_one_of_many = number > 0
            self._job = job.id
            _log.debug("%s of %s", job.say, job.problem.title)
            try:
                self._tell(self._judge_and_let_go(job) if isinstance(job, Job) else self._check(job))
            except _GivenUp:
                self._tell(GaveUp())
            except _Misheard as error:
                self._tell(Fault(kind="device", detail=str(error), device_lost=True))
                return
            except HarnessError as error:
                self._tell(Fault.of(error))
            except (torch.OutOfMemoryError, MemoryError) as error:
                said = str(error).partition("\n")[0] or type(error).__name__  # Python's own says nothing
                detail = f"the judge ran out of memory: {said}; use --set to make it smaller"
                self._tell(Fault(kind="device", detail=detail))
                self._hardware.trim()
            except RuntimeError as error:  # a CUDA error of the judge's own: its context is lost
                detail = f"the judge failed: {error}\n{traceback.format_exc()}"
                self._tell(Fault(kind="device", detail=detail, device_lost=True))
                return

    def _tell(self, message: Judgement | Checked | GaveUp | Fault | Phase | BuildWanted | Logged) -> None:
        self._channel.send(message.model_copy(update={"job": self._job}))

    def _hear(self) -> Proceed | GiveUp | BuildDone:
        """The answer to what was asked last. Raises `_Misheard` for one to another job."""
        answer = self._channel.receive(TO_JUDGE)
        if not isinstance(answer, Proceed | GiveUp | BuildDone) or answer.job != self._job:
            raise _Misheard(f"the controller said {answer.say!r} of another job than the one that is judged")
        return answer

    def _begin(self, phase: str) -> None:
        """Say which phase begins. Raises `_GivenUp` where the controller has no use for it."""
        self._tell(Phase(name=phase))
        answer = self._hear()
        if isinstance(answer, GiveUp):
            raise _GivenUp
        if not isinstance(answer, Proceed):
            raise _Misheard(f"the controller said {answer.say!r} where a phase was to begin")
        self._phase, self._asked_at = phase, time.monotonic()

    def _ask_to_proceed(self) -> None:
        """Between trials and between blocks of rounds: raises `_GivenUp` where the phase is not to go on."""
        if time.monotonic() - self._asked_at >= _ASK_EVERY_S:
            self._begin(self._phase)

    def _check(self, job: Check) -> Checked:
        problem, workload = self._sized(job.problem, job.settings, emulated=False)
        return Checked(audit=self._audit(problem, job.settings), workload=workload)

    def _sized(self, problem: Problem, settings: Settings, *, emulated: bool) -> tuple[LoadedProblem, Workload]:
        on_cpu = not self._hardware.apart
        source, workload = sized(problem, settings.workload, emulated=emulated, on_cpu=on_cpu)
        workload = workload.model_copy(update={"precision": settings.precision})
        form = FORMATS[problem.format]
        return load_problem(
            problem.title, source, device=self._device, precision=settings.precision, form=form
        ), workload

    def _take_device(self) -> None:
        self._spares.settle()
        self._waited_s += self._lock.take(lambda holder: self._begin(waiting_for(self._name, holder)))

    def _judge_and_let_go(self, job: Job) -> Judgement:
        """Judge, and give back the device, which whatever is timed has taken."""
        self._waited_s = 0.0
        try:
            return self._judge(job)
        finally:
            self._lock.release()

    def _judge(self, job: Job) -> Judgement:
        """Judge, and once more before a candidate is accused of what other processes may be the cause of.

        Others may use the device's time too. Its memory is held by the reference's worker and by what the judge keeps
        for later: these are given back first, and the second time the judge gives back what it can before each call.
        """
        judgement = self._judge_unless_short(job)
        is_short = judgement is None
        if judgement is None:
            held = self._give_back()
            _log.info("judged again alone, after %s", held)
            judgement = self._judge_once(job, alone=True)
            if judgement.lacked_memory:
                assert isinstance(judgement.verdict, Failed)
                detail = f"{judgement.verdict.detail}; twice, the second time after {held}"
                judgement = judgement.model_copy(
                    update={"verdict": judgement.verdict.model_copy(update={"detail": detail})}
                )
        judgement = self._at_original_size(job, judgement)
        if self._is_slowed(judgement):
            judgement = self._slowed_less(job, judgement, alone=is_short)
        outside = any(flag in (WORK_OUTSIDE_THE_CLOCK, PAUSED_BETWEEN_ROUNDS) for flag in judgement.flags)
        return self._judge_once(job, alone=is_short) if outside else judgement

    def _is_slowed(self, judgement: Judgement) -> bool:
        """Whether the reference on a device took longer beside a candidate that was timed fully: launches take half as
        long again for seconds on some hosts, of both sides alike, and not any more once the reference is alone.
        """
        timing = judgement.timing
        return timing is not None and timing.mode == "full" and timing.slowed > 1.0 and self._hardware.apart

    def _slowed_less(self, job: Job, judgement: Judgement, *, alone: bool) -> Judgement:
        """This judgement or a second one: of two that have a time the one whose reference was slowed less, and one that
        is not correct unless it lacked memory.
        """
        try:
            again = self._judge_once(job, alone=alone)
        except torch.OutOfMemoryError:
            return judgement
        if again.lacked_memory:
            return judgement
        if not isinstance(again.verdict, Correct):
            return again
        return min(again, judgement, key=lambda one: one.timing.slowed if one.timing else math.inf)

    def _at_original_size(self, job: Job, judgement: Judgement) -> Judgement:
        """The judgement; where a candidate fails at a reduced batch and may have the original one in it, that there.

        Only being correct there counts: the original batch may be more than this machine gets through.
        """
        verdict = judgement.verdict
        if not (isinstance(verdict, Wrong) or (isinstance(verdict, Failed) and verdict.reason == "exception")):
            return judgement
        emulated = BACKENDS[job.kind].emulates
        wanted = job.settings.workload
        sizes = original_sizes(job.problem, wanted, judgement.workload, job.source, emulated=emulated)
        if sizes is None:
            return judgement
        larger = job.model_copy(update={"settings": job.settings.model_copy(update={"workload": sizes})})
        again = self._judge_once(larger)
        return again if isinstance(again.verdict, Correct | Rejected) else judgement

    def _judge_unless_short(self, job: Job) -> Judgement | None:
        """None where the device's memory did not suffice, for the candidate or for the judge."""
        try:
            judgement = self._judge_once(job)
        except torch.OutOfMemoryError:
            return None
        return None if judgement.lacked_memory else judgement

    def _give_back(self) -> str:
        """End the reference's worker and spare ones, and empty the judge's caches.

        Says how much of the device's memory each held.
        """
        gc.collect()  # tensors in the frames of what was raised
        before = self._hardware.free_bytes()
        self._hardware.trim()
        trimmed = self._hardware.free_bytes()
        self._spares.end()
        self._let_go_of_reference()
        free = self._hardware.free_bytes()
        return (
            f"the judge's caches gave back {(trimmed - before) / 1e9:.1f} GB and the reference's worker and spare ones "
            f"{(free - trimmed) / 1e9:.1f} GB, with {free / 1e9:.1f} GB free"
        )

    def _judge_once(self, job: Job, *, alone: bool = False, by_name: Mapping[str, str] | None = None) -> Judgement:
        """One judgement by a worker of its own; a second by another, where the first draws weights otherwise.

        That one is given the reference's by name, under other seeds. It knows nothing of the first, whose verdict
        stands unless the second is better.
        """
        settings = job.settings
        emulated = BACKENDS[job.kind].emulates
        problem, workload = self._sized(job.problem, settings, emulated=emulated)
        self._let_go_of_others(problem)
        started = time.monotonic()
        known = self._audit(problem, settings)
        audit_s = time.monotonic() - started
        if not emulated and settings.timing != "none":
            self._learn_rates(settings)
        started = time.monotonic()
        free_bytes = self._hardware.free_bytes()
        with self._spares.take(self._policy(job)) as (worker, conversation):
            report = SandboxReport(layers=worker.layers, missing=worker.missing)
            found = self._found(
                worker, conversation, problem, job, known, free_bytes=free_bytes, alone=alone, by_name=by_name
            )
            if isinstance(found, Failed):
                return Judgement(verdict=found, workload=workload, sandbox=report, audit=known.findings)
            finding = found.finding
            judgement = Judgement(
                verdict=finding.verdict,
                timing=finding.timing,
                workload=workload,
                sandbox=report,
                audit=known.findings,
                substitutions=found.substitutions,
                phases_s={"audit": audit_s, "load": found.loaded_at - started, **self._wait(), **finding.phases_s},
                clocks=self._hardware.clocks() if finding.timing else {},
            )
            if isinstance(finding.verdict, Correct):
                judgement = self._doubted(judgement, finding, known, job)
            worker.kill()
            if self._is_one_of_many and not alone and finding.other_weights is None:  # nothing is timed any more
                self._spares.prepare([self._policy(job), *self._wanted_next(job)])
            ended = worker.wait(5.0)
        judgement = judgement.model_copy(update={"worker_log": ended.log if ended else ""})
        if finding.other_weights is not None:
            again = self._judge_once(job, alone=alone, by_name=finding.other_weights)
            return judgement if isinstance(again.verdict, Wrong | Failed) else again
        return judgement

    def _found(
        self,
        worker: Worker,
        conversation: Conversation,
        problem: LoadedProblem,
        job: Job,
        known: Audit,
        *,
        free_bytes: int,
        alone: bool,
        by_name: Mapping[str, str] | None,
    ) -> "_Found | Failed":
        """What comes of one worker: an early failure, or what the judge finds."""
        settings, emulated = job.settings, BACKENDS[job.kind].emulates
        subject: WorkerSubject | None = None
        try:
            self._begin("load")
            self._expect_ready(conversation)
            self._load(conversation, job.source, problem.form.entry, job)
            loaded_at = time.monotonic()
            if not (emulated or self._copied):  # what is copied for a round may take seconds
                conversation.limit_answers(ANSWERS_S)
            subject = self._subject(conversation, problem, settings, deadlines=self._deadlines_of(job, known))
            self._begin("check")
            self._spares.prepare([] if alone else self._wanted_next(job))
            finding = judge(
                problem,
                cast(Subject, _Sparing(subject, self._hardware.trim)) if alone else subject,
                None if emulated or settings.timing == "none" else lambda: self._reference(problem, job),
                audit=known,
                bench=self._bench,
                plan=self._plan(problem, job, free_bytes, alone=alone),
                tolerance=settings.tolerance,
                orders_s=min(_ORDERS_S, settings.timeout_s / 2) if emulated else 0.0,
                by_name=by_name,
            )
        except BuildRefused as refused:
            return refused.at("build")
        except SubjectFailed as failed:
            return failed.at("load")
        except (torch.OutOfMemoryError, DeviceError):
            held = self._given_back_by(worker)
            if held <= free_bytes * _FAIR_SHARE:
                raise
            of = f"{held / 1e9:.1f} of {free_bytes / 1e9:.1f} GB"
            detail = f"held {of} of device memory: too little was left to judge"
            return Failed(stage="run", reason="device-memory", detail=detail)
        finally:
            if subject is not None:
                subject.close()
        return _Found(finding, subject.substitutions, loaded_at)

    def _learn_rates(self, settings: Settings) -> None:
        """Measure what the device can do while it is idle, where that is not known."""
        if not self._hardware.knows_rates(settings.precision):
            self._take_device()
            self._hardware.rates(settings.precision)
            self._lock.release()

    def _plan(self, problem: LoadedProblem, job: Job, free_bytes: int, *, alone: bool) -> Plan:
        settings, key = job.settings, _held_by(problem, job, "eager")
        if self._alone_before[0] != key:
            self._alone_before = key, AloneBefore()
        return Plan(
            budget_s=settings.timing_s,
            quick=settings.timing == "quick",
            bytes_budget=free_bytes // 4,
            copied=self._copied,
            memory_bytes=0 if alone else free_bytes,
            singles=True,
            trace=settings.traced,
            alone_before=None if alone else self._alone_before[1],
        )

    def _wait(self) -> dict[str, float]:
        """The seconds in which others had the device, where it had to be waited for."""
        return {"wait": self._waited_s} if self._waited_s else {}

    def _given_back_by(self, worker: Worker) -> int:
        """End a worker; the bytes of device memory that this frees."""
        before = self._hardware.free_bytes()
        worker.kill()
        worker.wait(5.0)
        return self._hardware.free_bytes() - before

    # ---- around a judgement ------------------------------------------------------------------------------------

    def _audit(self, problem: LoadedProblem, settings: Settings) -> Audit:
        """What is known of the problem, found out once. A reference that hangs ends this process."""
        asked = (
            problem.source,
            settings.precision,
            settings.tolerance,
            *Audit.model_fields,
        )  # in this form
        key = key_of(self._environment, self._hardware.name, *asked)
        known = self._audits.find(key)
        if known is None:
            self._begin("audit")
            self._spares.settle()
            seconds = max(settings.timeout_s, _AUDIT_S)
            detail = f"problem {problem.title}: the reference did not answer within {seconds:g} s"
            with self._deadline(seconds, detail):
                known = audit(problem, tolerance=settings.tolerance)
            self._hardware.trim()
            _log.info("audited %s", problem.title)
            self._audits.keep(key, known)
        return known

    @contextmanager
    def _deadline(self, seconds: float, detail: str) -> Iterator[None]:
        def late() -> None:  # whatever hangs here cannot be interrupted from within
            self._tell(Fault(kind="problem", detail=detail, device_lost=True))
            os._exit(1)

        timer = threading.Timer(seconds, late)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _doubted(self, judgement: Judgement, finding: Finding, known: Audit, job: Job) -> Judgement:
        """The judgement with what it makes one wonder about, timed or not; some of that rejects."""
        timing = finding.timing
        floor = roofline(known, self._hardware.rates(job.settings.precision), timing) if timing else None
        apart = self._hardware.apart
        profile = profile_of(finding.trace, job.source) if finding.trace else None
        flags = doubts(Case(finding, floor if apart else None, profile, writes_kernels=job.writes_kernels))
        if finding.evict_s is not None and self._hardware.was_shared(finding.evict_s):
            flags = (*flags, WORK_OUTSIDE_THE_CLOCK)
        elif apart and finding.paused:
            flags = (*flags, PAUSED_BETWEEN_ROUNDS)
        if self._copied and timing:
            flags = (*flags, COPIED_MEMORY)
        baselines = []
        for name in job.settings.baselines if timing else ():
            try:
                baselines += [self._baseline(name, judgement, job)] if name != "eager" else []
            except DeviceError as error:  # the candidate's own judgement stands without it
                flags = (*flags, Flag(rule="baseline-failed", severity="warn", detail=f"{name}: {error}"))
        return judgement.model_copy(
            update={
                "verdict": _after(judgement.verdict, flags, job.settings.reject),
                "timing": timing.model_copy(update={"baselines": tuple(baselines)}) if timing else None,
                "roofline": floor,
                "profile": profile,
                "flags": flags,
            }
        )

    def _baseline(self, name: BaselineName, judgement: Judgement, job: Job) -> Baseline:
        """The candidate against another form of the reference, which is timed where its time is not known."""
        timing = judgement.timing
        assert timing is not None
        workload = judgement.workload.model_dump_json()
        key = key_of(self._environment, self._hardware.name, job.problem.sha256, workload, name)
        known = self._baselines.find(key)
        if known is not None and still_true(known, timing):
            return versus(name, timing, known, cached=True)
        pair = self._time_baseline(name, job, timing.calls_per_round)
        self._baselines.keep(key, pair)
        return versus(name, timing, pair, cached=False)

    def _time_baseline(self, name: BaselineName, job: Job, count: int) -> BaselinePair:
        problem, _ = self._sized(job.problem, job.settings, emulated=False)
        plan = Plan(budget_s=job.settings.timing_s)
        with self._reference(problem, job) as eager, self._reference(problem, job, name) as other:
            return time_pair(problem, eager, other, count=count, bench=self._bench, plan=plan)

    # ---- workers -----------------------------------------------------------------------------------------------

    def _wanted_next(self, job: Job) -> list[Policy]:
        """The policies of the workers that are wanted next: the next candidate's, as it may be, and a reference's."""
        timed = job.settings.timing != "none"
        return [self._policy(job), *([_unhurried(self._policy(job))] if timed else [])]

    def _expect_ready(self, conversation: Conversation) -> None:
        """Wait until a worker listens. Nothing of a candidate is there yet: what it fails at is ours.

        Raises DeviceError, and SubjectFailed where it lacks device memory, which is tried again.
        """
        try:
            conversation.expect_ready()
        except SubjectFailed as failed:
            if failed.reason == "device-memory":
                raise
            raise DeviceError(f"a worker could not be made ready: {failed.detail}") from failed

    def _load(self, conversation: Conversation, source: str, class_name: str, job: Job) -> None:
        request = Load(
            source=source,
            class_name=class_name,
            device="cpu" if self._device.type == "cpu" else "cuda",
            emulate=BACKENDS[job.kind].emulates,
            visible=self._visible,
            call_s=job.settings.timeout_s,
        )
        conversation.ask(request, Loaded, seconds=job.settings.timeout_s)

    def _policy(self, job: Job) -> Policy:
        models = models_of(job.problem)
        return Policy(
            readable=models,
            devices=self._backend.is_gpu,
            limits=job.settings.limits,
            isolation=job.settings.isolation,
            environment=hub_environment(models),
        )

    def _subject(
        self,
        conversation: Conversation,
        problem: LoadedProblem,
        settings: Settings,
        compile_mode: CompileMode | None = None,
        deadlines: Deadlines | None = None,
        loops: bool = False,
    ) -> WorkerSubject:
        return WorkerSubject(
            conversation,
            hardware=self._hardware,
            init_arguments=problem.init_arguments(),
            precision=settings.precision,
            call_s=max(settings.timeout_s, _COMPILING_S) if compile_mode else settings.timeout_s,
            memory_bytes=settings.memory_bytes,
            compile_mode=compile_mode,
            core=self._core,
            deadlines=deadlines,
            loops=loops,
        )

    def _deadlines_of(self, job: Job, known: Audit) -> Deadlines | None:
        """Of a candidate's rounds; None where it is emulated, which may take any time."""
        if BACKENDS[job.kind].emulates:
            return None
        compiles = compiles_when_called(job.source)
        return Deadlines(job.settings.timeout_s, known.call_s, compiles, self._hardware.apart, known.construct_s)

    @contextmanager
    def _reference(self, problem: LoadedProblem, job: Job, form: BaselineName = "eager") -> Iterator[Subject]:
        """The reference in a worker of its own, by the same protocol. Its failure is never the candidate's.

        The one that was used last is kept for the next candidate of the same problem: no candidate's code is in it.
        """
        key = _held_by(problem, job, form)
        held, self._held = self._held, None
        if held is None or held.key != key:
            if held is not None:
                held.close()
            self._begin("reference")
            held = self._start_reference(problem, job, form, key)
            self._alone_before[1].forget()  # of another process
        with ExitStack() as on_failure:
            on_failure.callback(held.close)
            self._begin("time")
            yield held.subject
            held.subject.detach()
            held.subject.release(trim=True)
            on_failure.pop_all()
        self._held = held

    def _let_go_of_others(self, problem: LoadedProblem) -> None:
        """End the reference's worker of another problem, and give back what is kept of it."""
        if self._held is not None and self._held.key[0] != problem.source:
            self._let_go_of_reference()
        self._hardware.trim()

    def _let_go_of_reference(self) -> None:
        """End the reference's worker. Where that fails no candidate had a hand in it, and nobody waits for it."""
        held, self._held = self._held, None
        if held is not None:
            try:
                held.close()
            except SandboxError as error:
                _log.warning("a reference's worker did not end: %s", error)

    def _start_reference(
        self, problem: LoadedProblem, job: Job, form: BaselineName, key: tuple[str, ...]
    ) -> "_Reference":
        with ExitStack() as opening:
            _, conversation = opening.enter_context(self._spares.take(_unhurried(self._policy(job))))
            subject = self._subject(conversation, problem, job.settings, _COMPILE_MODES[form], loops=True)
            opening.callback(subject.close)
            try:
                self._expect_ready(conversation)
                self._load(conversation, problem.source, problem.form.reference, job)
            except SubjectFailed as failed:
                raise DeviceError(f"the reference's worker failed: {failed.detail}") from failed
            return _Reference(key, cast(Subject, _Blameless(subject)), opening.pop_all().close)

    def _relay_build(self, request: BuildRequest) -> Artifact | BuildFailure:
        self._tell(BuildWanted(request=request))
        answer = self._hear()
        if isinstance(answer, GiveUp):
            raise _GivenUp
        if not isinstance(answer, BuildDone):
            raise _Misheard(f"the controller said {answer.say!r} where a build was waited for")
        return answer.outcome

    # ---- device ------------------------------------------------------------------------------------------------

    def _make_arena(self, size: int) -> Any:
        return self._hardware.arena(size, copied=self._copied)


def _after(verdict: Verdict, flags: Sequence[Flag], reject: Sequence[str]) -> Verdict:
    """A correct verdict as it stands once the flags are known: the first one that rejects decides."""
    if not isinstance(verdict, Correct):
        return verdict
    for flag in flags:
        if flag.severity == "reject" or flag.rule in reject:
            return Rejected(rule=flag.rule, detail=flag.detail)
    return verdict


def _unhurried(policy: Policy) -> Policy:
    """The policy of a worker that serves many candidates."""
    lasting = {"cpu_s": _REFERENCE_CPU_S, "output_bytes": _REFERENCE_OUTPUT_BYTES}
    return policy.model_copy(update={"limits": policy.limits.model_copy(update=lasting)})


def _held_by(problem: LoadedProblem, job: Job, form: BaselineName) -> tuple[str, ...]:
    """What the worker of a reference is kept for."""
    return (problem.source, form, job.kind, job.settings.model_dump_json())


@dataclass(frozen=True)
class _Found:
    """What the judge found of a candidate, what its worker put in the place of CUDA, and when it had been loaded."""

    finding: Finding
    substitutions: tuple[str, ...]
    loaded_at: float


@dataclass(frozen=True)
class _Reference:
    """A reference's worker, and for what it was started."""

    key: tuple[str, ...]
    subject: Subject
    close: Callable[[], None]


class _Sparing:
    """A subject before whose calls the judge gives back what device memory it keeps for later, and which gives back its
    own after a trial.
    """

    def __init__(self, inner: WorkerSubject, trim: Callable[[], None]) -> None:
        self._inner, self._trim = inner, trim

    def __getattr__(self, name: str) -> Any:
        if name in ("construct", "round"):
            self._trim()
        return getattr(self._inner, name)

    def release(self, *, poison: bool = False, trim: bool = False) -> None:
        """As of any subject; with `poison`, after a trial, memory that it keeps for later goes too."""
        self._inner.release(poison=poison, trim=trim or poison)


class _Blameless:
    """The reference as a subject: whatever it fails at is ours."""

    def __init__(self, inner: WorkerSubject) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)

        def call(*arguments: Any, **named: Any) -> Any:
            try:
                return method(*arguments, **named)
            except LaidOutAnew:  # as the outputs of any subject may be where contents decide on shapes
                raise
            except (SubjectFailed, ProtocolError) as failed:
                raise DeviceError(f"the reference's worker failed: {failed}") from failed

        return call
