"""One submission from text to record. Read this first: everything else serves a line of it.

    extract ─► screen ─► prepare (import and build on the CPU) ─► judge (on the device) ─► record

The first half needs no device and runs for many candidates at once; the second uses a device for one at a time.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from harness.errors import HarnessError
from harness.intake import extract
from harness.intake.screen import screen
from harness.pipeline.inspecting import Inspection, worth_inspecting
from harness.pipeline.messages import Job, Judgement
from harness.pipeline.preparing import Preparation, prepare
from harness.pipeline.session import JudgeLost, JudgeSeat, OnPhase, Session
from harness.pipeline.settings import Settings
from harness.schema import (
    Candidate,
    CandidateRef,
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
)
from harness.schema.record import ToolName


def evaluate(
    submission: Submission,
    problem: Problem,
    *,
    session: Session,
    tools: Sequence[ToolName] = (),
    on_phase: OnPhase = lambda name: None,
) -> "Evaluated":
    """Judge one submission on the session's first device, and run it under `tools` where it came as far as a call.

    Whatever the candidate does is in the record. Raises HarnessError where the problem, the user or the machine is
    at fault.
    """
    draft = begin(submission, problem, session=session)
    examine(draft, session=session, on_phase=on_phase)
    evaluated = settle(draft, session=session, seat=session.seats[0], on_phase=on_phase)
    if not tools or not worth_inspecting(evaluated.record.verdict):
        return evaluated
    return _inspected(evaluated, draft, tools, session=session, on_phase=on_phase)


@dataclass(frozen=True)
class Evaluated:
    """A record, and what a person needs to doubt it: file name to text. `fault` is what made it `infrastructure`."""

    record: Record
    attachments: dict[str, str]
    fault: HarnessError | None = None


@dataclass
class Draft:
    """A submission half way: what is known before a device is needed.

    `failure` is set where it ends here through a fault of its own, `fault` where it does through ours.
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
    phases_s: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str, on_phase: OnPhase) -> Iterator[None]:
        on_phase(name)
        started = time.monotonic()
        try:
            yield
        finally:
            self.phases_s[name] = self.phases_s.get(name, 0.0) + time.monotonic() - started


def begin(submission: Submission, problem: Problem, *, session: Session, settings: Settings | None = None) -> Draft:
    """A draft with nothing done yet. `settings` are those of this submission alone, the session's where None."""
    kind: DeviceKind = "cuda" if session.on_gpu else "cpu"
    return Draft(submission, problem, settings or session.settings, kind)


def examine(draft: Draft, *, session: Session, on_phase: OnPhase) -> None:
    """The half that needs no device: extract, screen, import in a CPU-only worker, build."""
    with draft.phase("extract", on_phase):
        draft.extraction, found = extract(draft.submission, policy=draft.settings.extract)
    if isinstance(found, Failed):
        draft.failure = found
        return
    candidate = draft.candidate = found
    draft.kind = _kind(candidate, on_gpu=session.on_gpu)
    with draft.phase("screen", on_phase):
        draft.flags = screen(candidate)
    if "triton" in candidate.languages and not session.on_gpu:
        detail = "Triton kernels need a GPU: the emulation on the CPU covers CUDA C++ alone"
        draft.failure = Failed(stage="build", reason="unsupported", detail=detail)
        return
    with draft.phase("build", on_phase):
        draft.preparation = prepare(
            candidate,
            draft.kind,
            zygote=session.zygote,
            build=lambda request: session.build(draft.kind, request, candidate),
            settings=draft.settings,
        )
    draft.failure = draft.preparation.failure


def settle(draft: Draft, *, session: Session, seat: JudgeSeat, on_phase: OnPhase) -> Evaluated:
    """The half on the device. A judge that is lost is restarted and asked once more."""
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
        writes_kernels=candidate.languages != ("pytorch",),
    )

    def ask() -> Judgement:
        return seat.judge(job, build=lambda request: session.build(draft.kind, request, candidate), on_phase=on_phase)

    try:
        judgement = ask()
    except JudgeLost:
        judgement = ask()
    return _evaluated(draft, judgement.verdict, seat=seat, judgement=judgement)


def settle_or_record(draft: Draft, *, session: Session, seat: JudgeSeat) -> Evaluated:
    """Like `settle`, but where the machine or the problem fails a record says so, which is never a score.

    Raises HarnessError only where the seat's judge cannot be started again: no other submission would fare better.
    """
    try:
        return settle(draft, session=session, seat=seat, on_phase=lambda name: None)
    except HarnessError as error:
        evaluated = _evaluated(draft, Infrastructure(detail=str(error)), seat=seat, judgement=None)
        return replace(evaluated, fault=error)


def _inspected(
    evaluated: Evaluated, draft: Draft, tools: Sequence[ToolName], *, session: Session, on_phase: OnPhase
) -> Evaluated:
    """The same record with what the tools found; their output is among the attachments."""
    assert draft.candidate is not None
    gpu = session.seats[0].device.gpu
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


def _kind(candidate: Candidate, *, on_gpu: bool) -> DeviceKind:
    """Where a candidate runs: one that names CUDA is emulated where there is no GPU."""
    if on_gpu:
        return "cuda"
    return "cpu-emulated" if "cuda" in candidate.languages or "cuda" in candidate.source else "cpu"


def _evaluated(draft: Draft, verdict: Verdict, *, seat: JudgeSeat, judgement: Judgement | None) -> Evaluated:
    seated = seat.seated
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
    if draft.kind != "cpu-emulated":
        return ()
    in_sources = draft.preparation.notes if draft.preparation else ()
    return (*in_sources, *(judgement.substitutions if judgement else ()))


def _attachments(draft: Draft, verdict: Verdict, judgement: Judgement | None) -> dict[str, str]:
    texts = {
        "submission.txt": draft.submission.text,
        "candidate.py": draft.candidate.source if draft.candidate else "",
        "build.log": draft.preparation.build_log if draft.preparation else "",
        "worker.log": judgement.worker_log if judgement else "",
        "failure.log": verdict.log if isinstance(verdict, Failed) else "",
    }
    return {name: text for name, text in texts.items() if text}
