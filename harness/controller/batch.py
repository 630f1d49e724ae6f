"""A batch: every submission of a folder, judged once and kept in a run, however often the command is started."""

import functools
import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import harness
from harness.catalog import Catalog, apply_settings, numeric_settings
from harness.controller.control import as_its_own, control, settings_of_a_control, told_apart
from harness.controller.engine import Ask, Engine
from harness.controller.evaluate import Evaluated
from harness.controller.reuse import Reuse
from harness.errors import HarnessError, InputError, MachineError, ProblemError
from harness.schema import Problem, Record, Submission
from harness.settings import Settings
from harness.store import Key, Manifest, Run, open_run

FAULTS_IN_A_ROW = 10
"""So many faults of the machine with no verdict between them, and a submission of ours is judged: where it meets one
too, so would the next ones. Submissions may have caused it: many of them at once can fill a small disk."""


@dataclass(frozen=True)
class Task:
    """A submission and the problem it answers. `ours`: it tells whether the machine can judge at all."""

    submission: Submission
    problem: Problem
    ours: bool = False

    @property
    def key(self) -> Key:
        """What the record of this task will be found by."""
        return Key.asked(self.problem.title, self.submission.ref())


@dataclass(frozen=True)
class Stranger:
    """A file that answers no problem of the catalogue. `reason` is one sentence."""

    path: str
    reason: str


def without_strangers(
    submissions: Sequence[Submission], catalog: Catalog
) -> tuple[list[Submission], tuple[Stranger, ...]]:
    """The submissions that answer a problem of the catalogue, and the files that do not.

    Raises ProblemError where none does: then the folder or the catalogue is not the one that was meant.
    """
    reason_of = functools.cache(functools.partial(_why_unknown, catalog))
    reasons = [_UNNAMED if each.problem is None else reason_of(each.problem) for each in submissions]
    known = [each for each, reason in zip(submissions, reasons, strict=True) if not reason]
    strangers = [Stranger(each.path, reason) for each, reason in zip(submissions, reasons, strict=True) if reason]
    if strangers and not known:
        more = f" None of the other {len(strangers) - 1} files answers one either." if len(strangers) > 1 else ""
        raise ProblemError(f"{strangers[0].path}: {strangers[0].reason}{more}")
    return known, tuple(strangers)


def _why_unknown(catalog: Catalog, name: str) -> str:
    """Why this name means no problem; empty where it means one."""
    try:
        catalog.named(name)
    except ProblemError as error:
        return str(error)
    return ""


_UNNAMED = (
    "its name tells no problem; name it like level_1_problem_19_sample_0_kernel.py, put it into a folder named after "
    "its problem, or list it in a generations.csv"
)


OnStep = Callable[[Task, str], None]


def tasks_for(submissions: Sequence[Submission], catalog: Catalog, *, shard: tuple[int, int] = (1, 1)) -> list[Task]:
    """Each submission with its problem; of shard i of N every N-th, starting with the i-th.

    Raises ProblemError where a submission's name tells no problem, or one that the catalogue does not have, InputError
    where two submissions could not be told apart in a run.
    """
    part, of = shard
    found = functools.cache(catalog.named)  # what lies among answers names no file: a problem runs unconfined
    tasks: dict[Key, Task] = {}
    for submission in submissions:
        if submission.problem is None:
            raise ProblemError(f"{submission.path}: {_UNNAMED}")
        try:
            task = Task(submission, found(submission.problem))
        except ProblemError as error:
            raise ProblemError(f"{submission.path}: {error}") from error
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
    if not settings.workload:
        return settings
    names = numeric_settings(problem)
    workload = {name: value for name, value in settings.workload.items() if name in names}
    return settings.model_copy(update={"workload": workload})


def open_eval_run(run: str, *, settings: Settings, device: str) -> Run:
    """The run that single records are kept in, made or added to.

    Raises StoreError where it was made with other settings, is of a newer schema or may not be written.
    """
    return open_run(run, create=True, manifest=_manifest(settings, device))


def open_batch_run(
    run: str,
    *,
    settings: Settings,
    catalog: Catalog,
    device: str,
    shard: tuple[int, int],
    asked: Sequence[Problem] | None = None,
) -> Run:
    """The run that a batch writes to, made or resumed. Raises StoreError as `open_eval_run` does.

    A run that is resumed with further problems asks those too from then on; one whose file has changed since is a
    contradiction.

    Args:
        asked: the problems that a leaderboard may call unanswered; None for all of the catalogue.
    """
    problems = list(catalog.problems())
    sha256 = hashlib.sha256("".join(problem.sha256 for problem in problems).encode()).hexdigest()
    hashes = {problem.title: problem.sha256 for problem in (problems if asked is None else asked)}
    manifest = _manifest(settings, device, problems_sha256=sha256, hashes=hashes)
    return open_run(run, create=True, manifest=manifest, shard=shard)


