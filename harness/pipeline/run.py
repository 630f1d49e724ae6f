"""A batch: every submission of a folder, judged once and kept in a run, however often the command is started."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import harness
from harness.catalog import Catalog
from harness.errors import ProblemError
from harness.executor import run as run_stages
from harness.pipeline.evaluate import Draft, Evaluated, examine, or_infrastructure, settle
from harness.pipeline.session import JudgeSeat, Session
from harness.pipeline.settings import Settings
from harness.schema import Problem, Record, Submission
from harness.store import Key, Manifest, Run, open_run


@dataclass(frozen=True)
class Task:
    """A submission and the problem it answers."""

    submission: Submission
    problem: Problem

    @property
    def key(self) -> Key:
        return Key(self.problem.title, self.submission.path, self.submission.sample, self.submission.model)


def tasks_for(submissions: Sequence[Submission], catalog: Catalog, *, shard: tuple[int, int] = (1, 1)) -> list[Task]:
    """Each submission with its problem; of shard i of N every N-th, starting with the i-th.

    Raises ProblemError where a submission's name tells no problem, or one that the catalogue does not have.
    """
    part, of = shard
    tasks = []
    for submission in submissions[part - 1 :: of]:
        if submission.problem is None:
            raise ProblemError(
                f"{submission.path}: its name tells no problem; name it like level_1_problem_19_sample_0_kernel.py, "
                "put it into a folder named after its problem, or list it in a generations.csv"
            )
        tasks.append(Task(submission, catalog.find(submission.problem)))
    return tasks


def open_batch_run(run: str, *, settings: Settings, catalog: Catalog, device: str, shard: tuple[int, int]) -> Run:
    """The run that a batch writes to, made or resumed. Raises StoreError where it was made with other settings."""
    problems = "".join(problem.sha256 for problem in catalog.problems())
    manifest = Manifest(
        created=_now(),
        harness=harness.__version__,
        settings=settings.model_dump(mode="json"),
        problems_sha256=hashlib.sha256(problems.encode()).hexdigest(),
        device=device,
    )
    return open_run(run, create=True, manifest=manifest, shard=shard)


def keep(evaluated: Evaluated, run: str) -> None:
    """Append one record to a run, which is made where it is not there."""
    with open_run(run, create=True, manifest=Manifest(created=_now(), harness=harness.__version__)) as opened:
        opened.append(evaluated.record, evaluated.attachments)


def run_batch(
    tasks: Sequence[Task],
    *,
    run: Run,
    session: Session,
    builders: int,
    on_start: Callable[[Task], None] = lambda task: None,
) -> Iterator[Record]:
    """Judge what the run has no verdict for yet, and append each record to it. Yields records as they are kept."""
    done = run.done()
    pending = [task for task in tasks if task.key not in done]
    if not pending:
        return
    for seat in session.seats:
        seat.seated  # noqa: B018  # starts the judge before the builders' threads ask for its device

    def prepare(task: Task) -> Draft:
        on_start(task)
        return examine(task.submission, task.problem, session=session, on_phase=_silent)

    def judge(seat: JudgeSeat, draft: Draft) -> Evaluated:
        return or_infrastructure(
            draft, seat=seat, work=lambda: settle(draft, session=session, seat=seat, on_phase=_silent)
        )

    for evaluated in run_stages(pending, prepare=prepare, devices=session.seats, judge=judge, builders=builders):
        run.append(evaluated.record, evaluated.attachments)
        yield evaluated.record


def remaining(tasks: Sequence[Task], run: Run) -> int:
    """How many tasks have no verdict in the run yet."""
    done = run.done()
    return sum(task.key not in done for task in tasks)


def default_builders(devices: int) -> int:
    """Submissions prepared at once: a core stays free for each judge, which keeps a clock."""
    return max(1, len(os.sched_getaffinity(0)) - devices)


def _silent(name: str) -> None:
    del name


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
