"""Triton kernels where there is no GPU: judged whole by Triton's interpreter, and what the corpus says of itself."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from harness import Evaluator, Settings, load_problem

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))  # as tests/adversarial does

from interpreted import compared, read_kernels

KERNELS = {kernel.name: kernel for kernel in read_kernels()}
needs_triton = pytest.mark.skipif(
    find_spec("triton") is None, reason="Triton is not installed: pip install 'kernel-harness[triton]', 290 MB"
)
without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="what a CPU says is asked where there is no GPU")


def test_the_corpus_has_thirty_right_kernels_and_ten_bugs():
    right = [kernel for kernel in KERNELS.values() if kernel.expected == ("correct",)]
    assert len(right) >= 30
    assert sum("correct" not in kernel.expected for kernel in KERNELS.values()) >= 10


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=lambda kernel: kernel.name)
def test_a_problem_of_the_corpus_runs_without_triton(kernel):
    assert "triton" not in kernel.problem
    names: dict = {}
    exec(kernel.problem, names)
    with torch.no_grad():
        assert names["Model"](*names["get_init_inputs"]())(*names["get_inputs"]()) is not None


def test_rows_of_two_devices_are_held_against_each_other():
    def row(name, verdict, reason="", device="cpu"):
        return {"name": name, "verdict": verdict, "reason": reason, "device": device}

    ours = [row("a", "correct"), row("b", "failed", "not-emulated"), row("c", "wrong", "data-race"), row("d", "wrong")]
    theirs = [row(name, "correct", device="cuda") for name in "abc"]
    assert compared(ours, theirs) == {
        "a": "equal",
        "b": "not-emulated",
        "c": "wrong (data-race) on cpu, correct () on cuda",
    }


@pytest.fixture(scope="module")
def evaluator():
    with Evaluator(device="cpu", settings=Settings(timing="none")) as evaluator:
        yield evaluator


@needs_triton
@without_gpu
@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("matmul_grouped", "softmax_rows", "gelu_libdevice", "dropout_rand", "matmul_bfloat16", "min_and_max"),
        *("tuned_with_reset", "bug_softmax_padding", "bug_autotuned_accumulation", "bug_sum_race"),
        *("half_attention_tf32", "matmul_tf32x3", "bug_tf32_matmul", "bug_tf32_attention"),
        *("bug_unmasked_store", "bug_global", "bug_no_such_function", "inline_assembly", "asks_for_registers"),
    ],
)
def test_a_kernel_is_judged_by_the_interpreter_as_the_corpus_says(evaluator, name):
    kernel = KERNELS[name]
    record = evaluator.evaluate(kernel.candidate, load_problem(kernel.problem))
    verdict = record.verdict
    said = {verdict.kind, f"{verdict.kind}/{getattr(verdict, 'reason', '')}"}
    assert said & set(kernel.expected_without_gpu), verdict
    assert record.device.kind == "cpu-emulated"
    assert record.timing is None
    if verdict.kind == "correct":
        assert any("Triton's interpreter" in what for what in record.substitutions)


@without_gpu
@pytest.mark.skipif(find_spec("triton") is not None, reason="Triton is installed here")
def test_without_the_extra_a_kernel_is_not_emulated_and_the_extra_is_named(evaluator):
    record = evaluator.evaluate(KERNELS["add"].candidate, load_problem(KERNELS["add"].problem))
    assert (record.verdict.kind, record.verdict.stage, record.verdict.reason) == ("failed", "build", "not-emulated")
    assert "pip install 'kernel-harness[triton]'" in record.verdict.detail
    assert record.device.kind == "cpu-emulated"
