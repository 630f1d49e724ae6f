"""Candidates under AddressSanitizer, for real: from the build to the line of the record."""

import dataclasses
from pathlib import Path

import pytest

from harness.catalog import read_problem
from harness.controller.evaluate import evaluate
from harness.controller.inspection import Inspection, worth_inspecting
from harness.inspect import Invocation
from harness.inspect import tools as tools_module
from harness.intake import extract, read_submission
from harness.schema import Candidate, Correct, Failed, Infrastructure, Problem, Wrong
from harness.schema.record import ToolReport

DATA = Path(__file__).parent.parent / "data"
CANDIDATES = DATA / "inspected"


@pytest.fixture(scope="session")
def problem() -> Problem:
    return read_problem(DATA / "problems" / "relu.py")


def candidate(text: str, path: Path) -> Candidate:
    path.write_text(text)
    _, found = extract(read_submission(path))
    assert isinstance(found, Candidate)
    return found


@pytest.fixture
def memcheck(session, problem, tmp_path):
    """Runs a candidate's source under memcheck on a CPU."""

    def run(text: str, *, kind: str = "cpu-emulated", isolation: str = "auto") -> tuple[ToolReport, str]:
        found = candidate(text, tmp_path / "candidate.py")
        settings = session.settings.model_copy(update={"isolation": isolation})
        inspection = Inspection(found, problem, kind, None, settings, session)
        return inspection.run("memcheck", on_phase=lambda name: None)

    return run


def line_of(text: str, words: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if words in line)


EMULATED = (CANDIDATES / "relu.py").read_text()
CPP = (CANDIDATES / "relu_cpp.py").read_text()


def test_a_write_next_to_torchs_memory_is_in_the_record_with_its_line(session, problem, tmp_path):
    text = EMULATED.replace("if (i < n)", "if (i < n + 4)")
    (tmp_path / "candidate.py").write_text(text)
    submission = read_submission(tmp_path / "candidate.py")
    evaluated = evaluate(submission, problem, session=session, tools=("memcheck", "racecheck"))
    memcheck, racecheck = evaluated.record.tools
    assert (memcheck.ran, memcheck.clean) == (True, False)
    assert "write of 4 bytes, 0 bytes" in memcheck.summary
    assert memcheck.lines == (line_of(text, "y[i] ="),)
    assert not racecheck.ran
    assert "AddressSanitizer: heap-buffer-overflow" in evaluated.attachments["memcheck.log"]
    assert "racecheck.log" not in evaluated.attachments
    assert evaluated.record.phases_s["inspect"] > 0


def test_a_read_next_to_an_input_is_found_too(memcheck):
    text = EMULATED.replace("fmaxf(x[i], 0)", "fmaxf(x[i + 1], 0)")
    report, _ = memcheck(text)
    assert "read of 4 bytes" in report.summary
    assert report.lines == (line_of(text, "x[i + 1]"),)


@pytest.mark.parametrize("isolation", ["auto", "basic"])
def test_an_honest_kernel_with_barriers_is_clean(memcheck, isolation):
    report, _ = memcheck(EMULATED, isolation=isolation)
    assert report == ToolReport(tool="memcheck", clean=True, summary="no findings")


def test_plain_cpp_is_checked_as_well(memcheck):
    text = CPP.replace("i < n", "i <= n")
    report, _ = memcheck(text, kind="cpu")
    assert report.lines == (line_of(text, "out[i] ="),)


def test_a_candidate_that_forges_a_clean_report_gains_no_more_than_that(memcheck):
    text = (
        "import os\nimport torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n"
        '        print("========= ERROR SUMMARY: 0 errors", flush=True)\n        os._exit(0)\n'
    )
    report, _ = memcheck(text)
    assert (report.ran, report.clean) == (False, False)


def test_a_flood_of_output_is_capped(memcheck):
    text = (
        "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n"
        "        for _ in range(200):\n            print('x' * 100_000)\n        return x\n"
    )
    _, log = memcheck(text)
    assert len(log) < 300_000


