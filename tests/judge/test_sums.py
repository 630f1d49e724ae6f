"""Sums of outputs along each dimension, where rounding decides on elements."""

import pytest
import torch

from harness.judge.conditioning import Other
from harness.judge.sums import Sums

ROWS, COLUMNS = 64, 16


def draw(chance, *shape):
    return torch.rand(shape, generator=torch.Generator().manual_seed(chance), dtype=torch.float64)


def chosen(chance, rows=ROWS):
    """One of the first two columns of each row, as chance has it."""
    first = (draw(chance, rows) < 0.5).double()
    return torch.nn.functional.pad(torch.stack([first, 1 - first], 1), (0, COLUMNS - 2))


def signs(chance, near=0.02):
    """Signs of values of which some lie near 0, by noise of each its own."""
    return torch.sign(draw(1, ROWS, COLUMNS) - 0.5 + near * (draw(chance, ROWS, COLUMNS) - 0.5))


def apart(output, sampled, exact, allowed=1e-4):
    others = [Other(sampled(10 + number), 1.0 if number % 4 else 4.0) for number in range(8)]
    return Sums(sampled(2), exact, others, lambda want: allowed * want.abs() + allowed).apart(output)


def test_either_of_two_may_be_chosen_in_each_row():
    assert apart(chosen(99), chosen, chosen(1)) is None


def test_both_may_not_though_each_is_what_some_sample_says():
    both = torch.nn.functional.pad(torch.ones(ROWS, 2, dtype=torch.float64), (0, COLUMNS - 2))
    assert apart(both, chosen, chosen(1)) == (1, ROWS, ROWS)


def test_a_few_rows_of_many_are_named_with_their_dimension():
    some = chosen(99, 4096)
    some[::64, :2] = 1
    assert apart(some, lambda chance: chosen(chance, 4096), chosen(1, 4096)) == (1, 64, 4096)


@pytest.mark.parametrize("rows", [2, 15])
def test_of_few_rows_none_is_left_out(rows):
    some = chosen(99, rows)
    assert apart(some, lambda chance: chosen(chance, rows), chosen(1, rows)) is None
    some[0, :2] = 1
    assert apart(some, lambda chance: chosen(chance, rows), chosen(1, rows)) == (1, 1, rows)


@pytest.mark.parametrize("transpose", [False, True])
def test_noise_of_each_element_explains_its_sums_along_every_dimension(transpose):
    def sampled(chance):
        value = signs(chance)
        return value.T.contiguous() if transpose else value

    assert apart(sampled(99), sampled, sampled(1)) is None


def test_noise_that_has_a_direction_is_not_wrong():
    bias = torch.sign(draw(1, ROWS, COLUMNS) - 0.5 + 0.01)
    assert apart(bias, signs, torch.sign(draw(1, ROWS, COLUMNS) - 0.5)) is None


def test_what_is_within_tolerance_adds_up_and_is_right():
    assert apart(chosen(1) * (1 + 9e-5), lambda chance: chosen(1), chosen(1)) is None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_hides_nothing_of_what_else_is_in_a_row(value):
    def masked(rows):
        return torch.nn.functional.pad(rows, (1, 0), value=value)

    both = torch.nn.functional.pad(torch.ones(ROWS, 2, dtype=torch.float64), (0, COLUMNS - 2))
    assert apart(masked(chosen(99)), lambda chance: masked(chosen(chance)), masked(chosen(1))) is None
    assert apart(masked(both), lambda chance: masked(chosen(chance)), masked(chosen(1))) == (1, ROWS, ROWS)


def test_rows_of_whole_numbers_and_of_bools_are_summed_too():
    both = torch.nn.functional.pad(torch.ones(ROWS, 2), (0, COLUMNS - 2))
    for kind in (torch.bool, torch.int64, torch.bfloat16):
        found = apart(both.to(kind), lambda chance, kind=kind: chosen(chance).to(kind), chosen(1).to(kind), allowed=0.0)
        assert found == (1, ROWS, ROWS)


def test_an_output_without_rows_has_no_sums():
    def one_column(chance):
        return chosen(chance)[:, :1]

    assert apart(1 - one_column(99), one_column, one_column(1)) is None
    assert apart(torch.ones(ROWS, 1), one_column, one_column(1)) is None


def test_pieces_of_a_large_output_are_summed_as_a_whole(monkeypatch):
    monkeypatch.setattr("harness.judge.sums._PIECE", 100)
    both = torch.nn.functional.pad(torch.ones(ROWS, 2, dtype=torch.float64), (0, COLUMNS - 2))
    assert apart(both, chosen, chosen(1)) == (1, ROWS, ROWS)
    assert apart(chosen(99), chosen, chosen(1)) is None
