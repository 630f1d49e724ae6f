"""The live display of a batch: a line for every record, and under them how far it is and how long it will take."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text

from harness.report.escape import one_cell
from harness.report.text import STYLES, one_line
from harness.schema import Correct, Failed, Infrastructure, Record, Rejected, Verdict, Wrong

_RATE_WINDOW_S = 1800.0  # candidates differ by minutes: a rate over less than this would jump about


_MOST_AT_WORK = 4


class AtWork:
    """What is being worked on: a line each with the step, the name and how long it has been at that step.

    Told by several threads, drawn by another. `clock` gives seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: dict[str, tuple[str, float]] = {}
        self._lock = threading.Lock()

    def step(self, name: str, step: str) -> None:
        """`name` is at `step` from now on; at none where that is empty."""
        with self._lock:
            if step:
                self._since[name] = step, self._clock()
            else:
                self._since.pop(name, None)

    def __rich__(self) -> Group:
        with self._lock:
            steps = sorted(self._since.items(), key=lambda item: item[1][1])
        now = self._clock()
        lines = [
            Text(f"{duration(now - since):>6}  {step:<7} {one_cell(name)}", "dim", no_wrap=True, overflow="ellipsis")
            for name, (step, since) in steps[:_MOST_AT_WORK]
        ]
        return Group(*lines)


class PhaseDisplay:
    """What one evaluation is at, and for how long. A context manager; what it draws goes when it is left."""

    def __init__(self, console: Console, name: str) -> None:
        self._name, self._work = name, AtWork()
        self._live = Live(self._work, console=console, transient=True)

    def __enter__(self) -> "PhaseDisplay":
        self.phase("starting")
        if self._live.console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()

    def phase(self, step: str) -> None:
        self._work.step(self._name, step)


class BatchDisplay:
    """Shows records as they come. A context manager; what it draws goes when it is left, the lines stay."""

    def __init__(self, console: Console, *, device: str, total: int) -> None:
        self._console = console
        self._work = AtWork()
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("judging on {task.description}", markup=False),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            _Outlook(),
            expand=True,
            speed_estimate_period=_RATE_WINDOW_S,
        )
        self._live = Live(Group(self._progress, self._work), console=console, transient=True)
        self._bar = self._progress.add_task(device, total=total)

    def __enter__(self) -> "BatchDisplay":
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()

    def judging_on(self, device: str) -> None:
        """What is judged on from now on."""
        if device:
            self._progress.update(self._bar, description=device)

    def step(self, name: str, step: str) -> None:
        """What a submission is at; nothing where that is empty."""
        self._work.step(name, step)

    def show(self, record: Record) -> None:
        """A record that is kept."""
        self._progress.advance(self._bar)
        print_record(self._console, record)

    def show_retry(self, record: Record) -> None:
        """A fault of ours or the machine's, which comes up again at the end."""
        print_record(self._console, record, before=TRY_AGAIN)


class _Outlook(ProgressColumn):
    """Rate and time left, once two records tell them."""

    def render(self, task: Task) -> Text:
        if not task.speed:
            return Text()
        left_s = (task.remaining or 0) / task.speed
        return Text(f"{rate(task.speed)}, {duration(left_s)} left", style="cyan")


def rate(per_s: float) -> str:
    """Submissions a minute, or an hour where they are slow."""
    return f"{per_s * 60:.0f}/min" if per_s * 60 >= 10 else f"{per_s * 3600:.0f}/h"


def duration(seconds: float) -> str:
    """0:42, 12:03 or 3:05:00."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


TRY_AGAIN = "to be tried again: "


def print_record(console: Console, record: Record, *, before: str = "") -> None:
    """A record in one line, its verdict in colour: fitted to a terminal, whole where it goes to a file or a pipe."""
    width = console.width - len(before) if console.is_terminal else None
    line = Text(one_line(record, width=width))
    line.stylize(STYLES[record.verdict.kind], 0, line.plain.index("  "))
    console.print(Text.assemble((before, "dim"), line), no_wrap=True, overflow="ignore", crop=False)


class Reasons:
    """Why submissions were not correct: each reason once, with how many had it and the first of them in full."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._first: dict[tuple[str, ...], Record] = {}

    def add(self, record: Record) -> None:
        reason = _reason(record.verdict)
        if reason:
            self._counts[reason] += 1
            self._first.setdefault(reason, record)

    def lines(self) -> Iterator[str]:
        """The most frequent first."""
        for reason, count in self._counts.most_common():
            record = self._first[reason]
            first = f"first {one_cell(record.submission.path)}" if count > 1 else one_cell(record.submission.path)
            said = (
                "" if isinstance(record.verdict, Correct | Infrastructure) else f": {one_cell(record.verdict.detail)}"
            )
            yield f"{count} x {' '.join(reason)} ({first}){said}"


def _reason(verdict: Verdict) -> tuple[str, ...]:
    """What reasons are counted by; nothing for a correct one. Faults differ by what they say."""
    match verdict:
        case Failed(stage=stage, reason=reason):
            return "failed at", f"{stage},", reason
        case Wrong(reason=reason):
            return "wrong,", reason
        case Rejected(rule=rule):
            return "rejected,", rule
        case Infrastructure(detail=detail):
            return "not judged", one_cell(detail)
        case _:
            return ()
