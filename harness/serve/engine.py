"""The engine: takes jobs in their turn, has them judged, keeps their records."""

import contextlib
import functools
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import harness
from harness.catalog import Catalog, apply_settings, text_problem
from harness.controller.batch import settings_for
from harness.controller.control import as_its_own, control, may_be_its_own, settings_of_a_control, told_apart
from harness.controller.evaluate import Evaluated
from harness.controller.scheduler import run as run_stages
from harness.errors import HarnessError, MachineError, ProblemError, SandboxError
from harness.library import load_submission
from harness.schema import Problem, Record
from harness.serve.asked import RANKS, Asked, NeedsToken, Work
from harness.serve.bench import Bench
from harness.serve.jobs import Job, Jobs, QueueFull, State, Taken
from harness.settings import Settings
from harness.store import Manifest, Run, open_run

TRIES = 2
"""So often a job is begun beside others that meets a fault of the machine's, before it ends as one or is a suspect: it
is judged alone then, and a control tells whether the fault is its own (controller/control.py)."""
FAULTS_IN_A_ROW = 3
"""After so many faults of the machine's with no verdict between them, or one that no worker could be started, a control
is judged. Where it meets one too, everything that judges is started anew."""
REOPEN_S = (1.0, 60.0)
"""The first and the longest pause before what could not be started is started again."""
FORGET_EVERY_S = 600.0
"""So often jobs are looked for that need be kept no longer."""
_TURN_S = 0.2  # how long a builder without a job waits before it looks whether it is to stop

OpenBench = Callable[[], AbstractContextManager[Bench]]


class Unavailable(Exception):
    """Nothing is accepted now: the server drains, or cannot judge."""


class Busy(Exception):
    """The queue is full; `retry_after_s` is when it should have room, by the rate that was measured."""

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(f"the queue is full: ask again in {retry_after_s} s")
        self.retry_after_s = retry_after_s


class Watcher:
    """What the engine tells of its work; this one does nothing with it. Called from several threads."""

    def changed(self, id: str) -> None:
        """A job's state is another."""

    def phase(self, id: str) -> None:
        """A job's phase is another."""

    def taken(self, how: str) -> None:
        """A request was queued, attached, answered or refused."""

    def judged(self, record: Record, seconds: float) -> None:
        """A record was kept, so many seconds after its job was accepted."""

    def fault(self, kind: str) -> None:
        """A fault of ours, the machine's or the problem's was met."""

    def device_busy(self, device: str, seconds: float) -> None:
        """A device was used for so long."""


@dataclass(frozen=True)
class _Prepared:
    """A job half way: `draft` is the bench's; where it is None the job has ended as `state`."""

    job: Job
    work: Work | None = None
    draft: Any = None
    state: State = "running"
    reason: str = ""


@dataclass(frozen=True)
class _Outcome:
    """What became of a job: something that was judged, of what and on which device, or a state."""

    job: Job
    evaluated: Evaluated | None = None
    state: State = "running"
    reason: str = ""
    work: Work | None = None
    device: Any = None

    @property
    def fault(self) -> HarnessError | None:
        return self.evaluated.fault if self.evaluated is not None else None


