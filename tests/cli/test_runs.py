import shutil
from pathlib import Path

import huggingface_hub
import pytest
import yaml
from click.testing import CliRunner
from huggingface_hub.errors import HFValidationError, LocalTokenNotFoundError

from harness.cli import main
from harness.schema import Correct, Device, Environment, Interval, ProblemRef, Record, SubmissionRef, Timing, Wrong
from harness.store import Manifest, open_run

ROOT = Path(__file__).resolve().parents[2]
WRONG = Wrong(reason="values", detail="off\x1b[31m by one", trial="nominal")


def record(path: str, *, problem: str = "19_ReLU", candidate_ms: float | None = None, **changes) -> Record:
    timing = candidate_ms and Timing(
        candidate_ms=candidate_ms,
        reference_ms=1.0,
        speedup=Interval(value=1.0 / candidate_ms, low=1.0 / candidate_ms, high=1.0 / candidate_ms),
        conclusion="faster",
        rounds=3,
        calls_per_round=1,
        candidate_samples_ms=(candidate_ms,) * 3,
        reference_samples_ms=(1.0,) * 3,
    )
    fields = {
        "problem": ProblemRef(set="level1", name=problem, sha256="0" * 64),
        "submission": SubmissionRef(path=path, sha256="1" * 64, model="gpt"),
        "device": Device(kind="cuda", name="NVIDIA H200"),
        "verdict": Correct(trials=3),
        "timing": timing or None,
        "environment": Environment(harness="0.1.0", python="3.12", torch="2.13.0"),
        "judged_at": "2026-01-01T00:00:00+00:00",
    }
    return Record(**(fields | changes))


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """Two runs of the same submissions: in the second one is slower, one became wrong and one is new."""
    monkeypatch.chdir(tmp_path)
    manifest = Manifest(created="2026-01-01T00:00:00+00:00", harness="0.1.0", settings={"timing_s": 2.0})
    runs = {
        "one": [record("a.py", candidate_ms=0.5), record("b.py", problem="20_Other", candidate_ms=0.5)],
        "two": [
            record("a.py", candidate_ms=1.0, judged_at="2027"),
            record("b.py", problem="20_Other", verdict=WRONG, judged_at="2027"),
            record("c.py", problem="21_New"),
        ],
    }
    for name, records in runs.items():
        with open_run(name, create=True, manifest=manifest) as run:
            for each in records:
                run.append(each, {"candidate.py": f"# {name}", "build.log": "ok"})
    return tmp_path


def invoke(*arguments: str):
    return CliRunner().invoke(main, ["runs", *arguments])


def test_runs_are_listed_with_what_came_of_them(here):
    result = invoke("list")
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines() if line.startswith(("one", "two"))]
    assert [row[:5] for row in rows] == [["one", "2", "2", "0", "0"], ["two", "3", "2", "1", "0"]]
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_a_run_of_many_models_names_one_of_them_in_the_list_and_more_by_itself(here):
    manifest = Manifest(created="2026-01-01T00:00:00+00:00", harness="0.1.0")
    with open_run("many", create=True, manifest=manifest) as run:
        for number in range(6):
            ref = SubmissionRef(path="a.py", sha256="1" * 64, model=f"m{number}")
            run.append(record("a.py", submission=ref))
    listed = invoke("list").stdout
    assert "m0 and 5 more" in " ".join(listed.split())
    assert max(map(len, listed.splitlines())) <= 80
    assert "m0, m1, m2, m3 and 2 more" in invoke("show", "many").stdout


def test_settings_are_words_and_those_left_out_are_not_named(here):
    settings = {"baselines": ["eager", "compile"], "reject": [], "workload": {"dim": 3}, "extract": "last", "cc": None}
    manifest = Manifest(created="2026-01-01T00:00:00+00:00", harness="0.1.0", settings=settings)
    open_run("set", create=True, manifest=manifest).close()
    assert "settings  baselines eager+compile, workload dim=3, extract last" in invoke("show", "set").stdout


def test_where_there_is_no_run_it_is_said_how_to_make_one(here):
    shutil.rmtree(here / "runs")
    assert "harness batch DIR --run NAME" in invoke("list").stdout


def test_a_run_is_told_in_a_few_lines(here):
    text = " ".join(invoke("show", "two").stdout.split())
    for part in ("records 3", "2 correct, 1 wrong", "3 of level1", "models gpt", "NVIDIA H200", "timing_s 2.0"):
        assert part in text


def test_one_record_is_printed_in_full_and_several_in_a_line_each(here):
    [first, second, third] = invoke("show", "two", "level1").stdout.splitlines()
    assert first.startswith("correct     level1/19_ReLU  a.py")
    assert second.startswith("wrong       level1/20_Other  b.py")
    assert third.startswith("correct     level1/21_New")
    full = invoke("show", "two", "b.py").stdout
    assert "WRONG" in full
    assert "\x1b" not in full


def test_a_submission_that_is_not_there_is_an_input_error(here):
    result = invoke("show", "two", "z.py")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no record of two has 'z.py'" in result.stderr


def test_what_was_won_and_lost_is_said_problem_by_problem(here):
    result = invoke("diff", "one", "two")
    assert result.exit_code == 0
    lines = {line.split()[0]: line for line in result.stdout.splitlines() if line.startswith("level1")}
    assert lines["level1/19_ReLU"].split()[1:] == ["2.00x", "1.00x", "0.500", "[0.500,", "0.500]", "slower"]
    assert lines["level1/20_Other"].rstrip().endswith("became wrong")
    assert lines["level1/21_New"].rstrip().endswith("only after")
    assert "0 won, 2 lost, 1 only after (1 became wrong, 1 slower)" in result.stdout


