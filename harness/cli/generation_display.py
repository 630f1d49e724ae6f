"""The live display of asking a model: a line for what went wrong, and under them how far it is and what it used."""

import threading
from collections import Counter

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn
from rich.text import Text

from harness.cli.generating import Price
from harness.cli.progress import TRY_AGAIN, print_record
from harness.generate.asking import Ask, Watcher
from harness.report.escape import one_cell
from harness.schema import Record
from harness.schema.generation import Attempt, Generation


class GenerationDisplay(Watcher):
    """Shows answers as they come, and verdicts where there is a device to judge on. A context manager."""

    def __init__(self, console: Console, *, model: str, price: Price | None, device: str = "") -> None:
        self.outcomes: Counter[str] = Counter()
        self._console, self._price = console, price
        self._read = self._written = 0
        self._lock, self._totals = threading.Lock(), Counter[TaskID]()
        self._cost: float | None = None
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}", style="cyan", markup=False),
            console=console,
            transient=True,
            expand=True,
        )
        self._asked = self._progress.add_task(f"asking {one_cell(model)}", total=0, note="")
        self._judged = self._progress.add_task(f"judging on {device}", total=0, note="") if device else None

    def __enter__(self) -> "GenerationDisplay":
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def judging_on(self, device: str) -> None:
        """What is judged on from now on."""
        if device and self._judged is not None:
            self._progress.update(self._judged, description=f"judging on {device}")

    @property
    def used(self) -> str:
        """Tokens, and dollars where they are known."""
        tokens = f"{_short(self._read)} tokens read, {_short(self._written)} written"
        return tokens if self._cost is None else f"{tokens}, ${self._cost:.2f}"

    def found(self, answers: int, unjudged: int) -> None:
        """What earlier starts have left."""
        if answers:
            judged = f", {answers - unjudged} of them judged" if self._judged is not None else ""
            self._print(Text(f"{answers} answers are there already{judged}"))
        self._expect(self._judged, unjudged)

    def asked(self, ask: Ask) -> None:
        self._expect(self._asked, 1)

    def _expect(self, bar: TaskID | None, more: int) -> None:
        if bar is not None:
            with self._lock:
                self._totals[bar] += more
                self._progress.update(bar, total=self._totals[bar])

    def answered(self, ask: Ask, generation: Generation) -> None:
        self.outcomes[generation.outcome] += 1
        self._read += generation.usage.prompt_tokens or 0
        self._written += generation.usage.completion_tokens or 0
        cost = generation.usage.cost
        if cost is None and self._price is not None:
            cost = self._price.of(generation.usage)
        if cost is not None:
            self._cost = (self._cost or 0.0) + cost
        self._progress.update(self._asked, advance=1, note=self.used)
        self._expect(self._judged, 1)
        if generation.outcome != "complete":
            self._print(Text(f"{generation.outcome:<10}  {ask.name}  ({one_cell(generation.finish_reason)})"), "yellow")

    def waiting(self, ask: Ask, attempt: Attempt) -> None:
        self._progress.update(self._asked, note=f"{one_cell(attempt.detail)[:60]}: again in {attempt.waited_s:.0f} s")

    def unanswered(self, ask: Ask, detail: str) -> None:
        self.outcomes["unanswered"] += 1
        self._print(Text(f"unanswered  {ask.name}  {one_cell(detail)}"), "bold yellow")

    def judged(self, record: Record) -> None:
        """A record that is kept."""
        if self._judged is not None:
            self._progress.update(self._judged, advance=1)
        print_record(self._console, record)

    def show_retry(self, record: Record) -> None:
        """A fault of ours or the machine's, which comes up again."""
        print_record(self._console, record, before=TRY_AGAIN)

    def _print(self, line: Text, style: str = "") -> None:
        """One line of a terminal, cut where it is too long; all of it where it goes to a file."""
        line.stylize(style)
        if self._console.is_terminal:
            self._console.print(line, no_wrap=True, overflow="ellipsis")
        else:
            self._console.print(line, soft_wrap=True)


def _short(count: int) -> str:
    """999, 12.3k or 4.56M."""
    if count < 1000:
        return str(count)
    return f"{count / 1e3:.3g}k" if count < 999_500 else f"{count / 1e6:.3g}M"
