"""A batch: every submission of a folder, judged once and kept in a run, however often the command is started."""

import functools
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import harness
from harness.catalog import Catalog, apply_settings, numeric_settings
from harness.errors import HarnessError, InputError, MachineError, ProblemError
from harness.executor import run as run_stages
from harness.pipeline.evaluate import Draft, Evaluated, begin, examine, settle_or_record
from harness.pipeline.session import JudgeSeat, Session
from harness.pipeline.settings import Settings
from harness.schema import Problem, Record, Submission
from harness.store import Key, Manifest, Run, open_run

FAULTS_IN_A_ROW = 10
"""So many faults of the machine with no verdict between them, and the next submissions would meet it too."""


@dataclass(frozen=True)
class Task:
    """A submission and the problem it answers."""

    submission: Submission
    problem: Problem

    @property
    def key(self) -> Key:
        """What the record of this task will be found by."""
        return Key.asked(self.problem.title, self.submission.ref())


def tasks_for(submissions: Sequence[Submission], catalog: Catalog, *, shard: tuple[int, int] = (1, 1)) -> list[Task]:
    """Each submission with its problem; of shard i of N every N-th, starting with the i-th.

    Raises ProblemError where a submission's name tells no problem, or one that the catalogue does not have, InputError
    where two submissions could not be told apart in a run.
    """
    part, of = shard
    found = functools.cache(catalog.find)
    tasks: dict[Key, Task] = {}
    for submission in submissions:
        if submission.problem is None:
            raise ProblemError(
                f"{submission.path}: its name tells no problem; name it like level_1_problem_19_sample_0_kernel.py, "
                "put it into a folder named after its problem, or list it in a generations.csv"
            )
        task = Task(submission, found(submission.problem))
        if task.key in tasks:
            raise InputError(f"{submission.path} answers {task.problem.title} twice: give each its own sample number")
        tasks[task.key] = task
    return list(tasks.values())[part - 1 :: of]


def check_settings(problems: Sequence[Problem], settings: Settings) -> None:
    """Raises InputError for a setting that none of the problems has, or that one of them cannot take."""
    known = {name for problem in problems for name in numeric_settings(problem)}
    for problem in problems if known else ():
        apply_settings(problem, settings_for(problem, settings).workload)
    strangers = [name for name in settings.workload if name not in known]
    if strangers:
        raise InputError(
            f"no problem here sets a number named {strangers[0]!r}: --set knows {', '.join(sorted(known)) or 'none'}"
        )


def settings_for(problem: Problem, settings: Settings) -> Settings:
    """The settings with only those numbers of the workload that this problem has."""
    names = numeric_settings(problem) if settings.workload else {}
    workload = {name: value for name, value in settings.workload.items() if name in names}
    return settings.model_copy(update={"workload": workload})


def open_eval_run(run: str, *, settings: Settings, device: str) -> Run:
    """The run that single records are kept in, made or added to.

    Raises StoreError where it was made with other settings, is of a newer schema or may not be written.
    """
    return open_run(run, create=True, manifest=_manifest(settings, device, problems_sha256=""))


def open_batch_run(run: str, *, settings: Settings, catalog: Catalog, device: str, shard: tuple[int, int]) -> Run:
    """The run that a batch writes to, made or resumed. Raises StoreError as `open_eval_run` does."""
    problems = "".join(problem.sha256 for problem in catalog.problems())
    sha256 = hashlib.sha256(problems.encode()).hexdigest()
    return open_run(run, create=True, manifest=_manifest(settings, device, problems_sha256=sha256), shard=shard)


def _manifest(settings: Settings, device: str, *, problems_sha256: str) -> Manifest:
    return Manifest(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        harness=harness.__version__,
        settings=settings.model_dump(mode="json"),
        problems_sha256=problems_sha256,
        device=device,
    )


def run_batch(
    tasks: Sequence[Task],
    *,
    run: Run,
    session: Session,
    builders: int,
    on_retry: Callable[[Record], None] = lambda record: None,
) -> Iterator[Record]:
    """Judge what the run has no verdict for yet, and append each record to it. Yields records as they are kept.

    What could not be judged through a fault of ours, of the machine or of the problem is tried again once all others
    are done (`on_retry` is told), and only then kept as an `infrastructure` record. Raises MachineError where
    FAULTS_IN_A_ROW submissions in turn met a fault of the machine, DeviceError where a judge cannot be started.
    """
    pending = remaining(tasks, run)
    if not pending:
        return
    again: list[Task] = []
    for task, evaluated in judged(pending, session=session, builders=builders):
        if evaluated.fault is None:
            run.append(evaluated.record, evaluated.attachments)
            yield evaluated.record
        else:
            again.append(task)
            on_retry(evaluated.record)
    if not again:
        return
    for _, evaluated in judged(again, session=session, builders=builders):
        run.append(evaluated.record, evaluated.attachments)
        yield evaluated.record


def judged(tasks: Iterable[Task | None], *, session: Session, builders: int) -> Iterator[tuple[Task, Evaluated]]:
    """Judge each task, in the order in which they finish; a source that waits for more gives None meanwhile.

    What met a fault of ours or of the machine says so and is yielded like the others. Raises as `run_batch` does.
    """
    for seat in session.seats:
        seat.seated  # noqa: B018  # starts the judge before the builders' threads ask for its device

    def prepare(task: Task) -> tuple[Task, Draft]:
        settings = settings_for(task.problem, session.settings)
        draft = begin(task.submission, task.problem, session=session, settings=settings)
        try:
            examine(draft, session=session, on_phase=lambda name: None)
        except HarnessError as error:
            draft.fault = error
        return task, draft

    def judge(seat: JudgeSeat, prepared: tuple[Task, Draft]) -> tuple[Task, Evaluated]:
        task, draft = prepared
        return task, settle_or_record(draft, session=session, seat=seat)

    in_a_row = 0
    for task, evaluated in run_stages(tasks, prepare=prepare, devices=session.seats, judge=judge, builders=builders):
        in_a_row = in_a_row + 1 if isinstance(evaluated.fault, MachineError) else 0
        if in_a_row == FAULTS_IN_A_ROW:
            raise MachineError(
                f"{in_a_row} submissions in a row could not be judged, the last because: {evaluated.fault}. "
                "Mend that and give the same command again; what was judged is kept"
            )
        yield task, evaluated


def remaining(tasks: Sequence[Task], run: Run) -> list[Task]:
    """The tasks that have no verdict in the run yet, or one on a submission that has been edited since."""
    done = run.done()
    return [task for task in tasks if done.get(task.key) != task.submission.sha256]


def default_builders(devices: int) -> int:
    """Submissions prepared at once: the cores that a session leaves to builders, one less where it leaves them all."""
    return max(1, len(os.sched_getaffinity(0)) - devices)
