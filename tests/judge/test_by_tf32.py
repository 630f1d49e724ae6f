"""What only tf32's slack lets pass is correct and flagged on a CPU as on a GPU, where PyTorch convolves in tf32."""

from types import SimpleNamespace

import pytest
import torch

from harness.judge import oracle, question
from harness.judge.by_tf32 import ByTf32
from harness.judge.correctness import Agreement, Disagreement, Expected, compare
from harness.judge.oracle import Oracle
from harness.judge.problem import load_problem
from harness.judge.question import Question, TimeForDoubts
from harness.judge.rounding import rounded

SOURCE = """
import torch
import torch.nn as nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = {layer}
    def forward(self, x):
        return self.layer(x).relu()
def get_inputs():
    return [torch.randn({shape})]
def get_init_inputs():
    return []
"""
CONVOLUTION = SOURCE.format(layer="nn.Conv2d(16, 24, 3)", shape="4, 16, 20, 20")
PRODUCT = SOURCE.format(layer="nn.Linear(256, 64)", shape="64, 256")


def candidate(source, change):
    """The reference with the operands of its layer changed."""
    problem = load_problem("test", source, device=torch.device("cpu"))

    def build(seed):
        model = problem.model(seed, [])
        with torch.no_grad():
            model.layer.weight.copy_(change(model.layer.weight))
        return lambda x: model(change(x))

    return build


def in_tf32(value):
    return rounded(value.detach().double(), 10).float()


def in_bfloat16(value):
    return value.detach().bfloat16().float()


@pytest.mark.parametrize("timed", [False, True])
def test_a_convolution_in_tf32_is_correct_on_a_cpu_and_flagged(judge_function, timed):
    found = judge_function(CONVOLUTION, candidate(CONVOLUTION, in_tf32), models=True, timed=timed)
    assert found.verdict.kind == "correct", found.verdict
    assert found.by_tf32 > 1e-4
    assert found.reduced == 0


def test_a_convolution_in_bfloat16_is_wrong(judge_function):
    assert judge_function(CONVOLUTION, candidate(CONVOLUTION, in_bfloat16), models=True).verdict.kind == "wrong"


def test_a_product_in_tf32_has_no_such_slack(judge_function):
    found = judge_function(PRODUCT, candidate(PRODUCT, in_tf32), models=True)
    assert found.verdict.kind == "wrong" or found.reduced
    assert found.by_tf32 == 0


def test_a_convolution_in_float32_is_not_flagged(judge_function):
    found = judge_function(CONVOLUTION, candidate(CONVOLUTION, lambda value: value.detach()), models=True)
    assert (found.verdict.kind, found.by_tf32) == ("correct", 0.0)


@pytest.mark.parametrize("float64_bytes", [oracle.FLOAT64_BYTES, 0])
@pytest.mark.parametrize(("source", "there"), [(CONVOLUTION, True), (PRODUCT, False)])
def test_the_reference_in_tf32_differs_as_tf32_does_where_it_convolves(source, there, float64_bytes, monkeypatch):
    """With the operands rounded in float64, or in float32 where that takes too much."""
    monkeypatch.setattr(oracle, "FLOAT64_BYTES", float64_bytes)
    problem = load_problem("test", source, device=torch.device("cpu"))
    asked = Oracle(problem, [], 3)
    inputs = problem.draw(1)
    expected = asked.expected(inputs)
    other = asked.in_class(expected.like, inputs, seed=0, tf32=True)
    assert (other is not None) == there
    assert asked.in_class(expected.like, inputs, seed=0, tf32=False) is None
    if there:
        off = float((other - expected.like).abs().mean() / expected.like.abs().mean())
        assert other.dtype == torch.float32
        assert 5e-5 < off < 1e-3


def test_integers_stay_what_the_reference_as_written_says():
    """A largest of convolved numbers may be another in tf32, and either would be refused beside the other."""
    source = CONVOLUTION.replace("return self.layer(x).relu()", "y = self.layer(x); return y, y.argmax(-1) * 0 + 7")
    problem = load_problem("test", source, device=torch.device("cpu"))
    asked = Oracle(problem, [], 3)
    inputs = problem.draw(1)
    values, places = asked.expected(inputs).like
    other, same = asked.in_class((values, places + 1), inputs, seed=0, tf32=True)
    assert not torch.equal(other, values)
    assert torch.equal(same, places + 1)


def test_float32_is_rounded_as_float64_is():
    value = torch.randn(1000)
    assert torch.equal(rounded(value, 10), rounded(value.double(), 10).float())
    assert torch.equal(rounded(value, 10, cut=True), rounded(value.double(), 10, cut=True).float())