class Engine:
    """Judges what is accepted, until it is drained. Any thread may ask."""

    def __init__(
        self,
        state: Path,
        *,
        open_bench: OpenBench,
        catalog: Catalog,
        settings: Settings,
        most_queued: int,
        keep_s: float | None = None,
        watcher: Watcher | None = None,
    ) -> None:
        """`state` is the folder of the jobs and of the run; the server that writes it is the only one.

        `keep_s`: jobs that have ended are forgotten so many seconds after they were accepted; never where None.
        """
        self.state, self.catalog, self.settings, self.most_queued = state, catalog, settings, most_queued
        self.watcher = watcher or Watcher()
        self.fault: str | None = None
        self.device_names = ""
        self.phases: dict[str, str] = {}
        self._open_bench = open_bench
        self._made_of: tuple[str, ...] = ()
        self._unwanted: set[str] = set()
        self._keep_s, self._look_again = keep_s, 0.0
        self._suspects: list[Job] = []
        self._doubted: _Outcome | None = None
        self._faults = 0
        self._news = threading.Condition()
        self._stopping, self._ended, self._reopen = threading.Event(), threading.Event(), threading.Event()
        self._started: threading.Event = threading.Event()
        self._spacing_s = 0.0
        self._last_end = 0.0
        self._named = functools.lru_cache(maxsize=4096)(catalog.named)
        self._closing = contextlib.ExitStack()
        self._thread = threading.Thread(target=self._work, name="engine")

    # Asked from outside

    def start(self) -> None:
        """Open the state, take up what was left, start judging. Raises HarnessError where that cannot be."""
        self.state.mkdir(parents=True, exist_ok=True, mode=0o700)
        with contextlib.ExitStack() as opening:
            self.run: Run = opening.enter_context(open_run(self.state / "run", create=True, manifest=_manifest()))
            self.jobs = Jobs(self.state / "jobs.sqlite")
            opening.callback(self.jobs.close)
            _reconcile(self.jobs, self.run)
            self._closing = opening.pop_all()
        self._thread.start()
        self._started.wait()
        if self._ended.is_set():
            self.close()
            raise MachineError(self.fault or "the engine could not be started")

    @property
    def draining(self) -> bool:
        return self._stopping.is_set()

    def accept(self, asked: Asked, *, trusted: bool) -> tuple[str, Taken]:
        """Queue a judgement, or find it: its id. `trusted` callers have shown a token.

        Raises NeedsToken, ProblemError or InputError for what is asked, Busy, Unavailable.
        """
        work = self._work_of(asked, trusted=trusted)
        known = self.jobs.look(work.id)
        if (known is None or not known.is_open) and not (known and known.state == "done" and not asked.fresh):
            self._require_service()
        try:
            taken = self.jobs.accept(
                work.id,
                sha256=work.submission.sha256,
                asked=asked.model_dump_json(exclude={"tag", "fresh", "deadline_s"}),
                tag=asked.tag,
                rank=RANKS[asked.priority],
                deadline_s=asked.deadline_s,
                fresh=asked.fresh,
                most=self.most_queued,
            )
        except QueueFull:
            self.watcher.taken("refused")
            raise Busy(self.retry_after_s()) from None
        self._unwanted.discard(work.id)
        self.watcher.taken(taken)
        if taken == "queued":
            with self._news:
                self._news.notify()
        return work.id, taken

    def named(self, name: str) -> Problem:
        """The catalogue's problem of that name, which is never a path. Raises ProblemError, which says nothing else."""
        try:
            return self._named(name)
        except ProblemError:
            raise ProblemError(f"there is no problem {name[:200]!r} here, or several") from None

    def cancel(self, id: str) -> None:
        """Cancel what is queued at once, what runs before it gets a device. What is judged already is left to end."""
        if self.jobs.cancel(id):
            self.watcher.changed(id)
            return
        job = self.jobs.look(id)
        if job is not None and job.state == "running":
            self._unwanted.add(id)

    def retry_after_s(self) -> int:
        """Seconds until a quarter of the queue should be judged, at the rate of late; 1 to 60."""
        return max(1, min(60, math.ceil(self._spacing_s * self.most_queued / 4)))

    def stop(self) -> None:
        """Take no more jobs; what a device is judging is judged, the rest stays queued. Returns at once."""
        self._stopping.set()
        with self._news:
            self._news.notify_all()

    def drained(self, seconds: float) -> bool:
        """Wait for the end of what `stop` left; whether it came within so many seconds."""
        return self._ended.wait(seconds)

    def close(self) -> None:
        """Stop, wait, and close the state."""
        self.stop()
        if self._thread.ident is not None:
            self._thread.join()
        self._closing.close()

    # What is asked for

    def _require_service(self) -> None:
        if self.draining:
            raise Unavailable("the server is draining")
        if self.fault is not None:
            raise Unavailable(f"the server cannot judge now: {self.fault}")

    def _work_of(self, asked: Asked, *, trusted: bool) -> Work:
        """What is asked for, checked and with its id. Nothing that a stranger names is a path."""
        if asked.settings.workload is not None and not trusted:
            raise NeedsToken("a workload of the caller's own is only taken with a token")
        problem = self._problem(asked, trusted=trusted)
        settings = asked.settings.over(settings_for(problem, self.settings))
        if settings.workload:
            apply_settings(problem, settings.workload)
        return Work(load_submission(asked.submission), problem, settings, self._made_of)

    def _problem(self, asked: Asked, *, trusted: bool) -> Problem:
        if not asked.names_a_problem:
            if not trusted:
                raise NeedsToken("a problem's own source is only taken with a token: name one of the server's")
            return text_problem(asked.problem)
        return self.named(asked.problem)

    # The engine's thread

    def _work(self) -> None:
        pause = REOPEN_S[0]
        try:
            while not self.draining:
                try:
                    self._serve_one_bench()
                    pause = REOPEN_S[0]
                except HarnessError as error:
                    self.fault = str(error)
                    self.watcher.fault("bench")
                    if not self._started.is_set():
                        return
                    self._stopping.wait(pause)
                    pause = min(REOPEN_S[1], 2 * pause)
        except BaseException as error:
            self.fault = f"{type(error).__name__}: {error}"
            raise
        finally:
            self._ended.set()
            self._started.set()
            self.watcher.changed("")

    def _serve_one_bench(self) -> None:
        """Judge with one set of processes until the end, or until they are to be started anew."""
        self._reopen.clear()
        self._doubt_nothing()
        with self._open_bench() as bench:
            self._made_of, self.device_names, self.fault = bench.made_of, bench.device_names, None
            self._started.set()
            try:
                while not (self.draining or self._reopen.is_set()):
                    if self._doubted is not None:
                        self._judge_ours(bench, self._doubted)
                    elif self._suspects:
                        self._judge_alone(bench, self._suspects.pop(0))
                    else:
                        for outcome in self._outcomes(bench):
                            self._take(outcome)
            finally:
                waiting = {job.id for job in self._suspects}
                for job in self.jobs.running():
                    if job.id not in waiting:  # what an exception has left behind
                        self._tried_in_vain(job, "the processes that judged it were lost")
                    elif self.draining:
                        self._ended_as(job, "queued", "")

    def _take(self, outcome: _Outcome, *, alone: bool = False) -> None:
        """Keep what became of a job, which was judged `alone` or not, and count what may be the machine's fault."""
        if self._kept(outcome, alone=alone):
            self._faults = 0
        elif isinstance(outcome.fault, MachineError):
            self._faults += 1
            if self._faults >= FAULTS_IN_A_ROW or isinstance(outcome.fault, SandboxError):
                self._doubted = outcome

    def _doubt_nothing(self) -> None:
        self._faults, self._doubted = 0, None

    def _judge_ours(self, bench: Bench, doubted: _Outcome) -> None:
        """Have everything started anew where a submission of ours meets a fault as well: nobody could be judged."""
        self._doubt_nothing()
        assert doubted.work is not None
        if isinstance(self._met_by_ours(bench, doubted.device, doubted.work), MachineError):
            self._reopen.set()

    def _met_by_ours(self, bench: Bench, device: Any, work: Work) -> HarnessError | None:
        """The fault that a submission of ours meets in the place of another, if any."""
        ours = Work(control(work.problem), work.problem, settings_of_a_control(work.settings), self._made_of)
        return bench.judge(device, bench.prepare(ours, on_phase=_untold), on_phase=_untold).fault

    def _judge_alone(self, bench: Bench, suspect: Job) -> None:
        """Judge a job that met a fault of the machine's each time, with no other beside it: it may be its own."""
        suspect = self.jobs.look(suspect.id) or suspect  # its deadline may be another now
        device = bench.devices[0]
        work: list[Work] = []

        def judge() -> _Outcome:
            prepared = self._prepare(bench, suspect)
            if prepared.work is not None:
                work[:] = [prepared.work]
            return self._judge(bench, device, prepared)

        def ours() -> HarnessError | None:
            return self._met_by_ours(bench, device, work[0])

        outcome, its_own = told_apart(judge, ours, lambda outcome: outcome.fault)
        if its_own and outcome.evaluated is not None:
            outcome = replace(outcome, evaluated=as_its_own(outcome.evaluated))
        self._take(outcome, alone=True)

    def _outcomes(self, bench: Bench) -> Iterator[_Outcome]:
        return run_stages(
            self._turns(),
            prepare=functools.partial(self._prepare, bench),
            devices=bench.devices,
            judge=functools.partial(self._judge, bench),
            builders=bench.builders,
            ahead=len(bench.devices),
        )

    def _turns(self) -> Iterator[Job | None]:
        while not (self.draining or self._reopen.is_set() or self._suspects or self._doubted):
            self._forget_the_old()
            job = self.jobs.claim()
            if job is None:
                with self._news:
                    self._news.wait(_TURN_S)
            else:
                self.watcher.changed(job.id)
            yield job

    def _forget_the_old(self) -> None:
        if self._keep_s is not None and time.monotonic() >= self._look_again:
            self._look_again = time.monotonic() + min(FORGET_EVERY_S, self._keep_s)
            self.jobs.forget(self._keep_s)

    def _prepare(self, bench: Bench, job: Job) -> _Prepared:
        if job.is_late:
            return _Prepared(job, state="expired", reason="its deadline was over before its turn")
        try:
            work = self._work_of(Asked.model_validate_json(job.asked), trusted=True)
        except HarnessError as error:
            return _Prepared(job, state="fault", reason=f"it can no longer be judged: {error}")
        if work.id != job.id:
            return _Prepared(job, state="fault", reason="what decides its verdict has changed since: ask again")
        return _Prepared(job, work, bench.prepare(work, on_phase=functools.partial(self._phase, job.id)))

    def _judge(self, bench: Bench, device: Any, prepared: _Prepared) -> _Outcome:
        job, state, reason = prepared.job, prepared.state, prepared.reason
        if prepared.draft is not None and job.id in self._unwanted:
            state, reason = "cancelled", "cancelled by a caller"
        elif prepared.draft is not None and self._is_late(job):
            state, reason = "expired", "its deadline was over before a device was free"
        elif prepared.draft is not None and self.draining:
            state = "queued"
        if state != "running":
            return _Outcome(job, state=state, reason=reason)
        started = time.monotonic()
        try:
            evaluated = bench.judge(device, prepared.draft, on_phase=functools.partial(self._phase, job.id))
        finally:
            self.watcher.device_busy(_name(device), time.monotonic() - started)
        return _Outcome(job, evaluated, work=prepared.work, device=device)

    def _is_late(self, job: Job) -> bool:
        """By the deadline of now: another asker may have lengthened it."""
        now = self.jobs.look(job.id)
        return now is not None and now.is_late

    def _phase(self, id: str, name: str) -> None:
        self.phases[id] = name
        self.watcher.phase(id)

    # What becomes of a job

    def _kept(self, outcome: _Outcome, *, alone: bool) -> bool:
        """Write down what became of a job. Whether it has a verdict."""
        job, evaluated = outcome.job, outcome.evaluated
        self.phases.pop(job.id, None)
        if evaluated is None:
            self._ended_as(job, outcome.state, outcome.reason)
            return False
        self._unwanted.discard(job.id)
        if isinstance(evaluated.fault, MachineError):
            self._tried_in_vain(job, str(evaluated.fault), suspected=not alone and may_be_its_own(evaluated.fault))
            return False
        fault = _why_not(evaluated, job)
        if fault is not None:
            self._ended_as(job, "fault", fault)
            return False
        self.run.append(evaluated.record, evaluated.attachments)
        _finish(self.jobs, evaluated.record)
        self._note_rate()
        self.watcher.judged(evaluated.record, max(0.0, time.time() - job.accepted))
        self.watcher.changed(job.id)
        return True

    def _ended_as(self, job: Job, state: State, reason: str) -> None:
        self._unwanted.discard(job.id)
        if state == "queued":
            self.jobs.give_back(job.id, forget_try=True)
        else:
            self.jobs.end(job.id, state, reason)
        if state == "fault":
            self.watcher.fault("job")
        self.watcher.changed(job.id)

    def _tried_in_vain(self, job: Job, reason: str, *, suspected: bool = False) -> None:
        """A fault of the machine's: another try, one alone where it may be the job's own, or the end."""
        if job.tries < TRIES:
            self.watcher.fault("tried-again")
            self.jobs.give_back(job.id)
            self.watcher.changed(job.id)
        elif suspected:
            self.watcher.fault("tried-again")
            self._suspects.append(job)
        else:
            self._ended_as(job, "fault", reason)

    def _note_rate(self) -> None:
        """Keep the mean time between two verdicts, of which the last ten weigh most. Idle times are not in it."""
        now, before = time.monotonic(), self._last_end
        self._last_end = now
        if before and self.jobs.count("queued"):
            self._spacing_s += 0.1 * (now - before - self._spacing_s) if self._spacing_s else now - before


