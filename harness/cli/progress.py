"""The live display of a batch: a line for every record, and under them how far it is and how long it will take."""

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text

from harness.report.text import STYLES, one_line
from harness.schema import Record

_RATE_WINDOW_S = 1800.0  # candidates differ by minutes: a rate over less than this would jump about


class BatchDisplay:
    """Shows records as they come. A context manager; what it draws goes when it is left, the lines stay."""

    def __init__(self, console: Console, *, device: str, total: int) -> None:
        self._console = console
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("judging on {task.description}", markup=False),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            _Outlook(),
            console=console,
            transient=True,
            expand=True,
            speed_estimate_period=_RATE_WINDOW_S,
        )
        self._bar = self._progress.add_task(device, total=total)

    def __enter__(self) -> "BatchDisplay":
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def show(self, record: Record) -> None:
        """A record that is kept."""
        self._progress.advance(self._bar)
        self._print(record_line(record))

    def show_retry(self, record: Record) -> None:
        """A fault of ours or the machine's, which comes up again at the end."""
        self._print(Text.assemble(("to be tried again: ", "dim"), record_line(record)))

    def _print(self, line: Text) -> None:
        """One line of a terminal, cut where it is too long; all of it where it goes to a file."""
        if self._console.is_terminal:
            self._console.print(line, no_wrap=True, overflow="ellipsis")
        else:
            self._console.print(line, soft_wrap=True)


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


def record_line(record: Record) -> Text:
    """A record in one line, its verdict in colour."""
    line = Text(one_line(record))
    line.stylize(STYLES[record.verdict.kind], 0, line.plain.index("  "))
    return line