def test_inputs_too_large_for_float64_leave_none_affordable(monkeypatch):
    """So that the audit finds out the reference's own error by other means."""
    monkeypatch.setattr(oracle, "FLOAT64_BYTES", 1 << 10)
    problem = load_problem("test", CONVOLUTION, device=torch.device("cpu"))
    asked = Oracle(problem, [], 3)
    expected = asked.expected(problem.draw(1))
    assert expected.exact is expected.like
    assert not asked.affordable


WITHOUT_CUDNN = CONVOLUTION.replace(
    "return self.layer(x)", "with torch.backends.cudnn.flags(enabled=False): return self.layer(x)"
)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("float64_bytes", [oracle.FLOAT64_BYTES, 0])
def test_on_a_gpu_a_convolution_may_be_in_tf32_or_not_whichever_the_reference_took(float64_bytes, monkeypatch):
    """cuDNN picks a kernel by sizes and layouts, and without a float64 the one that it picked is what is expected."""
    monkeypatch.setattr(oracle, "FLOAT64_BYTES", float64_bytes)
    for reference in (CONVOLUTION, WITHOUT_CUDNN):
        problem = load_problem("test", reference, device=torch.device("cuda"))
        asked = Oracle(problem, [], 3)
        inputs = problem.draw(1)
        like = asked.expected(inputs).like
        classes = (asked.in_class(like, inputs, seed=0, tf32=tf32) for tf32 in (False, True))
        near, far = sorted(float((other - like).abs().mean() / like.abs().mean()) for other in classes)
        assert near < far
        assert 5e-5 < far < 1e-3


class OfAGpu:
    """An oracle's answer of both classes, as if on a GPU: the same product in float32 and in tf32."""

    repeats = True

    def __init__(self):
        x, y = torch.randn(64, 64), torch.randn(64, 64)
        self.exact = (x.double() @ y.double()).float()
        self.in_tf32 = (rounded(x.double(), 10) @ rounded(y.double(), 10)).float()

    def in_class(self, like, inputs, *, seed, tf32):
        return self.in_tf32 if tf32 else self.exact


def by_tf32_on_a_gpu():
    return ByTf32("scaled", TimeForDoubts(lambda: None), on_gpu=True)


def asked(oracle, *, timed=False):
    return Question(oracle, "nominal", SimpleNamespace(inputs=list), 0, timed=timed)


def test_an_exact_kernel_beside_a_reference_in_tf32_without_a_float64_is_right_and_not_accused():
    of = OfAGpu()
    by_tf32, expected = by_tf32_on_a_gpu(), Expected(of.in_tf32, of.in_tf32)
    wrong = compare(of.exact, expected)
    assert isinstance(wrong, Disagreement)
    assert isinstance(by_tf32.hold_again(of.exact, expected, asked(of), wrong), Agreement)
    assert by_tf32.relative == 0
    assert by_tf32.is_nearer(of.exact, expected, asked(of), may_ask=True)


def test_a_kernel_in_tf32_beside_a_reference_that_is_not_is_right_and_flagged():
    of = OfAGpu()
    by_tf32, expected = by_tf32_on_a_gpu(), Expected(of.exact, of.exact.double())
    wrong = compare(of.in_tf32, expected)
    assert isinstance(wrong, Disagreement)
    assert isinstance(by_tf32.hold_again(of.in_tf32, expected, asked(of), wrong), Agreement)
    assert by_tf32.relative > 1e-4
    assert not by_tf32.is_nearer(of.in_tf32, expected, asked(of), may_ask=True)


def test_a_kernel_in_fewer_bits_than_tf32_is_wrong_beside_either():
    of = OfAGpu()
    coarse = of.exact.bfloat16().float()
    for like in (of.exact, of.in_tf32):
        by_tf32, expected = by_tf32_on_a_gpu(), Expected(like, like)
        wrong = compare(coarse, expected)
        assert isinstance(wrong, Disagreement)
        assert by_tf32.hold_again(coarse, expected, asked(of), wrong) is wrong
        assert not by_tf32.is_nearer(coarse, expected, asked(of), may_ask=True)


def test_once_there_is_no_time_left_a_call_is_as_it_was_found(monkeypatch):
    of = OfAGpu()
    by_tf32, expected = by_tf32_on_a_gpu(), Expected(of.in_tf32, of.in_tf32)
    wrong = compare(of.exact, expected)
    assert by_tf32.hold_again(of.exact, expected, asked(of), wrong) is not wrong
    monkeypatch.setattr(question, "DOUBTS_S", -1.0)
    assert by_tf32.hold_again(of.exact, expected, asked(of, timed=True), wrong) is wrong
