"""Leaderboard -> table, Markdown, CSV, JSON."""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from harness.report.escape import csv_cell, markdown_cell, one_cell
from harness.report.rows import Leaderboard, ProblemBest, Row
from harness.schema import DeviceKind, Interval
from harness.schema.problem import Precision

_NOTHING = "-"
_NO_MODEL = "(no model named)"


def table(board: Leaderboard) -> RenderableType:
    """For a terminal: fits 80 columns, and longer names show whole where there is more room."""
    if not board.rows:
        return Text("nothing has been judged yet")
    places = dict.fromkeys((row.device, row.device_name, row.precision) for row in board.rows)
    return Group(_rows_table(board), *_legend(board), *(part for place in places for part in _place(board, place)))


def markdown(board: Leaderboard) -> str:
    """Two GitHub-flavoured tables: the rows, and the best answer to each problem."""
    rows = _markdown_table(_ROW_TITLES, [_row_texts(rank, row) for rank, row in enumerate(board.rows, start=1)])
    problems = _markdown_table(_PROBLEM_TITLES, [_problem_texts(each, board.rows) for each in board.problems])
    return f"{rows}\n{problems}"


def csv_text(board: Leaderboard) -> str:
    """One line a row, unrounded; the best speed-up on each problem stands in a column `best: <problem>` of its own.

    A problem's cell is empty where the row did not solve it, and says `correct` where it solved it untimed.
    """
    titles = list(dict.fromkeys(each.problem for each in board.problems))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["rank", *_CSV_FIELDS, "notes", *(csv_cell(f"best: {title}") for title in titles)])
    for rank, row in enumerate(board.rows, start=1):
        best = {each.problem: each.speedup.value if each.speedup else "correct" for each in row.best}
        cells = [rank, *(_csv_value(getattr(row, field)) for field in _CSV_FIELDS), csv_cell(_notes_text(row))]
        writer.writerow([*cells, *(best.get(title, "") for title in titles)])
    return out.getvalue()


def json_text(board: Leaderboard) -> str:
    """The whole of it, unrounded: an object with `rows` and `problems`; its schema is `Leaderboard`'s."""
    return board.model_dump_json(indent=2) + "\n"


# A string is the content of a file; what is no string wants a console to be drawn on.
EXPORTERS: dict[str, Callable[[Leaderboard], str | RenderableType]] = {
    "table": table,
    "markdown": markdown,
    "csv": csv_text,
    "json": json_text,
}

_CSV_FIELDS = (
    "model", "run", "device", "device_name", "precision", "problems", "submissions", "unjudged", "compiled",
    "correct", "rejected", "flagged", "timed", "fast_0", "fast_1", "fast_2", "geomean_speedup",
)  # fmt: skip


def _csv_value(value: object) -> object:
    if value is None:
        return ""
    return csv_cell(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class _Title:
    """A column's heading, and whether it holds numbers."""

    text: str
    number: bool = False


_ROW_TITLES = (
    _Title("#", number=True), _Title("model"), _Title("run"), _Title("device"), _Title("submissions", number=True),
    _Title("compiled", number=True), _Title("correct", number=True), _Title("fast_0", number=True),
    _Title("fast_1", number=True), _Title("fast_2", number=True), _Title("geomean speed-up", number=True),
    _Title("notes"),
)  # fmt: skip
_PROBLEM_TITLES = (
    _Title("problem"), _Title("device"), _Title("solved by", number=True), _Title("best speed-up", number=True),
    _Title("model"), _Title("run"), _Title("submission"),
)  # fmt: skip


def _markdown_table(titles: Sequence[_Title], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cells)} |\n"

    head = line([markdown_cell(title.text) for title in titles])
    rule = line(["---:" if title.number else "---" for title in titles])
    return head + rule + "".join(line([markdown_cell(cell) for cell in row]) for row in rows)


def _row_texts(rank: int, row: Row) -> list[str]:
    return [
        str(rank),
        row.model or _NO_MODEL,
        row.run,
        f"{device_text(row.device, row.precision)}: {row.device_name}",
        str(row.submissions),
        str(row.compiled),
        str(row.correct),
        *_rates(row),
        _notes_text(row),
    ]


