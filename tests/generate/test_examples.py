"""The answers that prompts show as examples are judged like any other."""

import hashlib

import pytest

from harness.controller.evaluate import evaluate
from harness.controller.session import Session, choose_devices, open_session
from harness.generate.prompts import load_templates
from harness.schema import Problem, Record, Submission
from harness.settings import Settings

SMALL = {
    "1_add": {"rows": 33, "columns": 100},
    "2_row_norm": {"rows": 17, "columns": 1000},
    "3_linear_relu": {"rows": 33, "inputs": 100, "outputs": 70},
}


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


OF_THE_CLOCK = ("depends-on-values", "slowed-reference", "disturbed-timing", "device-events-disagree")
"""What a busy machine may have the clock say of anybody."""


def judged(session: Session, name: str, language: str, workload: dict[str, int]) -> Record:
    texts = load_templates().texts
    source, text = texts[f"examples/{name}.py"], texts[f"examples/{name}.{language}.py"]
    session.settings = Settings(workload=workload, timing_s=0.0, audit="none")
    problem = Problem(set="examples", name=name, sha256=sha256(source), source=source)
    record = evaluate(Submission(path=f"{name}.py", sha256=sha256(text), text=text), problem, session=session).record
    assert record.verdict.kind == "correct", record.verdict
    assert [flag for flag in record.flags if flag.severity != "info" and flag.rule not in OF_THE_CLOCK] == []
    return record


@pytest.fixture(scope="module")
def cpu():
    with open_session("cpu", Settings(audit="none")) as opened:
        yield opened


@pytest.fixture(scope="module")
def gpu():
    if choose_devices("auto")[0].gpu is None:
        pytest.skip("needs a CUDA device")
    with open_session("cuda:0", Settings(audit="none")) as opened:
        yield opened


@pytest.mark.slow  # six builds
@pytest.mark.parametrize("language", ["c++", "cuda"])
@pytest.mark.parametrize("name", SMALL)
def test_an_example_is_correct_where_there_is_no_gpu(cpu, name, language):
    record = judged(cpu, name, language, SMALL[name])
    assert record.device.kind == {"c++": "cpu", "cuda": "cpu-emulated"}[language]


@pytest.mark.gpu
@pytest.mark.parametrize("language", ["triton", "cuda"])
@pytest.mark.parametrize("name", SMALL)
def test_an_example_is_correct_on_a_gpu_at_its_full_size(gpu, name, language):
    assert judged(gpu, name, language, {}).device.kind == "cuda"
