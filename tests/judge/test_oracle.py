"""What the reference says, and when float64 is asked beside it."""

import time

import pytest
import torch

from harness.judge import oracle as module
from harness.judge.oracle import Oracle
from harness.judge.problem import load_problem
from harness.judge.tensors import leaves

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


def test_where_a_kernel_would_assert_the_reference_raises_instead():
    """As it is on a device; on a CPU the operator raises by itself."""
    oracle, expected = asked("return x[(x[:, 0] * 100).long()]", torch.zeros(16, 8))
    oracle._watches = True
    assert torch.equal(oracle.as_written([torch.zeros(16, 8)], 0), expected.like)
    with pytest.raises(module.ReferenceRaised, match="index 100 is out of range for 16 elements"):
        oracle.expected([torch.ones(16, 8)])


def test_a_reference_that_cannot_be_watched_runs_without():
    body = (
        "if torch.utils._python_dispatch._get_current_dispatch_mode(): raise NotImplementedError\n        return x + 1"
    )
    oracle, _ = asked(body, torch.zeros(16, 8))
    oracle._watches = True
    assert torch.equal(oracle.expected([torch.zeros(16, 8)]).like, torch.ones(16, 8))
    assert not oracle._watches


@pytest.mark.parametrize(("body", "goes_on"), [("return x.relu().sum(1)", False), ("return x[x.argmax(0)]", True)])
def test_a_reference_is_watched_until_a_call_ran_what_goes_by_no_contents(body, goes_on):
    oracle, _ = asked(body, torch.rand(16, 8))
    oracle._watches = True
    for _ in range(2):
        oracle.expected([torch.rand(16, 8)])
        assert oracle._watches == goes_on


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


def test_a_quick_question_asks_again_whether_float64_is_near(monkeypatch):
    """A step that goes by the type is lost beside large values, and is most of small ones."""
    monkeypatch.setattr(module, "QUICK_FLOAT64_SECONDS", 60.0)
    step = "step = torch.finfo(x.dtype).eps * 2**20; return torch.round(x / step) * step"
    oracle, expected = asked(step, torch.rand(16, 8) * 1e5)
    assert expected.exact.dtype == torch.float64
    small = oracle.expected([torch.rand(16, 8) / 20], quick=True)
    assert small.exact is small.like
    assert oracle.expected([torch.rand(16, 8) * 1e5], quick=True).exact.dtype == torch.float64


def test_where_rounding_was_why_float64_is_off_a_quick_question_takes_that_for_granted(monkeypatch):
    monkeypatch.setattr(module, "QUICK_FLOAT64_SECONDS", 60.0)
    oracle, expected = asked("return (x.sum(1) - x.flip(1).sum(1)) * 1e6", torch.rand(16, 8))
    assert expected.exact.dtype == torch.float64
    monkeypatch.setattr(Oracle, "_explained", lambda *_: pytest.fail("that is asked slowly"))
    assert oracle.expected([torch.rand(16, 8)], quick=True).exact.dtype == torch.float64


def test_what_rounding_explains_on_some_contents_explains_nothing_on_others():
    """Distances of rows to themselves are noise, and where rows are equal to the bit they are a step by the type."""
    body = (
        "d = (x * x).sum(1)[:, None] + (x * x).sum(1) - 2 * x @ x.t()\n        "
        "return d.clamp(min=torch.finfo(x.dtype).eps).sqrt().log()"
    )
    oracle, expected = asked(body, torch.randn(64, 128))
    assert expected.exact.dtype == torch.float64
    alike = oracle.expected([torch.ones(64, 128)])
    assert alike.exact is alike.like


def test_named_tuples_scalars_and_integers_may_stand_beside_tensors():
    body = "return torch.max(x, dim=0), x.sum().item(), None, {'n': 3}, [x.argmax()]"
    _, expected = asked(body, torch.rand(16, 8))
    assert expected.exact is not expected.like
    assert expected.exact[0].values.dtype == torch.float64


WITHIN = {
    "list": ("maps[0]", lambda x: [x, 3]),
    "tuple": ("maps[1]", lambda x: (None, x)),
    "dict": ("maps['a'][0]", lambda x: {"b": 2, "a": [x]}),
}


def asked_within(form, body):
    """The same of a tensor within an argument, `x` in the body; and the tensor."""
    x = torch.full((4,), 3.0)
    source = PROBLEM.replace("forward(self, x)", "forward(self, maps)")
    source = source.replace("{body}", f"x = {WITHIN[form][0]}\n        {body}")
    oracle = Oracle(load_problem("p", source, device=torch.device("cpu")), [], 0)
    inputs = [WITHIN[form][1](x)]
    return oracle, oracle.expected(inputs), inputs, x


