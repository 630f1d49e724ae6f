import csv
import io
import json
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import jsonschema
import pyarrow.parquet
import pytest
from click import unstyle
from click.testing import CliRunner

from harness.cli import main
from harness.schema import Correct, Device, Environment, Interval, ProblemRef, Record, SubmissionRef, Timing
from harness.store import Manifest, open_run


def record(path: str, *, model: str, speedup: float) -> Record:
    return Record(
        problem=ProblemRef(set="level1", name="19_ReLU", sha256="0" * 64),
        submission=SubmissionRef(path=path, sha256="1" * 64, model=model),
        device=Device(kind="cuda", name="NVIDIA H200"),
        verdict=Correct(trials=3),
        timing=Timing(
            candidate_ms=1.0,
            reference_ms=speedup,
            speedup=Interval(value=speedup, low=speedup, high=speedup),
            conclusion="faster",
            rounds=3,
            calls_per_round=1,
        ),
        environment=Environment(harness="0.1.0", python="3.12", torch="2.13.0"),
        judged_at="2026-01-01T00:00:00+00:00",
    )


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """A folder with two runs under runs/ and one elsewhere that has the name of the first."""
    monkeypatch.chdir(tmp_path)
    manifest = Manifest(created="2026", harness="0.1.0")
    for folder, speedup in (("runs/one", 2.0), ("runs/two", 3.0), ("old/one", 4.0)):
        with open_run(Path(folder), create=True, manifest=manifest) as run:
            run.append(record("a.py", model="gpt", speedup=speedup))
    return tmp_path


def invoke(*arguments: str):
    return CliRunner().invoke(main, ["leaderboard", *arguments])


def rows(text: str) -> list[tuple[str, str]]:
    return [(row["run"], row["geomean_speedup"]) for row in csv.DictReader(io.StringIO(text))]


def test_runs_are_ranked_together_under_their_names(here):
    assert [run for run, _ in rows(invoke("one", "two", "--format", "csv").stdout)] == ["two", "one"]


def test_runs_of_one_name_go_by_their_paths_and_the_same_run_twice_is_one(here):
    text = invoke("one", "runs/one", "old/one", "--format", "csv").stdout
    assert [run for run, _ in rows(text)] == ["old/one", "runs/one"]


def test_the_table_is_the_default(here):
    result = invoke("one")
    assert result.exit_code == 0
    assert "fast_1" in result.stdout
    assert "2.00x [2.00, 2.00]" in result.stdout
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize("name", ["table", "markdown", "csv", "json"])
def test_a_file_holds_what_the_terminal_would_show(here, name):
    result = invoke("one", "--format", name, "-o", "board")
    assert (result.exit_code, result.stdout) == (0, "")
    written = (here / "board").read_text()
    assert "gpt" in written
    if name != "table":
        assert written == invoke("one", "--format", name).stdout
    assert sorted(path.name for path in here.iterdir()) == ["board", "old", "runs"]


def test_json_is_one_object(here):
    assert json.loads(invoke("one", "--format", "json").stdout)["rows"][0]["model"] == "gpt"


def test_a_file_behind_a_link_is_written_and_the_link_stays(here):
    (here / "link").symlink_to(here / "target")
    (here / "target").write_text("old")
    assert invoke("one", "-o", "link").exit_code == 0
    assert (here / "link").is_symlink()
    assert "gpt" in (here / "target").read_text()


def test_a_pipe_is_written_to_and_not_replaced(here):
    os.mkfifo(here / "pipe")
    with subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        assert invoke("one", "--format", "csv", "-o", "pipe").exit_code == 0
        assert reader.communicate(timeout=30)[0].startswith("rank,")
    assert (here / "pipe").is_fifo()


def test_a_run_that_is_not_there_is_one_sentence_and_status_2(here):
    result = invoke("on")
    assert result.exit_code == 2
    assert result.stderr == "harness: there is no run runs/on: did you mean one?\n"


def test_a_broken_line_is_said_and_the_rest_is_ranked(here):
    with (here / "runs/one/records.jsonl").open("a") as file:
        file.write("garbage\n")
    result = invoke("one", "-o", "board")
    assert result.exit_code == 0
    assert "records.jsonl:2 is not a record and was left out" in result.stderr
    assert result.stderr.count("\n") == 1
    assert (here / "board").exists()


def test_a_place_that_cannot_be_written_is_one_sentence(here):
    result = invoke("one", "-o", "no/such/folder/board")
    assert result.exit_code == 2
    assert "may not be written" in result.stderr


def test_a_reader_that_leaves_early_sees_no_traceback(here):
    command = f"{sys.executable} -m harness leaderboard one | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("#")
    assert done.stderr == ""


def test_a_pipe_is_neither_wrapped_nor_filled_up_with_blanks(monkeypatch):
    monkeypatch.chdir(Path(__file__).resolve().parents[2])
    lines = invoke("h200-documents").stdout.splitlines()
    assert not any(line.endswith(" ") for line in lines)
    assert any("level2/81_Gemm_Swish_Divide_Clamp_Tanh_Clamp" in line and "1.03x" in line for line in lines)


