"""Contents of a round that are drawn and written at once, and the problems of which they cannot be."""

import pytest
import torch

from harness.judge.inputs import RED_ZONE, InputSets
from harness.judge.problem import load_problem
from harness.judge.together import Together, can_be_drawn_together
from harness.transport.memory import HostArena

HEAD = """
import random
import numpy
import torch


class Model(torch.nn.Module):
    def forward(self, *inputs):
        return inputs[0]


def get_init_inputs():
    return []


"""


def problem(get_inputs):
    body = "".join(f"    {line}\n" for line in get_inputs.splitlines())
    return load_problem("made-up", f"{HEAD}def get_inputs():\n{body}", device=torch.device("cpu"))


TOGETHER = {
    "rand": "return [torch.rand(8, 16), torch.randn(16)]",
    "integers": "return [torch.randint(0, 1000, (64,)), torch.rand(3, 4).half()]",
    "transposed": "return [torch.randn(5, 7).t(), torch.randn(2, 3, 4).permute(2, 0, 1)]",
    "shifted": "return [torch.rand(100) * 2 - 1, torch.randn(4, 4).softmax(-1)]",
    "numbers": "return [torch.rand(9), 3, None, 'mean', 0.5]",
    "constant": "return [torch.rand(9), torch.zeros(4), torch.arange(6)]",
    "normal": "return [torch.normal(0.0, 1.0, (50,)), torch.bernoulli(torch.full((200,), 0.5))]",
}
APART = {
    "numpy": "return [torch.from_numpy(numpy.random.rand(8))]",
    "a factor of numpy's": "return [torch.rand(8) * numpy.random.rand()]",
    "Python": "return [torch.rand(8) * random.random()]",
    "values": "x = torch.rand(8)\nreturn [x if x.sum() > 4 else -x]",
    "sizes": "return [torch.rand(int(torch.randint(3, 9, ())))]",
    "in place": "return [torch.empty(8).uniform_()]",
    "nested": "return [[torch.rand(8)], torch.rand(8)]",
}


@pytest.mark.parametrize("name", TOGETHER)
def test_what_asks_torch_alone_is_drawn_together(name):
    assert can_be_drawn_together(problem(TOGETHER[name]))


@pytest.mark.parametrize("name", APART)
def test_what_other_generators_or_values_have_a_part_in_is_drawn_apart(name):
    assert not can_be_drawn_together(problem(APART[name]))


def test_each_call_has_numbers_of_its_own_and_the_same_ones_again():
    drawn = problem("return [torch.randn(1000), 7]")
    contents = Together(lambda: drawn.draw_together(5, 50))
    values = torch.stack([contents.of(call).get()[0] for call in range(50)])
    assert [contents.of(call).get()[1] for call in range(3)] == [7, 7, 7]
    assert torch.equal(values, Together(lambda: drawn.draw_together(5, 50)).get()[0])
    assert not torch.equal(values, drawn.draw_together(6, 50)[0])
    assert len(values.unique(dim=0)) == 50
    assert abs(float(values.mean())) < 0.02
    assert abs(float(values.std()) - 1) < 0.02
    assert float(torch.corrcoef(values).fill_diagonal_(0).abs().max()) < 0.2


def test_what_a_reference_does_to_a_call_s_contents_is_done_to_a_copy():
    contents = Together(lambda: [torch.zeros(4, 3)])
    given = contents.of(2)
    given.get()[0].add_(1)
    given.forget()
    assert torch.equal(given.get()[0], torch.zeros(3))


@pytest.mark.parametrize(
    "example",
    [
        [torch.zeros(5, 7), torch.zeros(3)],
        [torch.zeros(5, 7).t(), 4, torch.zeros(2, 3, dtype=torch.int64)],
        [torch.zeros(33, dtype=torch.float8_e4m3fn), torch.zeros(3, dtype=torch.bool), torch.zeros(0, 4)],
        [torch.zeros(3, dtype=torch.complex64), torch.zeros((), dtype=torch.float64)],
    ],
)
@pytest.mark.parametrize("order", [[3, 0, 2], [0, 1, 2, 3]], ids=["some", "all"])
def test_what_is_written_at_once_lies_as_what_is_written_call_by_call(example, order):
    values = [
        torch.randint(0, 2, (len(order), *one.shape)).to(one.dtype) if isinstance(one, torch.Tensor) else one
        for one in example
    ]
    at_once, by_calls = (InputSets(example, 4, HostArena) for _ in range(2))
    try:
        at_once.write_together(order, values)
        for call, slot in enumerate(order):
            by_calls.write(slot, [one[call] if isinstance(one, torch.Tensor) else one for one in values])
        for sets in (at_once, by_calls):
            sets.reveal()
        assert torch.equal(at_once.arena.bytes(), by_calls.arena.bytes())
        assert all(at_once.red_zones_intact(slot) for slot in range(4))
        assert at_once.arena.bytes().numel() > 4 * RED_ZONE
    finally:
        at_once.close()
        by_calls.close()


def test_what_lies_within_arguments_can_be_drawn_and_written_at_once_by_who_asks():
    drawn = problem("return [[torch.randn(100), {'b': torch.randn(2), 'a': torch.randn(3)}], 7]")
    contents = Together(lambda: drawn.draw_together(5, 3))
    calls = [contents.of(call).get() for call in range(3)]
    assert [call[1] for call in calls] == [7, 7, 7]
    assert [{key: len(value) for key, value in call[0][1].items()} for call in calls] == [{"b": 2, "a": 3}] * 3
    assert len(torch.stack([call[0][0] for call in calls]).unique(dim=0)) == 3
    given = contents.of(1)
    given.get()[0][0].fill_(0)
    given.forget()
    assert torch.equal(given.get()[0][0], calls[1][0][0])