@pytest.mark.parametrize("form", WITHIN)
def test_a_reference_that_changes_what_lies_within_arguments_is_asked_as_any_other(form):
    oracle, expected, _, x = asked_within(form, "return x.mul_(2)")
    assert oracle.changes_inputs
    assert oracle.aliases_inputs
    assert x.tolist() == [6.0] * 4
    assert expected.exact.tolist() == [6.0] * 4
    assert expected.exact.dtype == torch.float64
    assert [leaf.tolist() for leaf in leaves(expected.left.exact)] == [[6.0] * 4]
    assert leaves(expected.left.exact)[0].dtype == torch.float64


@pytest.mark.parametrize("form", WITHIN)
def test_what_lies_within_arguments_is_asked_in_float64_and_as_a_copy(form):
    oracle, expected, inputs, x = asked_within(form, "return x.exp()")
    assert not oracle.changes_inputs
    assert expected.exact.dtype == torch.float64
    assert not torch.equal(expected.exact, expected.like.double())
    changing, _, inputs, x = asked_within(form, "return x.add_(1)")
    before = x.clone()
    assert changing.as_written(inputs, 1).tolist() == [5.0] * 4
    assert changing.in_float64(inputs, 1).tolist() == [5.0] * 4
    assert torch.equal(x, before)


def test_a_list_that_a_reference_puts_its_own_tensors_into_is_left_as_it_was():
    oracle, expected, inputs, x = asked_within("list", "maps[0] = x + 1\n        return maps.pop(0)")
    assert not oracle.changes_inputs
    assert inputs[0][0] is x
    assert expected.exact.tolist() == [4.0] * 4


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


STEPS = "step = torch.finfo(x.dtype).eps * 2**20\n        steps = torch.round(x / step) * step\n        "
NOISE = "noise = (x.sum(0) - x.flip(0).cumsum(0)[-1]) * 1e6\n        "


@pytest.mark.parametrize("outputs", ["noise, steps", "[steps, {'a': noise}]"])
def test_what_rounding_explains_of_one_output_explains_nothing_of_another(monkeypatch, outputs):
    monkeypatch.setattr(module, "QUICK_FLOAT64_SECONDS", 60.0)
    x = torch.rand(16, 8)
    oracle, expected = asked(STEPS + NOISE + f"return {outputs}", x * 1e5)  # where steps are near in float64 as well
    assert leaves(expected.exact)[0].dtype == torch.float64
    small = oracle.expected([x / 20], quick=True)
    assert small.exact is small.like
    _, small = asked(STEPS + NOISE + f"return {outputs}", x / 20)
    assert small.exact is small.like


def others(body, *inputs):
    oracle, expected = asked(body, *inputs)
    return told(oracle, expected, list(inputs))


def told(oracle, expected, inputs):
    """Float64's outputs, and all samples of how rounding may fall."""
    found = oracle.otherwise(expected.like, inputs, seed=0)
    return (None, ()) if found is None else (found.exact, tuple(found.samples(time.process_time() + 5.0)))


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


def test_what_takes_more_than_there_is_room_for_is_not_asked_where_rows_mix(monkeypatch):
    monkeypatch.setattr(module, "FLOAT64_BYTES", 1000)
    assert others("return x @ x.t()", torch.rand(16, 8)) == (None, ())


@pytest.mark.parametrize("body", ["return x @ x[0]", "return {'b': x.softmax(-1), 'a': (x @ x[0], x.sum(-1) > 4)}"])
def test_what_takes_more_than_there_is_room_for_is_asked_some_rows_at_a_time(monkeypatch, body):
    body = body.replace("x[0]", "torch.linspace(0, 1, 8, dtype=x.dtype)")
    x = torch.rand(16, 8)
    whole, _ = others(body, x)
    monkeypatch.setattr(module, "FLOAT64_BYTES", 3000)
    exact, found = others(body, x)
    for one, another in zip(leaves(exact), leaves(whole), strict=True):
        torch.testing.assert_close(one, another)
    for other in found:
        for one, another in zip(leaves(other.outputs), leaves(whole), strict=True):
            assert one.dtype == (torch.float32 if another.is_floating_point() else another.dtype)
            torch.testing.assert_close(one.double(), another.double(), rtol=1e-4, atol=1e-4)
    assert len(found) > 1


def test_rows_are_left_where_all_of_them_would_take_too_long(monkeypatch):
    monkeypatch.setattr(module, "FLOAT64_BYTES", 3000)
    monkeypatch.setattr(module, "SLOW_FLOAT64_SECONDS", 1e-9)
    assert others("return x.softmax(-1)", torch.rand(16, 8))[0] is None


