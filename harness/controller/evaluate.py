"""One submission from text to record. Read this first: everything else serves a line of it.

    extract ─► screen ─► prepare (import and build on the CPU) ─► judge (on the device) ─► record

The first half needs no device and runs for many candidates at once; the second uses a device for one at a time. Whose
turn it is on a core and on a device is `controller/engine.py`'s.
"""

import secrets
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TypeVar

from harness import logs
from harness.backends import BACKENDS, Backend, backend_for
from harness.compile import GoOn
from harness.controller.inspection import Inspection, worth_inspecting
from harness.controller.preparation import Preparation, prepare
from harness.controller.races import flags_of_races
from harness.controller.reuse import Reuse, key_of
from harness.controller.session import Build, JudgeLost, JudgeSeat, OnPhase, Session
from harness.controller.turns import NORMAL
from harness.errors import DeadlineError, DeviceError, GivenUpError, HarnessError, MachineError, SandboxError
from harness.formats import FORMATS
from harness.intake import extract
from harness.intake.languages import mentions, writes_kernels
from harness.intake.screen import screen
from harness.judge.jobs import Job, Judgement
from harness.languages import LANGUAGES, Language
from harness.schema import (
    Candidate,
    CandidateRef,
    Correct,
    Device,
    DeviceKind,
    Extraction,
    Failed,
    Flag,
    Infrastructure,
    Problem,
    ProblemRef,
    Record,
    Submission,
    Verdict,
    Workload,
    Wrong,
)
from harness.schema.build import FAST_TOOLCHAINS, Artifact, AuditChoice, BuildFailure, BuildRequest
from harness.schema.record import DIFFERED, UNCONFIRMED, ToolName
from harness.schema.verdict import Reason
from harness.settings import Settings

_log = logs.logger("controller")
V = TypeVar("V", bound=Verdict | None)
_MAY_BE_THE_ZYGOTES: frozenset[Reason] = frozenset(("crash", "protocol"))
_SAYS_NOTHING = frozenset[Reason](("timeout", "out-of-memory"))
_ZYGOTE_S = 0.2
"""Seconds that the end of the process from which workers are forked may take to be seen: they die of it in less."""
SUBMISSION = "submission.txt"
"""The attachment that holds a submission's text."""
ONE_IN = 20
"""Of so many verdicts from fast builds one is confirmed by stock where `audit` is "sample"."""


def evaluate(
    submission: Submission,
    problem: Problem,
    *,
    session: Session,
    settings: Settings | None = None,
    tools: Sequence[ToolName] = (),
    later: bool = False,
    reuses: "Reuse[Evaluated] | None" = None,
    rank: int = NORMAL,
    noting: bool = False,
    core: AbstractContextManager[object] | None = None,
    seat: AbstractContextManager[JudgeSeat] | None = None,
    on_phase: OnPhase = lambda name: None,
) -> "Evaluated":
    """Judge one submission, and run it under `tools` where it came as far as a call.

    Whatever the candidate does is in the record. Raises HarnessError where the problem, the user or the machine is
    at fault; where `noting`, a record says so, which is never a score, and it is raised only where the seat's judge
    cannot be started again: no other submission would fare better. Raises GivenUpError where `on_phase` does.

    Args:
        settings: those of this submission alone, the session's where None.
        later: a verdict that stock is asked about is told before its word is there (`Evaluated.unconfirmed`).
        reuses: is asked for the verdict on an equal candidate, which is taken over; it is waited for with neither a
            core nor a device, unless that one is less urgent. Not where there are `tools`.
        rank: lower ones are more urgent.
        core, seat: what to have for the first half and for the second; waited for, and given back.
    """
    draft = begin(submission, problem, session=session, settings=settings)
    draft.later = later
    at = session.seats[0]
    try:
        read(draft, session=session, on_phase=on_phase)
        with _equal(draft, None if tools else reuses, rank, on_phase) as equal:
            if equal.known is not None:
                return _taken_over(equal.known, draft)
            with core or nullcontext():
                examine(draft, session=session, on_phase=on_phase)
            with seat or nullcontext(at) as at:
                evaluated = settle(draft, session=session, seat=at, on_phase=on_phase)
                if not (draft.audited and later):  # a verdict that stock may yet take back is nobody else's
                    equal.found = evaluated
                if tools and worth_inspecting(evaluated.record.verdict):
                    evaluated = _inspected(evaluated, draft, tools, session=session, seat=at, on_phase=on_phase)
    except HarnessError as error:
        if not noting or (isinstance(error, GivenUpError) and not isinstance(error, DeadlineError)):
            raise
        return noted(draft, error, seat=at)
    return replace(evaluated, unconfirmed=bool(draft.audited and draft.later))