def test_two_runs_become_one(here):
    result = invoke("merge", "one", "two", "-o", "both")
    assert result.exit_code == 0
    assert result.stdout == "runs/both: 3 records of 2 runs, 2 earlier attempts\n"
    run = open_run("both")
    assert [(each.submission.path, each.verdict.kind) for each in run.records()] == [
        ("a.py", "correct"), ("b.py", "wrong"), ("c.py", "correct"),
    ]  # fmt: skip
    assert {run.attachments(each)["candidate.py"] for each in run.records()} == {"# two"}


def test_what_runs_of_others_name_moves_no_cursor(here):
    manifest = Manifest(created="2026", harness="0.1.0", settings={"\x1b[2J\nmerged": 1})
    unnumbered = record("d.py", problem="\x1b]0;x\x07")
    with open_run("three", create=True, manifest=manifest) as run:
        run.append(unnumbered, {})
        run.append(record("e.py"), {})
    merged = invoke("merge", "one", "three", "-o", "both")
    assert "they do not agree in timing_s, \\x1b[2J merged: the new run" in merged.stdout
    exported = CliRunner().invoke(main, ["leaderboard", "three", "--format", "kernelbench", "-o", "kb"])
    assert "left out, for want of a level and a number: level1/\\x1b]0;x\\x07\n" in exported.stdout


def test_one_run_is_not_merged_with_itself(here):
    result = invoke("merge", "one", "runs/one", "-o", "both")
    assert result.exit_code == 2
    assert "at least two different runs" in result.stderr


def test_a_merge_over_a_run_is_refused(here):
    result = invoke("merge", "one", "two", "-o", "two")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "runs/two is there already" in result.stderr


def test_a_run_is_written_as_a_data_set(here):
    result = invoke("dataset", "two", "-o", "out")
    assert result.exit_code == 0
    assert result.stdout.startswith("out: 3 records;")
    assert sorted(path.name for path in (here / "out").rglob("*.*")) == [
        "README.md", "leaderboard.parquet", "records-00000.parquet",
    ]  # fmt: skip
    assert "| 1 | gpt | two |" in (here / "out" / "README.md").read_text()
    again = invoke("dataset", "two", "-o", "out")
    assert again.exit_code == 2
    assert "out is not empty" in again.stderr


def test_the_name_of_a_run_says_nothing_but_itself_in_the_card_of_its_data_set(here):
    (here / "runs" / "two").rename(here / "runs" / 'a"\n---\nlicense: mit\n<b>\x1b[2J\\')
    assert invoke("dataset", 'a"\n---\nlicense: mit\n<b>\x1b[2J\\', "-o", "out").exit_code == 0
    _, head, text = (here / "out" / "README.md").read_text().split("---\n", 2)
    assert yaml.safe_load(head)["pretty_name"] == 'a" --- license: mit <b>\\x1b[2J\\'
    assert "license" not in yaml.safe_load(head)
    assert not [mark for mark in ("<b>", "\x1b", "\n---\n") if mark in text]


class Hub:
    """Stands in for the hub's client, and keeps what it is given."""

    calls: list[tuple[str, dict]]
    error: Exception | None = None

    def create_repo(self, repo_id, **options):
        self.calls.append((repo_id, options))
        if self.error:
            raise self.error
        return f"https://huggingface.co/datasets/{repo_id}"

    def upload_folder(self, *, folder_path, **options):
        files = sorted(path.relative_to(folder_path).as_posix() for path in Path(folder_path).rglob("*.*"))
        self.calls.append((options["repo_id"], options | {"files": files}))


@pytest.fixture
def hub(monkeypatch):
    hub = Hub()
    hub.calls = []
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: hub)
    return hub


def test_a_run_is_published_only_by_name_and_privately(here, hub):
    result = invoke("push", "two", "owner/name")
    assert result.exit_code == 0
    assert result.stdout == "https://huggingface.co/datasets/owner/name\n"
    (_, made), (repository, sent) = hub.calls
    assert made == {"repo_type": "dataset", "private": True, "exist_ok": True}
    assert (repository, sent["repo_type"]) == ("owner/name", "dataset")
    assert sent["files"] == ["README.md", "data/leaderboard.parquet", "data/records-00000.parquet"]


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (HFValidationError("Repo id must use alphanumeric chars"), 2, "is no name of a data set: give owner/name"),
        (
            LocalTokenNotFoundError("no token\nand more"),
            3,
            "could not push to owner/name (no token): check the network",
        ),
        (ConnectionError("refused"), 3, "could not push to owner/name (refused)"),
    ],
)
def test_a_hub_that_refuses_is_one_sentence(here, hub, error, status, sentence):
    hub.error = error
    result = invoke("push", "two", "owner/name")
    assert result.exit_code == status
    assert sentence in result.stderr
    assert len(hub.calls) == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["show", "h200-documents"], "5 correct, 2 wrong, 1 failed"),
        (["show", "h200-documents", "Gelu"], "faster than the reference"),
        (["diff", "h200-documents", "h200-documents"], "0 won, 0 lost, 5 same"),
    ],
)
def test_the_run_that_is_shipped_is_told_and_compared(arguments, told, monkeypatch):
    monkeypatch.chdir(ROOT)
    result = invoke(*arguments)
    assert result.exit_code == 0
    assert told in result.stdout
