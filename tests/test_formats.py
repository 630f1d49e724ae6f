"""Formats of problems: to add one, add a row; the names of KernelBench's stand in one place."""

import ast
from pathlib import Path

import pytest
import torch

from harness import formats
from harness.catalog.catalog import check
from harness.controller.control import control
from harness.controller.evaluate import _control
from harness.errors import ProblemError
from harness.formats import FORMATS, KERNELBENCH, Format
from harness.intake import extract
from harness.judge.jobs import Job
from harness.judge.problem import load_problem
from harness.schema import Candidate, Problem, Submission
from harness.settings import Settings

HARNESS = Path(formats.__file__).parent
STUB = Format(
    name="stub", layout="the stub's layout", reference="Reference", inputs="draw", arguments="sizes", entry="Kernel"
)
SOURCE = """\
import torch


class Reference(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        return self.scale * x


def draw():
    return [torch.rand(3)]


def sizes():
    return [2]
"""
ANSWER = "```python\nclass Kernel: ...\n```\n"
SHA = "0" * 64


@pytest.fixture
def problem(monkeypatch) -> Problem:
    monkeypatch.setitem(FORMATS, "stub", STUB)
    return Problem(set="", name="p", sha256=SHA, source=SOURCE, format="stub")


def test_a_problem_of_another_format_is_checked_loaded_and_drawn_by_its_names(problem):
    assert check(problem) == problem
    loaded = load_problem("p", problem.source, device=torch.device("cpu"), form=STUB)
    arguments = loaded.init_arguments()
    (drawn,) = loaded.draw(3)
    assert torch.equal(loaded.model(0, arguments)(drawn), 2 * drawn)
    assert loaded.form.entry == "Kernel"


def test_a_problem_that_lacks_a_name_of_its_format_is_told_which(problem):
    lacking = problem.model_copy(update={"source": SOURCE.replace("def sizes", "def others")})
    with pytest.raises(ProblemError, match=r"defines no sizes: a problem file needs a class Reference"):
        check(lacking)
    with pytest.raises(ProblemError, match="defines no sizes: see the stub's layout"):
        load_problem("p", lacking.source, device=torch.device("cpu"), form=STUB)


def test_a_candidate_is_extracted_by_the_entry_point_of_the_format():
    answer = Submission(path="a.md", sha256=SHA, text=ANSWER)
    assert isinstance(extract(answer, entry=STUB.entry).outcome, Candidate)
    assert extract(answer).outcome.reason == "missing"


def test_the_reference_is_its_own_candidate_under_the_entry_point(problem):
    assert control(problem).text.endswith("\nKernel = Reference\n")
    job = Job(problem=problem, source="", kind="cpu", settings=Settings())
    assert _control(job).source.endswith("\nKernel = Reference\n")


def test_the_names_of_kernelbench_s_layout_are_written_in_one_place():
    names = {*KERNELBENCH.required, KERNELBENCH.entry}
    written = {
        f"{path.relative_to(HARNESS)}:{node.lineno}"
        for path in HARNESS.rglob("*.py")
        if "templates" not in path.parts and path.name != "formats.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in names
    }
    assert not written