@dataclass
class _Equal:
    """What is `known` of an equal candidate, else what was `found` of this one, for those that wait for it."""

    known: "Evaluated | None" = None
    found: "Evaluated | None" = None


@contextmanager
def _equal(draft: "Draft", reuses: "Reuse[Evaluated] | None", rank: int, on_phase: OnPhase) -> "Iterator[_Equal]":
    """Asks for the verdict on an equal candidate, and waits for it; else tells what is found of this one."""
    if reuses is None or draft.candidate is None:
        yield _Equal()
        return
    with _its_own_text(draft):
        key = key_of(draft.candidate, draft.problem, draft.settings, draft.kind)
    if draft.failure is not None:
        yield _Equal()
        return
    known = reuses.ask(key, draft, rank=rank, on_wait=lambda: on_phase("waiting for an equal candidate"))
    equal = _Equal(known)
    try:
        yield equal
    finally:
        if known is None:
            found = equal.found and equal.found.without(SUBMISSION)
            reuses.tell(key, draft, found, size=found.size if found else 0)


@dataclass(frozen=True)
class Evaluated:
    """A record, and what a person needs to doubt it: file name to text. `fault` is what made it `infrastructure`.

    `unconfirmed`: stock is to be asked about it yet. `told`: a verdict on it was told before, which this one confirms
    or takes the place of; with a `fault`, it is that record still, and stock's word could not be had. `device` is the
    one that it had for `device_s` seconds, "" where it had none.
    """

    record: Record
    attachments: dict[str, str]
    fault: HarnessError | None = None
    unconfirmed: bool = False
    told: bool = False
    device: str = ""
    device_s: float = 0.0

    @property
    def size(self) -> int:
        """About how many bytes it has, to keep it in memory."""
        return sum(map(len, (repr(self.record), *self.attachments.values())))

    def without(self, attachment: str) -> "Evaluated":
        """The same but for this attachment."""
        return replace(self, attachments={name: text for name, text in self.attachments.items() if name != attachment})


@dataclass
class Draft:
    """A submission half way: what is known before a device is needed.

    `failure` is set where it ends here through a fault of its own, `fault` where it does through ours.
    `audited`: stock is to confirm the verdict, None where that is open. `stock` is the same submission built by stock
    where that is done before the verdict is told; `later` leaves it to `controller/auditing.py`. `idle`: built on cores
    that nothing else wants.
    """

    submission: Submission
    problem: Problem
    settings: Settings
    kind: DeviceKind
    extraction: Extraction | None = None
    candidate: Candidate | None = None
    flags: tuple[Flag, ...] = ()
    preparation: Preparation | None = None
    failure: Failed | None = None
    fault: HarnessError | None = None
    audited: bool | None = None
    stock: "Draft | None" = None
    later: bool = False
    idle: bool = False
    phases_s: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str, on_phase: OnPhase) -> Iterator[None]:
        on_phase(name)
        started = time.monotonic()
        with logs.about(self.log_id):
            try:
                yield
            finally:
                seconds = time.monotonic() - started
                self.phases_s[name] = self.phases_s.get(name, 0.0) + seconds
                _log.debug("%s took %.3f s", name, seconds)

    @property
    def log_id(self) -> str:
        """What events of this submission are known by: its path and the beginning of its hash."""
        return f"{self.submission.path} {self.submission.sha256[:12]}"


def begin(submission: Submission, problem: Problem, *, session: Session, settings: Settings | None = None) -> Draft:
    """A draft with nothing done yet. `settings` are those of this submission alone, the session's where None."""
    return Draft(submission, problem, settings or session.settings, session.backend.name)


def read(draft: Draft, *, session: Session, on_phase: OnPhase) -> None:
    """The candidate in the submission's text."""
    with _its_own_text(draft), draft.phase("extract", on_phase):
        entry = FORMATS[draft.problem.format].entry
        draft.extraction, found = extract(draft.submission, policy=draft.settings.extract, entry=entry)
        if isinstance(found, Failed):
            draft.failure = found
        else:
            draft.candidate, draft.kind = found, _kind(found, session.backend)


