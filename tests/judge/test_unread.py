"""What of a problem's inputs and weights an answer may leave out, and pass."""

import time

import pytest
import torch

from harness.judge import audit as auditing
from harness.judge.audit import audit
from harness.judge.problem import load_problem
from harness.judge.unread import Part, Unread, listed

PROBLEM = """
import torch
from torch import nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}
    def forward(self, {names}):
        {forward}
def get_inputs():
    return [{inputs}]
def get_init_inputs():
    return []
"""
ABOUT = ("unread-input", "unread-weights", "constant-weights", "audit-incomplete")


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch):
    """What is told on a busy machine is told here."""
    monkeypatch.setattr("harness.judge.audit.UNREAD_S", 100.0)
    monkeypatch.setattr("harness.judge.audit.BUDGET_S", 300.0)


def problem(forward, inputs, init="pass", precision="fp32"):
    """A problem of a body, of inputs x, y and z, and of a constructor; statements are on lines."""
    names = ", ".join("xyz"[: len(inputs)])
    body, made = (text.strip().replace("\n", "\n        ") for text in (forward, init))
    if "return" not in body:
        body = f"return {body}"
    source = PROBLEM.format(init=made, names=names, forward=body, inputs=", ".join(inputs))
    return load_problem("p", source, device=torch.device("cpu"), precision=precision)


def told(*about, **more):
    """Rule, severity and words of what is said of parts and weights."""
    findings = audit(problem(*about, **more)).findings
    return [(one.rule, one.severity, one.detail) for one in findings if one.rule in ABOUT]


FORGETS = "h = torch.zeros_like(x[:, 0])\nfor step in range(x.shape[1]):\n    h = 0.3 * h + x[:, step]\nreturn h"


def test_the_steps_that_a_recurrence_forgets_are_told_as_far_as_they_go():
    ((rule, severity, detail),) = told(FORGETS, ["torch.rand(8, 64, 3)"])
    assert (rule, severity) == ("unread-input", "warn")
    assert detail.startswith("of input 0 elements 0 to ")
    assert detail.endswith(" along dimension 1 do not matter to the output")
    last = int(detail.split()[6])
    assert 45 <= last <= 58  # 0.3**n is below 1e-4 from n = 8 on, and a part grows by half of what is left


def test_steps_that_are_not_reached_are_told_from_where_on():
    ((_, _, detail),) = told("x[:, :5] * 2", ["torch.rand(8, 64)"])
    assert detail == "of input 0 elements 8 to 63 along dimension 1 do not matter to the output"


GATED = "self.main = nn.Linear(8, 4)\nself.side = nn.Linear(8, 4)\nself.gate = nn.Parameter(torch.full((4,), 1e-6))"


def test_a_branch_behind_a_gate_is_told_by_its_weights_and_the_gate_as_a_constant():
    found = told("self.main(x) + self.gate * torch.tanh(self.side(x))", ["torch.rand(16, 8)"], GATED)
    assert [(rule, severity) for rule, severity, _ in found] == [
        ("constant-weights", "info"),
        ("unread-weights", "warn"),
    ]
    assert found[0][2].startswith("gate: of one value each")
    assert found[1][2] == "the weights side.weight, side.bias do not matter to the output"


def test_an_input_that_only_such_a_branch_reads_is_told():
    found = told("self.main(x) + self.gate * torch.tanh(self.side(y))", ["torch.rand(16, 8)"] * 2, GATED)
    assert ("unread-input", "warn", "input 1 does not matter to the output") in found


def test_a_scale_that_is_large_enough_hides_nothing():
    found = told("self.main(x) + self.gate * self.side(y)", ["torch.rand(16, 8)"] * 2, GATED.replace("1e-6", "0.1"))
    assert [rule for rule, _, _ in found] == ["constant-weights"]


def test_an_input_and_weights_that_are_not_read_are_told_once_each():
    found = told("x.exp()", ["torch.rand(16, 8)", "torch.rand(16, 8)"], "self.linear = nn.Linear(8, 4)")
    assert [(rule, severity, detail) for rule, severity, detail in found] == [
        ("unread-input", "warn", "input 1 does not matter to the output"),
        ("unread-weights", "warn", "the weights do not matter to the output"),
    ]


