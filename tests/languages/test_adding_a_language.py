"""To add a language: one row, and everything that knows languages knows it."""

import hashlib
import re

import pytest

from harness.generate.prompts import load_templates
from harness.intake.languages import languages_of, writes_kernels
from harness.intake.screen import screen
from harness.judge.doubts import profile_of
from harness.judge.subject import KernelUse, Trace
from harness.languages import LANGUAGES, Language, prompted
from harness.schema import Candidate, Problem
from harness.schema.generation import GenerationSettings

SOURCE = """\
import torch
from slate.lang import tile


@tile.program
def gemm(x):
    return x


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return gemm(x)
"""
STUB = Language(
    name="slate",
    title="Slate",
    modules=("slate",),
    defines=re.compile(r"@tile\.program\s+def\s+(\w+)"),
    shown=("slate_{}",),
    prompt="Write Slate programs.\n",
)
SHA = "0" * 64


@pytest.fixture
def added(monkeypatch):
    monkeypatch.setitem(LANGUAGES, STUB.name, STUB)


def shown_origin():
    trace = Trace(us=3.0, calls=3, kernels=(KernelUse("slate_gemm", us=3.0, launches=3),))
    (kernel,) = profile_of(trace, SOURCE).kernels
    return kernel.origin


def screened():
    digest = hashlib.sha256(SOURCE.encode()).hexdigest()
    candidate = Candidate(source=SOURCE, sha256=digest, languages=languages_of(SOURCE))
    return {flag.rule for flag in screen(candidate)}


def test_without_a_row_a_language_is_not_known():
    assert languages_of(SOURCE) == ("pytorch",)
    assert writes_kernels(SOURCE) is None
    assert shown_origin() == "library", "gemm is a library's name"
    assert "no-kernel" in screened()


@pytest.mark.usefixtures("added")
def test_a_row_is_all_that_detection_screening_profile_and_prompts_need():
    assert languages_of(SOURCE) == ("slate",)
    assert writes_kernels(SOURCE) is True
    assert shown_origin() == "candidate"
    assert "no-kernel" not in screened()
    assert "slate" in prompted()
    problem = Problem(set="level1", name="19_ReLU", sha256=SHA, source="class Model: ...")
    settings = GenerationSettings(model="m", templates_sha256=SHA, language="slate", variant="zero-shot")
    question = load_templates().opening(problem, settings)[-1].content
    assert "kernels of your own in Slate" in question
    assert "Write Slate programs." in question
