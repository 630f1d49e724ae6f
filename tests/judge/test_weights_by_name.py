"""A candidate that draws weights of the reference's names in another order is given the reference's."""

import pytest
import torch

SOURCE = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(16, 24)
        self.second = torch.nn.Linear(24, 8)
        self.register_buffer("shift", torch.rand(8))
    def forward(self, x):
        return self.second(torch.relu(self.first(x))) + self.shift
def get_inputs():
    return [torch.rand(8, 16)]
def get_init_inputs():
    return []
"""


class Swapped(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("shift", torch.rand(8))
        self.second = torch.nn.Linear(24, 8)
        self.first = torch.nn.Linear(16, 24)

    def forward(self, x):
        return self.second(torch.relu(self.first(x))) + self.shift


class Stale(Swapped):
    def __init__(self):
        super().__init__()
        self.packed = self.second.weight.detach().clone()

    def forward(self, x):
        return torch.relu(self.first(x)) @ self.packed.t() + self.second.bias + self.shift


class Renamed(Swapped):
    def __init__(self):
        super().__init__()
        self.third = self.second
        del self.second

    def forward(self, x):
        return self.third(torch.relu(self.first(x))) + self.shift


class Forgetful(torch.nn.Module):
    """Draws as the reference does, and is wrong otherwise."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(16, 24)
        self.second = torch.nn.Linear(24, 8)
        self.register_buffer("shift", torch.rand(8))

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def seeded(make):
    def build(seed):
        torch.manual_seed(seed)
        return make()

    return build


def test_another_order_of_drawing_is_told_by_the_first_wrong_answer(judge_function):
    finding = judge_function(SOURCE, seeded(Swapped), models=True)
    assert finding.verdict.kind == "wrong"
    assert finding.other_weights is not None


def test_another_order_of_drawing_is_told_of_emulated_kernels_which_are_called_in_several_orders_at_once(
    judge_function,
):
    finding = judge_function(SOURCE, seeded(Swapped), models=True, orders_s=10.0)
    assert (finding.verdict.kind, finding.verdict.reason) == ("wrong", "values")
    assert finding.other_weights is not None


def test_a_candidate_that_was_right_once_gets_no_second_try(judge_function):
    class Once(Forgetful):
        calls = 0

        def forward(self, x):
            type(self).calls += 1
            return super().forward(x) + (self.shift if self.calls == 1 else 1.0)

    finding = judge_function(SOURCE, seeded(Once), models=True)
    assert (finding.verdict.kind, finding.verdict.reason) == ("wrong", "not-repeatable")
    assert finding.other_weights is None


@pytest.mark.parametrize("make", [Renamed, Forgetful])
def test_other_names_or_equal_values_ask_for_no_second_try(judge_function, make):
    finding = judge_function(SOURCE, seeded(make), models=True)
    assert finding.verdict.kind == "wrong"
    assert finding.other_weights is None


def test_given_the_references_weights_it_is_correct_and_the_verdict_says_so(judge_function):
    finding = judge_function(SOURCE, seeded(Swapped), models=True, by_name={}, timed=True)
    assert (finding.verdict.kind, finding.verdict.weights) == ("correct", "by-name")
    assert finding.timing is not None


def test_what_was_derived_from_other_weights_is_stale(judge_function):
    finding = judge_function(SOURCE, seeded(Stale), models=True, by_name={})
    assert finding.verdict.kind == "wrong"
    assert finding.other_weights is None


def test_a_candidate_that_draws_the_same_is_correct_by_seed(judge_function):
    class Same(Forgetful):
        def forward(self, x):
            return super().forward(x) + self.shift

    assert judge_function(SOURCE, seeded(Same), models=True).verdict.weights == "by-seed"


def test_a_candidate_that_draws_the_same_from_every_seed_is_given_none(judge_function):
    def build(_):
        return seeded(Swapped)(0)

    first = judge_function(SOURCE, build, models=True)
    again = judge_function(SOURCE, build, models=True, by_name=first.other_weights)
    assert (first.verdict.kind, again.verdict.kind) == ("wrong", "failed")
