import csv
import io
import json
from importlib.resources import files

import pyarrow.parquet
import pytest
from rich.console import Console

from harness.errors import MachineError
from harness.report.leaderboard import EXPORTERS, interval_text, ratio_text
from harness.report.rows import Leaderboard, leaderboard
from harness.schema import Device, Failed, Flag, Infrastructure, Interval, SandboxReport, SubmissionRef, Workload

EVIL = "a|b [red]x[/red] :smile: =cmd()\x1b[31m"
LONG = "level2/81_Gemm_Swish_Divide_Clamp_Tanh_Clamp"


@pytest.fixture
def board(make_record):
    emulated = {
        "model": "deepseek-r1-0528",
        "device": Device(kind="cpu-emulated", name="AMD EPYC"),
        "workload": Workload(settings={"batch_size": 4}, original={"batch_size": 4096}, reduced=True),
        "sandbox": SandboxReport(layers=("seccomp",), missing=("namespaces",)),
    }
    return leaderboard(
        {
            "h200": [
                make_record(model="deepseek-r1-0528", speedup=5.37),
                make_record(LONG, model="deepseek-r1-0528", speedup=1.03),
                make_record(model=EVIL, speedup=0.5, flags=(Flag(rule="r", severity="warn", detail="d"),)),
                make_record(LONG, model=EVIL, verdict=Failed(stage="build", reason="compile", detail="d")),
            ],
            "laptop": [
                make_record(**emulated),
                make_record(LONG, **(emulated | {"verdict": Infrastructure(detail="lost")})),
            ],
        }
    )


def drawn(board: Leaderboard, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, markup=True, emoji=True, force_terminal=False)
    console.print(EXPORTERS["table"](board))
    return console.file.getvalue()


def test_the_exporters_are_the_formats_that_are_promised():
    assert list(EXPORTERS) == ["table", "markdown", "csv", "json", "parquet"]


