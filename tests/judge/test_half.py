"""References in half and bfloat16: which judge, which need float32 inside, and what becomes of honest kernels there."""

import pytest
import torch

from harness.errors import ProblemError
from harness.judge.audit import audit
from harness.judge.problem import load_problem

SOURCE = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(64, 48) / 8)
    def forward(self, x):
{body}
def get_inputs():
    return [{inputs}]
def get_init_inputs():
    return []
"""
TERM_BY_TERM = """        total = torch.zeros_like(x[:, 0])
        for term in x.unbind(1):
            total = total + term
        return total"""
NARROW = {
    "sums term by term": (TERM_BY_TERM, "torch.rand(64, 16384)"),
    "overflows": ("        return (x * 300).square().sum(1)", "torch.rand(64, 64)"),
}


def problem(body, inputs, precision):
    source = SOURCE.replace("{body}", body).replace("{inputs}", inputs)
    return load_problem("test", source, device=torch.device("cpu"), precision=precision)


def findings(body, inputs, precision):
    return {finding.rule: finding.detail for finding in audit(problem(body, inputs, precision)).findings}


@pytest.mark.parametrize("name", NARROW)
def test_a_reference_that_needs_float32_inside_is_recognised(name):
    assert "float32" in findings(*NARROW[name], "fp16")["needs-float32"]
    assert "needs-float32" not in findings(*NARROW[name], "fp32")


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
@pytest.mark.parametrize("body", ["x @ self.w", "torch.softmax(x, 1)", "torch.nn.functional.layer_norm(x, (64,))"])
def test_a_reference_that_is_as_exact_as_its_type_judges(body, precision):
    assert "needs-float32" not in findings(f"        return {body}", "torch.randn(128, 64)", precision)


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_a_reference_that_fixes_float32_inside_is_the_problems_fault_and_told_so(precision):
    body = "        return x @ self.w.new_ones(64, 48, dtype=torch.float32)"
    with pytest.raises(ProblemError, match=f"it runs in {precision}, and may need float32 inside"):
        audit(problem(body, "torch.randn(8, 64)", precision))
