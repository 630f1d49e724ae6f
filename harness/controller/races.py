"""Races: a candidate that a GPU found correct, once more under emulation, which orders threads in several ways."""

from harness.controller.preparation import prepare
from harness.controller.session import OnPhase, Session
from harness.errors import GivenUpError, HarnessError
from harness.formats import FORMATS
from harness.judge.jobs import Job
from harness.schema import EMULATED, Candidate, Correct, Failed, Flag, Problem, Verdict, Wrong
from harness.schema.build import Artifact, BuildFailure, BuildRequest
from harness.settings import Settings

UNCHECKED = "races-unchecked"


def flags_of_races(
    candidate: Candidate, problem: Problem, settings: Settings, *, session: Session, on_phase: OnPhase
) -> tuple[Flag, ...]:
    """What emulation finds in a candidate that is correct: a race, or an access out of bounds.

    At the reduced size of all emulation, on the host. Where it cannot be told a flag says why; nothing of this is a
    verdict.
    """
    try:
        verdict = _emulated(candidate, problem, settings, session=session, on_phase=on_phase)
    except GivenUpError:
        raise
    except HarnessError as error:
        return (Flag(rule=UNCHECKED, severity="info", detail=f"emulation failed: {error}"[:500]),)
    match verdict:
        case Correct():
            return ()
        case Wrong(reason="data-race", detail=detail):
            return (Flag(rule="data-race", severity="warn", detail=detail),)
        case Failed(reason="out-of-bounds", detail=detail):
            return (Flag(rule="out-of-bounds", severity="warn", detail=detail),)
        case Wrong() | Failed():
            detail = f"under emulation it is {verdict.kind} ({verdict.reason}): {verdict.detail}"[:500]
        case _:
            detail = f"under emulation it is {verdict.kind}"
    return (Flag(rule=UNCHECKED, severity="info", detail=detail),)


def _emulated(
    candidate: Candidate, problem: Problem, settings: Settings, *, session: Session, on_phase: OnPhase
) -> Verdict:
    def build(request: BuildRequest) -> Artifact | BuildFailure:
        choice = settings.toolchain
        return session.build(EMULATED, request, candidate, choice=choice, go_on=lambda: on_phase("build"))

    prepared = prepare(
        candidate,
        problem,
        EMULATED,
        entry=FORMATS[problem.format].entry,
        zygote=session.zygote,
        build=build,
        settings=settings,
    )
    if prepared.failure is not None:
        return prepared.failure
    job = Job(problem=problem, source=candidate.source, kind=EMULATED, settings=settings)
    return session.emulating_seat().judge(job, build=build, on_phase=on_phase).verdict
