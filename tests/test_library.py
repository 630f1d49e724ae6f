"""The harness from Python: in a script without a guard, in a notebook, and without torch in the caller's process."""

import asyncio
import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from relu import PROBLEM, RIGHT, WRONG

import harness
from harness import Evaluator, HarnessError, Record, Settings, Submission, evaluate, load_problem
from harness.errors import DeadlineError, InputError, ProblemError
from harness.library import load_submission

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples/library.py"
QUICK = Settings(timing="none")


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    with Evaluator(device="cpu", settings=QUICK) as evaluator:
        yield evaluator


# Settings


def test_a_flag_that_does_not_exist_cannot_be_asked_to_reject() -> None:
    with pytest.raises(InputError, match=r"'reduced-precison' is no flag .*did you mean reduced-precision"):
        Settings(reject=("reduced-precison",))
    assert Settings(reject=("reduced-precision",)).reject == ("reduced-precision",)


# The public names


def test_every_public_name_is_there_and_documented() -> None:
    for name in harness.__all__:
        assert getattr(harness, name).__doc__, name
    assert set(harness.__all__) <= set(dir(harness))
    with pytest.raises(AttributeError, match="'harness' has no attribute 'evaluat'"):
        harness.evaluat  # noqa: B018
    with pytest.raises(ImportError):
        from harness import nothing  # noqa: F401


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import harness", ["pydantic", "torch", "numpy", "harness.library"]),
        ("import harness.cli", ["pydantic", "torch", "numpy", "harness.library"]),
        ("from harness import *", ["torch", "datasets", "openai", "pyarrow"]),
    ],
)
def test_importing_it_imports_nothing_heavy(statement: str, absent: list[str]) -> None:
    code = f"{statement}; import sys; print(*({absent!r} & sys.modules.keys()))".replace(str(absent), str(set(absent)))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


# What may be given


def test_a_problem_is_a_name_a_path_or_text(tmp_path: Path) -> None:
    (tmp_path / "level1").mkdir()
    path = tmp_path / "level1/19_ReLU.py"
    path.write_text(PROBLEM)
    named = load_problem("19_ReLU", problems=tmp_path)
    assert named.title == "level1/19_ReLU"
    for given in (path, str(path), PROBLEM):
        problem = load_problem(given)
        assert (problem.set, problem.source, problem.sha256) == ("", PROBLEM, named.sha256)
    assert load_problem("level1/19_ReLU").title == "level1/19_ReLU"


def test_what_is_no_problem_is_said(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="defines no get_inputs"):
        load_problem("class Model: pass\n")
    with pytest.raises(ProblemError, match="There is no problem 'level9/none'"):
        load_problem("level9/none")


def test_a_submission_is_a_path_or_text(tmp_path: Path) -> None:
    (tmp_path / "19_ReLU_sample_3.py").write_text(RIGHT)
    from_file = load_submission(tmp_path / "19_ReLU_sample_3.py")
    assert from_file.sample == 3
    from_text = load_submission(RIGHT)
    assert (from_text.path, from_text.text, from_text.sha256) == ("text", RIGHT, from_file.sha256)
    with pytest.raises(InputError, match="There is no file"):
        load_submission(Path("no such file"))


def test_half_a_character_in_a_text_leaves_a_record_that_can_be_written_down(evaluator: Evaluator) -> None:
    record = evaluator.evaluate("```\ud800\nimport torch\n```\n", PROBLEM)
    assert record.verdict.kind == "failed"
    assert '"language":"?"' in record.model_dump_json()
    assert load_submission("\ud800").text == "?"


@pytest.mark.parametrize("text", ["", "I cannot do this.", "/etc/passwd", "\n"])
def test_text_is_never_a_file_and_one_without_code_is_a_record(evaluator: Evaluator, text: str) -> None:
    verdict = evaluator.evaluate(text, PROBLEM).verdict
    assert (verdict.kind, verdict.stage) == ("failed", "extract")


# Judging


def test_one_evaluator_judges_many_with_the_same_processes(evaluator: Evaluator, tmp_path: Path) -> None:
    (tmp_path / "answer.md").write_text(f"So:\n```python\n{WRONG}```\n")
    problem = load_problem(PROBLEM)
    found = [
        evaluator.evaluate(RIGHT, problem, settings=Settings(timing_s=0)),
        evaluator.evaluate(tmp_path / "answer.md", PROBLEM),
        evaluator.evaluate(Submission(path="mine", sha256="0" * 64, text=RIGHT, sample=2, model="me"), problem),
        evaluator.evaluate("I am sorry,\nI cannot.", problem),
    ]
    assert [record.verdict.kind for record in found] == ["correct", "wrong", "correct", "failed"]
    assert all(isinstance(record, Record) for record in found)
    assert (found[2].submission.path, found[2].submission.sample, found[2].submission.model) == ("mine", 2, "me")
    assert found[0].timing is not None
    assert found[0].environment == found[2].environment


