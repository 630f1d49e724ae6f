"""Some rows of the inputs give some rows of the outputs, where rows do not mix."""

import pytest
import torch

from harness.judge.rows import in_blocks, joined, unmixed


def found(model, *inputs, wanted=100):
    def as_written(some):
        try:
            return model(*some)
        except RuntimeError:
            return None

    return unmixed(as_written, list(inputs), model(*inputs), wanted)


def test_inputs_with_as_many_rows_as_the_outputs_go_with_them():
    rows = found(lambda x, w: (x @ w, x.sum(-1)), torch.rand(40, 8), torch.rand(8, 8))
    assert (rows.places, rows.count) == (frozenset({0}), 40)
    assert 0 < rows.tried.start < rows.tried.stop < 40


def test_a_table_of_as_many_rows_stays_whole():
    rows = found(lambda x, w: x @ w, torch.rand(8, 8), torch.rand(8, 8))
    assert rows.places == {0}


@pytest.mark.parametrize("model", [lambda x: x.cumsum(0), lambda x: x.softmax(0), lambda x: x.t() @ x, torch.sum])
def test_rows_that_mix_are_none(model):
    assert found(model, torch.rand(40, 40)) is None


def test_blocks_are_all_rows_in_order():
    x = torch.rand(11, 3)
    rows = found(lambda x: x * 2, x)
    blocks = in_blocks(rows, 4)
    parts = [{"a": given * 2, "b": [given.sum(-1)]} for (given,) in blocks.of([x])]
    assert len(parts) >= 4
    whole = joined(parts)
    assert torch.equal(whole["a"], x * 2)
    assert torch.equal(whole["b"][0], x.sum(-1))


def test_more_blocks_than_rows_are_none():
    rows = found(lambda x: x * 2, torch.rand(11, 3))
    assert in_blocks(rows, 12) is None