def test_whole_numbers_that_are_not_read_are_told():
    assert [detail for *_, detail in told("x + 0 * y", ["torch.rand(9)", "torch.randint(0, 9, (9,))"])] == [
        "input 1 does not matter to the output"
    ]


def test_what_lies_within_an_argument_and_is_not_read_is_told():
    inputs = ["[torch.rand(16, 8), {'b': torch.rand(4), 'a': torch.rand(16, 8)}]"]
    assert [detail for *_, detail in told("x[0].exp() + x[1]['a'][:, :1]", inputs)] == [
        "tensor 2 of input 0 does not matter to the output",
        "of tensor 1 of input 0 elements 1 to 7 along dimension 1 do not matter to the output",
    ]


def test_an_argument_of_another_number_of_tensors_gives_way_as_a_whole():
    one, other = torch.ones(2), torch.zeros(2)
    assert Part(0, leaf=1).moved([[one, one], 3], [[other], 4]) == [[other], 3]
    moved, _ = Part(0, 0, 1, 2, leaf=1).moved([[one, one], 3], [[other, other], 4])
    assert [value.tolist() for value in moved] == [[1.0, 1.0], [1.0, 0.0]]


def test_weights_that_begin_alike_under_every_seed_are_told_by_name():
    ((rule, severity, detail),) = told("self.norm(x)", ["torch.rand(16, 8)"], "self.norm = nn.LayerNorm(8)")
    assert (rule, severity) == ("constant-weights", "info")
    assert detail.startswith("norm.weight, norm.bias: of one value each, whatever the seed")


def test_a_bias_that_a_normalisation_takes_out_again_is_no_warning():
    init = "self.conv = nn.Conv2d(3, 4, 3)\nself.norm = nn.BatchNorm2d(4, affine=False)"
    found = told("self.norm(self.conv(x))", ["torch.rand(4, 3, 8, 8)"], init)
    assert found == [("unread-weights", "info", "the weights conv.bias do not matter to the output")]


def test_what_a_reference_made_of_its_weights_once_does_not_hide_that_they_matter():
    init = "self.linear = nn.Linear(8, 4)\nself.made = None"
    forward = "if self.made is None:\n    self.made = self.linear.weight.t().clone()\nreturn x @ self.made"
    found = told(forward, ["torch.rand(16, 8)"], init)
    assert [detail for *_, detail in found] == ["the weights linear.bias do not matter to the output"]


def test_weights_are_as_they_were_and_a_reference_that_returns_them_is_read():
    known = problem("self.linear(x), self.linear.weight", ["torch.rand(16, 8)"], "self.linear = nn.Linear(8, 4)")
    assert audit(known).findings == ()


def test_an_average_over_so_many_that_others_give_the_same_has_to_be_computed():
    assert told("(2 + torch.tanh(x.abs())).mean()", ["torch.rand(1 << 21)"]) == []


def test_a_maximum_that_lies_in_the_other_half_by_chance_is_found_out():
    for forward in ("x.amax()", "x.argmax()", "torch.relu(x.sum())", "(x.sum() > 0).float()"):
        for _ in range(5):
            assert told(forward, ["torch.randn(8, 2)"]) == []


def test_what_shows_at_a_few_elements_of_a_large_output_matters():
    forward = "z = y.clone()\nz[:4] += x\nreturn z"
    assert told(forward, ["torch.rand(4)", "torch.rand(1 << 17)"]) == []


def test_what_matters_on_one_kind_of_contents_alone_matters():
    """Negative ones, which `get_inputs` does not draw."""
    assert told("y + torch.relu(-x)", ["torch.rand(16, 8)"] * 2) == []
    init = "self.main = nn.Linear(8, 4)\nself.side = nn.Linear(8, 4)"
    assert told("self.main(x) + self.side(torch.relu(x - 1))", ["torch.rand(16, 8)"], init) == []