def examine(draft: Draft, *, session: Session, on_phase: OnPhase) -> None:
    """The half that needs no device: extract, unless that was done, screen, import in a CPU-only worker, build."""
    if draft.candidate is None and draft.failure is None:
        read(draft, session=session, on_phase=on_phase)
    if draft.candidate is not None and draft.failure is None:
        with _its_own_text(draft):
            _examine(draft, draft.candidate, session=session, on_phase=on_phase)


@contextmanager
def _its_own_text(draft: Draft) -> Iterator[None]:
    """What is met here is the candidate's text and its worker's words.

    Where reading them ends in something that no part of this foresaw, the candidate has failed, and not the batch
    around it.
    """
    try:
        yield
    except (HarnessError, KeyboardInterrupt):
        raise
    except (OSError, MemoryError) as error:
        raise MachineError(f"{draft.submission.path} could not be examined ({error}): see harness doctor") from error
    except Exception as error:  # noqa: BLE001  # the border to a text of unknown origin
        detail = f"could not be read: {type(error).__name__}: {error}"[:500]
        draft.failure = Failed(stage="load", reason="protocol", detail=detail, log=traceback.format_exc())


def _examine(draft: Draft, candidate: Candidate, *, session: Session, on_phase: OnPhase) -> None:
    with draft.phase("screen", on_phase):
        draft.flags = screen(candidate)
    draft.failure = None if session.backend.is_gpu else _needs_more(candidate)
    if draft.failure is not None:
        return
    with draft.phase("build", on_phase):
        draft.preparation = prepare(
            candidate,
            draft.problem,
            draft.kind,
            entry=FORMATS[draft.problem.format].entry,
            zygote=session.zygote,
            build=_building(draft, candidate, session, lambda: on_phase("build")),
            settings=draft.settings,
        )
    draft.failure = _its_own(draft.preparation.failure, session)
    _ask_stock(draft, session=session, on_phase=on_phase)


def _ask_stock(draft: Draft, *, session: Session, on_phase: OnPhase) -> None:
    """Settle whether stock is asked, unless that is settled or nothing is built yet, and have it build then."""
    if draft.audited is None:
        draft.audited = _is_to_be_confirmed(draft)
        if draft.audited and not draft.later:
            draft.stock = stock_draft(draft.submission, draft.problem, draft.settings, session=session)
            with draft.phase("confirm", on_phase):
                try:
                    examine(draft.stock, session=session, on_phase=_all_as("confirm", on_phase))
                except GivenUpError:
                    raise
                except HarnessError as error:
                    draft.stock.fault = error


def _needs_more(candidate: Candidate) -> Failed | None:
    """Why a candidate cannot run on this machine without a GPU; None where it can."""
    for row in _rows(candidate):
        if row.needs_gpu:
            detail = f"{row.title} kernels need a GPU: the emulation on the CPU covers CUDA C++ and Triton alone"
            return Failed(stage="build", reason="unsupported", detail=detail)
        if row.interpreter and find_spec(row.interpreter) is None:
            detail = f"without a GPU {row.title}'s own interpreter runs {row.title} kernels, which is not installed"
            mend = f"pip install 'kernel-harness[{row.interpreter}]'"
            return Failed(stage="build", reason="not-emulated", detail=f"{detail}: {mend}")
    return None


def stock_draft(submission: Submission, problem: Problem, settings: Settings, *, session: Session) -> Draft:
    """A draft of the same submission that stock will build."""
    by_stock = settings.model_copy(update={"toolchain": "stock"})
    return begin(submission, problem, session=session, settings=by_stock)


def _taken_over(known: Evaluated, draft: Draft) -> Evaluated:
    """The verdict on an equal candidate as that of this submission."""
    first, named = known.record, known.record.submission.path
    builds = tuple(build.model_copy(update={"cached": True, "seconds": 0, "cpu_seconds": 0}) for build in first.builds)
    record = first.model_copy(
        update={
            "submission": draft.submission.ref(draft.extraction),
            "reused": named if named != draft.submission.path else first.submission.sha256,
            "builds": builds,
            "phases_s": draft.phases_s,
        }
    )
    return Evaluated(record, {**known.attachments, SUBMISSION: draft.submission.text})


