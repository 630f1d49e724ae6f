"""What is known of a problem before anybody is judged on it."""

import pytest
import torch

from harness.errors import ProblemError
from harness.judge.audit import audit
from harness.judge.problem import load_problem

PROBLEM = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 4)
    def forward(self, x, y):
        return {forward}
def get_inputs():
    return [torch.rand(16, 8), torch.rand(16, 4)]
def get_init_inputs():
    return []
"""


def audited(forward):
    return audit(load_problem("p", PROBLEM.replace("{forward}", forward), device=torch.device("cpu")))


def rules(forward):
    return [finding.rule for finding in audited(forward).findings]


def test_nothing_is_found_on_a_problem_that_can_tell_right_from_wrong():
    assert rules("self.linear(x) + y") == []


def test_bytes_and_flops_are_those_of_one_call():
    known = audited("self.linear(x) + y")
    assert (known.input_bytes, known.weight_bytes, known.output_bytes) == (4 * 16 * 12, 4 * 36, 4 * 64)
    assert known.flops == 2 * 16 * 8 * 4  # a product of 16x8 and 8x4


@pytest.mark.parametrize(
    ("forward", "answer"),
    [
        ("0 * self.linear(x) * y", "zeros"),
        ("torch.softmax(x.sum(1, keepdim=True) * y[:, :1] * self.linear.weight[0, 0], 1)", "ones"),
        ("y + 0 * self.linear(x)", "an input itself"),
    ],
)
def test_an_answer_that_nobody_had_to_compute_is_named(forward, answer):
    found = [finding for finding in audited(forward).findings if finding.rule == "degenerate"]
    assert answer in found[0].detail


def test_inputs_and_weights_that_do_not_matter_are_named():
    assert rules("x.exp()") == ["unread-input", "unread-weights"]
    assert "unread-input" not in rules("self.linear(x).exp() + y")


def test_a_reference_that_draws_random_numbers_is_known_as_such():
    known = audited("torch.dropout(self.linear(x) + y, 0.5, True)")
    assert known.random
    assert [finding.rule for finding in known.findings] == ["random"]
    assert known.warns


def test_a_reference_that_changes_its_inputs_is_known_as_such():
    assert "changes-inputs" in rules("self.linear(x.mul_(2)) + y")


def test_outputs_that_are_not_finite_are_named():
    assert "non-finite" in rules("torch.log(-self.linear(x).abs()) + y")


def test_a_reference_that_raises_is_the_problems_fault():
    with pytest.raises(ProblemError, match="raised on its own inputs: NameError"):
        audited("missing(x)")
