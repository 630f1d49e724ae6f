"""The server's engine: takes jobs in their turn, has them judged, keeps their records.

One thread decides what becomes of every job: it begins them, and waits for news (one was accepted, one has ended, the
server is to stop).
"""

import contextlib
import functools
import math
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import harness
from harness.catalog import Catalog, apply_settings, text_problem
from harness.controller.batch import settings_for
from harness.controller.control import as_its_own, control, may_be_its_own, settings_of_a_control, told_apart
from harness.controller.engine import RANKS, Ask
from harness.controller.engine import Engine as Judging
from harness.controller.evaluate import Evaluated
from harness.controller.reuse import Reuse
from harness.errors import DeadlineError, HarnessError, MachineError, ProblemError, SandboxError
from harness.library import load_submission
from harness.schema import Problem, Record
from harness.serve.asked import Asked, NeedsToken, Work
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
LONGEST_NAME = 1000
"""Characters of a problem's name: thousands that were found are remembered, and blanks around one mean nothing."""
FORGET_EVERY_S = 600.0
"""So often jobs are looked for that need be kept no longer."""

OpenJudging = Callable[[], AbstractContextManager[Judging]]


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
        """A job has ended, or is queued again."""

    def phase(self, id: str) -> None:
        """A job is begun, or its phase is another."""

    def taken(self, how: str) -> None:
        """A request was queued, attached, answered or refused."""

    def judged(self, record: Record, seconds: float) -> None:
        """A record was kept, so many seconds after its job was accepted."""

    def fault(self, kind: str) -> None:
        """A fault of ours, the machine's or the problem's was met."""

    def device_busy(self, device: str, seconds: float) -> None:
        """A device was used for so long."""


@dataclass(frozen=True)
class _Begun:
    """A job that is under way, and what is judged for it."""

    job: Job
    work: Work
    future: "Future[Evaluated]"


