"""Generating and judging at once: answers are judged as they come, and verdicts go back as the next question.

The asking runs on a thread of its own; the judging is that of a batch.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from selectors import PollSelector

from harness.controller.batch import Task, judged, keep_audited, remaining
from harness.controller.engine import Engine
from harness.controller.evaluate import Evaluated
from harness.generate.asking import Ask, Asking, Server, Watcher
from harness.generate.conversation import Plan
from harness.generate.folder import GenerationFolder, Key, without_response
from harness.schema import Record
from harness.schema.generation import Attempt, Generation
from harness.settings import Settings
from harness.store import MANIFEST_NAME, Run, open_run, run_folder


def records_of(run: Run, answers: Iterable[Generation], folder: GenerationFolder) -> dict[str, Record]:
    """The records of these answers, by the submission's path. Raises StoreError where the run cannot be read."""
    wanted = {str(folder.path(answer)) for answer in answers}
    return {record.submission.path: record for record in run.records() if record.submission.path in wanted}


def records_so_far(name: str, answers: Iterable[Generation], folder: GenerationFolder) -> dict[str, Record]:
    """The same of a run by its name, which nothing may have been judged in yet."""
    if not (run_folder(name) / MANIFEST_NAME).exists():
        return {}
    return records_of(open_run(name), answers, folder)


def run_generating(
    plan: Plan,
    *,
    folder: GenerationFolder,
    server: Server,
    concurrency: int,
    run: Run,
    engine: Engine,
    settings: Settings,
    watcher: Watcher,
    on_found: Callable[[int, int], None] = lambda answers, unjudged: None,
    on_retry: Callable[[Record], None] = lambda record: None,
    on_audit: Callable[[Evaluated], None] = lambda audited: None,
) -> Iterator[Record]:
    """Ask for what is not answered yet, judge what is not judged yet, and go on until every conversation is over.

    Yields records as they are kept. Whatever was answered or judged before is neither asked nor judged again;
    `on_found` is told how many answers earlier starts have left, and how many of them are not judged. What could not
    be judged is tried once more, and then kept as an `infrastructure` record, which ends its conversation until the
    next start. Raises what `Asking.run` and `judged` raise.
    """
    live = _Live(plan, folder, run)
    asking = Asking(folder.settings, server, folder, concurrency=concurrency, watcher=_Both(watcher, live))
    on_found(*live.start(asking))
    failure: list[BaseException] = []

    def ask() -> None:
        try:
            # As a server's loop: a worker could take all watches of epoll that this user may have.
            with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(PollSelector())) as runner:
                runner.run(asking.run())
        except BaseException as error:  # noqa: BLE001  # raised again in the caller's thread
            failure.append(error)
        finally:
            live.asking_is_over()

    thread = threading.Thread(target=ask, name="asking")
    thread.start()
    try:
        for task, evaluated in judged(live.tasks(), engine=engine, settings=settings):
            if evaluated.told:
                keep_audited(evaluated, run)
                on_audit(evaluated)
                continue
            if evaluated.fault is not None and live.may_try_again(task):
                on_retry(evaluated.record)
                continue
            run.append(evaluated.record, evaluated.attachments)
            live.judged(task, evaluated)
            yield evaluated.record
    except BaseException:
        asking.abandon()
        raise
    finally:
        thread.join()
    if failure:
        raise failure[0]


class _Both(Watcher):
    """Tells the user's watcher first, then what goes on with the answer."""

    def __init__(self, watcher: Watcher, live: "_Live") -> None:
        self._watcher, self._live = watcher, live

    def asked(self, ask: Ask) -> None:
        self._watcher.asked(ask)

    def answered(self, ask: Ask, generation: Generation) -> None:
        self._watcher.answered(ask, generation)
        self._live.answered(generation)

    def waiting(self, ask: Ask, attempt: Attempt) -> None:
        self._watcher.waiting(ask, attempt)

    def unanswered(self, ask: Ask, detail: str) -> None:
        self._watcher.unanswered(ask, detail)
        self._live.unanswered()


class _Live:
    """What is under way: questions that are out, and answers that are not judged. Over when there are neither.

    Questions are counted by the thread that asks, verdicts by the one that judges.
    """

    def __init__(self, plan: Plan, folder: GenerationFolder, run: Run) -> None:
        self._plan, self._folder, self._run = plan, folder, run
        self._problems = {problem.title: problem for problem in plan.problems}
        self._kept: dict[Key, Generation] = folder.mend()
        self._waiting: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._tried: set[tuple[object, ...]] = set()
        self._lock = threading.Lock()
        self._questions = self._unjudged = 0
        self._asking_is_over = False

    def start(self, asking: Asking) -> tuple[int, int]:
        """Lay out what is left to do; gives the answers that are there, and how many of them are not judged.

        Raises StoreError where that cannot be.
        """
        self._asking = asking
        records = records_of(self._run, self._kept.values(), self._folder)
        due = self._plan.due(self._kept, records, self._folder)
        answered = [answer for answer in self._kept.values() if self._is_wanted(answer)]
        left = remaining([self._task(answer) for answer in answered], self._run)
        self._questions, self._unjudged = len(due), len(left)
        for ask in due:
            asking.put(ask)
        for task in left:
            self._waiting.put(task)
        self._end_if_over()
        return len(answered), len(left)

    def _is_wanted(self, answer: Generation) -> bool:
        return answer.problem in self._problems and answer.sample < self._plan.samples

    def _task(self, answer: Generation) -> Task:
        return Task(self._folder.submission(answer), self._problems[answer.problem])

    def tasks(self) -> Iterator[Task | None]:
        """What is to be judged, as it comes; None while there is nothing."""
        while True:
            try:
                task = self._waiting.get_nowait()
            except queue.Empty:
                yield None
                continue
            if task is None:
                return
            yield task

    def answered(self, answer: Generation) -> None:
        with self._lock:
            self._kept[answer.key] = without_response(answer)
            self._questions -= 1
            self._unjudged += 1
        self._waiting.put(self._task(answer))

    def unanswered(self) -> None:
        with self._lock:
            self._questions -= 1
            self._end_if_over()

    def may_try_again(self, task: Task) -> bool:
        """Puts a task that met a fault back, the first time."""
        if task.key in self._tried:
            return False
        self._tried.add(task.key)
        self._waiting.put(task)
        return True

    def judged(self, task: Task, evaluated: Evaluated) -> None:
        submission = task.submission
        key = (task.problem.title, submission.sample, submission.turn or 0)
        ask = None
        if (*key[:2], key[2] + 1) not in self._kept:
            ask = self._plan.following(task.problem, self._kept[key], evaluated.record)
        with self._lock:
            self._unjudged -= 1
            if ask is not None and not self._asking_is_over:
                self._questions += 1
                self._asking.put(ask)
            self._end_if_over()

    def asking_is_over(self) -> None:
        """No answer comes any more, be it that all is done or that the server lets this key not in."""
        with self._lock:
            self._asking_is_over = True
            self._questions = 0
            self._end_if_over()

    def _end_if_over(self) -> None:
        if self._questions == 0 and self._unjudged == 0:
            self._asking.end()
            self._waiting.put(None)