def settle(draft: Draft, *, session: Session, seat: JudgeSeat, on_phase: OnPhase) -> Evaluated:
    """The half on the device, and once more over stock's build where that is to confirm the verdict."""
    with logs.about(draft.log_id):
        evaluated = _settle(draft, session=session, seat=seat, on_phase=on_phase)
        _log.info("%s on %s", _said(evaluated.record.verdict), seat.device.name)
    if draft.preparation is not None:
        _ask_stock(draft, session=session, on_phase=on_phase)
    if draft.settings.races:
        evaluated = _held_against_races(evaluated, draft, session=session, on_phase=on_phase)
    if draft.stock is None:
        return evaluated
    with draft.phase("confirm", on_phase):
        by_stock = _by_stock(draft.stock, session=session, seat=seat, on_phase=_all_as("confirm", on_phase))
    seconds = draft.phases_s["confirm"]
    if isinstance(by_stock, HarnessError):
        return _unconfirmed(evaluated, by_stock, seconds)
    return confirmed(evaluated, by_stock, seconds)


def _by_stock(stock: Draft, *, session: Session, seat: JudgeSeat, on_phase: OnPhase) -> Evaluated | HarnessError:
    """What comes of stock's build; of a sample why it says nothing, if so. Else it raises as `_settle` does."""
    sampled = stock.settings.audit == "sample"
    try:
        found = _settle(stock, session=session, seat=seat, on_phase=on_phase)
    except HarnessError as fault:
        if not sampled or isinstance(fault, GivenUpError):
            raise
        return fault
    return (no_end(found) if sampled else None) or found


def no_end(by_stock: Evaluated) -> MachineError | None:
    """What is wrong where stock's build was ended for want of time or memory: that says nothing of the candidate."""
    end = by_stock.record.verdict
    if not isinstance(end, Failed) or end.stage != "build" or end.reason not in _SAYS_NOTHING:
        return None
    return MachineError(f"stock's build came to no end: {end.detail}")


def _unconfirmed(fast: Evaluated, why: HarnessError, seconds: float) -> Evaluated:
    """A verdict that stock was asked about in vain, with a flag that says so."""
    flags = (*fast.record.flags, Flag(rule=UNCONFIRMED, severity="info", detail=f"stock gave no word: {why}"[:500]))
    phases_s = {**fast.record.phases_s, "confirm": seconds}
    return replace(fast, record=fast.record.model_copy(update={"flags": flags, "phases_s": phases_s}))


def _all_as(name: str, on_phase: OnPhase) -> OnPhase:
    """Whatever is done, it is told as a phase of this name."""
    return lambda phase: on_phase(name)


def _held_against_races(evaluated: "Evaluated", draft: Draft, *, session: Session, on_phase: OnPhase) -> "Evaluated":
    """The same, with a flag where emulation finds a race in what a GPU found correct."""
    candidate, record = draft.candidate, evaluated.record
    if candidate is None or not isinstance(record.verdict, Correct):
        return evaluated
    if not BACKENDS[draft.kind].is_gpu or not any(row.emulated for row in _rows(candidate)):
        return evaluated
    with draft.phase("races", on_phase):
        found = flags_of_races(
            candidate, draft.problem, draft.settings, session=session, on_phase=_all_as("races", on_phase)
        )
    phases_s = {**record.phases_s, "races": draft.phases_s["races"]}
    return replace(evaluated, record=record.model_copy(update={"flags": (*record.flags, *found), "phases_s": phases_s}))


def _settle(draft: Draft, *, session: Session, seat: JudgeSeat, on_phase: OnPhase) -> Evaluated:
    """A judge that is lost is restarted and asked once more.

    Lost twice is the candidate's failure, where a judge survives the reference in its place: else it is the machine's.
    """
    if draft.fault is not None:
        raise draft.fault
    if draft.failure is not None:
        return _evaluated(draft, draft.failure, seat=seat, judgement=None)
    candidate = draft.candidate
    assert candidate is not None
    job = Job(
        problem=draft.problem,
        source=candidate.source,
        kind=draft.kind,
        settings=draft.settings,
        writes_kernels=writes_kernels(candidate.source),
    )

    at = ["load"]

    def told(phase: str) -> None:
        at[0] = phase
        on_phase(phase)

    ask_for = _building(draft, candidate, session, lambda: on_phase(at[0]), seat)

    def build(request: BuildRequest) -> Artifact | BuildFailure:
        outcome = ask_for(request)
        if draft.preparation is not None:
            draft.preparation = draft.preparation.with_build(request, outcome)
        return outcome

    def ask(job: Job = job) -> Judgement:
        return seat.judge(job, build=build, on_phase=told)

    try:
        judgement = ask()
    except JudgeLost:
        try:
            judgement = ask()
        except JudgeLost as lost:
            ask(_control(job))
            failure = Failed(stage="run", reason="protocol", detail=f"twice {lost}, and not with the reference alone")
            return _evaluated(draft, failure, seat=seat, judgement=None)
    _its_own(judgement.verdict, session)
    if judgement.lacked_memory and ask(_control(job)).lacked_memory:
        raise DeviceError(
            "the device has too little free memory for this problem: the reference in the candidate's place lacks it "
            "too; use a larger device, or a smaller workload"
        )
    return _evaluated(draft, judgement.verdict, seat=seat, judgement=judgement)


