"""A fault in each layer below the engine, with real processes: another try or `fault`, never a verdict."""

import errno
import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from relu import RIGHT
from serving import MakeEngine, ask, ended

from harness.compile import Builder
from harness.controller.engine import Engine as Judging
from harness.controller.engine import LocalEngine
from harness.controller.session import JudgeSeat, Session, open_session
from harness.errors import HarnessError
from harness.judge.jobs import Fault
from harness.library import Evaluator
from harness.serve.engine import Engine, Watcher
from harness.settings import Settings

BUILDS = f"""
from torch.utils.cpp_extension import load_inline

load_inline(name="number_of_faults", cpp_sources="int number() {{ return 3; }}", functions=["number"])
{RIGHT}"""
QUICK = Settings(timing="none", audit="none")
TIMED = Settings(timing_s=0, audit="none")
pytestmark = pytest.mark.slow


class Saboteur(Watcher):
    """Calls `does` with the session's own processes at the first word of a phase, so often."""

    def __init__(self, phase: str = "", times: int = 0, does: Callable[[Session], None] = lambda session: None) -> None:
        self.session: Session | None = None
        self.engine: Engine | None = None
        self.faults: list[str] = []
        self._phase, self._times, self._does = phase, times, does
        self.settings = TIMED if phase == "time" else QUICK

    def phase(self, id: str) -> None:
        assert self.engine is not None
        if self._times and self.session is not None and self.engine.phases.get(id) == self._phase:
            self._times -= 1
            self._does(self.session)

    def fault(self, kind: str) -> None:
        self.faults.append(kind)

    @contextmanager
    def opened(self) -> Iterator[Judging]:
        with open_session("cpu", self.settings) as session, LocalEngine(session) as judging:
            self.session = session
            yield judging


Judging = Callable[[Saboteur], "Engine"]


@pytest.fixture
def judging(engines: MakeEngine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Judging]:
    monkeypatch.setattr("harness.serve.engine.REOPEN_S", (0.01, 0.1))
    opened = []

    def make(saboteur: Saboteur) -> Engine:
        opened.append(engines(open_judging=saboteur.opened, settings=saboteur.settings, watcher=saboteur))
        saboteur.engine = opened[-1].__enter__()
        return saboteur.engine

    yield make
    for one in opened:
        one.__exit__(None, None, None)


def kind_of(engine: Engine, text: str) -> str:
    """The verdict's kind, else the job's state."""
    job = ended(engine, ask(engine, text), tries=15000)
    return str(json.loads(job.summary)["kind"]) if job.summary else job.state


def end_judge(session: Session) -> None:
    pid = session.seats[0].pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


def end_zygote(session: Session) -> None:
    pid = session.zygote.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


def test_a_disk_that_is_full_for_the_builder_is_tried_again_and_then_a_fault(
    judging: Judging, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = judging(Saboteur())
    build, full = Builder.build, [True]

    def refusing(builder, request, **options):  # type: ignore[no-untyped-def]
        if full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return build(builder, request, **options)

    monkeypatch.setattr(Builder, "build", refusing)
    job = ended(engine, ask(engine, BUILDS), tries=15000)
    assert (job.state, job.summary) == ("fault", None)
    assert "No space left on device" in str(job.reason)
    full.clear()
    assert kind_of(engine, BUILDS) == "correct"


@pytest.mark.parametrize("phase", ["load", "check", "time"])
def test_a_judge_that_is_killed_is_started_anew_and_its_job_judged(judging: Judging, phase: str) -> None:
    engine = judging(Saboteur(phase, 1, end_judge))
    assert kind_of(engine, RIGHT) == "correct"
    assert kind_of(engine, RIGHT.replace("min", "max")) == "wrong"


def test_a_zygote_that_is_killed_is_started_anew_and_its_job_judged(judging: Judging) -> None:
    saboteur = Saboteur("build", 1, end_zygote)
    engine = judging(saboteur)
    assert kind_of(engine, RIGHT) == "correct"
    assert "tried-again" in saboteur.faults
    assert kind_of(engine, RIGHT.replace("min", "max")) == "wrong"


@pytest.mark.parametrize("phase", ["load", "check", "time"])
def test_a_zygote_that_is_killed_while_a_worker_runs_is_not_the_candidates_crash(judging: Judging, phase: str) -> None:
    engine = judging(Saboteur(phase, 1, end_zygote))
    assert kind_of(engine, RIGHT) == "correct"


def test_a_zygote_that_is_killed_while_a_candidate_is_built_is_not_its_crash(
    judging: Judging, monkeypatch: pytest.MonkeyPatch
) -> None:
    saboteur = Saboteur()
    engine = judging(saboteur)
    build, first = Builder.build, [True]

    def building(builder, request, **options):  # type: ignore[no-untyped-def]
        if first:
            first.pop()
            assert saboteur.session is not None
            end_zygote(saboteur.session)
        return build(builder, request, **options)

    monkeypatch.setattr(Builder, "build", building)
    assert kind_of(engine, BUILDS) == "correct"
    assert "tried-again" in saboteur.faults


original = JudgeSeat._converse


def losing(converse, seat, channel, job, build, on_phase, *, left):  # type: ignore[no-untyped-def]
    """A device that is lost in the middle of a job, as long as `left` says: what its judge says as it leaves."""
    answer = converse(seat, channel, job, build, on_phase)
    if not left:
        return answer
    left.pop()
    return Fault(kind="device", detail="the judge failed: CUDA error: device lost", device_lost=True, job=job.id)


def test_a_gpu_that_is_lost_is_asked_again_and_while_it_stays_lost_it_is_a_fault(
    judging: Judging, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [True]
    monkeypatch.setattr(JudgeSeat, "_converse", lambda seat, *asked: losing(original, seat, *asked, left=left))
    engine = judging(Saboteur())
    assert kind_of(engine, RIGHT) == "correct"
    assert left == []
    left.extend([True] * 6)  # both tries: the job twice, and the reference in its place
    wrong = RIGHT.replace("min", "max")
    job = ended(engine, ask(engine, wrong), tries=15000)
    assert (job.state, job.summary) == ("fault", None)
    assert "device lost" in str(job.reason)
    assert kind_of(engine, wrong) == "wrong"


def test_from_python_the_same_faults_are_exceptions_and_in_a_stream_no_scores(
    monkeypatch: pytest.MonkeyPatch, problems: Path
) -> None:
    left: list[bool] = []
    build = Builder.build
    monkeypatch.setattr(JudgeSeat, "_converse", lambda seat, *asked: losing(original, seat, *asked, left=left))
    problem = problems / "level1/19_ReLU.py"
    with Evaluator(device="cpu", settings=QUICK) as evaluator:
        left.extend([True] * 3)
        with pytest.raises(HarnessError, match="device lost"):
            evaluator.evaluate(RIGHT, problem)
        left.extend([True] * 3)
        ((_, record),) = evaluator.evaluate_many([(RIGHT, problem)])
        assert (record.verdict.kind, record.correct, record.speedup) == ("infrastructure", False, None)
        assert evaluator.evaluate(RIGHT, problem).correct
        assert evaluator._engine is not None
        monkeypatch.setattr(Builder, "build", lambda *asked, **named: end_zygote(session) or build(*asked, **named))
        session = evaluator._engine._session
        with pytest.raises(HarnessError):
            evaluator.evaluate(BUILDS, problem)
        monkeypatch.setattr(Builder, "build", build)
        assert evaluator.evaluate(RIGHT, problem).correct
