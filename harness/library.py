"""The harness from Python, in a script or a notebook: the records of `harness eval` without its command line.

    from harness import evaluate, load_problem

    record = evaluate(Path("answer.md"), load_problem("level1/19_ReLU"), device="cpu")
    record.correct, record.speedup, record.verdict, record.timing

Everything that judges runs in processes of its own, started by executing Python anew: no `if __name__ == "__main__"`
is needed, and an event loop that runs here is not disturbed. torch is never imported into this process.
"""

import asyncio
import hashlib
import os
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from harness.catalog import apply_settings, open_catalog, read_problem, text_problem
from harness.controller.batch import default_builders
from harness.controller.evaluate import evaluate as evaluate_submission
from harness.controller.evaluate import evaluate_or_record
from harness.controller.session import Session, open_session
from harness.errors import SandboxError
from harness.intake import read_submission
from harness.schema import Problem, Record, Submission
from harness.settings import Settings

DEFAULTS = Settings()
TEXT = "text"  # the path that a submission given as text has in its record


def load_problem(problem: str | Path, *, problems: str | Path | None = None) -> Problem:
    """A problem by the name of a file, by any name that a catalogue finds it by, or given as text.

    A Path is a file; a string with a line break is the problem's source; any other string is a name
    ("level1/19_ReLU", "level_1_problem_19", "my/problem.py") in `problems`, which is what `--problems` takes: a folder,
    a KernelBench checkout, a parquet file, a data set that was fetched. Raises ProblemError where that is no problem.
    """
    if isinstance(problem, Path):
        return read_problem(problem)
    if "\n" in problem:
        return text_problem(problem)
    return open_catalog(None if problems is None else Path(problems)).find(problem)


def load_submission(submission: str | Path) -> Submission:
    """A submission given as text, a model's response or Python source, or by the Path of a file.

    A string is text whatever it looks like: what a model says never names a file to open. Raises InputError for a
    file that cannot be read.
    """
    if isinstance(submission, Path):
        return read_submission(submission)
    content = submission.encode("utf-8", "replace")  # as the client sends it: halves of characters can be kept nowhere
    return Submission(path=TEXT, sha256=hashlib.sha256(content).hexdigest(), text=content.decode())


Answer = str | Path | Submission
Asked = str | Path | Problem


class Evaluator:
    """Judges any number of submissions with the same processes, which start with the first.

        with Evaluator(device="cpu") as evaluator:
            records = [evaluator.evaluate(answer, "level1/19_ReLU") for answer in answers]

    Any thread may use it: candidates are prepared side by side, and each device judges one at a time. A fork of this
    process may not, and ends nothing by leaving (SandboxError). In a notebook, where one cell opens it and a later one
    uses it, `close` ends the processes; so does the end of this process, however it comes.
    """

    def __init__(
        self, *, device: str = "auto", settings: Settings = DEFAULTS, problems: str | Path | None = None
    ) -> None:
        """`device` is what `--device` takes ("auto", "cpu", "cuda", "cuda:1"), `problems` where names are looked up."""
        self.device, self.settings, self.problems = device, settings, problems
        self._closing = ExitStack()
        self._session: Session | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._opening = threading.Lock()
        self._holder = os.getpid()

    def evaluate(self, submission: Answer, problem: Asked) -> Record:
        """Judge one submission; strings and paths are what `load_submission` and `load_problem` take.

        Whatever the candidate does is in the record. Raises HarnessError where the problem, the caller or the machine
        is at fault.
        """
        answer, asked = self._read(submission, problem)
        return evaluate_submission(answer, asked, session=self._started()).record

    def submit(self, submission: Answer, problem: Asked) -> "Future[Record]":
        """`evaluate` on a thread of the evaluator's own. A future that is cancelled before its turn is never begun.

        Raises what is wrong with the submission or the problem at once.
        """
        answer, asked = self._read(submission, problem)
        session, pool = self._started(), self._threads()
        return pool.submit(lambda: evaluate_submission(answer, asked, session=session).record)

    async def aevaluate(self, submission: Answer, problem: Asked) -> Record:
        """`evaluate` for an event loop. Cancelled before its turn it is not begun; later its record goes nowhere."""
        return await asyncio.wrap_future(self.submit(submission, problem))

    def evaluate_many(self, tasks: Iterable[tuple[Answer, Asked]]) -> Iterator[tuple[int, Record]]:
        """Judge submissions, each with its problem, on all devices: the task's place, from 0, and its record.

        In the order in which they finish; tasks are taken as they are needed. A fault of the machine's or of a
        problem's is a record of the kind `infrastructure`, never a score. Raises HarnessError for a task that is none.
        """
        session, pool = self._started(), self._threads()
        waiting: dict[Future[Record], int] = {}
        try:
            for place, task in enumerate(tasks):
                answer, asked = self._read(*task)
                waiting[pool.submit(self._judged, answer, asked, session)] = place
                if len(waiting) >= 2 * _threads_for(session):
                    yield from _finished(waiting)
            while waiting:
                yield from _finished(waiting)
        finally:
            for future in waiting:
                future.cancel()

    def _judged(self, answer: Submission, asked: Problem, session: Session) -> Record:
        return evaluate_or_record(answer, asked, session=session, settings=self.settings).record

    def _read(self, submission: Answer, problem: Asked) -> tuple[Submission, Problem]:
        """What was given, as what it stands for. What cannot be used is said before anything is started."""
        asked = problem if isinstance(problem, Problem) else load_problem(problem, problems=self.problems)
        answer = submission if isinstance(submission, Submission) else load_submission(submission)
        apply_settings(asked, self.settings.workload)
        return answer, asked

    def _started(self) -> Session:
        if os.getpid() != self._holder:
            raise SandboxError("An Evaluator cannot be used in a fork of the process that made it: make one there.")
        with self._opening:
            if self._session is None:
                self._session = self._closing.enter_context(open_session(self.device, self.settings))
            return self._session

    def _threads(self) -> ThreadPoolExecutor:
        session = self._started()
        with self._opening:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(_threads_for(session), thread_name_prefix="evaluator")
            return self._pool

    def close(self) -> None:
        """End the processes; what `submit` has not begun is cancelled. A later `evaluate` starts them again."""
        pool, self._pool, self._session = self._pool, None, None
        if pool is not None and os.getpid() == self._holder:
            pool.shutdown(cancel_futures=True)
        self._closing.close()

    def __enter__(self) -> "Evaluator":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _threads_for(session: Session) -> int:
    return default_builders(len(session.seats)) + len(session.seats)


def _finished(waiting: "dict[Future[Record], int]") -> Iterator[tuple[int, Record]]:
    """Wait for some of `waiting` to finish, and take them out."""
    for future in wait(waiting, return_when=FIRST_COMPLETED).done:
        yield waiting.pop(future), future.result()


def evaluate(
    submission: Answer,
    problem: Asked,
    *,
    device: str = "auto",
    settings: Settings = DEFAULTS,
) -> Record:
    """Judge one submission: `Evaluator.evaluate` with processes that are started and ended for it, three seconds."""
    with Evaluator(device=device, settings=settings) as evaluator:
        return evaluator.evaluate(submission, problem)