def _its_own(verdict: V, session: Session) -> V:
    """A verdict, the candidate's own where the process lives that all workers end with. Raises SandboxError."""
    died = isinstance(verdict, Failed) and verdict.reason in _MAY_BE_THE_ZYGOTES
    if died and not session.zygote.lives_on(_ZYGOTE_S):
        raise SandboxError("the prepared process died, and the candidate's worker with it")
    return verdict


def _control(job: Job) -> Job:
    """The same job with the reference for a candidate, and without a clock."""
    source = f"{job.problem.source}\n\n{FORMATS[job.problem.format].reference_as_candidate}\n"
    return job.model_copy(update={"source": source, "settings": job.settings.model_copy(update={"timing_s": 0})})


def settle_or_record(
    draft: Draft, *, session: Session, seat: JudgeSeat, on_phase: OnPhase = lambda name: None
) -> Evaluated:
    """Like `settle`, but where the machine or the problem fails a record says so, which is never a score.

    Raises GivenUpError as `settle` does, another HarnessError only where the seat's judge cannot be started again: no
    other submission would fare better.
    """
    try:
        return settle(draft, session=session, seat=seat, on_phase=on_phase)
    except GivenUpError:
        raise
    except HarnessError as error:
        return noted(draft, error, seat=seat)


def noted(draft: Draft, fault: HarnessError, *, seat: JudgeSeat) -> Evaluated:
    """What was not judged through a fault, with a record that says so and is never a score."""
    with logs.about(draft.log_id):
        _log.info("not judged: %s", fault)
    evaluated = _evaluated(draft, Infrastructure(detail=str(fault)), seat=seat, judgement=None)
    return replace(evaluated, fault=fault)


def drawn(audit: AuditChoice) -> bool:
    """Whether stock is asked about this one, which no candidate can foresee."""
    return audit == "all" or (audit == "sample" and secrets.randbelow(ONE_IN) == 0)


def _is_to_be_confirmed(draft: Draft) -> bool | None:
    """Whether something was built fast, or may yet be once it runs, and is among those that stock is asked about.

    None where nothing was and, by its languages, nothing will: a source that is decoded names none of them.
    """
    assert draft.preparation is not None
    assert draft.candidate is not None
    may_build_yet = draft.failure is None and any(row.late_builds for row in _rows(draft.candidate))
    fast = may_build_yet or any(build.toolchain in FAST_TOOLCHAINS for build in draft.preparation.builds)
    return draft.settings.toolchain == "auto" and drawn(draft.settings.audit) if fast else None


def confirmed(fast: Evaluated, stock: Evaluated, seconds: float) -> Evaluated:
    """What is told of a verdict that stock was asked about: where the two differ, stock's stands and a flag says so.

    `seconds` is what stock's build took, or the wait for it.
    """
    ours, theirs = fast.record, stock.record
    if _said(ours.verdict) == _said(theirs.verdict):
        stands, flags = fast, ours.flags
    else:
        detail = f"built fast it was {_said(ours.verdict)}; built by stock it is {_said(theirs.verdict)}, which stands"
        stands, flags = stock, (*theirs.flags, Flag(rule=DIFFERED, severity="warn", detail=detail))
    phases_s = {**stands.record.phases_s, "confirm": seconds}
    found = {"confirmed": "stock", "flags": flags, "phases_s": phases_s, "judged_at": theirs.judged_at}
    return replace(stands, record=stands.record.model_copy(update=found))


def _said(verdict: Verdict) -> str:
    """A verdict's kind, and its reason where it has one."""
    return f"{verdict.kind} ({verdict.reason})" if isinstance(verdict, Wrong | Failed) else verdict.kind