def test_a_record_is_that_of_the_command_line(evaluator: Evaluator, tmp_path: Path) -> None:
    (tmp_path / "relu.py").write_text(PROBLEM)
    (tmp_path / "answer.md").write_text("I am sorry,\nI cannot.")
    ours = evaluator.evaluate(tmp_path / "answer.md", tmp_path / "relu.py").model_dump(mode="json")
    command = ["eval", "answer.md", "--problem", "relu.py", "--device", "cpu", "--json"]
    done = subprocess.run([sys.executable, "-m", "harness", *command], cwd=tmp_path, capture_output=True, text=True)
    theirs = json.loads(done.stdout)
    theirs["submission"]["path"] = str(tmp_path / "answer.md")
    assert {key for key in ours if ours[key] != theirs[key]} <= {"judged_at", "phases_s"}
    assert theirs["verdict"]["stage"] == "extract"


def test_what_cannot_be_used_is_said_before_anything_is_started() -> None:
    evaluator = Evaluator(device="cpu", settings=Settings(workload={"width": 3}))
    with pytest.raises(HarnessError, match="sets no number named 'width'"):
        evaluator.evaluate(RIGHT, PROBLEM)
    assert evaluator._engine is None
    with pytest.raises(InputError, match="there is no device 'tpu'"):
        evaluate(RIGHT, PROBLEM, device="tpu")


# Many callers


def answer_that_names_itself(number: int) -> str:
    """It fails with its own number, so that a verdict says whose it is."""
    return RIGHT.replace("return x", f"raise RuntimeError('answer {number} of many')\n        return x")


def names(record: Record, number: int) -> bool:
    verdict = record.verdict
    return verdict.kind == "failed" and f"answer {number} of many" in verdict.detail


def test_many_threads_get_the_verdicts_of_their_own_answers(evaluator: Evaluator) -> None:
    with ThreadPoolExecutor(12) as threads:
        found = list(threads.map(lambda n: evaluator.evaluate(answer_that_names_itself(n), PROBLEM), range(40)))
    assert [number for number, record in enumerate(found) if not names(record, number)] == []


def test_many_tasks_of_an_event_loop_get_theirs_though_some_give_up(evaluator: Evaluator) -> None:
    """Those that wait too long go away; what was asked for them is nobody else's answer."""
    chance = random.Random(4)

    async def ask(number: int) -> tuple[int, Record | None]:
        task = evaluator.aevaluate(answer_that_names_itself(number), PROBLEM)
        try:
            return number, await asyncio.wait_for(task, chance.choice([0, 0.01, 0.5, 300]))
        except TimeoutError:
            return number, None

    async def ask_all() -> list[tuple[int, Record | None]]:
        return await asyncio.gather(*(ask(number) for number in range(40)))

    found = asyncio.run(ask_all())
    assert [number for number, record in found if record is not None and not names(record, number)] == []
    assert 0 < sum(record is not None for _, record in found) < 40
    assert names(evaluator.evaluate(answer_that_names_itself(99), PROBLEM), 99)


def test_equal_candidates_are_judged_once_unless_a_fresh_verdict_is_asked(evaluator: Evaluator) -> None:
    code = answer_that_names_itself(7001)
    first = evaluator.evaluate(code, PROBLEM)
    told = f"It is this:\n```python\n{code}```\n"
    second = evaluator.evaluate(told, PROBLEM)
    assert (first.reused, second.reused) == ("", first.submission.sha256)
    assert second.submission.sha256 == load_submission(told).sha256 != first.submission.sha256
    assert (second.verdict, second.candidate) == (first.verdict, first.candidate)
    fresh = evaluator.evaluate(told, PROBLEM, fresh=True)
    assert (fresh.reused, fresh.verdict.kind) == ("", "failed")
    other = evaluator.evaluate(code, PROBLEM, settings=Settings(timing_s=0, precision="bf16"))
    assert other.reused == ""
    again = [record for _, record in evaluator.evaluate_many([(code, PROBLEM), (told, PROBLEM)], fresh=True)]
    assert [record.reused for record in again] == ["", ""]


def test_of_many_equal_ones_at_once_whoever_leaves_the_others_have_their_verdict(evaluator: Evaluator) -> None:
    """Texts differ by what stands before the code; of each candidate one is judged, and another where that leaves."""

    def text(number: int, candidate: int) -> str:
        return f"Number {number}:\n```python\n{answer_that_names_itself(7100 + candidate)}```\n"

    async def ask(number: int) -> tuple[int, Record | None]:
        asked = evaluator.aevaluate(text(number, number % 3), PROBLEM)
        try:
            return number, await asyncio.wait_for(asked, 0.3 if number < 6 else 300)
        except TimeoutError:
            return number, None

    async def ask_all() -> list[tuple[int, Record | None]]:
        return await asyncio.gather(*(ask(number) for number in range(30)))

    found = {number: record for number, record in asyncio.run(ask_all()) if record is not None}
    assert set(range(6, 30)) <= set(found)
    for number, record in found.items():
        assert names(record, 7100 + number % 3)
        assert record.submission.sha256 == load_submission(text(number, number % 3)).sha256
    assert sum(not record.reused for record in found.values()) <= 3
    assert evaluator.drain(60)