def _untold(phase: str) -> None:
    """Nobody asks how far a control has come."""


def _name(device: Any) -> str:
    return str(getattr(getattr(device, "device", device), "name", device))


def _why_not(evaluated: Evaluated, job: Job) -> str | None:
    """Why what was judged is no verdict on this job; None where it is one. Never another's, never a fault's."""
    record = evaluated.record
    if evaluated.fault is not None:
        return str(evaluated.fault)
    if record.verdict.kind == "infrastructure":
        return record.verdict.detail
    if (record.submission.path, record.submission.sha256) != (job.id, job.sha256):
        return "the judge answered for another submission: this is a fault of the harness itself, please report it"
    return None


def _finish(jobs: Jobs, record: Record) -> None:
    jobs.finish(record.submission.path, record=record.model_dump_json(), summary=record.summary().model_dump_json())


def _reconcile(jobs: Jobs, run: Run) -> None:
    """Bring jobs that ran when the last server ended into a state: done where their record was kept, else queued.

    A record is kept first, so that one may lie in the run whose job does not know it. Where a fresh verdict was
    asked for, the one that the job knows already is not it.
    """
    left = {job.id: job for job in jobs.running()}
    if left:
        for record in run.records():
            job = left.get(record.submission.path)
            if job is not None and record.submission.sha256 == job.sha256 and record.model_dump_json() != job.record:
                _finish(jobs, record)
                del left[job.id]
    for id in left:
        jobs.give_back(id, forget_try=True)


def _manifest() -> Manifest:
    """Callers choose settings and problems: the run promises nothing about either."""
    return Manifest(created=datetime.now(UTC).isoformat(timespec="seconds"), harness=harness.__version__)
