import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.backends import cuda
from harness.cli import main
from harness.controller import session as session_module
from harness.controller.evaluate import evaluate
from harness.errors import ToolchainError
from harness.schema import Record
from harness.store import open_run

UNTIMED = ("--timing", "none")
"""Where nothing is asked of a time, which takes ten times as long as a verdict, and waits for others that time."""


def judged(result) -> Record:
    """The one JSON object on standard output."""
    return Record.model_validate_json(result.stdout)


def relu(*more: str) -> tuple[str, ...]:
    return ("--problem", "level1/19_ReLU", *more)


# Verdicts, exit statuses and what is printed


def test_a_process_exits_with_0_and_prints_one_object_with_the_keys_that_others_build_on(here, start):
    arguments = ["eval", "right.py", *relu(), "--device", "cpu", "--json", "--timing", "0"]
    process = start(arguments, cwd=here)
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    record = json.loads(stdout)
    assert record["schema_version"] == 1
    assert {"set", "name", "sha256", "workload"} <= record["problem"].keys()
    assert {"path", "sha256", "extraction"} <= record["submission"].keys()
    assert {"sha256", "languages"} <= record["candidate"].keys()
    assert record["device"].keys() == {"kind", "name", "gpu"}
    assert record["device"]["kind"] == "cpu"
    assert record["verdict"]["kind"] == "correct"
    assert {"candidate_ms", "reference_ms", "speedup"} <= record["timing"].keys()
    assert record["timing"]["speedup"].keys() == {"value", "low", "high"}
    assert all({"rule", "severity", "detail"} <= flag.keys() for flag in record["flags"])
    assert record["flags"]
    assert record["sandbox"].keys() == {"layers", "missing"}
    phases = [phase for phase in record["phases_s"] if phase != "wait"]  # for another test that is timing
    assert phases == ["extract", "screen", "build", "audit", "load", "check", "time", "alone"]
    assert {"torch", "cuda", "driver", "gpu", "host", "clocks"} <= record["environment"].keys()
    assert Record.model_validate(record).timing is not None
    assert "\x1b" not in stderr


@pytest.mark.parametrize(("name", "status"), [("right.py", 0), ("wrong.py", 1), ("failing.py", 1)])
def test_the_exit_status_is_the_verdict(invoke, name, status):
    result = invoke("eval", name, *relu("--json", *UNTIMED))
    assert result.exit_code == status, result.stderr
    assert judged(result).verdict.kind == {"right.py": "correct", "wrong.py": "wrong", "failing.py": "failed"}[name]


def test_a_mismatch_is_reported_with_count_worst_index_and_both_values(invoke):
    result = invoke("eval", "wrong.py", *relu())
    assert result.exit_code == 1
    verdict = judged(invoke("eval", "wrong.py", *relu("--json"))).verdict
    assert verdict.mismatch.elements == 128
    assert "of 128 elements of output are out of tolerance" in result.stdout
    assert "worst at [" in result.stdout
    assert "got " in result.stdout
    assert "expected " in result.stdout


def test_a_report_tells_the_stages_and_the_traceback_of_a_failure(invoke):
    result = invoke("eval", "failing.py", *relu())
    assert result.exit_code == 1
    assert "at run, exception: ValueError: no such kernel" in result.stdout
    for stage in ("extract", "build", "load", "check"):
        assert stage in result.stdout
    assert "line 9" in result.stdout


def test_nothing_found_is_a_verdict(invoke, here):
    (here / "prose.txt").write_text("I am sorry, I cannot write kernels.\n")
    result = invoke("eval", "prose.txt", *relu("--json"))
    assert result.exit_code == 1
    assert (judged(result).verdict.stage, judged(result).verdict.reason) == ("extract", "empty")
    assert judged(result).candidate is None


# Extraction


def test_a_truncated_response_gives_its_last_whole_block_and_the_record_says_so(invoke, here):
    right = (here / "right.py").read_text()
    (here / "answer.txt").write_text(f"First:\n\n```python\n{right}```\n\nFaster:\n\n```python\n{right[:80]}")
    result = invoke("eval", "answer.txt", *relu("--json", *UNTIMED))
    assert result.exit_code == 0
    extraction = judged(result).submission.extraction
    assert extraction.truncated
    assert [block.outcome for block in extraction.blocks] == ["taken", "skipped"]
    assert extraction.first_line == 4
    assert "the response breaks off" in invoke("eval", "answer.txt", *relu(*UNTIMED)).stdout


@pytest.mark.parametrize(
    ("policy", "kind", "reason"),
    [("last", "failed", "exception"), ("first", "wrong", None), ("strict", "failed", "ambiguous")],
)
def test_extract_chooses_the_block(invoke, here, policy, kind, reason):
    wrong, failing = (here / "wrong.py").read_text(), (here / "failing.py").read_text()
    (here / "two.md").write_text(f"```python\n{wrong}```\n\n```python\n{failing}```\n")
    verdict = judged(invoke("eval", "two.md", *relu("--json", "--extract", policy))).verdict
    assert verdict.kind == kind
    assert reason is None or verdict.reason == reason


