"""Stock's word on what ranks first of its problem in a run and was built fast."""

from collections.abc import Iterator
from dataclasses import replace

from pydantic import ValidationError

from harness.catalog import Catalog
from harness.controller.batch import settings_for
from harness.controller.engine import Ask, Engine
from harness.controller.evaluate import SUBMISSION, Evaluated
from harness.errors import HarnessError, InputError
from harness.report.judged import Judged
from harness.report.rows import leaderboard
from harness.sandbox import AT_LEAST
from harness.schema import Problem, Record, Submission
from harness.settings import Settings
from harness.store import Key, Run


def settings_of(run: Run) -> Settings:
    """What a run was judged with, and no less isolation than there is here: a run may be another person's.

    Raises InputError where this harness does not know them.
    """
    try:
        settings = Settings.model_validate(run.manifest.settings)
    except ValidationError as error:
        raise InputError(f"run {run.name} was taken with settings that this harness does not know") from error
    asked = settings.isolation
    return settings.model_copy(update={"isolation": asked if asked in AT_LEAST.values() else "auto"})


def unconfirmed_firsts(run: Run) -> list[Record]:
    """The records of a run that rank first of their problem in some place, were built fast and never asked of stock.

    Raises StoreError where the run cannot be read.
    """
    index = run.index()
    board = leaderboard({run.name: Judged.of(index.columns, problems=run.manifest.problems)})
    wanted = {
        (each.problem, each.best.submission, each.best.sample, board.rows[each.rank - 1].model)
        for each in board.problems
        if each.best is not None and each.rank is not None and not each.best.confirmed
    }
    return [record for record in index.records() if tuple(Key.of(record)) in wanted]


def confirm_firsts(run: Run, *, engine: Engine, catalog: Catalog) -> Iterator[Evaluated]:
    """Ask stock about each of them, and about whatever takes the place of one that stock refuses; keep what it says.

    Yields each with stock's word, or with the `fault` by which it could not be had. Raises HarnessError where no other
    would fare better.
    """
    asked: set[Key] = set()
    while left := [record for record in unconfirmed_firsts(run) if Key.of(record) not in asked]:
        for record in left:
            asked.add(Key.of(record))
            told = Evaluated(record, run.attachments(record), told=True)
            evaluated = _asked_of_stock(told, run, engine, catalog)
            if evaluated.fault is None:
                run.append(evaluated.record, evaluated.attachments)
            yield evaluated


def _asked_of_stock(told: Evaluated, run: Run, engine: Engine, catalog: Catalog) -> Evaluated:
    record, device = told.record, engine.devices[0]
    try:
        problem = _same_problem(record, catalog)
        if record.device.name != device.model:
            raise InputError(f"it was judged on {record.device.name}, and this is {device.model}")
        settings = settings_for(problem, settings_of(run))
    except HarnessError as error:
        return replace(told, fault=error)
    text = told.attachments.get(SUBMISSION, "")
    submission = Submission(text=text, **record.submission.model_dump(exclude={"extraction"}))
    return engine.evaluate(Ask(submission, problem, settings, confirms=told, device=device.name))


def _same_problem(record: Record, catalog: Catalog) -> Problem:
    problem = catalog.named(record.problem.title)
    if problem.sha256 != record.problem.sha256:
        raise InputError(f"{problem.title} is no longer the problem that it answers")
    return problem
