"""Leaderboard -> table, Markdown, CSV, JSON, Parquet."""

import csv
import importlib.util
import io
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from harness.errors import MachineError
from harness.report import escape
from harness.report.escape import csv_cell, markdown_cell, one_cell
from harness.report.metrics import Estimate, Spread
from harness.report.rows import (
    ALWAYS_P,
    AtK,
    Best,
    Comparison,
    Failure,
    FastP,
    Figures,
    Leaderboard,
    ProblemBest,
    Row,
)
from harness.schema import BaselineName, DeviceKind, Interval
from harness.schema.problem import Precision

_Place = tuple[DeviceKind, str, Precision, BaselineName]

_NOTHING = "-"
_MOST_KS = 6
_MOST_DENOMINATORS = 4
_NO_MODEL = "(no model named)"


def table(board: Leaderboard) -> RenderableType:
    """For a terminal: fits 80 columns, and longer names show whole where there is more room."""
    if not board.rows:
        return Text("nothing to rank: no record, or none that fits")
    places = dict.fromkeys(_place_of(row) for row in board.rows)
    parts = [_denominators(board), _legend(board), _figures(board), _spreads(board), _levels(board), _at_k(board)]
    parts += [_failures(board), _comparisons(board)]
    problems = (part for place in places for part in _place(board, place))
    return Group(_rows_table(board), *(each for part in parts for each in part), *problems)


def markdown(board: Leaderboard) -> str:
    """GitHub-flavoured tables: the rows, the best answer to each problem, and the levels where there are several."""
    ps = _ps(board)
    titles = [*_ROW_TITLES, *(_Title(_fast(p), number=True) for p in ps), *_ROW_TITLES_AFTER]
    rows = _markdown_table(titles, [_row_texts(rank, row, ps) for rank, row in _ranked(board)])
    problems = _markdown_table(_PROBLEM_TITLES, [_problem_texts(each, board.rows) for each in board.problems])
    levels = [
        [str(rank), level.set, str(level.problems), *_counts(level), *_rates(level, ps), _estimate(level.geomean)]
        for rank, row in _ranked(board)
        for level in row.levels
    ]
    if not levels:
        return f"{rows}\n{problems}"
    numbers = ("problems", "submissions", "compiled", "correct", *map(_fast, ps), "geomean speed-up")
    level_titles = [_Title("#", number=True), _Title("level"), *(_Title(title, number=True) for title in numbers)]
    return f"{rows}\n{problems}\n{_markdown_table(level_titles, levels)}"


def csv_text(board: Leaderboard) -> str:
    """One line a row, unrounded; the best speed-up on each problem stands in a column `best: <problem>` of its own.

    A problem's cell is empty where the row did not solve it, and says `correct` where it solved it untimed.
    """
    titles = _problem_titles(board)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    lines = flat_rows(board)
    writer.writerow([csv_cell(name) for name in [*flat_names(board), *(f"best: {title}" for title in titles)]])
    for row, line in zip(board.rows, lines, strict=True):
        best = {each.problem: each.speedup.value if each.speedup else "correct" for each in row.best}
        writer.writerow([*map(_csv_value, line.values()), *(best.get(title, "") for title in titles)])
    return out.getvalue()


def json_text(board: Leaderboard) -> str:
    """The whole of it, unrounded: an object with `rows` and `problems`; `leaderboard.schema.json` beside this file is
    its JSON schema.
    """
    return escape.json_text(board.model_dump_json(indent=2)) + "\n"