# Problems


def test_a_problem_is_a_name_a_file_or_a_name_in_another_folder(invoke, here):
    (here / "elsewhere").mkdir()
    (here / "elsewhere/mine.py").write_text((here / "problems/level1/19_ReLU.py").read_text())
    for options in (
        ["--problem", "19_ReLU"],
        ["--problem", "elsewhere/mine.py"],
        ["--problem", "mine", "--problems", "elsewhere"],
        ["--problem", "mine", "--problems", "elsewhere/mine.py"],
    ):
        record = judged(invoke("eval", "failing.py", *options, "--json"))
        assert record.problem.name == options[1].removeprefix("elsewhere/").removesuffix(".py")
        assert record.verdict.reason == "exception"


def test_a_set_number_is_in_the_record_beside_the_original(invoke):
    record = judged(invoke("eval", "wrong.py", *relu("--json", "--set", "dim=8", "--set", "batch_size=2")))
    assert record.problem.workload.settings == {"dim": 8, "batch_size": 2}
    assert record.problem.workload.original == {"dim": 32, "batch_size": 4}
    assert not record.problem.workload.reduced
    assert record.verdict.mismatch.elements == 16


# Keeping the record


def test_a_record_is_kept_in_a_run_with_what_it_takes_to_doubt_it(invoke, here):
    assert invoke("eval", "failing.py", *relu("--run", "mine")).exit_code == 1
    assert invoke("eval", "wrong.py", *relu("--run", "mine")).exit_code == 1
    run = open_run("mine")
    records = list(run.records())
    assert [record.submission.path for record in records] == ["failing.py", "wrong.py"]
    assert (run.artifacts(records[0]) / "candidate.py").read_text() == (here / "failing.py").read_text()
    assert "no such kernel" in (run.artifacts(records[0]) / "failure.log").read_text()


@pytest.mark.parametrize("spoil", ["newer", "otherwise"])
def test_a_run_that_cannot_take_the_record_is_said_before_anything_is_judged(invoke, here, monkeypatch, spoil):
    invoke("eval", "failing.py", *relu("--run", "mine"))
    manifest = here / "runs/mine/manifest.json"
    if spoil == "newer":
        manifest.write_text(manifest.read_text().replace('"schema_version": 1', '"schema_version": 2'))
    before = (here / "runs/mine/records.jsonl").read_bytes()
    monkeypatch.setattr("harness.controller.engine.evaluate", lambda *_, **__: pytest.fail("judged"))
    result = invoke("eval", "failing.py", *relu("--run", "mine", "--timeout", "7"))
    assert result.exit_code == 2
    assert ("newer harness" if spoil == "newer" else "timeout_s is 60.0 there and 7.0 here") in result.stderr
    assert one_sentence(result.stderr)
    assert (here / "runs/mine/records.jsonl").read_bytes() == before


@contextmanager
def tiny_disk(folder: Path, size: str):
    """A file system of `size` at `folder`. Skips where this process may not mount."""
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(disk: Path) -> None:
    (disk / "filler").write_bytes(b"x" * shutil.disk_usage(disk).free)
    assert shutil.disk_usage(disk).free == 0


def test_a_disk_that_is_full_is_status_3_before_anything_is_judged(invoke, here, monkeypatch):
    monkeypatch.setattr("harness.controller.engine.evaluate", lambda *_, **__: pytest.fail("judged"))
    with tiny_disk(here / "small", "64k"):
        fill(here / "small")
        result = invoke("eval", "wrong.py", *relu("--run", "small/run", "--json"))
    assert result.exit_code == 3
    assert "is full" in result.stderr
    assert one_sentence(result.stderr)


def test_a_disk_that_fills_up_is_status_3_with_the_record_printed_and_no_half_of_it_kept(invoke, here, monkeypatch):
    with tiny_disk(here / "small", "64k"):
        assert invoke("eval", "failing.py", *relu("--run", "small/run")).exit_code == 1
        with monkeypatch.context() as patch:

            def judge_and_fill(*arguments, **options):
                evaluated = evaluate(*arguments, **options)
                fill(here / "small")
                return evaluated

            patch.setattr("harness.controller.engine.evaluate", judge_and_fill)
            result = invoke("eval", "wrong.py", *relu("--run", "small/run", "--json"))
        assert result.exit_code == 3
        assert judged(result).verdict.kind == "wrong"
        assert "is full" in result.stderr
        assert one_sentence(result.stderr)
        assert [record.submission.path for record in open_run(here / "small/run").records()] == ["failing.py"]
        (here / "small/filler").unlink()
        assert invoke("eval", "wrong.py", *relu("--run", "small/run", "--json")).exit_code == 1
        assert len(list(open_run(here / "small/run").records())) == 2


