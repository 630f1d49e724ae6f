"""The answers that prompts show as examples are judged like any other: CUDA by emulation, C++ on the CPU."""

import hashlib

import pytest

from harness.generate.prompts import load_templates
from harness.pipeline.evaluate import evaluate
from harness.pipeline.session import open_session
from harness.pipeline.settings import Settings
from harness.schema import Problem, Submission

SMALL = {
    "1_add": {"rows": 33, "columns": 1000},
    "2_row_norm": {"rows": 17, "columns": 1000},
    "3_linear_relu": {"rows": 33, "inputs": 100, "outputs": 70},
}


@pytest.fixture(scope="module")
def session():
    with open_session("cpu", Settings()) as opened:
        yield opened


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.slow  # six builds
@pytest.mark.parametrize("language", ["c++", "cuda"])
@pytest.mark.parametrize("name", SMALL)
def test_an_example_is_correct(session, name, language):
    texts = load_templates().texts
    source, text = texts[f"examples/{name}.py"], texts[f"examples/{name}.{language}.py"]
    session.settings = Settings(workload=SMALL[name], timing_s=0.0)
    problem = Problem(set="examples", name=name, sha256=sha256(source), source=source)
    record = evaluate(Submission(path=f"{name}.py", sha256=sha256(text), text=text), problem, session=session).record
    assert record.verdict.kind == "correct", record.verdict
    assert record.device.kind == {"c++": "cpu", "cuda": "cpu-emulated"}[language]
    assert [flag for flag in record.flags if flag.severity != "info"] == []