def _problem_texts(each: ProblemBest, rows: Sequence[Row]) -> list[str]:
    place = f"{device_text(each.device, each.precision)}: {each.device_name}"
    head = [each.problem, place, f"{each.solved} of {each.asked}"]
    if each.best is None or each.rank is None:
        return [*head, _NOTHING, "", "", ""]
    holder = rows[each.rank - 1]
    speedup = interval_text(each.best.speedup) if each.best.speedup else "correct, not timed"
    return [*head, speedup, holder.model or _NO_MODEL, holder.run, each.best.submission]


def _rates(row: Row) -> list[str]:
    geomean = _NOTHING if row.geomean_speedup is None else ratio_text(row.geomean_speedup)
    return [*(_NOTHING if rate is None else f"{rate:.2f}" for rate in (row.fast_0, row.fast_1, row.fast_2)), geomean]


def _notes_text(row: Row) -> str:
    return "; ".join(note.text for note in row.notes)


def device_text(device: DeviceKind, precision: Precision) -> str:
    """The kind of device, and the precision where it is not the usual one."""
    return device if precision == "fp32" else f"{device} {precision}"


def ratio_text(value: float) -> str:
    """A speed-up to three significant digits, never in powers of ten below a hundred thousand."""
    if value >= 100:
        return f"{value:.0f}x"
    return f"{value:.{1 if value >= 10 else 2}f}x" if value >= 0.1 else f"{value:.2g}x"


def interval_text(interval: Interval) -> str:
    """A speed-up with its 95% interval."""
    return f"{ratio_text(interval.value)} [{ratio_text(interval.low)[:-1]}, {ratio_text(interval.high)[:-1]}]"


def speedup_style(interval: Interval) -> str:
    """Green where it is surely faster, red where it is surely slower, no colour where the interval holds 1."""
    if interval.low > 1:
        return "green"
    return "red" if interval.high < 1 else ""


def _rows_table(board: Leaderboard) -> Table:
    drawn = _frame()
    drawn.add_column("#", justify="right", style="dim", no_wrap=True)
    drawn.add_column("model", overflow="fold", ratio=1)
    for title in ("subs", "compiled", "correct", "fast_0", "fast_1", "fast_2", "geomean"):
        drawn.add_column(title, justify="right", no_wrap=True)
    for rank, row in enumerate(board.rows, start=1):
        numbers = [str(row.submissions), str(row.compiled), str(row.correct), *_rates(row)]
        drawn.add_row(str(rank), _row_head(row), *(_number(cell) for cell in numbers))
    return drawn


def _row_head(row: Row) -> Text:
    head = Text(one_cell(row.model) or _NO_MODEL, style="bold")
    head.append(f"\n{one_cell(row.run)}, {device_text(row.device, row.precision)}", style="not bold dim")
    if row.notes:
        head.append(f"\n{', '.join(note.tag for note in row.notes)}", style="not bold yellow")
    return head


def _number(cell: str) -> Text:
    return Text(cell, style="dim" if cell == _NOTHING else "")


def _place(board: Leaderboard, place: tuple[DeviceKind, str, Precision]) -> Iterator[RenderableType]:
    """The best answers on one device at one precision; elsewhere a speed-up means something else."""
    device, name, precision = place
    drawn = _frame()
    drawn.add_column("problem", overflow="fold", ratio=1)
    drawn.add_column("solved", justify="right", no_wrap=True)
    drawn.add_column("best speed-up", justify="right", no_wrap=True)
    drawn.add_column("by", justify="right", style="dim", no_wrap=True)
    for each in board.problems:
        if (each.device, each.device_name, each.precision) == place:
            rank = f"#{each.rank}" if each.rank else ""
            drawn.add_row(Text(one_cell(each.problem)), f"{each.solved} of {each.asked}", _best(each), rank)
    yield Text.assemble("\n", (f"{device_text(device, precision)}", "bold"), f", {one_cell(name)}")
    yield drawn


def _best(each: ProblemBest) -> Text:
    if each.best is None:
        return _number(_NOTHING)
    if each.best.speedup is None:
        return Text("not timed", style="dim")
    return Text(interval_text(each.best.speedup), style=speedup_style(each.best.speedup))


def _frame() -> Table:
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), expand=False)


def _legend(board: Leaderboard) -> Iterator[Text]:
    """What the notes of a row mean, in full."""
    noted = [(rank, row) for rank, row in enumerate(board.rows, start=1) if row.notes]
    if noted:
        yield Text()
    for rank, row in noted:
        yield Text(f"#{rank}: {one_cell(_notes_text(row))}", style="yellow")