# Bad usage, bad input, a machine that cannot


def one_sentence(stderr: str) -> bool:
    return stderr.startswith("harness: ") and stderr.count("\n") == 1 and "Traceback" not in stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["absent.py", *relu()], "There is no file absent.py"),
        (["problems", *relu()], "problems is a folder"),
        (["right.py", "--problem", "19_RELU"], "did you mean level1/19_ReLU?"),
        (["right.py", "--problem", "absent.py"], "There is no file absent.py"),
        (["right.py", *relu(), "--problems", "absent"], "There are no problems at absent"),
        (["right.py", "--problem", "modelless.py"], "defines no Model"),
        (["right.py", "--problem", "broken.py"], "is not valid Python on line 1"),
        (["right.py", *relu("--set", "width=3")], "sets no number named 'width'; it sets batch_size=4, dim=32"),
        (["right.py", *relu("--set", "dim=1.5")], "must be a whole number"),
        (["right.py", *relu("--device", "nonsense")], "give auto, cpu, cuda or cuda:N"),
        (["right.py", *relu("--device", "cuda:x")], "give auto, cpu, cuda or cuda:N"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2_before_anything_starts(here, invoke, monkeypatch, arguments, sentence):
    (here / "modelless.py").write_text("def get_inputs(): ...\ndef get_init_inputs(): ...\n")
    (here / "broken.py").write_text("def get_inputs(:\n")
    monkeypatch.setattr(session_module, "open_session", lambda *_, **__: pytest.fail("started a session"))
    result = invoke("eval", *arguments, "--json", "--run", "new")
    assert result.exit_code == 2, result.stderr
    assert sentence in result.stderr
    assert one_sentence(result.stderr)
    assert result.stdout == ""
    assert not (here / "runs").exists()


def test_a_tool_that_is_not_installed_is_said_before_anything_starts(here, invoke, monkeypatch):
    monkeypatch.setattr(session_module, "open_session", lambda *_, **__: pytest.fail("started a session"))
    monkeypatch.setattr("harness.inspect.tools.cxx_compiler", lambda: "/bin/true")
    result = invoke("eval", "right.py", *relu("--sanitize", "memcheck", "--device", "cpu", "--run", "new"))
    assert result.exit_code == 2
    assert one_sentence(result.stderr)
    assert "install libasan" in result.stderr
    assert not (here / "runs").exists()


@pytest.mark.parametrize("option", [["--set", "dim"], ["--set", "dim=x"], ["--timeout", "0"], ["--extract", "best"]])
def test_bad_usage_is_status_2(invoke, option):
    result = invoke("eval", "right.py", *relu(*option))
    assert result.exit_code == 2
    assert result.stderr.startswith("Usage: ")


def test_a_gpu_that_is_not_there_is_status_3_and_nothing_is_written(here, invoke, monkeypatch):
    monkeypatch.setattr(cuda, "visible_gpus", list)
    result = invoke("eval", "right.py", *relu("--device", "cuda", "--run", "new"))
    assert result.exit_code == 3
    assert "there is no NVIDIA GPU here: use --device cpu" in result.stderr
    assert one_sentence(result.stderr)
    assert not (here / "runs").exists()


def test_a_problem_that_raises_is_the_problems_fault_and_no_verdict(here, invoke):
    result = invoke("eval", "right.py", "--problem", "20_Raising", "--json", "--run", "new")
    assert result.exit_code == 2
    assert "level1/20_Raising" in result.stderr
    assert "KeyError: 'no weights'" in result.stderr
    assert one_sentence(result.stderr)
    assert result.stdout == ""
    assert list(open_run("new").records()) == []


def test_a_missing_compiler_is_status_3(here, invoke, shared_session, monkeypatch):
    def missing(*_, **__):
        raise ToolchainError("g++ cannot be found: install it or mend the PATH.")

    monkeypatch.setattr(shared_session, "build", missing)
    (here / "compiled.py").write_text(COMPILED)
    result = invoke("eval", "compiled.py", *relu("--json"))
    assert result.exit_code == 3
    assert result.stderr == "harness: g++ cannot be found: install it or mend the PATH.\n"
    assert result.stdout == ""


COMPILED = """
import torch
from torch.utils.cpp_extension import load_inline

extension = load_inline(name="nothing", cpp_sources="int one() { return 1; }", functions=["one"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
"""


@pytest.mark.parametrize("command", [("eval", "right.py", *relu()), ("batch", ".", "--run", "one")])
def test_a_flag_that_does_not_exist_is_bad_usage(invoke, here, command):
    result = invoke(*command, "--reject", "reduced-precison")
    assert result.exit_code == 2
    assert "Invalid value for '--reject'" in result.stderr
    assert "did you mean reduced-precision?" in result.stderr
    assert "no-custom-kernel" in result.stderr
    assert not (here / "runs").exists()


def test_a_flag_that_exists_rejects(invoke):
    verdict = judged(invoke("eval", "right.py", *relu("--json", "--reject", "no-custom-kernel", *UNTIMED))).verdict
    assert (verdict.kind, verdict.rule) == ("rejected", "no-custom-kernel")


# Several, standard input, and every time a file is saved


def test_several_are_judged_in_one_session_and_shown_side_by_side(invoke, here):
    (here / "other.py").write_text((here / "right.py").read_text())
    result = invoke("eval", "right.py", "wrong.py", "other.py", *relu("--json", *UNTIMED))
    assert result.exit_code == 1
    kinds = [each["verdict"]["kind"] for each in json.loads(result.stdout)]
    assert kinds == ["correct", "wrong", "correct"]
    result = invoke("eval", "right.py", "other.py", *relu())
    assert result.exit_code == 0
    assert "over the reference" in result.stdout
    assert result.stdout.count(" CORRECT ") == 2


def test_files_whose_names_differ_in_stray_bytes_have_records_of_their_own(invoke, here):
    os.mkdir(b"\xfd")
    names = [b"right\xff.py", b"right\xfe.py", b"\xfd/right.py"]
    for name in names:
        shutil.copy("right.py", name)
    problem = os.fsdecode(b"\xfd/relu\xfc.py")
    shutil.copy("problems/level1/19_ReLU.py", problem)
    asked = (*map(os.fsdecode, names), "--problem", problem, *UNTIMED, "--run", os.fsdecode(b"run\xfb"))
    result = invoke("eval", *asked, "--json")
    assert result.exit_code == 0, result.stderr
    told = ["right\\udcff.py", "right\\udcfe.py", "\\udcfd/right.py"]
    records = json.loads(result.stdout)
    assert [each["submission"]["path"] for each in records] == told
    assert {each["problem"]["name"] for each in records} == {"relu\\udcfc"}
    assert invoke("eval", *asked).stdout.count("right\\udcff.py") > 0
    for shown in ("table", "csv", "json"):
        result = invoke("leaderboard", os.fsdecode(b"runs/run\xfb"), "--format", shown)
        assert result.exit_code == 0, result.stderr
    kept = open_run(os.fsdecode(b"run\xfb"))
    assert sorted(each.submission.path for each in kept.records()) == sorted(told)
    assert len(list((kept.folder / "artifacts").iterdir())) == 3


def test_two_that_are_compared_are_compared_with_each_other(invoke, here):
    text = (here / "right.py").read_text()
    (here / "slow.py").write_text(text.replace("sleep(0)", "sleep(0.001)"))
    (here / "right.py").write_text(text.replace("time.sleep(0)", "pass"))  # which gives up its core on a busy machine
    result = invoke("compare", "right.py", "slow.py", *relu())
    assert result.exit_code == 0
    assert "times as long as slow.py: right.py is faster" in result.stdout
    assert invoke("compare", "right.py", *relu()).exit_code == 2


def test_a_submission_may_come_on_standard_input(here, start):
    process = start(["eval", "-", *relu(), "--device", "cpu", "--json", *UNTIMED], cwd=here)
    process.communicate(timeout=120)
    assert process.returncode == 1, "its standard input is empty"
    done = subprocess.run(
        [sys.executable, "-m", "harness", "eval", "-", *relu(), "--device", "cpu", "--json", *UNTIMED],
        input=(here / "right.py").read_text(), cwd=here, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["submission"]["path"] == "stdin"


def test_what_is_watched_is_judged_again_when_it_is_saved(here, start):
    process = start(["eval", "wrong.py", *relu(), "--device", "cpu", *UNTIMED, "--watch", "--run", "w"], here)
    try:
        wait_for(lambda: recorded(here) == ["wrong"], process)
        (here / "wrong.py").write_text((here / "right.py").read_text())
        wait_for(lambda: recorded(here) == ["wrong", "correct"], process)
    finally:
        process.send_signal(signal.SIGINT)
        stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    *_, before, latest = [line for line in stdout.splitlines() if line[2:3] == ":"]
    assert "  wrong " in before
    assert "  correct " in latest
    shown = CliRunner().invoke(main, ["runs", "show", "w", "--history"]).stdout.splitlines()
    assert [line.split()[2:5] for line in shown] == [["text", "1", "wrong"], ["text", "2", "correct"]]


def recorded(here: Path) -> list[str]:
    path = here / "runs/w/records.jsonl"
    return [json.loads(line)["verdict"]["kind"] for line in path.read_text().splitlines()] if path.exists() else []


def wait_for(true: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while not true():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.1)