def _manifest(
    settings: Settings, device: str, *, problems_sha256: str = "", hashes: Mapping[str, str] | None = None
) -> Manifest:
    return Manifest(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        harness=harness.__version__,
        settings=settings.model_dump(mode="json"),
        problems_sha256=problems_sha256,
        problems=tuple(hashes or ()),
        problem_sha256=dict(hashes or {}),
        device=device,
    )


def run_batch(
    pending: Sequence[Task],
    *,
    run: Run,
    engine: Engine,
    settings: Settings,
    on_retry: Callable[[Record], None] = lambda record: None,
    on_audit: Callable[[Evaluated], None] = lambda audited: None,
    on_step: OnStep = lambda task, step: None,
    fresh: bool = False,
) -> Iterator[Record]:
    """Judge these, and append each record to the run. Yields records as they are kept.

    `on_audit` hears of verdicts that were told and that stock was asked about since; their records are kept anew.

    What could not be judged through a fault of ours, of the machine or of the problem is tried again once all others
    are done (`on_retry` is told), alone, and only then kept as an `infrastructure` record; as a failure of its own
    where a submission of ours meets no such fault right afterwards. Raises MachineError where FAULTS_IN_A_ROW
    submissions in turn met a fault of the machine, and one of ours too, DeviceError where a judge cannot be started.
    """
    if not pending:
        return
    again: list[Task] = []
    for task, evaluated in judged(pending, engine=engine, settings=settings, on_step=on_step, fresh=fresh):
        if evaluated.told:
            keep_audited(evaluated, run)
            on_audit(evaluated)
        elif evaluated.fault is None:
            run.append(evaluated.record, evaluated.attachments)
            yield evaluated.record
        else:
            again.append(task)
            on_retry(evaluated.record)
    in_a_row = 0
    for task in again:
        for evaluated in _judged_alone(task, engine=engine, settings=settings, on_step=on_step):
            if evaluated.told:
                keep_audited(evaluated, run)
                on_audit(evaluated)
                continue
            in_a_row = in_a_row + 1 if isinstance(evaluated.fault, MachineError) else 0
            if in_a_row == FAULTS_IN_A_ROW:
                raise _stopped(in_a_row, evaluated.fault)
            run.append(evaluated.record, evaluated.attachments)
            yield evaluated.record


def keep_audited(evaluated: Evaluated, run: Run) -> None:
    """Keep a record with stock's word on it; where there is none, the one that is kept stays as it is."""
    if evaluated.fault is None:
        run.append(evaluated.record, evaluated.attachments)


def judged(
    tasks: Iterable[Task | None],
    *,
    engine: Engine,
    settings: Settings,
    on_step: OnStep = lambda task, step: None,
    fresh: bool = False,
) -> Iterator[tuple[Task, Evaluated]]:
    """Judge each task, in the order in which they finish; a source that has none at the moment gives None.

    `on_step` is told by several threads which step of a task begins, and "" where it rests or is done. Of equal
    candidates the first is judged and the others take its verdict over, unless `fresh`. What met a fault of ours or of
    the machine says so and is yielded like the others. A verdict that stock is asked about in the background
    (`auditing`) is yielded first without its word and later with it (`told`). Raises as `run_batch` does.
    """
    engine.devices  # noqa: B018  # starts the judges before the builders ask for their devices
    source = _Watched(tasks)
    asked = _Asked(source, settings, on_step, None if fresh else Reuse())
    for task, evaluated in engine.stream(asked):
        on_step(task, "")
        asked.settle(task, evaluated)
        if evaluated.told or source.settle(task, evaluated):
            yield task, evaluated