def test_options_are_those_of_one_submission(evaluator: Evaluator) -> None:
    with pytest.raises(DeadlineError, match="the deadline was over"):
        evaluator.evaluate(RIGHT, PROBLEM, deadline_s=0.0001)
    half = evaluator.submit(RIGHT, PROBLEM, settings=Settings(timing_s=0, precision="bf16"), priority="high")
    assert half.result().problem.workload.precision == "bf16"
    ((_, late),) = evaluator.evaluate_many([(RIGHT, PROBLEM)], deadline_s=0.0001)
    assert (late.verdict.kind, late.correct) == ("infrastructure", False)
    assert evaluator.drain(60)
    assert evaluator.evaluate(RIGHT, PROBLEM, settings=Settings(timing_s=0)).speedup is not None
    whole = asyncio.run(evaluator.aevaluate(RIGHT, PROBLEM, priority="low"))
    assert whole.problem.workload.precision == "fp32"
    assert set(whole.summary().model_dump()) == {"kind", "compiled", "correct", "speedup", "detail", "flags"}


def test_many_are_judged_as_they_finish_each_with_its_place(evaluator: Evaluator) -> None:
    taken: list[int] = []

    def tasks() -> Iterator[tuple[str, str]]:
        for number in range(30):
            taken.append(number)
            yield (RIGHT if number == 13 else answer_that_names_itself(number)), PROBLEM

    found = {}
    for place, record in evaluator.evaluate_many(tasks()):
        if not found:
            assert len(taken) < 30  # they are taken as they are needed
        found[place] = record
    assert sorted(found) == list(range(30))
    assert (found[13].correct, found[13].compiled) == (True, True)
    assert all(names(record, place) for place, record in found.items() if place != 13)
    assert (found[0].correct, found[0].speedup) == (False, None)


def test_a_future_that_is_cancelled_in_the_queue_is_not_begun(evaluator: Evaluator) -> None:
    futures = [evaluator.submit(answer_that_names_itself(number), PROBLEM) for number in range(20)]
    cancelled = {number for number in range(20) if number % 2 and futures[number].cancel()}
    assert cancelled
    assert all(names(future.result(), n) for n, future in enumerate(futures) if n not in cancelled)


def test_a_fork_of_the_caller_cannot_use_it_and_ends_nothing_by_leaving() -> None:
    script = f"""
import os, sys
from harness import Evaluator, HarnessError, Settings
evaluator = Evaluator(device="cpu", settings=Settings(timing="none"))
print(evaluator.evaluate({RIGHT!r}, {PROBLEM!r}).verdict.kind, flush=True)
if not os.fork():
    try:
        evaluator.evaluate({RIGHT!r}, {PROBLEM!r})
    except HarnessError as error:
        print("fork" in str(error), flush=True)
    sys.exit(0)
os.wait()
print(evaluator.evaluate({WRONG!r}, {PROBLEM!r}).verdict.kind, flush=True)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("correct\nTrue\nwrong\n", "")


# Scripts and notebooks


def cells() -> list[str]:
    """The code cells of the example, as a notebook would run them."""
    parts = re.split(r"(?m)^# %%", EXAMPLE.read_text())
    return [part for part in parts if part.strip() and not part.startswith(" [markdown]")]


def test_an_event_loop_that_runs_is_no_obstacle(evaluator: Evaluator) -> None:
    async def cell() -> Record:
        return evaluator.evaluate(RIGHT, PROBLEM)

    assert asyncio.run(cell()).verdict.kind == "correct"


@pytest.mark.slow
def test_the_example_runs_cell_by_cell_as_in_a_notebook_and_imports_no_torch(tmp_path: Path) -> None:
    """Jupyter executes each cell in one namespace, `__main__`, inside a running event loop."""
    assert len(cells()) >= 4
    host = f"""
import asyncio, sys
from harness.controller import evaluate
evaluate.ONE_IN = 1 << 62  # nobody is drawn to be built by stock as well

async def notebook():
    for cell in {cells()!r}:
        exec(compile(cell, "<cell>", "exec"), globals())

asyncio.run(notebook())
assert "torch" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", host], cwd=tmp_path, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    told = done.stdout
    assert told.startswith("correct on ")
    assert [line.split()[-1] for line in told.splitlines() if line.startswith("right")] == ["correct"]
    for name, verdict in {"forgets a tenth": "wrong", "raises": "failed", "no code": "failed"}.items():
        assert f"{name:<17}{verdict}" in told


def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    asked = f"evaluate({RIGHT!r}, {PROBLEM!r}, device='cpu', settings=Settings(timing='none'))"
    script = f"from harness import Settings, evaluate\nprint({asked}.verdict.kind)\n"
    (tmp_path / "script.py").write_text(script)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("correct\n", "")


def test_a_script_that_closes_nothing_ends_though_it_had_deadlines(tmp_path: Path) -> None:
    script = f"""
from harness import Evaluator, Settings
evaluator = Evaluator(device="cpu", settings=Settings(timing="none"))
print(evaluator.evaluate({RIGHT!r}, {PROBLEM!r}, deadline_s=100).verdict.kind)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("correct\n", "")
