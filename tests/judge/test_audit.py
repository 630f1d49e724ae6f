"""What is known of a problem before anybody is judged on it."""

import pytest
import torch

from harness.errors import ProblemError
from harness.judge.audit import audit
from harness.judge.oracle import Oracle
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
    ("forward", "written"),
    [
        ("x.view(-1)", 0),
        ("(x.t(), y[2:])", 0),
        ("self.linear.weight", 0),
        ("(x + 1)[0].expand(1000, 8)", 4 * 16 * 8),
        ("(x + 1).sum(0).expand(1000, 8)", 4 * 8),
        ("(lambda out: (out, out, out[1:]))(x + 1)", 4 * 16 * 8),
        ("x.mul_(2)", 4 * 16 * 8),
        ("[(x + 1, 3), {'a': y > 0}]", 4 * 16 * 8 + 16 * 4),
    ],
)
def test_bytes_written_are_those_that_a_call_has_to_write(forward, written):
    assert audited(forward).output_bytes == written


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


@pytest.mark.parametrize("size", ["1e-6 *", "0.01 *", ""])
def test_numbers_that_are_drawn_are_known_however_small_or_large_they_are(size):
    """Within what float64 is apart, which draws others, or all over the output, as rounding may be."""
    known = audited(f"self.linear(x) + y + {size} torch.randn_like(y)")
    assert known.random
    assert [finding.rule for finding in known.findings] == ["random"]


def test_a_reference_that_changes_its_inputs_is_known_as_such():
    assert "changes-inputs" in rules("self.linear(x.mul_(2)) + y")


def test_outputs_that_are_not_finite_are_named():
    assert "non-finite" in rules("torch.log(-self.linear(x).abs()) + y")


def test_a_reference_that_raises_is_the_problems_fault():
    with pytest.raises(ProblemError, match=r"raised on its own inputs( on line \d+)?: NameError"):
        audited("missing(x)")


@pytest.mark.parametrize(
    ("forward", "named"),
    [
        ("{1: self.linear(x)}", "builtins.dict"),
        ("self.linear(x).to_sparse()", "layout torch.sparse_coo"),
        ("[y, {'a': set()}]", "builtins.set"),
        ("complex(1, 2)", "builtins.complex"),
    ],
)
def test_a_reference_whose_output_cannot_be_compared_is_the_problems_fault(forward, named):
    with pytest.raises(ProblemError, match=f"the reference returns .*{named}.*, which cannot be compared"):
        audited(forward)


def test_an_input_that_has_no_form_on_the_wire_is_the_problems_fault():
    source = PROBLEM.replace("{forward}", "y").replace("def get_inputs():", "import numpy as np\ndef get_inputs():", 1)
    source = source.replace("    return [", "    return [np.int64(3), ", 1)
    with pytest.raises(ProblemError, match=r"get_inputs gives numpy\.int64, which cannot be handed to a candidate"):
        audit(load_problem("p", source, device=torch.device("cpu")))


@pytest.mark.parametrize("text", ["'\\udcff'", "{'\\ud800': 1}", "[('a', '\\udcff')]"])
def test_a_text_with_a_half_of_a_character_is_the_problems_fault(text):
    given = PROBLEM.replace("{forward}", "y").replace("    return [torch", f"    return [{text}, torch")
    with pytest.raises(ProblemError, match="get_inputs gives text with a half of a character"):
        audit(load_problem("p", given, device=torch.device("cpu")))
    given = PROBLEM.replace("{forward}", "y").replace("__init__(self)", "__init__(self, name)")
    with pytest.raises(ProblemError, match="get_init_inputs gives text with a half of a character"):
        audit(load_problem("p", given.replace("    return []", f"    return [{text}]"), device=torch.device("cpu")))
    with pytest.raises(ProblemError, match="the reference returns text with a half of a character"):
        audited(text)


def test_contents_that_decide_on_shapes_are_found_and_what_follows_from_it():
    found = audited("[y.new_ones(int(one * 4096)) for one in x[0, :2]]")  # alike in two draws with probability 6e-8
    assert found.shapes_vary
    [finding] = [one for one in found.findings if one.rule == "shapes-vary"]
    assert "nothing is timed" in finding.detail
    assert not audited("self.linear(x) + y").shapes_vary


def test_an_output_without_tensors_is_audited_too():
    assert rules("[(self.linear(x) + y).sum().item(), None, 'text', {'a': (1, True)}]") == []
    assert "degenerate" in rules("[self.linear(x).sum().item() * 0.0, 3]")


def test_a_single_number_is_no_constant():
    assert rules("((self.linear(x) - y) ** 2).mean()") == []


@pytest.mark.parametrize("forward", ["0.5 + 0 * (self.linear(x) * y)", "0.5 + 0 * (self.linear(x) * y).sum()"])
def test_a_constant_is_named(forward):
    (found,) = (finding for finding in audited(forward).findings if finding.rule == "degenerate")
    assert "a constant passes for the answer" in found.detail


