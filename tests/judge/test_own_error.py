"""The reference's own error is known for what no trial can afford in float64, by whichever oracle can tell."""

import pytest
import torch

from harness.judge import audit as audit_module
from harness.judge import oracle as oracle_module
from harness.judge import own_error as module
from harness.judge.audit import audit
from harness.judge.correctness import Expected
from harness.judge.oracle import Oracle
from harness.judge.own_error import MOST_GROWTH, growth, own_errors
from harness.judge.problem import load_problem

PROBLEM = """
import torch
import torch.nn.functional as F
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(64, 32)
    def forward(self, x, y):
        {body}
def get_inputs():
    return [torch.rand(40, 64) * 3, torch.rand(64, 64)]
def get_init_inputs():
    return []
"""


def asked(body, **named):
    problem = load_problem("p", PROBLEM.replace("{body}", body), device=torch.device("cpu"))
    oracle = Oracle(problem, [], 5)
    return own_errors(oracle, {"nominal": lambda: problem.draw(3)}, **{"call_s": 1e-4, "flops": 1, **named})


@pytest.fixture
def no_room(monkeypatch):
    """Float64 of the whole takes more than there is."""
    monkeypatch.setattr(module, "FLOAT64_BYTES", 1)


@pytest.mark.parametrize(
    "body", ["return self.inner(x)", "return F.mse_loss(self.inner(x), y[:40, :32])", "return x.sum()"]
)
def test_float64_is_asked_of_the_whole_where_it_fits(body):
    (found,) = asked(body)
    assert found.oracle == "float64"
    assert 0 < found.relative < 1e-5


@pytest.mark.usefixtures("no_room")
@pytest.mark.parametrize("body", ["return self.inner(x)", "return x @ y", "return {'a': (x.exp(), x.softmax(-1))}"])
def test_some_rows_are_asked_where_rows_do_not_mix(body):
    (found,) = asked(body)
    assert found.oracle == "float64-rows"
    assert 0 < found.relative < 1e-5


@pytest.mark.usefixtures("no_room")
@pytest.mark.parametrize("body", ["return (x - x.mean(0)) / x.std(0)", "return x.cumsum(0)"])
def test_where_rows_mix_inputs_are_moved_by_one_step(body):
    (found,) = asked(body)
    assert found.oracle == "moved-inputs"
    assert 0 < found.relative < 1e-4


def test_a_reference_that_fixes_its_dtype_has_its_inputs_moved():
    (found,) = asked("return x.float() @ torch.ones(64, 3)")
    assert found.oracle == "moved-inputs"


@pytest.mark.usefixtures("no_room")
def test_what_rounding_decides_has_no_own_error():
    assert asked("return torch.sign(self.inner(x).sum() * 0 + (x.sum() - x.flip(0, 1).sum()) * 1e9)") == ()


def test_nothing_is_asked_that_would_not_end_in_time():
    assert asked("return self.inner(x)", call_s=1e3) == ()


def test_what_finds_no_memory_leaves_what_was_found_before():
    problem = load_problem("p", PROBLEM.replace("{body}", "return self.inner(x)"), device=torch.device("cpu"))

    def finds_no_memory():
        raise torch.OutOfMemoryError("no memory")

    draws = {"nominal": lambda: problem.draw(3), "signed": finds_no_memory, "wide": lambda: problem.draw(4)}
    assert [one.kind for one in own_errors(Oracle(problem, [], 5), draws, call_s=1e-4, flops=1)] == ["nominal"]


@pytest.mark.usefixtures("no_room")
def test_a_float64_call_that_would_not_end_in_time_is_left_to_others():
    (found,) = asked("return x.cumsum(0)", call_s=1.0, seconds=30.0)
    assert found.oracle == "moved-inputs"


def test_the_record_says_by_what_the_error_of_slow_references_is_known(judge_function, monkeypatch):
    monkeypatch.setattr(oracle_module, "FLOAT64_SECONDS", 0.0)
    source = PROBLEM.replace("{body}", "return x @ y")
    verdict = judge_function(source, lambda x, y: (y.T @ x.T).T.contiguous()).verdict
    assert verdict.kind == "correct"
    assert verdict.error.oracle == "float64"
    assert verdict.error.reference_relative > 0


def test_a_wrong_answer_stays_wrong_where_only_the_own_error_is_known(judge_function, monkeypatch):
    monkeypatch.setattr(oracle_module, "FLOAT64_SECONDS", 0.0)
    source = PROBLEM.replace("{body}", "return x @ y")
    assert judge_function(source, lambda x, y: x @ y * 1.001).verdict.kind == "wrong"


def test_quick_references_are_not_asked_beforehand(monkeypatch):
    monkeypatch.setattr(audit_module, "own_errors", lambda *_, **__: pytest.fail("asked"))
    audit(load_problem("p", PROBLEM.replace("{body}", "return x @ y"), device=torch.device("cpu")))


def test_the_largest_of_many_more_elements_is_expected_to_be_larger_as_it_is_of_all_than_of_parts():
    torch.manual_seed(0)
    exact = torch.zeros(1 << 16, dtype=torch.float64)
    error = torch.randn(1 << 16).abs() ** 3
    expected = Expected(like=error, exact=exact)
    assert growth(expected, 1.0) == 1.0
    found = growth(expected, 16.0)
    more = float((torch.randn(1 << 20).abs() ** 3).max())
    assert 1.1 < found <= MOST_GROWTH
    assert float(error.max()) * found >= 0.8 * more
    assert growth(Expected(like=torch.ones(1 << 16), exact=exact), 16.0) == 1.0
    assert growth(Expected(like=error[:300], exact=exact[:300]), 16.0) == 1.0
