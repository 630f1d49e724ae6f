"""The harness from Python, in a script or a notebook: the records of `harness eval` without its command line.

    from harness import evaluate, load_problem

    record = evaluate("answer.md", load_problem("level1/19_ReLU"), device="cpu")
    record.verdict, record.timing

Everything that judges runs in processes of its own, started by executing Python anew: no `if __name__ == "__main__"`
is needed, and an event loop that runs here is not disturbed. torch is never imported into this process.
"""

import hashlib
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from harness.catalog import apply_settings, open_catalog, read_problem, text_problem
from harness.errors import HarnessError
from harness.intake import read_submission
from harness.pipeline.evaluate import evaluate as evaluate_submission
from harness.pipeline.session import Session, open_session
from harness.pipeline.settings import Settings
from harness.schema import Problem, Record, Submission

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
    """A submission from a file, or given as text: a model's response or Python source.

    A Path and a string without a line break are files. Raises InputError for a file that cannot be read.
    """
    if isinstance(submission, Path) or "\n" not in submission:
        return read_submission(Path(submission))
    sha256 = hashlib.sha256(submission.encode("utf-8", "replace")).hexdigest()
    return Submission(path=TEXT, sha256=sha256, text=submission)


class Evaluator:
    """Judges any number of submissions with the same processes, which start with the first.

        with Evaluator(device="cpu") as evaluator:
            records = [evaluator.evaluate(answer, "level1/19_ReLU") for answer in answers]

    In a notebook, where one cell opens it and a later one uses it, `close` ends the processes; so does the end of this
    process, however it comes. For one thread at a time.
    """

    def __init__(
        self, *, device: str = "auto", settings: Settings = DEFAULTS, problems: str | Path | None = None
    ) -> None:
        """`device` is what `--device` takes ("auto", "cpu", "cuda", "cuda:1"), `problems` where names are looked up."""
        self.device, self.settings, self.problems = device, settings, problems
        self._closing = ExitStack()
        self._session: Session | None = None

    def evaluate(self, submission: str | Path | Submission, problem: str | Path | Problem) -> Record:
        """Judge one submission; strings and paths are what `load_submission` and `load_problem` take.

        Whatever the candidate does is in the record. Raises HarnessError where the problem, the caller or the machine
        is at fault.
        """
        asked = problem if isinstance(problem, Problem) else load_problem(problem, problems=self.problems)
        answer = submission if isinstance(submission, Submission) else load_submission(submission)
        apply_settings(asked, self.settings.workload)  # what cannot be used is said before anything is started
        try:
            return evaluate_submission(answer, asked, session=self._started()).record
        except HarnessError:
            raise
        except BaseException:  # interrupted in the middle of a conversation, which nobody could go on with
            self.close()
            raise

    def _started(self) -> Session:
        if self._session is None:
            self._session = self._closing.enter_context(open_session(self.device, self.settings))
        return self._session

    def close(self) -> None:
        """End the processes. Closing twice is allowed, and a later `evaluate` starts them again."""
        self._session = None
        self._closing.close()

    def __enter__(self) -> "Evaluator":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def evaluate(
    submission: str | Path | Submission,
    problem: str | Path | Problem,
    *,
    device: str = "auto",
    settings: Settings = DEFAULTS,
) -> Record:
    """Judge one submission: `Evaluator.evaluate` with processes that are started and ended for it, three seconds."""
    with Evaluator(device=device, settings=settings) as evaluator:
        return evaluator.evaluate(submission, problem)