def test_parts_of_offsets_are_not_taken_from_others():
    """They may be out of bounds there, which ends a GPU's context."""
    ends = "raise SystemExit('offsets of two draws')"
    forward = f"if not (y[1:] >= y[:-1]).all():\n    {ends}\nreturn torch.segment_reduce(x, 'sum', lengths=y.diff())"
    offsets = "torch.cat([torch.zeros(1), torch.randint(1, 63, (1,)).repeat(14), torch.full((1,), 64)]).long()"
    assert told(forward, ["torch.rand(64, 2)", offsets]) == []


ORDINARY = {
    "matmul": ("x @ y", ["torch.rand(32, 48)", "torch.rand(48, 16)"], "pass"),
    "triangular": ("torch.tril(x @ y)", ["torch.tril(torch.rand(32, 32))"] * 2, "pass"),
    "upper triangular": ("torch.triu(x @ y)", ["torch.triu(torch.rand(32, 32))"] * 2, "pass"),
    "diagonal": ("torch.diag(x) @ y", ["torch.rand(32)", "torch.rand(32, 8)"], "pass"),
    "conv": ("torch.relu(self.conv(x))", ["torch.rand(2, 3, 12, 12)"], "self.conv = nn.Conv2d(3, 8, 3)"),
    "transposed conv": ("self.conv(x)", ["torch.rand(2, 3, 8, 8)"], "self.conv = nn.ConvTranspose2d(3, 4, 3, 2)"),
    "softmax": ("torch.softmax(x, 1)", ["torch.rand(16, 256)"], "pass"),
    "layer norm": (
        "self.norm(x)",
        ["torch.rand(4, 8, 16)"],
        "self.norm = nn.LayerNorm(16, elementwise_affine=False)",
    ),
    "batch norm": ("self.norm(x)", ["torch.rand(8, 4, 6, 6)"], "self.norm = nn.BatchNorm2d(4, affine=False)"),
    "max pool": ("torch.max_pool2d(x, 2)", ["torch.rand(2, 3, 16, 16)"], "pass"),
    "argmax": ("torch.argmax(x, 1)", ["torch.rand(16, 32)"], "pass"),
    "relu": ("torch.relu(x)", ["torch.randn(4, 4)"], "pass"),
    "embedding": ("self.table(x)", ["torch.randint(0, 50, (4, 16))"], "self.table = nn.Embedding(50, 8)"),
    "cumsum": ("torch.cumsum(x, 1)", ["torch.rand(4, 256)"], "pass"),
    "lstm": ("self.lstm(x)[0]", ["torch.rand(4, 16, 8)"], "self.lstm = nn.LSTM(8, 8, 2, batch_first=True)"),
    "gru": ("self.gru(x)[0]", ["torch.rand(16, 4, 8)"], "self.gru = nn.GRU(8, 8)"),
    "cross entropy": (
        "nn.functional.cross_entropy(x, y)",
        ["torch.rand(256, 10)", "torch.randint(0, 10, (256,))"],
        "pass",
    ),
    "mask": ("x.masked_fill(y, 0.0)", ["torch.rand(8, 16)", "torch.rand(8, 16) < 0.5"], "pass"),
    "attention": ("nn.functional.scaled_dot_product_attention(x, y, z)", ["torch.rand(2, 2, 16, 8)"] * 3, "pass"),
    "top k": ("torch.topk(x, 4, 1)[0]", ["torch.rand(16, 64)"], "pass"),
    "logarithm": ("torch.log(x) * y", ["torch.rand(16, 8) + 0.1", "torch.rand(16, 8)"], "pass"),
}


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("name", ORDINARY)
def test_nothing_is_told_of_an_ordinary_problem(name, precision):
    forward, inputs, init = ORDINARY[name]
    assert told(forward, inputs, init, precision=precision) == []


def test_references_that_draw_or_change_inputs_or_keep_state_are_told_nothing_of():
    assert told("torch.dropout(x, 0.5, True) + 0 * y", ["torch.rand(16, 8)"] * 2) == []
    assert told("x.mul_(2) + 0 * y", ["torch.rand(16, 8)"] * 2) == []


