import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
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


def test_a_broken_run_writes_nothing(here):
    with (here / "runs/one/records.jsonl").open("a") as file:
        file.write("garbage\n")
    result = invoke("one", "-o", "board")
    assert result.exit_code == 2
    assert "records.jsonl:2 is not a record" in result.stderr
    assert not (here / "board").exists()


def test_a_place_that_cannot_be_written_is_one_sentence(here):
    result = invoke("one", "-o", "no/such/folder/board")
    assert result.exit_code == 2
    assert "may not be written" in result.stderr


def test_a_reader_that_leaves_early_sees_no_traceback(here):
    command = f"{sys.executable} -m harness leaderboard one | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("#")
    assert done.stderr == ""


def test_a_terminal_without_unicode_shows_question_marks(here):
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "harness", "leaderboard", "one"], capture_output=True, env=environment, check=True
    )
    assert b"2.00x [2.00, 2.00]" in done.stdout