def test_asking_changes_no_inputs():
    x = torch.rand(16, 8)
    oracle, expected = asked("return x.add_(1) @ x.t()", x)
    before = x.clone()
    told(oracle, expected, [x])
    assert torch.equal(x, before)


DRAWS = "return x * (1 + 0.01 * torch.randn(x.shape, generator=torch.Generator().manual_seed(3), dtype=x.dtype))"


def test_float64_that_is_another_function_is_not_asked_how_rounding_falls_either():
    x = torch.rand(16, 8)
    oracle, expected = asked(DRAWS + " @ x.t()", x)  # other numbers in float64, which are one per cent apart
    assert expected.exact is expected.like
    exact, found = told(oracle, expected, [x])
    assert exact is None
    assert all(0 < float((other.outputs - expected.like).abs().max()) < 1e-4 for other in found)
    assert found


def test_what_float64_only_makes_other_of_a_function_without_sums_moves_nothing():
    steps = (
        "step = torch.finfo(x.dtype).eps * 2**20\n        return torch.tanh(x / step) + torch.round(x / step) * step"
    )
    assert others(steps, torch.rand(16, 8)) == (None, ())


def test_rows_that_mix_on_other_contents_alone_are_not_taken_for_others(monkeypatch):
    """A bound that nominal inputs do not reach, and the largest of all rows does."""
    monkeypatch.setattr(module, "FLOAT64_BYTES", 3000)
    x = torch.rand(16, 8)
    oracle, expected = asked("return (x / x.abs().max().clamp_min(1)).softmax(-1)", x)
    assert told(oracle, expected, [x])[0] is not None
    large = x.clone()
    large[0, 0] = 50.0
    assert oracle.otherwise(oracle.expected([large]).like, [large], seed=0) is None
    assert told(oracle, expected, [x])[0] is not None


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


def test_a_smaller_type_is_looked_for_where_rounding_decides_how_many_elements_there_are():
    x = torch.rand(64, 64)
    oracle, expected = asked("y = x @ x.t() - 16; return y[y > 0]", x)
    off = expected.like * (1 + 1e-3 * torch.randn(expected.like.shape))
    assert oracle.coarse(off, expected, [x], most_s=60.0) in (None, "fewer bits than float32")


def test_samples_are_float64s_of_the_outputs_of_which_it_is_the_same_function_and_moved_inputs_of_the_others():
    x = torch.rand(16, 8) / 20
    oracle, expected = asked(STEPS + NOISE + "return steps, noise, x.argmax(-1)", x)
    exact, found = told(oracle, expected, [x])
    assert [leaf.dtype for leaf in exact] == [torch.float32, torch.float64, torch.int64]
    assert torch.equal(exact[0], expected.like[0])
    assert len(found) > 1
    for other in found:
        assert float((other.outputs[0] - expected.like[0]).abs().max()) < 1e-6
        assert 0 < float((other.outputs[1] - exact[1]).abs().max()) < 1e3


def test_what_a_reference_keeps_of_its_weights_when_it_is_first_called_does_not_take_its_float64():
    """Its copy in float64 is made before: what is no parameter stays in float32 there, and raises in a product."""
    body = "if not hasattr(self, 'kept'): self.kept = self.w.detach() * 2\n        return x @ self.kept"
    source = PROBLEM.replace("{body}", body).replace("self.calls = 0", "self.calls = 0; self.w = torch.nn.Parameter(W)")
    source = source.replace("class Model", "W = torch.randn(8, 4)\nclass Model")
    oracle = Oracle(load_problem("p", source, device=torch.device("cpu")), [], 0)
    x = torch.rand(16, 8)
    for _ in range(2):
        expected = oracle.expected([x], widened=False)
        assert expected.may_widen
        assert expected.exact is expected.like
        assert oracle.widened(expected, [x], seed=0, quick=False).exact.dtype == torch.float64


@pytest.mark.parametrize("body", ["x.add_(1)\n        return x * 2", "return x.exp()"])
def test_float64_may_be_asked_later_unless_the_inputs_are_gone(body):
    oracle, _ = asked(body, torch.rand(16, 8))
    x = torch.rand(16, 8)
    expected = oracle.expected([x.clone()], widened=False)
    assert expected.may_widen == ("add_" not in body)
    assert (expected.left is not None) == ("add_" in body)
    if expected.may_widen:
        torch.testing.assert_close(oracle.widened(expected, [x], seed=0, quick=False).exact, x.double().exp())
