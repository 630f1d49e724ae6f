"""What the reference says, and when float64 is asked beside it."""

import pytest
import torch

from harness.judge import oracle as module
from harness.judge.oracle import Oracle
from harness.judge.problem import load_problem

PROBLEM = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
    def forward(self, x):
        self.calls += 1
        {body}
def get_inputs():
    return [torch.rand(16, 8)]
def get_init_inputs():
    return []
"""


def asked(body, *inputs):
    oracle = Oracle(load_problem("p", PROBLEM.replace("{body}", body), device=torch.device("cpu")), [], 0)
    return oracle, oracle.expected(list(inputs))


def test_float64_is_asked_beside_the_reference_as_written():
    _, expected = asked("return x.exp()", torch.rand(16, 8))
    assert (expected.like.dtype, expected.exact.dtype) == (torch.float32, torch.float64)
    torch.testing.assert_close(expected.like.double(), expected.exact)


def test_small_inputs_with_large_outputs_are_not_computed_in_float64(monkeypatch):
    monkeypatch.setattr(module, "FLOAT64_BYTES", 100_000)
    oracle, expected = asked("return x.repeat(1000, 1)", torch.rand(16, 8))
    assert expected.exact is expected.like
    assert oracle._double.calls == 0
    _, small = asked("return x.exp()", torch.rand(16, 8))
    assert small.exact is not small.like


def test_large_inputs_are_not_copied_to_float64(monkeypatch):
    monkeypatch.setattr(module, "FLOAT64_BYTES", 1000)
    oracle, expected = asked("return x.exp()", torch.rand(16, 8))
    assert expected.exact is expected.like
    assert oracle._double is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_reference_that_changes_its_inputs_gives_float64_what_it_was_given(dtype):
    x = torch.full((4,), 3.0, dtype=dtype)
    oracle, expected = asked("return x.mul_(2)", x)
    assert oracle.changes_inputs
    assert x.tolist() == [6.0] * 4
    assert expected.exact.tolist() == [6.0] * 4


def test_complex_inputs_are_widened_too():
    x = torch.randn(64, dtype=torch.complex64)
    _, expected = asked("return torch.fft.fft(x)", x)
    assert expected.exact.dtype == torch.complex128
    torch.testing.assert_close(expected.like.to(torch.complex128), expected.exact, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "body",
    [
        "return torch.rand_like(x) if x.dtype == torch.float32 else torch.rand_like(x).log()",
        "return (x, x) if x.dtype == torch.float32 else (x,)",
        "return {'a': x} if x.dtype == torch.float32 else {'b': x}",
        "return x if x.dtype == torch.float32 else x[:3]",
        "return x if x.dtype == torch.float32 else x.int()",
        "return 1.5 if x.dtype == torch.float32 else None",
        "return x if x.dtype == torch.float32 else [x]",
        "assert x.dtype == torch.float32; return x.exp()",
        "return (x * 0 + torch.finfo(x.dtype).eps).log()",
    ],
)
def test_where_float64_is_another_function_the_reference_as_written_is_all_there_is(body):
    _, expected = asked(body, torch.rand(16, 8))
    assert expected.exact is expected.like


def test_named_tuples_scalars_and_integers_may_stand_beside_tensors():
    body = "return torch.max(x, dim=0), x.sum().item(), None, {'n': 3}, [x.argmax()]"
    _, expected = asked(body, torch.rand(16, 8))
    assert expected.exact is not expected.like
    assert expected.exact[0].values.dtype == torch.float64


def test_infinities_and_nan_do_not_make_float64_another_function():
    x = torch.tensor([1.0, 0.0, -1.0, 5.0])
    _, expected = asked("return torch.sqrt(x) / x", x)
    assert expected.exact.dtype == torch.float64


def test_8_bit_floats_have_an_oracle():
    _, expected = asked("return (x.float() + 1).to(torch.float8_e4m3fn)", torch.rand(16, 8))
    assert expected.like.dtype == torch.float8_e4m3fn


CHAOS = "y = (x @ x.t()).sin()\n        for _ in range(60):\n            y = 1 - 2 * y * y\n        return y"


@pytest.mark.parametrize("body", [CHAOS, "return (x.sum(0) - x.flip(0).cumsum(0)[-1])"])
def test_float64_is_the_same_function_where_rounding_explains_what_it_differs_by(body):
    _, expected = asked(body, torch.rand(16, 8))
    assert expected.exact.dtype == torch.float64


def others(body, *inputs):
    oracle, expected = asked(body, *inputs)
    return oracle.others(expected.like, list(inputs), seed=0, seconds=5.0)


def test_rounding_falls_otherwise_in_float64_where_that_can_be():
    exact, found = others("return x @ x.t()", torch.rand(16, 8))
    assert exact.dtype == torch.float64
    assert {other.units for other in found} == {1.0, 4.0}
    assert all(0 < float((other.outputs - exact).abs().max()) < 1e-5 for other in found)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_of_other_types_inputs_are_moved(dtype):
    _, found = others("return x @ x.t()", torch.rand(16, 8).to(dtype))
    assert all(other.outputs.dtype == dtype for other in found)
    assert found


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_what_only_chooses_among_elements_is_moved_by_nothing(dtype):
    assert others("return (x > 0.5).to(x.dtype)", torch.rand(16, 8).to(dtype))[1] == ()


def test_what_takes_more_than_there_is_room_for_is_not_asked(monkeypatch):
    monkeypatch.setattr(module, "FLOAT64_BYTES", 1000)
    assert others("return x @ x.t()", torch.rand(16, 8)) == (None, ())


def test_asking_changes_no_inputs():
    x = torch.rand(16, 8)
    oracle, expected = asked("return x.add_(1) @ x.t()", x)
    before = x.clone()
    oracle.others(expected.like, [x], seed=0, seconds=5.0)
    assert torch.equal(x, before)


DRAWS = "return x * (1 + 0.01 * torch.randn(x.shape, generator=torch.Generator().manual_seed(3), dtype=x.dtype))"


def test_float64_that_is_another_function_is_no_oracle_and_samples_say_what_rounding_moves_there():
    x = torch.rand(16, 8)
    oracle, expected = asked(DRAWS, x)  # other numbers in float64, which are one per cent apart
    assert expected.exact is expected.like
    exact, found = oracle.others(expected.like, [x], seed=0, seconds=0.0)
    assert float((exact - expected.like).abs().max()) > 1e-3
    assert all(0 < float((other.outputs - exact).abs().max()) < 1e-5 for other in found)
    assert found


def test_calls_of_a_round_of_random_numbers_are_each_made_once_and_are_what_they_are_alone():
    problem = load_problem(
        "p", PROBLEM.replace("{body}", "return torch.dropout(x, 0.5, True)"), device=torch.device("cpu")
    )
    x, oracle = torch.rand(16, 8), Oracle(problem, [], 0, random=True)
    found = []
    for call in (0, 3, 7):
        found.append(oracle.expected([x], seed=5, calls_before=call))
        torch.rand(100)  # contents are drawn meanwhile
    assert oracle.model.calls == 8
    for call, one in zip((0, 3, 7), found, strict=True):
        alone = Oracle(problem, [], 0, random=True).expected([x], seed=5, calls_before=call)
        assert torch.equal(one.like, alone.like)
        assert one.exact is one.like


def test_what_a_reference_leaves_in_its_inputs_is_told_in_both_precisions():
    x = torch.full((4,), 3.0)
    _, expected = asked("return x.mul_(2).sum()", x)
    assert (expected.left.like[0].tolist(), expected.left.exact[0].tolist()) == ([6.0] * 4, [6.0] * 4)
    assert expected.left.exact[0].dtype == torch.float64
    _, unchanged = asked("return x.sum()", torch.rand(4))
    assert unchanged.left is None