def test_a_terminal_without_unicode_gets_ascii(here):
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "harness", "leaderboard", "one"], capture_output=True, env=environment, check=True
    )
    assert b"2.00x [2.00, 2.00]" in done.stdout
    assert b"?" not in done.stdout.replace(b"?", b"", done.stdout.count(b" better than "))


# Filters and further formats

THIRD = str(1 / 3)


@pytest.fixture
def mixed(tmp_path, monkeypatch) -> Path:
    """A run of two models, two levels and two devices."""
    monkeypatch.chdir(tmp_path)
    manifest = Manifest(
        created="2026", harness="0.1.0", problems=("level1/19_ReLU", "level1/20_Other", "level2/1_X", "level2/2_Y")
    )
    with open_run("mixed", create=True, manifest=manifest) as run:
        run.append(record("a.py", model="gpt", speedup=2.5), {"candidate.py": "import torch"})
        other = record("b.py", model="llama", speedup=1.5)
        run.append(other.model_copy(update={"problem": ProblemRef(set="level2", name="1_X", sha256="0" * 64)}))
        run.append(
            record("c.py", model="llama", speedup=1.5).model_copy(update={"device": Device(kind="cpu", name="E")})
        )
    return tmp_path


def told(*arguments: str) -> list[tuple[str, ...]]:
    result = invoke("mixed", "--format", "csv", *arguments)
    assert result.exit_code == 0, result.output
    found = csv.DictReader(io.StringIO(result.stdout))
    return [(row["model"], row["device"], row["problems"], row["fast_1"]) for row in found]


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        ([], [("gpt", "cuda", "2", "0.5"), ("llama", "cpu", "3", THIRD), ("llama", "cuda", "3", THIRD)]),
        (["--model", "gpt"], [("gpt", "cuda", "2", "0.5")]),
        (["--model", "l*", "--device", "cpu"], [("llama", "cpu", "3", THIRD)]),
        (["--level", "2"], [("llama", "cuda", "2", "0.5")]),
        (["--verdict", "correct", "--device", "h200"], [("gpt", "cuda", "2", ""), ("llama", "cuda", "3", "")]),
        (["--verdict", "wrong"], []),
    ],
)
def test_filters_choose_records_and_leave_what_was_asked(mixed, arguments, left):
    assert sorted(told(*arguments)) == sorted(left)


def test_a_filter_that_fits_nothing_is_one_sentence(mixed):
    result = invoke("mixed", "--model", "gtp")
    assert (result.exit_code, result.stderr) == (2, "harness: no record is of the model 'gtp': there is gpt, llama\n")


def test_fast_p_is_said_for_the_p_that_are_asked_for(mixed):
    [row] = csv.DictReader(
        io.StringIO(invoke("mixed", "--model", "gpt", "-p", "2.4", "-p", "3", "--format", "csv").stdout)
    )
    assert (row["fast_2"], row["fast_2.4"], row["fast_3"]) == ("0.5", "0.5", "0.0")


def test_parquet_is_written_to_a_file(mixed):
    assert invoke("mixed", "--format", "parquet", "-o", "board.parquet").exit_code == 0
    read = pyarrow.parquet.read_table(mixed / "board.parquet")
    assert sorted(read["model"].to_pylist()) == ["gpt", "llama", "llama"]


def test_the_page_is_of_what_the_filters_let_through(mixed):
    assert invoke("mixed", "--format", "html", "--model", "gpt", "-o", "page.html").exit_code == 0
    text = (mixed / "page.html").read_text()
    assert text.startswith("<!doctype html>")
    assert "a.py" in text
    assert "b.py" not in text


def test_what_was_exported_fits_the_schema_that_is_shipped(mixed):
    schema = json.loads(files("harness.report").joinpath("leaderboard.schema.json").read_text())
    jsonschema.validate(json.loads(invoke("mixed", "--format", "json").stdout), schema)


@pytest.mark.parametrize("columns", ["80", "120"])
def test_the_shipped_run_fits_a_terminal(columns, monkeypatch):
    monkeypatch.chdir(Path(__file__).resolve().parents[2])
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes it for a terminal
    text = unstyle(invoke("h200-documents").stdout)
    assert max(map(len, text.splitlines())) <= int(columns)
    for part in ("fast_1", "median speed-up", "level2", "1 build compile", "5.36x [5.33, 5.37]"):
        assert part in text


def test_a_line_a_submission_is_a_csv_alone(here):
    done = CliRunner().invoke(main, ["leaderboard", "one", "--format", "csv", "--by", "submission"])
    assert done.exit_code == 0
    lines = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(lines) == len(list(open_run("one").records()))
    assert CliRunner().invoke(main, ["leaderboard", "one", "--by", "submission"]).exit_code == 2
