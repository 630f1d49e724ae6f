import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from harness.backends import cuda
from harness.controller import session as session_module
from harness.controller.evaluate import examine
from harness.errors import DeviceError, MachineError, ToolchainError
from harness.schema import Record
from harness.store import open_run

ADVERSARIAL = {path.stem: path for path in (Path(__file__).parent.parent / "adversarial").glob("*/*.py")}
UNTIMED = ("--timing", "none")
"""Where nothing is asked of a time: of a submission of ours neither, which is timed as the others are."""
COMPILED = """
import torch
from torch.utils.cpp_extension import load_inline

extension = load_inline(name="nothing", cpp_sources="int one() { return 1; }", functions=["one"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
"""


def lay(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def wrong(here) -> str:
    return (here / "wrong.py").read_text()


@pytest.fixture
def failing(here) -> str:
    return (here / "failing.py").read_text()


def records(run: Path | str) -> list[Record]:
    return list(open_run(run).records())


def lines(run: Path) -> list[dict]:
    """Every line of a run's record files, the outdated ones too."""
    return [json.loads(line) for path in sorted(run.glob("records*.jsonl")) for line in path.read_text().splitlines()]


# What a folder may look like


@pytest.mark.parametrize(
    ("files", "named"),
    [
        (
            ["level_1_problem_19_sample_0_kernel.py", "level_1_problem_19_sample_1_kernel.txt"],
            [(0, ""), (1, "")],
        ),
        (["gpt/19_ReLU/sample_0.py", "gpt/19_ReLU/sample_3.md"], [(0, "gpt"), (3, "gpt")]),
    ],
)
def test_names_tell_problem_sample_and_model(here, invoke, failing, files, named):
    lay(here / "sub", dict.fromkeys(files, failing))
    result = invoke("batch", "sub", "--run", "r")
    assert result.exit_code == 0, result.stderr
    found = records("r")
    assert [record.submission.path for record in found] == files
    assert [(record.submission.sample, record.submission.model) for record in found] == named
    assert {record.problem.title for record in found} == {"level1/19_ReLU"}
    assert {record.verdict.reason for record in found} == {"exception"}


def test_a_table_names_everything(here, invoke, wrong):
    table = "file,problem,sample,model\na.txt,19_ReLU,0,gpt\na.txt,level1/19_ReLU,1,gpt\n"
    lay(here / "sub", {"a.txt": wrong, "b.txt": wrong, "generations.csv": table})
    assert invoke("batch", "sub", "--run", "r").exit_code == 0
    found = [(record.submission.path, record.submission.sample, record.submission.model) for record in records("r")]
    assert found == [("a.txt", 0, "gpt"), ("a.txt", 1, "gpt")]


def test_equal_candidates_are_judged_once_in_a_batch_and_each_with_fresh(here, invoke, wrong):
    lay(here / "sub", {"19_ReLU/0.py": wrong, "19_ReLU/1.py": wrong, "19_ReLU/2.py": wrong.replace("x", "x  ", 1)})
    assert invoke("batch", "sub", "--run", "r", "--builders", "2").exit_code == 0
    found = {record.submission.path: record for record in records("r")}
    assert {record.verdict.kind for record in found.values()} == {"wrong"}
    pair = found["19_ReLU/0.py"], found["19_ReLU/1.py"]
    assert sorted(bool(record.reused) for record in pair) == [False, True]
    assert {record.reused for record in pair} - {""} <= {"19_ReLU/0.py", "19_ReLU/1.py"}
    assert found["19_ReLU/2.py"].reused == ""
    assert invoke("batch", "sub", "--run", "r", "--fresh").exit_code == 0
    assert {record.reused for record in records("r")} == {""}


def test_a_line_for_every_record_and_what_to_do_next(here, invoke, wrong, failing):
    lay(here / "sub", {"19_ReLU/0.py": wrong, "19_ReLU/1.py": failing})
    result = invoke("batch", "sub", "--run", "r")
    shown = result.stderr.splitlines()
    assert shown[0].startswith("wrong       level1/19_ReLU  19_ReLU/0.py  values: ")
    assert "19_ReLU/1.py (sample 1)  at run, exception: ValueError: no such kernel" in shown[1]
    *reasons, counted, advice = result.stdout.splitlines()
    assert reasons[0].startswith("1 x wrong, values (19_ReLU/0.py): output: 128 of 128 elements differ")
    assert reasons[1] == "1 x failed at run, exception (19_ReLU/1.py): ValueError: no such kernel"
    assert counted == "2 submissions, judged now: 1 wrong, 1 failed"
    assert advice == "harness leaderboard r ranks them"


def test_a_set_number_holds_for_the_problems_that_have_it(here, invoke, wrong):
    sizeless = (here / "problems/level1/19_ReLU.py").read_text().replace("batch_size = 4\n", "batch_size = (4)[0:]\n")
    sizeless = sizeless.replace("batch_size = (4)[0:]", "rows = 4").replace("batch_size", "rows")
    lay(here, {"problems/level1/21_Rows.py": sizeless, "sub/19_ReLU.py": wrong, "sub/21_Rows.py": wrong})
    assert invoke("batch", "sub", "--run", "r", "--set", "batch_size=2").exit_code == 0
    assert [record.problem.workload.settings for record in records("r")] == [{"batch_size": 2}, {}]


def test_files_that_answer_no_problem_are_named_left_out_and_counted(here, invoke, failing):
    lay(here / "sub", {"19_ReLU/0.py": failing, "notes.txt": "x", "level_1_problem_999_sample_0_kernel.py": failing})
    result = invoke("batch", "sub", "--run", "r")
    assert result.exit_code == 0
    assert "left out    notes.txt: There is no problem 'notes'" in result.stderr
    assert "left out    level_1_problem_999_sample_0_kernel.py: There is no problem" in result.stderr
    assert "1 submissions, judged now: 1 failed\n2 files answer no problem and were left out: " in result.stdout
    assert [record.submission.path for record in records("r")] == ["19_ReLU/0.py"]


def test_a_strict_batch_refuses_a_file_that_answers_no_problem(here, invoke, failing):
    lay(here / "sub", {"19_ReLU/0.py": failing, "notes.txt": "x"})
    result = invoke("batch", "sub", "--run", "r", "--strict")
    assert result.exit_code == 2
    assert "notes.txt: There is no problem 'notes'" in result.stderr
    assert not (here / "runs").exists()


# A part of the problems


def test_only_the_problems_that_are_named_are_judged_and_count(here, invoke, failing):
    lay(here / "sub", {"19_ReLU/0.py": failing, "20_Raising/0.py": failing})
    assert invoke("batch", "sub", "--run", "r", "--only", "1-19").exit_code == 0
    assert [record.problem.name for record in records("r")] == ["19_ReLU"]
    assert open_run("r").manifest.problems == ("level1/19_ReLU",)
    assert invoke("batch", "sub", "--run", "r", "--only", "level1/20-30").exit_code == 3  # it raises
    assert open_run("r").manifest.problems == ("level1/19_ReLU", "level1/20_Raising")


def test_only_what_nothing_answers_is_refused(here, invoke, failing):
    lay(here / "sub", {"19_ReLU/0.py": failing})
    result = invoke("batch", "sub", "--run", "r", "--only", "20_Raising")
    assert result.exit_code == 2
    assert "none of the 1 submissions answers a problem that --only names" in result.stderr
    result = invoke("batch", "sub", "--run", "r", "--only", "30-40")
    assert "There is no problem with a number from 30 to 40" in result.stderr


def test_a_subset_of_the_same_problems_continues_a_run_and_a_changed_problem_does_not(here, invoke, failing):
    lay(here / "sub", {"19_ReLU/0.py": failing})
    assert invoke("batch", "sub", "--run", "r").exit_code == 0
    relu = (here / "problems/level1/19_ReLU.py").read_text()
    lay(here, {"subset/level1/19_ReLU.py": relu, "sub/19_ReLU/1.py": failing})
    assert "judged now: 1 failed" in invoke("batch", "sub", "--run", "r", "--problems", "subset").stdout
    lay(here, {"subset/level1/19_ReLU.py": relu + "# changed"})
    result = invoke("batch", "sub", "--run", "r", "--problems", "subset")
    assert result.exit_code == 2
    assert "the hash of level1/19_ReLU is" in result.stderr


# Two folders with the same names


def test_another_folder_with_the_same_names_is_refused_until_it_is_said_what_is_meant(here, invoke, wrong, failing):
    lay(here, {"a/19_ReLU/0.py": wrong, "b/19_ReLU/0.py": failing})
    assert invoke("batch", "a", "--run", "r").exit_code == 0
    result = invoke("batch", "b", "--run", "r")
    assert result.exit_code == 2
    assert "run r has a verdict on another text named 19_ReLU/0.py, not from b: --model NAME keeps" in result.stderr
    assert [record.verdict.kind for record in records("r")] == ["wrong"]
    assert invoke("batch", "b", "--run", "r", "--model", "b").exit_code == 0
    assert [(record.submission.model, record.verdict.kind) for record in records("r")] == [
        ("", "wrong"),
        ("b", "failed"),
    ]


def test_fresh_judges_everything_again_and_the_new_verdict_counts(here, invoke, wrong, failing):
    lay(here, {"a/19_ReLU/0.py": wrong, "b/19_ReLU/0.py": failing})
    assert invoke("batch", "a", "--run", "r").exit_code == 0
    assert "judged now: 1 failed" in invoke("batch", "b", "--run", "r", "--fresh").stdout
    assert [record.verdict.kind for record in records("r")] == ["failed"]
    assert "judged now: 1 failed" in invoke("batch", "b", "--run", "r", "--fresh").stdout


# Resuming, shards


def test_a_submission_that_was_edited_is_judged_again_and_only_its_last_verdict_counts(here, invoke, wrong, failing):
    lay(here / "sub", {"19_ReLU/0.py": wrong})
    invoke("batch", "sub", "--run", "r")
    lay(here / "sub", {"19_ReLU/0.py": failing})
    assert "judged now: 1 failed" in invoke("batch", "sub", "--run", "r").stdout
    assert [record.verdict.kind for record in records("r")] == ["failed"]
    assert [line["verdict"]["kind"] for line in lines(here / "runs/r")] == ["wrong", "failed"]
    (row,) = json.loads(invoke("leaderboard", "r", "--format", "json").stdout)["rows"]
    assert row["submissions"] == 1
    assert "nothing was left" in invoke("batch", "sub", "--run", "r").stdout


def test_a_second_start_judges_only_what_is_left(here, invoke, wrong, failing):
    lay(here / "sub", {"19_ReLU/0.py": wrong})
    invoke("batch", "sub", "--run", "r")
    before = (here / "runs/r/records.jsonl").read_bytes()
    lay(here / "sub", {"19_ReLU/1.py": failing})
    result = invoke("batch", "sub", "--run", "r")
    assert "1 of 2 are judged already" in result.stderr
    assert "judged now: 1 failed" in result.stdout
    assert (here / "runs/r/records.jsonl").read_bytes().startswith(before)
    assert len(lines(here / "runs/r")) == 2
    again = invoke("batch", "sub", "--run", "r")
    assert (again.exit_code, len(lines(here / "runs/r"))) == (0, 2)
    assert "judged now: nothing was left" in again.stdout


def test_a_name_that_is_no_text_is_resumed_too(here, invoke, failing):
    lay(here / "sub", {"19_ReLU/0.py": failing})
    os.rename(b"sub/19_ReLU/0.py", b"sub/19_ReLU/\xff_0.py")
    assert invoke("batch", "sub", "--run", "r").exit_code == 0
    assert "judged now: nothing was left" in invoke("batch", "sub", "--run", "r").stdout


def test_shards_cover_everything_once(here, invoke, failing):
    lay(here / "sub", {f"19_ReLU/{number}.py": failing for number in range(7)})
    for part in (1, 2, 3):
        assert invoke("batch", "sub", "--run", "r", "--shard", f"{part}/3").exit_code == 0
    written = [line["submission"]["path"] for line in lines(here / "runs/r")]
    assert sorted(written) == [f"19_ReLU/{number}.py" for number in range(7)]
    assert Counter(path.name for path in (here / "runs/r").glob("records*")) == Counter(
        f"records-{part}-of-3.jsonl" for part in (1, 2, 3)
    )
    assert "nothing was left" in invoke("batch", "sub", "--run", "r").stdout


# Faults of ours and of the machine


@pytest.fixture
def examine_failing(monkeypatch):
    """Makes the first `times` examinations of submissions with any of `parts` in their path meet a machine's fault."""

    def install(*parts: str, times: int) -> list[str]:
        met: list[str] = []

        def failing_examine(draft, **options):
            if any(part in draft.submission.path for part in parts) and len(met) < times:
                met.append(draft.submission.path)
                raise ToolchainError("g++ cannot be found: install it or mend the PATH.")
            examine(draft, **options)

        monkeypatch.setattr("harness.controller.evaluate.examine", failing_examine)
        return met

    return install


def test_a_fault_is_tried_again_when_all_others_are_done(here, invoke, wrong, failing, examine_failing):
    lay(here / "sub", {"19_ReLU/0.py": failing, "19_ReLU/1.py": wrong})
    examine_failing("0.py", times=1)
    result = invoke("batch", "sub", "--run", "r")
    assert result.exit_code == 0
    assert result.stderr.startswith("to be tried again: not judged")
    assert [line["verdict"]["kind"] for line in lines(here / "runs/r")] == ["wrong", "failed"]


def test_a_fault_that_stays_is_kept_as_one_and_tried_again_by_the_next_start(
    here, invoke, wrong, failing, examine_failing
):
    lay(here / "sub", {"19_ReLU/0.py": failing, "19_ReLU/1.py": wrong})
    met = examine_failing("0.py", "control.py", times=3)
    result = invoke("batch", "sub", "--run", "r")
    assert result.exit_code == 3
    assert result.stderr.endswith("give the same command again once that is mended\n")
    assert "1 could not be judged" in result.stdout
    assert met == ["19_ReLU/0.py", "19_ReLU/0.py", "control.py"]
    kept = {record.submission.path: record.verdict for record in records("r")}
    assert kept["19_ReLU/0.py"].kind == "infrastructure"
    assert kept["19_ReLU/0.py"].detail == "g++ cannot be found: install it or mend the PATH."
    assert invoke("batch", "sub", "--run", "r").exit_code == 0
    assert sorted(record.verdict.kind for record in records("r")) == ["failed", "wrong"]


def test_a_fault_that_stays_and_that_a_submission_of_ours_does_not_meet_is_the_submission_s_own(
    here, invoke, wrong, failing, examine_failing
):
    lay(here / "sub", {"19_ReLU/0.py": failing, "19_ReLU/1.py": wrong})
    examine_failing("0.py", times=1000)
    result = invoke("batch", "sub", "--run", "r", *UNTIMED)
    assert result.exit_code == 0
    kept = {record.submission.path: record.verdict for record in records("r")}
    assert set(kept) == {"19_ReLU/0.py", "19_ReLU/1.py"}
    assert (kept["19_ReLU/0.py"].kind, kept["19_ReLU/0.py"].reason) == ("failed", "protocol")
    assert "not with a submission of ours: g++ cannot be found" in kept["19_ReLU/0.py"].detail


def test_a_fault_that_goes_once_ours_has_not_met_it_is_nobody_s(here, invoke, wrong, failing, examine_failing):
    lay(here / "sub", {"19_ReLU/0.py": failing, "19_ReLU/1.py": wrong})
    met = examine_failing("0.py", times=2)
    assert invoke("batch", "sub", "--run", "r", *UNTIMED).exit_code == 0
    assert met == ["19_ReLU/0.py", "19_ReLU/0.py"]
    kept = {record.submission.path: record.verdict for record in records("r")}
    assert (kept["19_ReLU/0.py"].kind, kept["19_ReLU/0.py"].reason) != ("failed", "protocol")


def test_a_crowd_that_meets_faults_does_not_end_the_batch_where_a_submission_of_ours_meets_none(
    here, invoke, wrong, failing, examine_failing
):
    crowd = {f"19_ReLU/hostile{number}.py": failing for number in range(12)}
    lay(here / "sub", {**crowd, "19_ReLU/zz.py": wrong})
    met = examine_failing("hostile", times=12)
    result = invoke("batch", "sub", "--run", "r", *UNTIMED)
    assert result.exit_code == 0
    assert len(met) == 12
    assert len(records("r")) == 13
    assert {record.verdict.kind for record in records("r")} == {"failed", "wrong"}


def test_a_machine_that_judges_nothing_ends_the_batch(here, invoke, failing, examine_failing):
    lay(here / "sub", {f"19_ReLU/{number}.py": failing for number in range(30)})
    met = examine_failing(".py", times=1000)
    result = invoke("batch", "sub", "--run", "r")
    assert result.exit_code == 3
    assert "submissions in a row could not be judged, the last because: g++ cannot be found" in result.stderr
    assert len(met) <= 31, "nothing is tried again on such a machine; one of them is ours"
    assert records("r") == []


def test_a_problem_that_raises_is_named_and_the_batch_goes_on(here, invoke, failing):
    right = (here / "right.py").read_text()
    lay(here / "sub", {"20_Raising/0.py": right, "19_ReLU/0.py": failing})
    result = invoke("batch", "sub", "--run", "r")
    assert result.exit_code == 3
    kept = {record.problem.name: record.verdict for record in records("r")}
    assert kept["19_ReLU"].kind == "failed"
    assert kept["20_Raising"].kind == "infrastructure"
    assert "level1/20_Raising" in kept["20_Raising"].detail
    assert "KeyError: 'no weights'" in kept["20_Raising"].detail


def test_a_judge_that_cannot_be_started_ends_the_batch(here, invoke, failing, shared_session, monkeypatch):
    lay(here / "sub", {"19_ReLU/0.py": failing})

    def lost(seat):
        raise DeviceError("the GPU cannot be used")

    shared_session.seats[0].close()
    monkeypatch.setattr(session_module.JudgeSeat, "_start", lost)
    result = invoke("batch", "sub", "--run", "r")
    assert result.exit_code == MachineError.exit_status
    assert result.stderr.endswith("harness: the GPU cannot be used\n")
    assert records("r") == []


# Bad input


@pytest.mark.parametrize(
    ("files", "options", "sentence"),
    [
        ({}, [], "sub does not exist"),
        ({"README.md": "none"}, [], "sub holds no submissions"),
        ({"notes.txt": "x"}, [], "There is no problem 'notes'"),
        ({"level_1_problem_99_sample_0_kernel.py": "x"}, [], "There is no problem 'level_1_problem_99'"),
        ({"generations.csv": "file\na.txt\n"}, [], "has no column 'problem'"),
        ({"generations.csv": "file,problem\nabsent.txt,19_ReLU\n"}, [], "row 1: there is no file"),
        ({"generations.csv": 'file,problem\n"a.txt,19_ReLU\n'}, [], "is not a valid CSV file"),
        ({"a.txt": "x", "generations.csv": "file,problem\na.txt,19_ReLU\na.txt,level1/19_ReLU\n"}, [], "twice"),
        ({"19_ReLU.py": "x"}, ["--problems", "absent"], "There are no problems at absent"),
        ({"19_ReLU.py": "x"}, ["--set", "width=3"], "'width': --set knows batch_size, dim"),
        ({"19_ReLU.py": "x"}, ["--set", "dim=1.5"], "must be a whole number"),
        ({"19_ReLU.py": "x"}, ["--device", "nonsense"], "give auto, cpu, cuda or cuda:N"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2_before_anything_starts(
    here, invoke, monkeypatch, files, options, sentence
):
    lay(here / "sub", files)
    monkeypatch.setattr(session_module, "open_session", lambda *_, **__: pytest.fail("started a session"))
    result = invoke("batch", "sub", "--run", "new", *options)
    assert result.exit_code == 2, result.stderr
    assert sentence in result.stderr
    assert result.stderr.startswith("harness: ")
    assert result.stderr.count("\n") == 1
    assert not (here / "runs").exists()


@pytest.mark.parametrize("shard", ["0/2", "3/2", "1", "1/0", "a/b"])
def test_a_shard_that_cannot_be_is_bad_usage(invoke, shard):
    result = invoke("batch", "sub", "--run", "r", "--shard", shard)
    assert result.exit_code == 2
    assert "give i/N with i from 1 to N" in result.stderr


def test_a_run_of_a_newer_schema_or_with_other_settings_is_left_alone(here, invoke, failing):
    lay(here / "sub", {"19_ReLU.py": failing})
    assert invoke("batch", "sub", "--run", "r").exit_code == 0
    result = invoke("batch", "sub", "--run", "r", "--timeout", "7")
    assert result.exit_code == 2
    assert "timeout_s is 60.0 there and 7.0 here. Choose another run name" in result.stderr
    kept = here / "runs/r/records.jsonl"
    kept.write_text(kept.read_text().replace('"schema_version":1', '"schema_version":2', 1))
    before = kept.read_text()
    result = invoke("batch", "sub", "--run", "r")
    assert result.exit_code == 2
    assert "was written by a newer harness (schema 2" in result.stderr
    assert kept.read_text() == before


def test_a_gpu_that_is_not_there_is_status_3_and_nothing_is_written(here, invoke, failing, monkeypatch):
    lay(here / "sub", {"19_ReLU.py": failing})
    monkeypatch.setattr(cuda, "visible_gpus", list)
    result = invoke("batch", "sub", "--run", "new", "--device", "cuda:0")
    assert result.exit_code == 3
    assert "there is no NVIDIA GPU here: use --device cpu" in result.stderr
    assert not (here / "runs").exists()


# As a process


def without_compilers(here: Path) -> dict[str, str]:
    """A PATH and a cache without a compiler and what it made."""
    (here / "empty").mkdir()
    return {"PATH": str(here / "empty"), "XDG_CACHE_HOME": str(here / "cache")}


def test_without_a_compiler_only_what_must_be_compiled_is_not_judged(here, start, failing):
    lay(here / "sub", {"19_ReLU/0.py": failing, "19_ReLU/1.py": COMPILED})
    arguments = ["batch", "sub", "--run", "r", "--device", "cpu"]
    _, stderr = (process := start(arguments, cwd=here, **without_compilers(here))).communicate(timeout=120)
    assert process.returncode == 3
    assert "Traceback" not in stderr
    kept = {record.submission.sample: record.verdict for record in records(here / "runs/r")}
    assert kept[0].kind == "failed"
    assert kept[1].kind == "infrastructure"
    assert "install" in kept[1].detail


TEN = {
    "returns_its_input": ("wrong", "aliased-input"),
    "returns_zeros": ("wrong", "values"),
    "returns_a_shorter_tensor": ("wrong", "shape"),
    "is_no_python": ("failed", "syntax"),
    "fails_to_compile": ("failed", "compile"),
    "has_no_model": ("failed", "missing"),
    "loops_for_ever": ("failed", "timeout"),
    "segfaults": ("failed", "crash"),
    "leaves_with_status_zero": ("failed", "exit"),
    "takes_forty_gigabytes": ("failed", "out-of-memory"),
}


@pytest.mark.slow  # one of them is compiled with torch's own headers where no test before this one has done it
@pytest.mark.timeout(500)
def test_the_batch_around_ten_that_fail_in_ten_ways_completes(here, start):
    texts = {name: ADVERSARIAL[name].read_text() for name in TEN if name in ADVERSARIAL}
    texts["is_no_python"] = "class ModelNew(:\n"
    texts["forks"] = ADVERSARIAL["forks_without_end"].read_text()
    texts["right"] = (here / "right.py").read_text()
    lay(here / "sub", {f"{name}/19_ReLU/0.py": text for name, text in texts.items()})
    limits = ["--timeout", "5", "--memory", "4", *UNTIMED, "--audit", "none"]
    arguments = ["batch", "sub", "--run", "r", "--device", "cpu", *limits]
    process = start(arguments, cwd=here)
    _, stderr = process.communicate(timeout=400)
    assert process.returncode == 0, stderr
    verdicts = {record.submission.model: record.verdict for record in records(here / "runs/r")}
    assert len(lines(here / "runs/r")) == len(texts)
    assert {name: (verdicts[name].kind, verdicts[name].reason) for name in TEN} == TEN
    assert verdicts["right"].kind == "correct"
    assert verdicts["forks"].kind == "failed"


# Dying


def marked(mark: str) -> dict[int, str]:
    """The living processes whose environment or command line holds `mark`, and those that they started."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                words = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
                state = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
            except OSError:
                continue
            if mark.encode() in words and state != "Z":
                found[int(entry.name)] = words.replace(b"\0", b" ")[-200:].decode(errors="replace")
    return found


def wait_until_gone(mark: str, seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while left := marked(mark):
        assert time.monotonic() < deadline, f"left behind: {left}"
        time.sleep(0.05)


def wait_for_records(path: Path, count: int, process: subprocess.Popen[str]) -> None:
    """Returns as soon as the file has `count` lines: around the moment at which the last of them is made durable."""
    while (path.read_bytes().count(b"\n") if path.exists() else 0) < count:
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.001)


def path_with(mark: str) -> str:
    """A PATH that every process of the batch inherits, sandboxed ones too, and can be told by."""
    return f"{os.environ['PATH']}:/{mark}"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_batch_at_once_and_leaves_nothing(here, start, failing, number):
    mark = f"mark-{random.getrandbits(64):x}"
    endless = ADVERSARIAL["loops_on_import"].read_text()
    lay(here / "sub", {"19_ReLU/0.py": failing, "19_ReLU/1.py": endless, "19_ReLU/2.py": failing + "# another"})
    process = start(["batch", "sub", "--run", "r", "--device", "cpu", "--builders", "1"], here, PATH=path_with(mark))
    wait_for_records(here / "runs/r/records.jsonl", 1, process)
    time.sleep(0.5)
    assert marked(mark)
    began = time.monotonic()
    process.send_signal(number)
    _, stderr = process.communicate(timeout=30)
    assert time.monotonic() - began < 5
    assert process.returncode == 128 + number
    assert stderr.endswith("harness: interrupted; what was judged is kept, and the same command goes on from there\n")
    assert "Traceback" not in stderr
    wait_until_gone(mark)
    samples = sorted(record.submission.sample for record in records(here / "runs/r"))
    assert samples in ([0], [0, 2]), "1 never ends"


# Timing a right answer takes seconds, and emulated ones are never timed: few of the first kind, so that some kills meet
# the clock, and the rest of the second.
MIXTURE = {
    "right": 2, "right_emulated": 8, "wrong": 26, "failing": 18, "has_no_model": 8, "segfaults": 5,
    "leaves_with_status_zero": 5,
}  # fmt: skip
KINDS = {"right": "correct", "right_emulated": "correct", "wrong": "wrong"}
KILLS_WHILE_STARTING = 2
KILLS_WHILE_JUDGING = 8


@pytest.mark.slow  # 72 candidates and eleven starts
@pytest.mark.timeout(400)
def test_ten_kills_at_random_moments_lose_nothing_and_repeat_nothing(here, start):
    mark = f"mark-{random.getrandbits(64):x}"
    chance = random.Random(seed := random.getrandbits(32))
    print("seed", seed)  # shown where the test fails
    names = [name for name, count in MIXTURE.items() for _ in range(count)]
    chance.shuffle(names)
    right = (here / "right.py").read_text()
    lay(here, {"right.py": right.replace("sleep(0)", "sleep(0.0005)"), "right_emulated.py": f"{right}WHERE = 'cuda'\n"})
    texts = {
        name: (path if (path := here / f"{name}.py").exists() else ADVERSARIAL[name]).read_text() for name in MIXTURE
    }
    lay(here / "sub", {f"19_ReLU/{number}.py": texts[name] for number, name in enumerate(names)})
    arguments = ["batch", "sub", "--run", "r", "--device", "cpu", "--timing", "0", "--timeout", "20"]
    kept = here / "runs/r/records.jsonl"
    starting = set(chance.sample(range(KILLS_WHILE_STARTING + KILLS_WHILE_JUDGING), KILLS_WHILE_STARTING))
    for kill in range(KILLS_WHILE_STARTING + KILLS_WHILE_JUDGING):
        process = start(arguments, here, PATH=path_with(mark))
        if kill in starting:
            time.sleep(chance.uniform(0.05, 2.0))
        else:
            before = kept.read_bytes().count(b"\n") if kept.exists() else 0
            wait_for_records(kept, before + chance.randint(1, 5), process)
            time.sleep(chance.choice([0.0, chance.uniform(0.0, 0.3)]))
        process.kill()
        process.communicate(timeout=30)
        wait_until_gone(mark)
    process = start(arguments, here, PATH=path_with(mark))
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    wait_until_gone(mark)
    written = [line["submission"]["sample"] for line in lines(kept.parent)]
    assert Counter(written) == Counter(range(len(names)))
    run = open_run(kept.parent)
    for record in run.records():
        name = names[record.submission.sample]
        assert record.verdict.kind == KINDS.get(name, "failed"), record.verdict
        assert (record.timing is not None) == (name == "right")
        assert (run.artifacts(record) / "submission.txt").read_text() == texts[name]


# Stock's word


@pytest.mark.slow
def test_a_sample_is_told_first_and_confirmed_by_stock_then_and_so_is_what_ranks_first(here, invoke, monkeypatch):
    lay(here / "sub", {"19_ReLU/0.py": COMPILED})
    monkeypatch.setattr("harness.controller.evaluate.ONE_IN", 1)
    result = invoke("batch", "sub", "--run", "r", "--audit", "sample")
    assert "judged now: 1 correct" in result.stdout
    assert result.stdout.endswith("stock was asked about 1 of them and agreed\n")
    assert [(line["verdict"]["kind"], line["confirmed"]) for line in lines(here / "runs/r")] == [
        ("correct", "none"),
        ("correct", "stock"),
    ]
    assert invoke("batch", "sub", "--run", "s", "--audit", "none").exit_code == 0
    assert "unconfirmed by stock" in invoke("leaderboard", "s").stdout
    confirmed = invoke("runs", "confirm", "s", "--problems", "problems", "--device", "cpu")
    assert confirmed.exit_code == 0, confirmed.output
    assert "1 confirmed" in confirmed.stdout
    assert "unconfirmed" not in invoke("leaderboard", "s").stdout
    assert "nothing is left to ask" in invoke("runs", "confirm", "s", "--problems", "problems").stdout