def test_what_is_left_out_for_want_of_memory_is_said(monkeypatch):
    monkeypatch.setattr("harness.judge.audit.LARGE_BYTES", 1000)
    known = audited("(self.linear(x) + y).repeat(100, 1)")
    (finding,) = known.findings
    assert (finding.rule, finding.severity) == ("audit-incomplete", "info")
    assert "one call takes 2.6e-05 GB" in finding.detail


def test_where_two_draws_leave_no_room_it_is_left_open_whether_shapes_vary(monkeypatch):
    def as_written(self, inputs, seed):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(Oracle, "as_written", as_written)
    known = audited("(self.linear(x) + y)[: 8 + int(x.sum()) % 7]")
    assert not known.shapes_vary
    details = [finding.detail for finding in known.findings if finding.rule == "audit-incomplete"]
    assert "left out, there is no memory: whether contents decide on the shapes of outputs" in details


@pytest.mark.parametrize("kind", ["float8_e4m3fn", "bfloat16", "complex64", "bool", "int8", "uint16"])
def test_outputs_of_any_type_are_audited(kind):
    assert "not-repeatable" not in rules(f"(self.linear(x) + y).abs().to(torch.{kind})")


@pytest.mark.parametrize(("integers", "places"), [("torch.arange(16) * 7 % 5", (2,)), ("torch.arange(16)", ())])
def test_integers_that_are_the_same_at_every_draw_are_named(integers, places):
    source = PROBLEM.replace("{forward}", "self.linear(x) + y + z.sum()").replace("x, y)", "x, y, z)")
    source = source.replace("torch.rand(16, 4)]", f"torch.rand(16, 4), {integers}]")
    found = audit(load_problem("p", source, device=torch.device("cpu")))
    assert found.fixed_integers == places
    assert "input 2" in next(one.detail for one in found.findings if one.rule == "fixed-inputs")
    assert not found.warns


@pytest.mark.parametrize(
    ("argument", "places"),
    [
        ("[torch.rand(3), torch.arange(16) * 7 % 5]", (2,)),
        ("{'rows': torch.randint(0, 9, (16,)), 'order': torch.arange(16) * 7 % 5}", (2,)),
        ("(torch.rand(3), torch.arange(16))", ()),
        ("[torch.rand(3), torch.arange(16) % 2 == 0]", ()),
    ],
)
def test_integers_within_an_argument_that_are_the_same_at_every_draw_are_named(argument, places):
    forward = "self.linear(x) + y + sum(one.sum() for one in (z.values() if isinstance(z, dict) else z))"
    source = PROBLEM.replace("{forward}", forward).replace("x, y)", "x, y, z)")
    source = source.replace("torch.rand(16, 4)]", f"torch.rand(16, 4), {argument}]")
    found = audit(load_problem("p", source, device=torch.device("cpu")))
    assert found.fixed_integers == places
    assert "input 2" in next(one.detail for one in found.findings if one.rule == "fixed-inputs")


def with_fixed_floats(forward, values):
    source = PROBLEM.replace("{forward}", f"self.linear(x) + y + {forward}").replace("x, y)", "x, y, z)")
    source = source.replace("torch.rand(16, 4)]", f"torch.rand(16, 4), {values}]")
    return audit(load_problem("p", source, device=torch.device("cpu")))


@pytest.mark.parametrize(
    ("forward", "values", "severities"),
    [
        ("z.sum()", "torch.linspace(1, 2, 16)", []),  # other kinds of contents do
        ("z.log().sum()", "torch.linspace(1, 2, 16)", ["info"]),
        ("z[0].log().sum()", "[torch.linspace(1, 2, 16), 3]", ["info"]),
        ("z.log().sum()", "torch.rand(16)", []),
        ("(2 - 1 / (z == 1).all()) * z.log().sum()", "torch.ones(16)", ["warn"]),
    ],
)
def test_floats_that_are_the_same_at_every_draw_are_named_where_no_other_contents_change_them(
    forward, values, severities
):
    found = with_fixed_floats(forward, values)
    assert found.fixed_floats == ((2,) if "rand" not in values else ())
    named = [one for one in found.findings if one.rule == "fixed-inputs"]
    assert [one.severity for one in named] == severities
    assert all("input 2" in one.detail for one in named)
    assert found.warns == ("warn" in severities)


def test_a_reference_that_changes_a_list_of_tensors_is_known_as_such():
    source = PROBLEM.replace("{forward}", "torch._foreach_add_(x, 1.0) or x[0] + y").replace(
        "torch.rand(16, 8), torch", "[torch.rand(16, 4), torch.rand(3)], torch"
    )
    found = audit(load_problem("p", source, device=torch.device("cpu")))
    assert "changes-inputs" in [one.rule for one in found.findings]
    assert not found.random