@pytest.mark.parametrize("width", [45, 60])
def test_a_narrow_table_leaves_out_figures_and_says_which(board, width):
    text = drawn(board, width)
    assert max(map(len, text.splitlines())) <= width
    assert "model" in text.splitlines()[0]
    assert "geomean" in text.splitlines()[0]
    assert "left out for want of room: compiled, subs" in text


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_fits_and_keeps_every_number_and_problem_whole(board, width):
    text = drawn(board, width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    for part in ("deepseek-r1-0528", "fast_0", "fast_1", "fast_2", "2.35x", "5.37x [5.26, 5.48]", LONG):
        assert part in text


def test_the_table_says_in_full_what_qualifies_a_row(board):
    text = " ".join(drawn(board, 120).split())
    assert "emulated, reduced, less isolated, 1 unjudged" in text
    assert "#2: 1 of 2 flagged" in text
    assert "#3: CUDA emulated on the CPU: correctness only, no speed-ups; reduced size in all 1;" in text


def test_text_of_models_is_shown_as_it_is_in_the_table(board):
    text = drawn(board, 120)
    assert "a|b [red]x[/red] :smile: =cmd()\\x1b[31m" in text
    assert "\x1b" not in text


def test_best_answers_are_listed_apart_by_device(board):
    text = drawn(board, 80)
    assert text.index("cuda, NVIDIA H200") < text.index("5.37x [") < text.index("cpu-emulated, AMD EPYC")
    assert "not timed" in text.partition("cpu-emulated, AMD EPYC")[2]


def test_a_board_of_nothing_says_so():
    assert drawn(leaderboard({"r": []}), 80) == "nothing to rank: no record, or none that fits\n"


def test_markdown_tables_have_as_many_cells_in_every_line(board):
    tables = EXPORTERS["markdown"](board).split("\n\n")
    for table, columns in zip(tables, (14, 7, 10), strict=True):
        unescaped = table.replace("\\|", "").strip().splitlines()
        assert {line.count("|") - 1 for line in unescaped} == {columns}
        assert len(unescaped) >= 4
        assert len(set(unescaped[0].split("|"))) == columns + 1


def test_text_of_models_is_escaped_in_markdown(board):
    text = EXPORTERS["markdown"](board)
    assert "a\\|b \\[red\\]x\\[/red\\]" in text
    assert "a|b" not in text


def test_csv_has_a_line_a_row_with_unrounded_figures_and_a_column_for_each_problem(board):
    rows = list(csv.DictReader(io.StringIO(EXPORTERS["csv"](board))))
    assert [row["rank"] for row in rows] == ["1", "2", "3"]
    first, second, emulated = rows
    assert float(first["geomean_speedup"]) == board.rows[0].geomean.value
    assert (first["level1: fast_1"], second["level2: correct_rate"]) == ("1.0", "0.0")
    assert second["failures"] == "1 build compile"
    assert (first["best: level1/19_ReLU"], second[f"best: {LONG}"]) == ("5.37", "")
    assert (emulated["fast_1"], emulated["best: level1/19_ReLU"]) == ("", "correct")
    assert emulated["notes"].startswith("CUDA emulated on the CPU")


def test_no_csv_cell_is_a_formula(make_record):
    board = leaderboard({"@run": [make_record("=1+1/x", model="=cmd()", device=Device(kind="cpu", name="-x"))]})
    for line in csv.reader(io.StringIO(EXPORTERS["csv"](board))):
        assert not [cell for cell in line if cell.startswith(("=", "@", "+", "-"))]


def test_parquet_has_the_columns_of_the_csv_with_their_types(board):
    names = next(csv.reader(io.StringIO(EXPORTERS["csv"](board))))
    read = pyarrow.parquet.read_table(io.BytesIO(EXPORTERS["parquet"](board)))
    assert read.column_names == names
    assert read["geomean_speedup"].to_pylist() == [row.geomean and row.geomean.value for row in board.rows]
    assert read["best: level1/19_ReLU"].to_pylist() == [5.37, 0.5, None]
    assert read["model"].to_pylist()[1] == EVIL
    assert (str(read.schema.field("correct").type), str(read.schema.field("fast_1").type)) == ("int64", "double")


def test_parquet_without_pyarrow_says_what_is_missing(board, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MachineError, match=r"pip install 'kernel-harness\[datasets\]'"):
        EXPORTERS["parquet"](board)


def test_how_a_conversation_came_to_its_best_answer_is_shown(make_record):
    def turn(number, **changes):
        return make_record(submission=SubmissionRef(path=f"{number}.txt", sha256="1" * 64, turn=number), **changes)

    failed = Failed(stage="build", reason="compile", detail="d")
    board = leaderboard({"r": [turn(2, speedup=2.0), turn(0, verdict=failed), turn(1, speedup=0.5)]})
    path = "failed, correct 0.50x, correct 2.00x"
    assert path in drawn(board, 80)
    assert f"| 2.txt ({path}) |" in EXPORTERS["markdown"](board)


def test_the_schema_that_is_shipped_is_that_of_the_json():
    shipped = json.loads(files("harness.report").joinpath("leaderboard.schema.json").read_text())
    assert shipped == Leaderboard.model_json_schema()


def test_json_reads_back_as_the_same_board(board):
    text = EXPORTERS["json"](board)
    assert Leaderboard.model_validate_json(text) == board
    assert set(json.loads(text)) == {"rows", "problems", "comparisons"}


@pytest.mark.parametrize(
    ("value", "text"),
    [(5.367, "5.37x"), (12.345, "12.3x"), (345.6, "346x"), (0.6249, "0.62x"), (0.01234, "0.012x"), (9.999, "10.00x")],
)
def test_a_speed_up_is_written_to_three_digits(value, text):
    assert ratio_text(value) == text


def test_an_interval_is_written_beside_its_value():
    assert interval_text(Interval(value=1.03, low=1.01, high=1.05)) == "1.03x [1.01, 1.05]"
