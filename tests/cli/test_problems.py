"""`harness problems`: list, show and fetch."""

from pathlib import Path

import pyarrow
import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

from harness.cli import main
from harness.store import open_run

PROBLEM = "batch_size = 4\nclass Model: pass\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n"
NEEDING = f"from surely_not_installed import AutoConfig\nconfig = AutoConfig.from_pretrained('gpt2')\n{PROBLEM}"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: two problems of our own, and a parquet file with one at level 1 and one at level 4."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    for name in ("level1/19_ReLU.py", "level2/1_Broken.py"):
        path = tmp_path / "problems" / name
        path.parent.mkdir(parents=True)
        path.write_text(PROBLEM if "ReLU" in name else "class Model(:\n")
    rows = [
        {"code": PROBLEM, "level": 1, "name": "1_Sum", "problem_id": 1},
        {"code": NEEDING, "level": 4, "name": "16_gpt2_bs1", "problem_id": 16},
    ]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "set.parquet")
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["problems", *arguments], catch_exceptions=False)


def test_the_list_has_the_numbers_that_set_may_change_and_what_cannot_be_read() -> None:
    shown = run("list")
    assert shown.exit_code == 0
    assert "level1/19_ReLU" in shown.stdout
    assert "batch_size=4" in shown.stdout
    assert "level2/1_Broken is not valid Python on line 1" in shown.stdout
    assert "2 problems in" in shown.stdout


def test_a_level_is_listed_alone() -> None:
    shown = run("list", "--level", "1")
    assert "1 problems in" in shown.stdout
    assert "needs" not in shown.stdout
    assert "0 problems in" in run("list", "--level", "7").stdout


def test_what_needs_a_download_says_so() -> None:
    shown = run("list", "--problems", "set.parquet")
    assert "1 of which need more than torch" in shown.stdout
    assert "package surely_not_installed, a download by" in shown.stdout
    assert "# needs: package surely_not_installed, a download by AutoConfig.from_pretrained\n" in (
        run("show", "level_4_problem_16", "--problems", "set.parquet").stdout
    )


def test_what_is_shown_is_the_problem_file_under_comments(here: Path) -> None:
    shown = run("show", "19")
    assert shown.stdout.startswith(f"# level1/19_ReLU\n# {here}/problems/level1/19_ReLU.py\n# sha256 ")
    assert shown.stdout.endswith(f"# numbers: batch_size=4\n\n{PROBLEM}")
    (here / "copy.py").write_text(shown.stdout)
    assert run("show", "./copy.py").exit_code == 0


def test_an_unknown_problem_is_bad_input() -> None:
    shown = run("show", "19_Relu")
    assert shown.exit_code == 2
    assert "did you mean level1/19_ReLU" in shown.stderr


def test_what_was_fetched_is_found_by_its_name_and_in_its_folder(here: Path) -> None:
    assert run("fetch", "set.parquet", "-o", "mine").stdout == (
        "2 problems in mine: level1 1, level4 1\nuse them with --problems mine\n"
    )
    assert run("show", "1_Sum", "--problems", "mine").exit_code == 0
    assert run("fetch", "set.parquet").stdout.endswith("use them with --problems set.parquet\n")
    again = run("fetch", "set.parquet", "-o", "mine")
    assert again.exit_code == 2
    assert "mine is not empty" in again.stderr


def test_a_batch_says_first_what_its_problems_need(here: Path) -> None:
    (here / "sub").mkdir()
    (here / "sub/level_4_problem_16_sample_0_kernel.py").write_text("nothing")  # no candidate: nothing is started
    shown = CliRunner().invoke(main, ["batch", "sub", "--problems", "set.parquet", "--run", "r", "--device", "cpu"])
    assert shown.stderr.startswith("level4/16_gpt2_bs1 needs more than torch: package surely_not_installed")
    assert [record.verdict.kind for record in open_run("r").records()] == ["failed"]