class _Asked:
    """What is asked of the engine: the tasks, and between and behind them stock's word on those that were drawn."""

    def __init__(
        self, tasks: Iterable[Task | None], settings: Settings, on_step: OnStep, reuse: Reuse[Evaluated] | None
    ) -> None:
        self._tasks, self._settings, self._on_step, self._reuse = tasks, settings, on_step, reuse
        self._drawn: deque[tuple[Task, Evaluated]] = deque()
        self._open = 0

    def __iter__(self) -> Iterator[tuple[Task, Ask] | None]:
        for task in self._tasks:
            yield from self._confirmations()
            if task is not None:
                self._open += 1
            yield None if task is None else (task, self._ask(task))
        while self._open:
            yield from self._confirmations()
            yield None

    def settle(self, task: Task, evaluated: Evaluated) -> None:
        """A task has been judged: where stock is to confirm it, that is asked next."""
        if evaluated.unconfirmed:
            self._drawn.append((task, evaluated))
        else:
            self._open -= 1

    def _ask(self, task: Task, told: Evaluated | None = None) -> Ask:
        settings = settings_for(task.problem, self._settings)
        if task.ours:
            settings = settings_of_a_control(settings)
        return Ask(
            task.submission,
            task.problem,
            settings,
            noting=True,
            later=settings.audit == "sample",
            reuses=None if task.ours else self._reuse,
            confirms=told,
            idle=told is not None,
            on_phase=_unheard if told else functools.partial(self._on_step, task),
        )

    def _confirmations(self) -> Iterator[tuple[Task, Ask]]:
        while self._drawn:
            task, evaluated = self._drawn.popleft()
            yield task, self._ask(task, evaluated)


def _unheard(step: str) -> None:
    """What goes on behind the others is not shown."""


class _Watched:
    """Tasks, and between them one of ours where FAULTS_IN_A_ROW of them met a fault of the machine.

    Iterated for what is to be judged next, and told of what came of it meanwhile.
    """

    def __init__(self, tasks: Iterable[Task | None]) -> None:
        self._tasks = tasks
        self._given = self._settled = self._in_a_row = 0
        self._control: Task | None = None
        self._wanted = False

    def __iter__(self) -> Iterator[Task | None]:
        for task in self._tasks:
            yield from self._ours()
            self._given += task is not None
            yield task
        while self._wanted or self._settled < self._given:  # the last ones may want one of ours
            yield from self._ours()
            yield None

    def _ours(self) -> Iterator[Task]:
        if self._wanted:
            self._wanted = False
            self._given += 1
            assert self._control is not None
            yield self._control

    def settle(self, task: Task, evaluated: Evaluated) -> bool:
        """Take a result into account; whether it is one of the tasks. Raises MachineError where ours failed too."""
        met = isinstance(evaluated.fault, MachineError)
        if task.ours and met:
            raise _stopped(self._in_a_row, evaluated.fault)
        if task.ours:
            self._control = None
        self._in_a_row = self._in_a_row + 1 if met else 0
        if self._in_a_row >= FAULTS_IN_A_ROW and self._control is None:
            self._control, self._wanted = _control(task.problem), True
        self._settled += 1
        return not task.ours


def _control(problem: Problem) -> Task:
    return Task(control(problem), problem, ours=True)


def _stopped(in_a_row: int, fault: HarnessError | None) -> MachineError:
    return MachineError(
        f"{in_a_row} submissions in a row could not be judged, the last because: {fault}. "
        "Mend that and give the same command again; what was judged is kept"
    )


def _judged_alone(task: Task, *, engine: Engine, settings: Settings, on_step: OnStep) -> list[Evaluated]:
    """A task with no other beside it, and stock's word on it where that is asked.

    A fault of the machine is the task's own where a submission of ours does not meet it, and the task does once more.
    """

    def found() -> list[Evaluated]:
        return [evaluated for _, evaluated in judged([task], engine=engine, settings=settings, on_step=on_step)]

    def ours() -> HarnessError | None:
        try:
            list(judged([_control(task.problem)], engine=engine, settings=settings))
        except MachineError as error:
            return error
        return None

    told, its_own = told_apart(found, ours, lambda told: told[0].fault)
    return [as_its_own(told[0])] if its_own else told


def remaining(tasks: Sequence[Task], run: Run) -> list[Task]:
    """The tasks that have no verdict in the run yet, or one on a submission that has been edited since."""
    done = run.done()
    return [task for task in tasks if done.get(task.key) != task.submission.sha256]


def require_same_folder(tasks: Sequence[Task], run: Run, folder: Path) -> None:
    """Raises InputError where the run has verdicts on other texts under these names, and not from this folder.

    A file that was edited in the folder that the run was fed from is meant to be judged again. One of the same name
    in another folder is another answer, and its verdict would take the place of the first.
    """
    if str(folder.resolve()) in run.folders():
        return
    done = run.done()
    other = [task for task in tasks if done.get(task.key, task.submission.sha256) != task.submission.sha256]
    if other:
        more = f" and {len(other) - 1} more" if len(other) > 1 else ""
        raise InputError(
            f"run {run.name} has a verdict on another text named {other[0].submission.path}{more}, not from {folder}: "
            "--model NAME keeps both apart, --fresh puts these in their place"
        )