def parquet(board: Leaderboard) -> bytes:
    """The columns of the CSV with their types; a problem's cell is empty too where it was solved untimed.

    Raises:
        MachineError: pyarrow is not installed.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise MachineError("Parquet needs pyarrow: pip install 'kernel-harness[datasets]'")
    import pyarrow
    import pyarrow.parquet

    names = flat_names(board)
    lines = flat_rows(board)
    table = {name: pyarrow.array([line[name] for line in lines], getattr(pyarrow, names[name])()) for name in names}
    for title in _problem_titles(board):
        best = [{each.problem: each.speedup for each in row.best}.get(title) for row in board.rows]
        table[f"best: {title}"] = pyarrow.array([each.value if each else None for each in best], pyarrow.float64())
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table(table), sink)
    return bytes(sink.getvalue().to_pybytes())


# A string or bytes are the content of a file; what is neither wants a console to be drawn on.
EXPORTERS: dict[str, Callable[[Leaderboard], str | bytes | RenderableType]] = {
    "table": table,
    "markdown": markdown,
    "csv": csv_text,
    "json": json_text,
    "parquet": parquet,
}

_NAMES = ("model", "run", "device", "device_name", "precision", "baseline")
_COUNTS = (
    "problems", "unanswered", "submissions", "unjudged", "compiled", "correct", "rejected", "flagged", "reduced",
    "unisolated", "disturbed", "audited", "differed", "timed",
)  # fmt: skip
_ESTIMATES = {"geomean_speedup": "geomean", "median_speedup": "median", "roofline": "roofline"}


def flat_names(board: Leaderboard) -> dict[str, str]:
    """The columns of `flat_rows`, each with the name of its type in Arrow."""
    sets = sorted({level.set for row in board.rows for level in row.levels})
    ks = sorted({each.k for row in board.rows for each in row.at_k})
    floats = ["compile_rate", "correct_rate"]
    floats += [f"correct_rate_{end}" for end in _SPREAD_ENDS]
    for p in _ps(board):
        floats += [f"fast_{p:g}", f"sure_fast_{p:g}", *(f"fast_{p:g}_{end}" for end in _SPREAD_ENDS)]
    floats += [f"{name}{end}" for name in _ESTIMATES for end in ("", "_low", "_high")]
    at_k = ("pass", "pass_error", "fast_1", "fast_1_error", "best_speedup")
    floats += [f"{name}@{k}" for k in ks for name in at_k]
    floats += [f"{name}: {figure}" for name in sets for figure in ("correct_rate", "fast_1", "geomean_speedup")]
    return {
        "rank": "int64",
        **dict.fromkeys(_NAMES, "string"),
        **dict.fromkeys(_COUNTS, "int64"),
        **dict.fromkeys(floats, "float64"),
        **dict.fromkeys(("prompt_tokens", "completion_tokens"), "int64"),
        "tokens_per_correct": "float64",
        "failures": "string",
        "notes": "string",
    }


def flat_rows(board: Leaderboard) -> list[dict[str, str | int | float | None]]:
    """Each row as one flat line, its keys those of `flat_names`; None where a figure is not said."""
    names = flat_names(board)
    lines = []
    for rank, row in _ranked(board):
        known: dict[str, str | int | float | None] = {"rank": rank, "notes": _notes_text(row)}
        known |= {name: getattr(row, name) for name in (*_NAMES, *_COUNTS, "compile_rate", "correct_rate")}
        known |= {f"fast_{each.p:g}": each.value for each in row.fast_p}
        known |= {f"sure_fast_{each.p:g}": each.sure for each in row.fast_p}
        known |= _spread_cells("correct_rate", row.correct_spread)
        for each in row.fast_p:
            known |= _spread_cells(f"fast_{each.p:g}", each.spread)
        for name, field in _ESTIMATES.items():
            if estimate := getattr(row, field):
                known |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
        for at_k in row.at_k:
            known |= _at_k_cells(at_k)
        for level in row.levels:
            known |= {f"{level.set}: correct_rate": level.correct_rate, f"{level.set}: fast_1": level.fast(1.0)}
            known[f"{level.set}: geomean_speedup"] = level.geomean.value if level.geomean else None
        if row.tokens:
            known |= {"prompt_tokens": row.tokens.prompt, "completion_tokens": row.tokens.completion}
            known["tokens_per_correct"] = row.tokens.per_correct
        known["failures"] = _failures_text(row)
        lines.append({name: known.get(name) for name in names})
    return lines


_SPREAD_ENDS = ("error", "low", "high")


def _spread_cells(name: str, spread: Spread | None) -> dict[str, float]:
    if spread is None:
        return {}
    return dict(zip((f"{name}_{end}" for end in _SPREAD_ENDS), spread.model_dump().values(), strict=True))


def _at_k_cells(each: AtK) -> dict[str, float | None]:
    return {
        f"pass@{each.k}": each.passes,
        f"pass_error@{each.k}": each.passes_spread.standard_error,
        f"fast_1@{each.k}": each.fast_1,
        f"fast_1_error@{each.k}": each.fast_1_spread.standard_error if each.fast_1_spread else None,
        f"best_speedup@{each.k}": each.speedup,
    }


def _problem_titles(board: Leaderboard) -> list[str]:
    return list(dict.fromkeys(each.problem for each in board.problems))


def _ranked(board: Leaderboard) -> Iterator[tuple[int, Row]]:
    return enumerate(board.rows, start=1)


def _ps(board: Leaderboard) -> list[float]:
    """The p that any row says fast_p for."""
    return sorted({*ALWAYS_P} | {each.p for row in board.rows for each in row.fast_p})


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
    _Title("compiled", number=True), _Title("correct", number=True),
)  # fmt: skip
_ROW_TITLES_AFTER = (
    _Title("geomean speed-up", number=True), _Title("median", number=True), _Title("not correct"), _Title("notes"),
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


def _row_texts(rank: int, row: Row, ps: Sequence[float]) -> list[str]:
    return [
        str(rank),
        row.model or _NO_MODEL,
        row.run,
        f"{_place_text(row)}: {row.device_name}",
        *_counts(row),
        *_rates(row, ps),
        _estimate(row.geomean),
        _estimate(row.median),
        _failures_text(row),
        _notes_text(row),
    ]


def _problem_texts(each: ProblemBest, rows: Sequence[Row]) -> list[str]:
    place = f"{_place_text(each)}: {each.device_name}"
    head = [each.problem, place, f"{each.solved} of {each.asked}"]
    if each.best is None or each.rank is None:
        return [*head, _NOTHING, "", "", ""]
    holder = rows[each.rank - 1]
    speedup = interval_text(each.best.speedup) if each.best.speedup else "correct, not timed"
    speedup += "" if each.best.confirmed else ", unconfirmed"
    speedup += ", timed quickly" if each.best.quick else ""
    path = f" ({path_text(each.best)})" if each.best.path else ""
    return [*head, speedup, holder.model or _NO_MODEL, holder.run, f"{each.best.submission}{path}"]


def _counts(figures: Figures) -> list[str]:
    return [str(figures.submissions), str(figures.compiled), str(figures.correct)]


def _rates(figures: Figures, ps: Sequence[float]) -> list[str]:
    return [_rate(figures.fast(p)) for p in ps]


def _rate(rate: float | None) -> str:
    return _NOTHING if rate is None else f"{rate:.2f}"


def _ratio(value: float | None) -> str:
    return _NOTHING if value is None else ratio_text(value)


def _estimate(estimate: Estimate | None) -> str:
    """A speed-up with its interval where there is one."""
    if estimate is None:
        return _NOTHING
    if estimate.low is None or estimate.high is None:
        return ratio_text(estimate.value)
    return interval_text(Interval(value=estimate.value, low=estimate.low, high=estimate.high))


def _notes_text(row: Row) -> str:
    return "; ".join(note.text for note in row.notes)


def _failures_text(row: Row) -> str:
    return ", ".join(f"{each.count} {_failure(each)}" for each in row.failures)


def _failure(each: Failure) -> str:
    """In the order in which a person would say it: what kind, where, why."""
    return " ".join(filter(None, (each.verdict if each.verdict != "failed" else "", each.stage, each.reason)))


def _place_of(each: Row | ProblemBest) -> _Place:
    """Where a speed-up means the same."""
    return each.device, each.device_name, each.precision, each.baseline


def _place_text(each: Row | ProblemBest) -> str:
    return place_text(each.device, each.precision, each.baseline)


def place_text(device: DeviceKind, precision: Precision, baseline: BaselineName = "eager") -> str:
    """The kind of device, and precision and baseline where they are not the usual ones."""
    text = device if precision == "fp32" else f"{device} {precision}"
    return text if baseline == "eager" else f"{text} vs {baseline}"


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


@dataclass(frozen=True)
class _Figures:
    """A table of figures. Where a terminal is too narrow for all of them it says which are left out.

    `rows` hold a rank, what it is called, and a cell for each of `titles`; the first of `spared` goes first.
    """

    name: str
    titles: Sequence[str]
    rows: Sequence[tuple[int, Text, Sequence[str]]]
    spared: Sequence[str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for count in range(len(self.spared) + 1):
            drawn = self._without(self.spared[:count])
            if Measurement.get(console, options.update(width=_ANY_WIDTH), drawn).minimum <= options.max_width:
                break
        yield drawn
        if count:
            yield Text(f"left out for want of room: {', '.join(self.spared[:count])}", style="dim")

    def _without(self, spared: Sequence[str]) -> Table:
        drawn = _frame()
        drawn.add_column("#", justify="right", style="dim", no_wrap=True)
        drawn.add_column(self.name, overflow="fold", ratio=1, min_width=12)
        shown = [place for place, title in enumerate(self.titles) if title not in spared]
        for place in shown:
            drawn.add_column(self.titles[place], justify="right", no_wrap=True)
        for rank, name, cells in self.rows:
            drawn.add_row(str(rank), name, *(_number(cells[place]) for place in shown))
        return drawn


_ANY_WIDTH = 10_000


def _rows_table(board: Leaderboard) -> _Figures:
    rows = [
        (
            rank,
            _row_head(row),
            (*_counts(row), *_rates(row, ALWAYS_P), _ratio(row.geomean.value if row.geomean else None)),
        )
        for rank, row in _ranked(board)
    ]
    titles = ("subs", "compiled", "correct", *map(_fast, ALWAYS_P), "geomean")
    return _Figures("model", titles, rows, spared=("compiled", "subs", _fast(2), "correct"))


def _fast(p: float) -> str:
    return f"fast_{p:g}"


def _row_head(row: Row) -> Text:
    head = Text(one_cell(row.model) or _NO_MODEL, style="bold")
    head.append(f"\n{one_cell(row.run)}, {_place_text(row)}", style="not bold dim")
    if row.notes:
        head.append(f"\n{', '.join(note.tag for note in row.notes)}", style="not bold yellow")
    return head


def _number(cell: str) -> Text:
    return Text(cell, style="dim" if cell == _NOTHING else "")


def _place(board: Leaderboard, place: _Place) -> Iterator[RenderableType]:
    """The best answers on one device at one precision over one baseline; elsewhere a speed-up means something else."""
    device, name, precision, baseline = place
    drawn = _frame()
    drawn.add_column("problem", overflow="fold", ratio=1)
    drawn.add_column("solved", justify="right", no_wrap=True)
    drawn.add_column("best speed-up", justify="right", no_wrap=True)
    drawn.add_column("by", justify="right", style="dim", no_wrap=True)
    for each in board.problems:
        if _place_of(each) == place:
            rank = f"#{each.rank}" if each.rank else ""
            drawn.add_row(_problem_head(each), f"{each.solved} of {each.asked}", _best(each), rank)
    yield Text.assemble("\n", (place_text(device, precision, baseline), "bold"), f", {one_cell(name)}")
    yield drawn


def _problem_head(each: ProblemBest) -> Text:
    head = Text(one_cell(each.problem))
    if each.best is not None and each.best.path:
        head.append(f"\n{path_text(each.best)}", style="dim")
    if each.best is not None and not each.best.confirmed:
        head.append("\nunconfirmed by stock", style="yellow")
    if each.best is not None and each.best.quick:
        head.append("\ntimed quickly: a band", style="yellow")
    return head


def path_text(best: Best) -> str:
    """How a conversation came to its best answer, turn by turn."""
    return ", ".join(
        f"{turn.verdict} {ratio_text(turn.speedup)}" if turn.speedup is not None else turn.verdict for turn in best.path
    )


def _best(each: ProblemBest) -> Text:
    if each.best is None:
        return _number(_NOTHING)
    if each.best.speedup is None:
        return Text("not timed", style="dim")
    return Text(interval_text(each.best.speedup), style=speedup_style(each.best.speedup))


def _frame() -> Table:
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), expand=False)


def _legend(board: Leaderboard) -> Iterator[RenderableType]:
    """What the notes of a row mean, in full."""
    noted = [(rank, row) for rank, row in _ranked(board) if row.notes]
    if noted:
        yield Text()
    for rank, row in noted:
        yield Text(f"#{rank}: {one_cell(_notes_text(row))}", style="yellow")


def _denominators(board: Leaderboard) -> Iterator[RenderableType]:
    """What the shares are of, in a sentence a denominator."""
    rows: dict[str, list[int]] = defaultdict(list)
    for rank, row in _ranked(board):
        if row.correct_rate is not None:
            rows[denominator_text(row)].append(rank)
    if rows:
        yield Text()
    if len(rows) > _MOST_DENOMINATORS:
        counts = [row.problems for row in board.rows if row.correct_rate is not None]
        text = f"Rates are shares of the problems that each row counts, {min(counts)} to {max(counts)} of them."
        yield Text(text, style="dim")
        return
    for text, ranks in rows.items():
        whose = "" if len(rows) == 1 else f"{', '.join(f'#{rank}' for rank in ranks)}: "
        yield Text(f"{whose}{text}", style="dim")


def denominator_text(row: Row) -> str:
    """What the shares of a row are of, as a sentence."""
    problems = f"{row.problems} problem{'s' if row.problems != 1 else ''}"
    if row.only_answered:
        return f"Rates are shares of the {problems} that were answered; what was asked besides is left out."
    if row.unanswered:
        answered = row.problems - row.unanswered
        return (
            f"Rates are shares of all {problems} that were asked, of which {answered} "
            f"{'was' if answered == 1 else 'were'} answered; --only-answered takes shares of those."
        )
    return f"Rates are shares of the {problems} that {'was' if row.problems == 1 else 'were'} asked."


def _figures(board: Leaderboard) -> Iterator[RenderableType]:
    """What has no room in the first table."""
    further = [p for p in _ps(board) if p not in ALWAYS_P]
    columns: list[tuple[str, Callable[[Row], str]]] = [
        *((_fast(p), lambda row, p=p: _rate(row.fast(p))) for p in further),
        ("geomean speed-up", lambda row: _estimate(row.geomean)),
        ("median speed-up", lambda row: _estimate(row.median)),
        ("of roofline", lambda row: f"{row.roofline.value:.0%}" if row.roofline else _NOTHING),
        ("tokens a correct", lambda row: _thousands(row.tokens.per_correct if row.tokens else None)),
    ]
    cells = {title: [cell(row) for row in board.rows] for title, cell in columns}
    shown = {title: column for title, column in cells.items() if set(column) != {_NOTHING}}
    if not shown:
        return
    drawn = _numbered()
    for title in shown:
        drawn.add_column(title, justify="right", no_wrap=True)
    for rank, _ in _ranked(board):
        drawn.add_row(str(rank), *(_number(column[rank - 1]) for column in shown.values()))
    yield Text()
    yield drawn


def _spreads(board: Leaderboard) -> Iterator[RenderableType]:
    """How far shares may be off."""
    if not any(row.fast_p for row in board.rows):
        return
    drawn = _numbered()
    for p in ALWAYS_P:
        drawn.add_column(f"{_fast(p)}, 95%", justify="right", no_wrap=True)
    for rank, row in _ranked(board):
        known = {each.p: each for each in row.fast_p}
        drawn.add_row(str(rank), *(_number(_share(known[p]) if p in known else _NOTHING) for p in ALWAYS_P))
    yield Text()
    yield drawn


def _share(each: FastP) -> str:
    return f"{each.value:.2f} [{each.spread.low:.2f}, {each.spread.high:.2f}]"


def _comparisons(board: Leaderboard) -> Iterator[RenderableType]:
    """Whether a row is better than the next one."""
    pairs: dict[tuple[int, int], list[Comparison]] = defaultdict(list)
    for each in board.comparisons:
        pairs[each.first, each.second].append(each)
    if pairs:
        yield Text()
    for (first, second), found in pairs.items():
        yield Text(f"Is #{first} better than #{second}? {'; '.join(map(comparison_text, found))}.")


def comparison_text(each: Comparison) -> str:
    """One figure of two rows, whether one of them is better, and how likely chance would look like that."""
    show = ratio_text if each.figure == "speed-up" else "{:.2f}".format
    verdict = "cannot be told" if each.better is None else f"#{each.better} is better"
    over = f"p = {each.p:.2g}, {each.problems} problem{'s' if each.problems != 1 else ''}"
    return f"{each.figure} {show(each.first_value)} and {show(each.second_value)}: {verdict} ({over})"


def _levels(board: Leaderboard) -> Iterator[RenderableType]:
    if not any(row.levels for row in board.rows):
        return
    rows = []
    for rank, row in _ranked(board):
        for level in row.levels:
            geomean = _ratio(level.geomean.value if level.geomean else None)
            numbers = (level.problems, level.submissions, level.correct)
            cells = (*map(str, numbers), *_rates(level, ALWAYS_P), geomean)
            rows.append((rank, Text(one_cell(level.set) or _NOTHING), cells))
    titles = ("problems", "subs", "correct", *map(_fast, ALWAYS_P), "geomean")
    yield Text()
    yield _Figures("level", titles, rows, spared=("problems", "subs", _fast(2), "correct"))


def _at_k(board: Leaderboard) -> Iterator[RenderableType]:
    """What several answers to a problem are worth."""
    if not any(row.at_k for row in board.rows):
        return
    ks = _shown_ks({each.k for row in board.rows for each in row.at_k})
    drawn = _numbered()
    drawn.add_column("of k answers", no_wrap=True)
    for k in ks:
        drawn.add_column(f"k={k}", justify="right", no_wrap=True)
    lines: list[tuple[str, Callable[[AtK], str]]] = [
        ("one is correct (pass@k)", lambda each: _rate(each.passes)),
        ("  standard error", lambda each: _error(each.passes_spread)),
        ("one is faster (fast_1@k)", lambda each: _rate(each.fast_1)),
        ("  standard error", lambda each: _error(each.fast_1_spread)),
        ("speed-up of the best", lambda each: _ratio(each.speedup)),
    ]
    for rank, row in _ranked(board):
        known = {each.k: each for each in row.at_k}
        for title, cell in lines if known else ():
            cells = [cell(known[k]) if k in known else _NOTHING for k in ks]
            drawn.add_row(str(rank), title, *map(_number, cells))
    yield Text()
    yield drawn


def _shown_ks(ks: set[int]) -> list[int]:
    """As many k as 80 columns have room for: of more, round ones and the most."""
    if len(ks) <= _MOST_KS:
        return sorted(ks)
    round_ones = [k for k in sorted(ks) if str(k).strip("0") in ("1", "2", "5")]
    return sorted({*round_ones[: _MOST_KS - 1], max(ks)})


def _failures(board: Leaderboard) -> Iterator[RenderableType]:
    if not any(row.failures for row in board.rows):
        return
    drawn = _numbered()
    drawn.add_column("not correct", overflow="fold")
    for rank, row in _ranked(board):
        if row.failures:
            drawn.add_row(str(rank), Text(one_cell(_failures_text(row))))
    yield Text()
    yield drawn


def _numbered() -> Table:
    drawn = _frame()
    drawn.add_column("#", justify="right", style="dim", no_wrap=True)
    return drawn


def _error(spread: Spread | None) -> str:
    return _NOTHING if spread is None else f"{spread.standard_error:.2f}"


def _thousands(value: float | None) -> str:
    return _NOTHING if value is None else f"{value:,.0f}"