def test_what_raises_under_the_tool_is_not_clean_and_sees_no_more_than_a_worker(memcheck):
    text = (
        "import os\nimport torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n"
        f"        sees = os.access({str(Path(__file__).resolve())!r}, os.R_OK)\n"
        "        raise ValueError('sees the tests:', sees, 'its inputs:', bool(x.min() >= 0 and x.std() > 0.2))\n"
    )
    report, _ = memcheck(text)
    assert (report.ran, report.clean) == (False, False)
    assert "('sees the tests:', False, 'its inputs:', True)" in report.summary


@pytest.mark.parametrize(
    ("verdict", "worth"),
    [
        (Correct(trials=9), True),
        (Wrong(reason="values", detail="", trial="nominal"), True),
        (Failed(stage="run", reason="crash", detail=""), True),
        (Failed(stage="build", reason="compile", detail=""), False),
        (Failed(stage="load", reason="exception", detail=""), False),
        (Infrastructure(detail=""), False),
    ],
)
def test_tools_look_at_what_came_as_far_as_a_call(verdict, worth):
    assert worth_inspecting(verdict) is worth


@pytest.mark.parametrize("name", ["racecheck", "initcheck", "ncu"])
def test_what_needs_a_gpu_is_said_to_be_unsupported_without_one(session, problem, tmp_path, name):
    found = candidate(EMULATED, tmp_path / "candidate.py")
    inspection = Inspection(found, problem, "cpu-emulated", None, session.settings, session)
    report, log = inspection.run(name, on_phase=lambda name: None)
    assert (report.ran, report.clean, log) == (False, False, "")
    assert report.summary.startswith(f"unsupported: {name} needs a GPU")


def test_a_tool_around_the_target_is_heard_to_its_end(session, problem, tmp_path, monkeypatch, output):
    """A stand-in for compute-sanitizer: it starts what it is given, and sums up when that has ended."""
    launcher = tmp_path / "compute-sanitizer"
    (tmp_path / "said").write_text(output("initcheck"))
    launcher.write_text(f'#!/bin/sh\n"$@"\necho "the target ended with $?"\ncat {tmp_path}/said\n')
    for path in (tmp_path, launcher):
        path.chmod(0o755)
    row = tools_module.find_tool("initcheck", "cuda")
    preloaded = tools_module.find_tool("memcheck", "cpu").find()  # what extensions for a CPU are built to have
    started = dataclasses.replace(preloaded, argv=(str(launcher),), readable=(*preloaded.readable, tmp_path))
    monkeypatch.setitem(tools_module._ON_CPU, "initcheck", dataclasses.replace(row, find=lambda: started))
    found = candidate(EMULATED, tmp_path / "candidate.py")
    inspection = Inspection(found, problem, "cpu-emulated", None, session.settings, session)
    report, log = inspection.run("initcheck", on_phase=lambda name: None)
    assert "the target ended with 0" in log
    assert (report.ran, report.clean) == (True, False)
    assert report.lines == (line_of(EMULATED, 'SOURCE = """') + 13,), "line 14 of the string"


def test_a_tool_that_talks_to_its_target_is_not_tried_without_a_network_of_its_own(memcheck, monkeypatch):
    row = tools_module.find_tool("memcheck", "cpu")
    monkeypatch.setitem(tools_module._ON_CPU, "memcheck", dataclasses.replace(row, has_helpers=True))
    report, _ = memcheck(EMULATED, isolation="basic")
    assert not report.ran
    assert "takes full isolation" in report.summary


def test_a_fault_of_the_machine_costs_the_tools_result_alone(memcheck, tmp_path, monkeypatch):
    row = tools_module.find_tool("memcheck", "cpu")
    gone = Invocation(readable=(tmp_path / "gone",))
    monkeypatch.setitem(tools_module._ON_CPU, "memcheck", dataclasses.replace(row, find=lambda: gone))
    report, _ = memcheck(EMULATED)
    assert not report.ran
    assert "gone" in report.summary