def test_the_reference_is_asked_no_longer_than_there_is_time(monkeypatch):
    monkeypatch.setattr("harness.judge.audit.UNREAD_S", -1.0)
    found = told(FORGETS + " + 0 * y[:, 0]", ["torch.rand(8, 64, 3)"] * 2)
    assert [(rule, severity) for rule, severity, _ in found] == [("unread-input", "warn"), ("audit-incomplete", "info")]
    assert found[0][2] == "input 1 does not matter to the output"  # whole ones are asked about all the same


def test_a_call_that_would_end_too_late_is_not_begun(monkeypatch):
    monkeypatch.setattr(auditing._Auditor, "_time_of", lambda self, inputs: 1000.0)
    started = time.monotonic()
    ((rule, _, detail),) = told(FORGETS, ["torch.rand(8, 64, 3)"])
    assert (rule, detail.split(":")[0]) == ("audit-incomplete", "left out, one call takes 1e+03 s")
    assert time.monotonic() - started < 1000


class SlowClock:
    """Of which a quarter of an hour passes whenever it is looked at."""

    def __init__(self):
        self.late = 0.0

    def monotonic(self):
        self.late += 1000.0
        return time.monotonic() + self.late


def test_asking_again_about_what_was_found_takes_nothing_from_the_search(monkeypatch):
    monkeypatch.setattr("harness.judge.unread.time", SlowClock())
    monkeypatch.setattr("harness.judge.audit.UNREAD_S", 15_000.0)
    monkeypatch.setattr("harness.judge.audit.BUDGET_S", 1e9)
    found = told(FORGETS + " + 0 * y[:, 0]", ["torch.rand(2, 64, 3)"] * 2)
    assert [rule for rule, _, _ in found] == ["unread-input", "unread-input"]
    monkeypatch.setattr("harness.judge.audit.UNREAD_S", 2_000.0)
    found = told(FORGETS + " + 0 * y[:, 0]", ["torch.rand(2, 64, 3)"] * 2)
    assert [rule for rule, _, _ in found] == ["unread-input", "audit-incomplete"]


def test_a_part_grows_by_half_of_what_is_left_and_never_to_all_of_it():
    part, sizes = Part(0, 1, 0, 8), []
    while (more := part.grown(16)) != part:
        part = more
        sizes.append((part.begin, part.end))
    assert sizes == [(0, 12), (0, 14), (0, 15)]
    assert Part(0, 1, 8, 16).grown(16) == Part(0, 1, 4, 16)
    assert Part(0, 1, 1, 16).grown(16) == Part(0, 1, 1, 16)


def test_three_names_are_told_and_how_many_more():
    assert listed(["a"]) == "a"
    assert listed(list("abcde")) == "a, b, c and 2 more"


def test_buffers_that_are_made_by_the_first_call_are_no_weights_of_a_model_that_was_never_called():
    """They ended the judge."""
    made = "self.w = nn.Parameter(torch.randn(8, 8))\nself.zero = nn.Parameter(torch.randn(8))"
    body = """
if not hasattr(self, "kept"):
    self.register_buffer("kept", self.w.detach() * 2)
return x @ self.kept + 0 * self.zero
"""
    assert any("zero" in detail for _, _, detail in told(body, ["torch.rand(4, 8)"], made))


def test_of_an_input_that_does_not_matter_no_halves_are_asked(monkeypatch):
    looked = []
    largest = Unread._largest
    monkeypatch.setattr(Unread, "_largest", lambda self, part, size: looked.append(part) or largest(self, part, size))
    found = told("x * 2 + 0 * y", ["torch.rand(8, 8)", "torch.rand(8, 8)"])
    assert [detail for _, _, detail in found] == ["input 1 does not matter to the output"]
    assert looked == []


def test_the_largest_part_is_asked_again_once_and_not_each_that_is_smaller(monkeypatch):
    asked = []
    again = Unread._idle_on_all_kinds
    monkeypatch.setattr(Unread, "_idle_on_all_kinds", lambda self, part: asked.append(part) or again(self, part))
    (found,) = told(FORGETS, ["torch.rand(8, 64, 3)"])
    parts = [part for part in asked if part.dimension == 1]
    assert parts[0].end == 32
    assert f"elements 0 to {parts[-1].end - 1} " in found[2]
    assert len(parts) <= 3