def _inspected(
    evaluated: Evaluated,
    draft: Draft,
    tools: Sequence[ToolName],
    *,
    session: Session,
    seat: JudgeSeat,
    on_phase: OnPhase,
) -> Evaluated:
    """The same record with what the tools found; their output is among the attachments."""
    assert draft.candidate is not None
    gpu = seat.device.gpu
    inspection = Inspection(draft.candidate, draft.problem, draft.kind, gpu, draft.settings, session)
    with draft.phase("inspect", on_phase):
        results = [inspection.run(name, on_phase=on_phase) for name in tools]
    phases_s = {**evaluated.record.phases_s, "inspect": draft.phases_s["inspect"]}
    found = {"tools": tuple(report for report, _ in results), "phases_s": phases_s}
    logs = {f"{report.tool}.log": log for report, log in results if log}
    return replace(
        evaluated,
        record=evaluated.record.model_copy(update=found),
        attachments={**evaluated.attachments, **logs},
    )


def _building(
    draft: Draft, candidate: Candidate, session: Session, go_on: GoOn, seat: JudgeSeat | None = None
) -> Build:
    """How a draft's sources are built, for the device of `seat` where that is known. `go_on` may end it."""

    def build(request: BuildRequest) -> Artifact | BuildFailure:
        return session.build(
            draft.kind,
            request,
            candidate,
            choice=draft.settings.toolchain,
            idle=draft.idle,
            seat=seat,
            go_on=go_on,
        )

    return build


def _kind(candidate: Candidate, chosen: Backend) -> DeviceKind:
    """Where a candidate runs: one whose code names CUDA, or is in Triton, is emulated where there is no GPU."""
    in_cuda = any(row.emulated or row.interpreter for row in _rows(candidate)) or mentions(candidate.source, "cuda")
    return backend_for(chosen, in_cuda=in_cuda).name


def _rows(candidate: Candidate) -> list[Language]:
    return [LANGUAGES[name] for name in candidate.languages]


def _evaluated(draft: Draft, verdict: Verdict, *, seat: JudgeSeat, judgement: Judgement | None) -> Evaluated:
    seated = seat.start()
    record = Record(
        problem=ProblemRef(
            set=draft.problem.set,
            name=draft.problem.name,
            sha256=draft.problem.sha256,
            workload=judgement.workload if judgement else Workload(precision=draft.settings.precision),
        ),
        submission=draft.submission.ref(draft.extraction),
        candidate=CandidateRef(sha256=draft.candidate.sha256, languages=draft.candidate.languages)
        if draft.candidate
        else None,
        device=Device(kind=draft.kind, name=seated.device_name, gpu=seat.device.gpu),
        verdict=verdict,
        tolerance=draft.settings.tolerance,
        timing=judgement.timing if judgement else None,
        roofline=judgement.roofline if judgement else None,
        profile=judgement.profile if judgement else None,
        audit=judgement.audit if judgement else (),
        flags=(*draft.flags, *(judgement.flags if judgement else ())),
        builds=draft.preparation.builds if draft.preparation else (),
        substitutions=_substitutions(draft, judgement),
        phases_s={**draft.phases_s, **(judgement.phases_s if judgement else {})},
        environment=seated.environment.model_copy(update={"clocks": judgement.clocks if judgement else {}}),
        judged_at=datetime.now(UTC).isoformat(timespec="seconds"),
        **({"sandbox": judgement.sandbox} if judgement else {}),
    )
    return Evaluated(record, _attachments(draft, verdict, judgement))


def _substitutions(draft: Draft, judgement: Judgement | None) -> tuple[str, ...]:
    """What emulation put in the place of CUDA, in the sources and in Python."""
    if not BACKENDS[draft.kind].emulates:
        return ()
    in_sources = draft.preparation.notes if draft.preparation else ()
    return (*in_sources, *(judgement.substitutions if judgement else ()))


def _attachments(draft: Draft, verdict: Verdict, judgement: Judgement | None) -> dict[str, str]:
    texts = {
        SUBMISSION: draft.submission.text,
        "candidate.py": draft.candidate.source if draft.candidate else "",
        "build.log": draft.preparation.build_log if draft.preparation else "",
        "worker.log": judgement.worker_log if judgement else "",
        "failure.log": verdict.log if isinstance(verdict, Failed) else "",
    }
    return {name: text for name, text in texts.items() if text}
