"""What a subject may hand out again: memory of the model, and what is the same whatever the inputs."""

import pytest
import torch

from harness.judge.spared import Spared


class Model(torch.nn.Module):
    def __init__(self, forward):
        super().__init__()
        self.w = torch.nn.Parameter(torch.arange(6.0).view(2, 3))
        self.register_buffer("mean", torch.zeros(3))
        self.table = torch.arange(9)
        self.answer = forward

    def forward(self, x):
        return self.answer(self, x)


def places_of(forward, inputs=(1.0, 2.0, 3.0)):
    model, spared = Model(forward), Spared()
    with torch.no_grad():
        for value in inputs:
            spared.learn(model(torch.full((3,), value)), model)
    return spared.places


@pytest.mark.parametrize(
    ("forward", "places"),
    [
        (lambda model, x: x * 2, set()),
        (lambda model, x: (x * 2, model.w), {1}),
        (lambda model, x: [x * 2, model.w.t()[1:], model.mean.add_(x)], {1, 2}),
        (lambda model, x: (torch.arange(5), x * 2), {0}),
        (lambda model, x: (torch.arange(5), [x * 2, (torch.ones(2), x)]), {0, 2}),
        (lambda model, x: {"table": torch.arange(5), "y": x * 2}, {0}),
        (lambda model, x: {"z": torch.arange(5), "y": x * 2}, {1}),
        (lambda model, x: {"y": x * 2}, set()),
        (lambda model, x: (model.table[int(x[0]) :], x * 2), {0}),
        (lambda model, x: torch.eye(3) * x.sum(), set()),
    ],
)
def test_memory_of_the_model_and_what_no_input_changes(forward, places):
    assert places_of(forward) == places


def test_one_answer_tells_nothing_of_what_inputs_change():
    assert places_of(lambda model, x: torch.arange(5), inputs=(1.0,)) == frozenset()


def test_a_change_in_one_element_of_many_is_a_change():
    def forward(model, x):
        answer = torch.zeros(100_000)
        answer[77_777] = float(x[0] > 2.5)
        return answer

    assert places_of(forward) == frozenset()