class Engine:
    """Judges what is accepted, until it is drained. Any thread may ask."""

    def __init__(
        self,
        state: Path,
        *,
        open_judging: OpenJudging,
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
        self._open_judging = open_judging
        self._judging: Judging | None = None
        self._known: Reuse[Evaluated] = Reuse()
        self._begun: dict[str, _Begun] = {}
        self._made_of: tuple[str, ...] = ()
        self._keep_s, self._look_again = keep_s, 0.0
        self._suspects: list[Job] = []
        self._doubted: tuple[Work, str] | None = None
        self._faults = 0
        self._news: queue.SimpleQueue[_Begun | None] = queue.SimpleQueue()
        self._stopping, self._ended, self._started = threading.Event(), threading.Event(), threading.Event()
        self._reopen = False
        self._spacing_s = 0.0
        self._last_end = 0.0
        self._problems: dict[str, Problem] = {}
        self._named = functools.lru_cache(maxsize=4096)(self._read)
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
        try:
            taken = self.jobs.accept(
                work.id,
                sha256=work.submission.sha256,
                asked=asked.model_dump_json(exclude={"tag", "deadline_s"}),
                tag=asked.tag,
                rank=RANKS[asked.priority],
                deadline_s=asked.deadline_s,
                fresh=asked.fresh,
                most=self.most_queued,
                require=self._require_service,
            )
        except QueueFull:
            self.watcher.taken("refused")
            raise Busy(self.retry_after_s()) from None
        self.watcher.taken(taken)
        if taken == "queued":
            self._news.put(None)
        return work.id, taken

    def named(self, name: str) -> Problem:
        """The catalogue's problem of that name, which is never a path. Raises ProblemError, which says nothing else."""
        unknown = ProblemError(f"there is no problem {name[:200]!r} here, or several")
        if len(name) > LONGEST_NAME:  # it would be remembered
            raise unknown
        try:
            return self._named(name)
        except ProblemError:
            raise unknown from None

    def _read(self, name: str) -> Problem:
        """The problem of a name, which may have many: kept once."""
        problem = self.catalog.named(name)
        return self._problems.setdefault(problem.title, problem)

    def cancel(self, id: str) -> None:
        """Cancel a job at once; what a device is at ends at its next phase. Raises Shared where others may want it.

        One that was judged by then is as it was judged.
        """
        state = self.jobs.cancel(id)
        if state == "cancelled":
            self.watcher.changed(id)
        elif state == "running":
            begun = self._begun.get(id)
            if begun is None or begun.future.cancel():
                self._ended_unwanted(id)

    def retry_after_s(self) -> int:
        """Seconds until a quarter of the queue should be judged, at the rate of late; 1 to 60."""
        return max(1, min(60, math.ceil(self._spacing_s * self.most_queued / 4)))

    def stop(self) -> None:
        """Take no more jobs; what a device is judging is judged, the rest stays queued. Returns at once.

        No device begins anything once it has returned, however long this engine's thread takes to hear of it.
        """
        self._stopping.set()
        if (judging := self._judging) is not None:
            judging.stop()
        self._news.put(None)

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
        return Work(load_submission(asked.submission), problem, settings, self._made_of, fresh=asked.fresh)

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
                    self._serve_one_judging()
                    pause = REOPEN_S[0]
                except HarnessError as error:
                    self.fault = str(error)
                    self.watcher.fault("engine")
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

    def _serve_one_judging(self) -> None:
        """Judge with one set of processes until the end, or until they are to be started anew."""
        self._reopen = False
        self._known = Reuse()
        self._doubt_nothing()
        with self._open_judging() as judging:
            self._made_of = _made_of(judging)
            self.device_names = ", ".join(device.name for device in judging.devices)
            self._judging, self.fault = judging, None
            self._started.set()
            try:
                while not (self.draining or self._reopen):
                    if self._doubted is not None:
                        self._judge_ours(judging, *self._doubted)
                    elif self._suspects:
                        self._judge_alone(judging, self._suspects.pop(0))
                    else:
                        self._judge_side_by_side(judging)
            finally:
                self._judging = None
                self._begun.clear()
                waiting = {job.id for job in self._suspects}
                for job in self.jobs.running():
                    if job.id not in waiting:  # what an exception has left behind
                        self._tried_in_vain(job, "the processes that judged it were lost")
                    elif self.draining:
                        self._ended_as(job, "queued", "")

    def _judge_side_by_side(self, judging: Judging) -> None:
        """Judge jobs as they come, until something is to be judged alone or none is to be begun."""
        while self._begun or self._begins_more():
            while self._begins_more() and len(self._begun) < 2 * judging.width:
                job = self.jobs.claim()
                if job is None:
                    break
                self.watcher.phase(job.id)
                self._begin(judging, job)
            begun = self._next_news()
            if begun is not None and self._begun.get(begun.job.id) is begun:
                self._take(begun, self._outcome(begun))
                del self._begun[begun.job.id]  # not before: what was judged is cancelled no more

    def _begins_more(self) -> bool:
        return not (self.draining or self._reopen or self._suspects or self._doubted)

    def _next_news(self) -> _Begun | None:
        """A job that has ended; None where there is other news, or it is time to look for jobs that are old."""
        left_s: float | None = None
        if self._keep_s is not None:
            self._forget_the_old(self._keep_s)
            left_s = max(0.0, self._look_again - time.monotonic())
        try:
            return self._news.get(timeout=left_s)
        except queue.Empty:
            return None

    def _forget_the_old(self, keep_s: float) -> None:
        if time.monotonic() >= self._look_again:
            self._look_again = time.monotonic() + min(FORGET_EVERY_S, keep_s)
            self.jobs.forget(keep_s)

    def _begin(self, judging: Judging, job: Job) -> _Begun | None:
        """Have a job judged; None where it ends, or goes back into the queue, before that."""
        work = self._work_still_wanted(job)
        if work is None:
            return None
        ask = Ask(
            work.submission,
            work.problem,
            work.settings,
            rank=job.rank,
            reuses=None if work.fresh else self._known,
            deadline=None if job.deadline is None else time.monotonic() + job.deadline - time.time(),
            noting=True,
            on_phase=functools.partial(self._phase, job.id),
        )
        try:
            begun = _Begun(job, work, judging.submit(ask))
        except SandboxError:  # it was stopped meanwhile
            self._ended_as(job, "queued", "")
            return None
        self._begun[job.id] = begun
        if self._is_unwanted(job.id):  # a thread that cancelled it before may not have found it
            begun.future.cancel()
        begun.future.add_done_callback(lambda future: self._news.put(begun))
        return begun

    def _work_still_wanted(self, job: Job) -> Work | None:
        """What is to be judged for a job. None where there is nothing: it has ended."""
        if self._ended_unwanted(job.id) or not job.asked:
            return None
        if job.is_late:
            self._ended_late(job, "its deadline was over before its turn")
            return None
        try:
            work = self._work_of(Asked.model_validate_json(job.asked), trusted=True)
        except HarnessError as error:
            self._ended_as(job, "fault", f"it can no longer be judged: {error}")
            return None
        if work.id != job.id:
            self._ended_as(job, "fault", "what decides its verdict has changed since: ask again")
            return None
        return work

    def _outcome(self, begun: _Begun) -> Evaluated | None:
        """What came of it, waited for; None where it was cancelled. Raises HarnessError where nothing can be judged."""
        try:
            return begun.future.result()
        except CancelledError:
            return None

    def _take(self, begun: _Begun, evaluated: Evaluated | None, *, alone: bool = False) -> None:
        """Keep what became of a job, which was judged `alone` or not, and count what may be the machine's fault."""
        job = begun.job
        self.phases.pop(job.id, None)
        if evaluated is None:
            if not self._ended_unwanted(job.id):  # the server drains, or another caller has asked since
                self._ended_as(job, "queued", "")
            return
        if evaluated.device:
            self.watcher.device_busy(evaluated.device, evaluated.device_s)
        if isinstance(evaluated.fault, DeadlineError):
            self._ended_late(job, str(evaluated.fault))
        elif self._kept(job, evaluated, alone=alone):
            self._faults = 0
        elif isinstance(evaluated.fault, MachineError):
            self._faults += 1
            if self._faults >= FAULTS_IN_A_ROW or isinstance(evaluated.fault, SandboxError):
                self._doubted = begun.work, evaluated.device

    def _doubt_nothing(self) -> None:
        self._faults, self._doubted = 0, None

    def _judge_ours(self, judging: Judging, work: Work, device: str) -> None:
        """Have everything started anew where a submission of ours meets a fault as well: nothing could be judged."""
        self._doubt_nothing()
        if isinstance(_met_by_ours(judging, work, device), MachineError):
            self._reopen = True

    def _judge_alone(self, judging: Judging, suspect: Job) -> None:
        """Judge a job that met a fault of the machine's each time, with no other beside it: it may be its own."""
        suspect = self.jobs.look(suspect.id) or suspect  # its deadline may be another now
        last: list[tuple[_Begun, Evaluated | None]] = []

        def judge() -> Evaluated | None:
            begun = self._begin(judging, suspect)
            last.clear()
            if begun is None:
                return None
            last.append((begun, self._outcome(begun)))
            return last[0][1]

        def ours() -> HarnessError | None:
            ((begun, evaluated),) = last
            return _met_by_ours(judging, begun.work, evaluated.device if evaluated else "")

        evaluated, its_own = told_apart(judge, ours, lambda evaluated: evaluated.fault if evaluated else None)
        if its_own and evaluated is not None:
            evaluated = as_its_own(evaluated)
        for begun, _ in last:
            self._take(begun, evaluated, alone=True)
        self._begun.pop(suspect.id, None)

    def _phase(self, id: str, name: str) -> None:
        if name:
            self.phases[id] = name
            self.watcher.phase(id)

    # What becomes of a job

    def _kept(self, job: Job, evaluated: Evaluated, *, alone: bool) -> bool:
        """Write down what became of a job. Whether it has a verdict."""
        if isinstance(evaluated.fault, MachineError):
            self._tried_in_vain(job, str(evaluated.fault), suspected=not alone and may_be_its_own(evaluated.fault))
            return False
        fault = _why_not(evaluated, job)
        if fault is not None:
            self._ended_as(job, "fault", fault)
            return False
        written = self.run.append(evaluated.record, evaluated.attachments)
        if not _finish(self.jobs, job, evaluated.record, written):
            self._ended_as(job, "queued", "")
            return True
        self._note_rate()
        self.watcher.judged(evaluated.record, max(0.0, time.time() - job.accepted))
        self.watcher.changed(job.id)
        return True

    def _is_unwanted(self, id: str) -> bool:
        job = self.jobs.look(id)
        return job is not None and job.askers == 0

    def _ended_unwanted(self, id: str) -> bool:
        """End a job that was cancelled while it ran; False where it was not. Any thread may do so, and one does."""
        if self.jobs.end_unwanted(id):
            self.watcher.changed(id)
            return True
        job = self.jobs.look(id)
        return job is not None and job.state == "cancelled"

    def _ended_late(self, job: Job, reason: str) -> None:
        """A job is over its deadline, unless another asker has lengthened it."""
        if self.jobs.expire(job.id, reason):
            self.watcher.changed(job.id)
        else:
            self._ended_as(job, "queued", "")

    def _ended_as(self, job: Job, state: State, reason: str) -> None:
        if state == "queued":
            self.jobs.give_back(job.id, forget_try=True)
        else:
            self.jobs.end(job.id, state, reason)
        if state == "fault":
            self.watcher.fault("job")
        self.watcher.changed(job.id)

    def _tried_in_vain(self, job: Job, reason: str, *, suspected: bool = False) -> None:
        """A fault of the machine's: another try, one alone where it may be the job's own, or the end."""
        if self.draining:
            self._ended_as(job, "queued", "")
        elif job.tries < TRIES:
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


def _met_by_ours(judging: Judging, work: Work, device: str) -> HarnessError | None:
    """The fault that a submission of ours meets in the place of another, if any."""
    settings = settings_of_a_control(work.settings)
    ask = Ask(control(work.problem), work.problem, settings, noting=True, device=device or None)
    try:
        return judging.evaluate(ask).fault
    except SandboxError as error:  # it was stopped, or is lost
        return error


def _made_of(judging: Judging) -> tuple[str, ...]:
    """The harness's version, and what each sort of device is: GPUs of one kind give one verdict."""
    sorts = set()
    for device in judging.devices:
        told = device.environment
        sorts.add("|".join((device.model, str(told.gpu), str(told.driver), told.torch, str(told.cuda))))
    return harness.__version__, *sorted(sorts)


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


def _finish(jobs: Jobs, job: Job, record: Record, written: str) -> bool:
    """Let the job know its record, as it was written to the run.

    False, and nothing done, where it was taken over from an equal candidate and a fresh one has been asked for since.
    """
    asked = job.asked if record.reused else None
    return jobs.finish(job.id, record=written, summary=record.summary().model_dump_json(), asked=asked)


def _reconcile(jobs: Jobs, run: Run) -> None:
    """Bring jobs that ran when the last server ended into a state: done where their record was kept, else queued.

    A record is kept first, so that one may lie in the run whose job does not know it. Where a fresh verdict was
    asked for, the one that the job knows already is not it, nor is one that was taken over.
    """
    left = {job.id: job for job in jobs.running()}
    if left:
        for record in run.records():
            job = left.get(record.submission.path)
            if job is None or record.submission.sha256 != job.sha256:
                continue
            taken_over = bool(record.reused) and Asked.model_validate_json(job.asked).fresh
            if (written := record.model_dump_json()) != job.record and not taken_over:
                _finish(jobs, job, record, written)
                del left[job.id]
    for id in left:
        jobs.give_back(id, forget_try=True)


def _manifest() -> Manifest:
    """Callers choose settings and problems: the run promises nothing about either."""
    return Manifest(created=datetime.now(UTC).isoformat(timespec="seconds"), harness=harness.__version__)
