"""A run of KernelBench's, in and out: its folder is judged as it is, and its own analysis reads what comes out."""

import importlib.util
import json
import math
import shlex
from pathlib import Path
from types import ModuleType

import pytest
from kernelbench_analysis import Analysis

from harness.report.kernelbench import kernelbench
from harness.store import open_run

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def made_up() -> ModuleType:
    """The script that writes a checkout with a run of made-up generations."""
    spec = importlib.util.spec_from_file_location("kernelbench_run", ROOT / "benchmarks/kernelbench_run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_run_of_kernelbench_is_judged_as_it_is_and_its_analysis_reads_the_export(here, invoke, made_up, monkeypatch):
    expected = made_up.write(here / "checkout", 10, compiled=False)
    monkeypatch.chdir(here / "checkout")  # the problems are those of where one is
    assert (
        invoke("batch", "runs/made-up", "--run", "judged", "--set", "batch_size=2", "--timing", "quick").exit_code == 0
    )
    found = {record.submission.path: record for record in open_run("judged").records()}
    assert {path: record.verdict.kind == "correct" for path, record in found.items()} == expected
    assert {record.submission.model for record in found.values()} == {"nobody/made-up"}

    shown = invoke("leaderboard", "judged", "--format", "kernelbench", "-o", ".")
    assert shown.exit_code == 0, shown.stderr
    commands = [shlex.split(line) for line in shown.stdout.splitlines() if line.startswith("python3")]
    assert [command[-1] for command in commands] == ["subset=[1,2,3,10,11]", "subset=[1,2,30]"]
    export = kernelbench({"judged": open_run("judged").records()})
    assert {path: Path(path).read_text() for path in export.files} == export.files
    for level in export.levels:
        problems = {
            int(path.name.split("_")[0]): path.name for path in Path(f"KernelBench/level{level.level}").iterdir()
        }
        analysis = Analysis(export.files, level, problems)
        firsts = [
            record
            for record in found.values()
            if record.problem.set == f"level{level.level}" and record.submission.sample == 0
        ]
        assert (analysis.total, analysis.compiled, analysis.correct) == (len(firsts),) * 3
        times = [record.timing for record in sorted(firsts, key=lambda record: int(record.problem.name.split("_")[0]))]
        means = [math.fsum(each.reference_samples_ms) / math.fsum(each.candidate_samples_ms) for each in times if each]
        assert analysis.speedups == pytest.approx(means, rel=0.02)  # three digits each


def test_filters_hold_for_the_export_as_well(here, invoke, made_up, monkeypatch):
    made_up.write(here / "checkout", 16, compiled=False)
    monkeypatch.chdir(here / "checkout")
    invoke("batch", "runs/made-up", "--run", "judged", "--shard", "5/8", "--timing", "none")
    shown = invoke("leaderboard", "judged", "--format", "kernelbench", "--level", "1", "-o", "out")
    assert shown.exit_code == 0, shown.stderr
    assert [path.relative_to("out").as_posix() for path in Path("out").rglob("eval_results.json")] == [
        "runs/judged-nobody-made-up-level1/eval_results.json"
    ]
    results = json.loads(next(Path("out").rglob("eval_results.json")).read_text())
    assert {number: [sample["sample_id"] for sample in samples] for number, samples in results.items()} == {"3": [0]}


def test_several_files_need_a_folder(here, invoke):
    shown = invoke("leaderboard", "none", "--format", "kernelbench")
    assert shown.exit_code == 2
    assert "give -o DIR" in shown.stderr
    shown = invoke("leaderboard", "none", "--format", "csv", "-o", str(here))
    assert shown.exit_code == 2
    assert "is a folder: give a file" in shown.stderr
