"""Several answers to one problem side by side: against the reference, and against each other."""

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from harness.report.escape import one_cell
from harness.report.leaderboard import interval_text, speedup_style
from harness.report.metrics import Estimate, ratio_of_speedups
from harness.report.text import STYLES, ms_text, outcome
from harness.schema import Correct, Record, Timing

SAME = 0.01
"""What two starts of a process may differ by: as `diff.SAME`."""


def side_by_side(records: Sequence[Record]) -> RenderableType:
    """A line each with its time and its speed-up over the reference, and under them each pair of those with times."""
    return Group(_table(records), *_pairs(records))


def _table(records: Sequence[Record]) -> Table:
    drawn = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), expand=False)
    drawn.add_column("submission", overflow="fold")
    drawn.add_column("verdict", no_wrap=True)
    drawn.add_column("a call", justify="right", no_wrap=True)
    drawn.add_column("reference", justify="right", no_wrap=True)
    drawn.add_column("over the reference", overflow="fold")
    for record in records:
        timing = _timing(record)
        drawn.add_row(
            Text(one_cell(record.submission.path)),
            Text(record.verdict.kind, style=STYLES[record.verdict.kind]),
            ms_text(timing.candidate_ms) if timing else "-",
            ms_text(timing.reference_ms) if timing else "-",
            Text(interval_text(timing.speedup), style=speedup_style(timing.speedup)) if timing else outcome(record),
        )
    return drawn


def _pairs(records: Sequence[Record]) -> Iterator[Text]:
    timed = [(one_cell(record.submission.path), timing) for record in records if (timing := _timing(record))]
    if len(timed) > 1:
        yield Text()
    for place, (name, timing) in enumerate(timed):
        for other_name, other in timed[place + 1 :]:
            ratio = ratio_of_speedups(_samples(timing), _samples(other))
            if ratio is not None:
                yield Text(f"{name} takes {_as_long(ratio)} {other_name}: {conclusion(ratio, name, other_name)}")


def conclusion(ratio: Estimate, name: str, other: str) -> str:
    """Which of two is faster, from how many times the speed-up of one is that of the other; within 1% none is."""
    assert ratio.low is not None
    assert ratio.high is not None
    if ratio.low > 1 + SAME:
        return f"{name} is faster"
    if ratio.high < 1 / (1 + SAME):
        return f"{other} is faster"
    return "the same" if ratio.low >= 1 / (1 + SAME) and ratio.high <= 1 + SAME else "cannot be told"


def _as_long(ratio: Estimate) -> str:
    """The time of the first over that of the second, which is the other way round than their speed-ups."""
    assert ratio.low is not None
    assert ratio.high is not None
    return f"{1 / ratio.value:.3f} [{1 / ratio.high:.3f}, {1 / ratio.low:.3f}] times as long as"


def _timing(record: Record) -> Timing | None:
    return record.timing if isinstance(record.verdict, Correct) else None


def _samples(timing: Timing) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return timing.reference_samples_ms, timing.candidate_samples_ms
