"""The harness from Python, in a script or a notebook: the records of `harness eval` without its command line.

    from harness import evaluate, load_problem

    record = evaluate(Path("answer.md"), load_problem("level1/19_ReLU"), device="cpu")
    record.correct, record.speedup, record.verdict, record.timing

Everything that judges runs in processes of its own, started by executing Python anew: no `if __name__ == "__main__"`
is needed, and an event loop that runs here is not disturbed. torch is never imported into this process.
"""

import asyncio
import functools
import hashlib
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType

from harness.catalog import apply_settings, open_catalog, read_problem, text_problem
from harness.controller.engine import MOST_QUEUED, RANKS, Ask, Engine, Priority, open_engine
from harness.controller.evaluate import Evaluated
from harness.controller.holder import Holder
from harness.controller.reuse import Reuse
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


def _record_of(judged: "Future[Evaluated]") -> "Future[Record]":
    """The record alone, as a future that is cancelled with the other."""
    record: Future[Record] = Future()

    def tell(judged: "Future[Evaluated]") -> None:
        with suppress(InvalidStateError):  # it was cancelled
            if judged.cancelled():
                record.cancel()
            elif (error := judged.exception()) is not None:
                record.set_exception(error)
            else:
                record.set_result(judged.result().record)

    def follow(record: "Future[Record]") -> None:
        if record.cancelled():
            record.set_running_or_notify_cancel()  # tells `concurrent.futures.wait`
            judged.cancel()

    record.add_done_callback(follow)
    judged.add_done_callback(tell)
    return record


Answer = str | Path | Submission
Asked = str | Path | Problem


class Evaluator:
    """Judges any number of submissions with the same processes, which start with the first.

        with Evaluator(device="cpu") as evaluator:
            records = [evaluator.evaluate(answer, "level1/19_ReLU") for answer in answers]

    Any thread may use it: candidates are prepared side by side, and each device judges one at a time. A fork of this
    process may not, and ends nothing by leaving (SandboxError). In a notebook, where one cell opens it and a later one
    uses it, `close` ends the processes; so does the end of this process, however it comes.

    Options of every way to ask:
        settings: those of this submission alone, where they are not the evaluator's.
        priority: "high", "normal" or "low"; within one the oldest is first, for a core and for a device.
        deadline_s: seconds from now, for all waiting and judging. What is over it is let go of at its next phase and
            raises DeadlineError.
        fresh: judge it, though this evaluator knows the verdict on an equal candidate for the same problem and
            settings, or soon will; else it is taken over, and `record.reused` says from which submission.
    """

    def __init__(
        self,
        *,
        device: str = "auto",
        settings: Settings = DEFAULTS,
        problems: str | Path | None = None,
        most_queued: int = MOST_QUEUED,
    ) -> None:
        """`device` is what `--device` takes ("auto", "cpu", "cuda", "cuda:1"), `problems` where names are looked up.

        `most_queued` submissions may wait for their turn; `submit` raises BusyError beyond that.
        """
        self.device, self.settings, self.problems = device, settings, problems
        self._most_queued = most_queued
        self._closing = ExitStack()
        self._engine: Engine | None = None
        self._known: Reuse[Evaluated] = Reuse()
        self._opening = threading.Lock()
        self._holder = Holder("an Evaluator")

    def evaluate(
        self,
        submission: Answer,
        problem: Asked,
        *,
        settings: Settings | None = None,
        priority: Priority = "normal",
        deadline_s: float | None = None,
        fresh: bool = False,
    ) -> Record:
        """Judge one submission; strings and paths are what `load_submission` and `load_problem` take.

        Whatever the candidate does is in the record. Raises HarnessError where the problem, the caller or the machine
        is at fault, DeadlineError.
        """
        ask = self._ask(submission, problem, settings, priority, deadline_s, fresh)
        return self._started().evaluate(ask).record

    def submit(
        self,
        submission: Answer,
        problem: Asked,
        *,
        settings: Settings | None = None,
        priority: Priority = "normal",
        deadline_s: float | None = None,
        fresh: bool = False,
    ) -> "Future[Record]":
        """`evaluate` on a thread of the evaluator's own. The future may be cancelled at any time: what waits is let go
        of at once, what runs at its next phase.

        Raises what is wrong with the submission or the problem at once, BusyError where too many wait.
        """
        ask = self._ask(submission, problem, settings, priority, deadline_s, fresh)
        return _record_of(self._started().submit(ask))

    async def aevaluate(
        self,
        submission: Answer,
        problem: Asked,
        *,
        settings: Settings | None = None,
        priority: Priority = "normal",
        deadline_s: float | None = None,
        fresh: bool = False,
    ) -> Record:
        """`evaluate` for an event loop. Cancelled, it is let go of as what `submit` gives is."""
        ask = functools.partial(self.submit, settings=settings, priority=priority, deadline_s=deadline_s, fresh=fresh)
        return await asyncio.wrap_future(ask(submission, problem))

    def evaluate_many(
        self,
        tasks: Iterable[tuple[Answer, Asked]],
        *,
        settings: Settings | None = None,
        priority: Priority = "normal",
        deadline_s: float | None = None,
        fresh: bool = False,
    ) -> Iterator[tuple[int, Record]]:
        """Judge submissions, each with its problem, on all devices: the task's place, from 0, and its record.

        In the order in which they finish; tasks are taken as they are needed, and `deadline_s` counts from there. A
        fault of the machine's or of a problem's, and a deadline that is over, is a record of the kind `infrastructure`,
        never a score. Raises HarnessError for a task that is none.
        """
        engine = self._started()
        asks = (self._ask(*task, settings, priority, deadline_s, fresh, noting=True) for task in tasks)
        for place, evaluated in engine.stream(enumerate(asks)):
            yield place, evaluated.record

    def drain(self, seconds: float | None = None) -> bool:
        """Wait until all that was submitted has ended; whether it did within `seconds`."""
        engine = self._engine
        return engine is None or engine.drain(seconds)

    def _ask(
        self,
        submission: Answer,
        problem: Asked,
        settings: Settings | None,
        priority: Priority,
        deadline_s: float | None,
        fresh: bool,
        *,
        noting: bool = False,
    ) -> Ask:
        """What was given, as what it stands for. What cannot be used is said before anything is started."""
        deadline = None if deadline_s is None else time.monotonic() + deadline_s
        asked = problem if isinstance(problem, Problem) else load_problem(problem, problems=self.problems)
        answer = submission if isinstance(submission, Submission) else load_submission(submission)
        chosen = settings or self.settings
        apply_settings(asked, chosen.workload)
        known = None if fresh else self._known
        return Ask(answer, asked, chosen, RANKS[priority], deadline, noting, reuses=known)

    def _started(self) -> Engine:
        self._holder.require()
        with self._opening:
            if self._engine is not None and self._engine.is_lost:
                with suppress(SandboxError):  # that they are lost is known
                    self.close()
            if self._engine is None:
                opened = open_engine(self.device, self.settings, most_queued=self._most_queued)
                self._engine = self._closing.enter_context(opened)
            return self._engine

    def close(self) -> None:
        """End the processes; what no device has begun is cancelled. A later `evaluate` starts them again.

        So does one after the processes were lost as a whole; what was asked meanwhile raises SandboxError.
        """
        self._engine, self._known = None, Reuse()
        self._closing.close()

    def __enter__(self) -> "Evaluator":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


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
