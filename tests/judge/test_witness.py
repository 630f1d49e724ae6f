"""What few elements settle is what the full comparison says."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from delicate import CASES, source, twin
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.judge import moved_by_rounding, oracle
from harness.judge.correctness import Agreement, Disagreement, Expected, compare
from harness.judge.inputs import STRESS, stressed
from harness.judge.moved_by_rounding import MovedByRounding, _few
from harness.judge.oracle import Oracle
from harness.judge.problem import load_problem
from harness.judge.question import Question, TimeForDoubts
from harness.judge.tensors import mapped
from harness.judge.witness import is_wrong_by_a_row, is_wrong_by_most, is_wrong_by_one


@dataclass
class Asked:
    """A reference, what it was given and what it says."""

    oracle: Oracle
    inputs: list[Any]
    expected: Expected

    def question(self) -> Question:
        return Question(self.oracle, "nominal", SimpleNamespace(inputs=lambda: self.inputs), 0)

    def settled(self, output: Any) -> set[str]:
        """By what it is settled that an output is wrong."""
        found = compare(output, self.expected)
        if not isinstance(found, Disagreement):  # by other random elements, which tell the scale, it may be right
            return set()
        by = {"row"} if is_wrong_by_a_row(output, self.expected, self.question(), found) else set()
        otherwise = self.oracle.otherwise(self.expected.like, self.inputs, seed=0)
        few = _few(found.mismatch)
        of_whole = is_wrong_by_one if few else is_wrong_by_most
        if otherwise is not None and of_whole(output, self.expected, otherwise, found):
            by.add("one" if few else "most")
        return by

    def in_full(self, output: Any) -> Agreement | Disagreement:
        """What is said where nothing is settled before."""
        found = compare(output, self.expected)
        moved = MovedByRounding("scaled", TimeForDoubts(lambda: None), unstable=0.0, leave_out=lambda kind: None)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(moved_by_rounding, "is_wrong_by_one", lambda *_: False)
            patched.setattr(moved_by_rounding, "is_wrong_by_most", lambda *_: False)
            return moved.hold_again(output, self.expected, self.question(), found)


def asked(text: str, seed: int = 1, kind: str = "nominal") -> Asked:
    problem = load_problem("test", text, device=torch.device("cpu"))
    reference = Oracle(problem, [], seed)
    inputs = problem.draw(seed)
    inputs = inputs if kind == "nominal" else stressed(inputs, kind, seed)
    return Asked(reference, inputs, reference.expected(inputs))


def off(output: Any, share: float, size: float, seed: int) -> Any:
    """An output with this share of each tensor's elements, one at least, off by this share of its mean size."""
    chance = torch.Generator().manual_seed(seed)

    def changed(leaf: torch.Tensor) -> torch.Tensor:
        flat = leaf.clone().reshape(-1)
        at = torch.randperm(flat.numel(), generator=chance)[: max(1, int(share * flat.numel()))]
        if not leaf.is_floating_point():
            flat[at] = flat[at.roll(1)] + 1
        else:
            flat[at] += (
                size * float(leaf.abs().nan_to_num(0.0, 0.0, 0.0).mean()) * torch.randn(len(at), generator=chance)
            )
        return flat.view(leaf.shape)

    return mapped(output, changed)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    name=st.sampled_from(sorted(CASES)),
    kind=st.sampled_from(["nominal", *STRESS]),
    what=st.sampled_from(["honest", "bug", "one", "few", "all"]),
    size=st.floats(-6.0, 1.0),
    seed=st.integers(1, 1 << 30),
)
def test_what_is_settled_is_wrong_in_full_too(name, kind, what, size, seed):
    body, honest, bug = CASES[name]
    of = asked(source(body), seed, kind)
    with torch.no_grad():
        output = twin(bug if what == "bug" else honest)(seed)(*of.inputs)
    if (share := {"one": 0.0, "few": 0.005, "all": 1.0}.get(what)) is not None:
        output = off(output, share, 10**size, seed)
    found = compare(output, of.expected)
    if isinstance(found, Disagreement) and found.reason in ("values", "non-finite") and of.settled(output):
        assert isinstance(of.in_full(output), Disagreement)


ROWS_APART = {
    "a product": "return x @ self.w",
    "element by element": "return x.sigmoid()",
    "sums": "return x.sum(-1)",
    "a norm": "return F.layer_norm(x, (96,))",
    "a convolution": "return F.conv1d(x[:, None], self.w[:4, None, :5])",
}
ROWS_MIX = {
    "a mean over rows": "return x - x.mean(0)",
    "a batch norm": "return F.batch_norm(x, None, None, training=True)",
    "a sum over rows so far": "return x.cumsum(0)",
    "a capacity, of which copies take more than others": "return x.sigmoid() * ((x[:, :1] > 0).cumsum(0) <= 2)",
}


@pytest.mark.parametrize("share", [0.0, 1.0])
@pytest.mark.parametrize("name", ROWS_APART)
def test_a_row_settles_what_is_wrong_where_rows_do_not_mix(name, share):
    of = asked(source(ROWS_APART[name]))
    wrong = off(of.expected.like, share, 30.0, 5)
    assert "row" in of.settled(wrong)
    assert isinstance(of.in_full(wrong), Disagreement)


@pytest.mark.parametrize("name", ROWS_MIX)
def test_a_row_settles_nothing_where_rows_mix_and_the_whole_does(name):
    of = asked(source(ROWS_MIX[name]))
    assert of.settled(off(of.expected.like, 0.0, 30.0, 5)) == {"one"}
    assert of.settled(off(of.expected.like, 1.0, 30.0, 5)) == {"most"}


SHARED = {"a mean": "x.mean()", "a median": "x.median()", "a size": "x.abs().mean()", "a part": "x.max() * 0.5"}


@pytest.mark.parametrize("threshold", SHARED)
def test_a_row_settles_nothing_where_all_rows_share_a_threshold(threshold):
    """Elements lie within a few roundings of the threshold, which honest kernels add up otherwise."""
    text = source(f"return torch.where(x > {SHARED[threshold]}, x + 1, 1 - x)")
    fell = 0
    for seed in range(1, 13):
        of = asked(text.replace("96", f"{1 + seed % 4}"), seed)
        x = of.inputs[0]
        for _ in range(20):  # which moves the threshold a little each time
            at = eval(SHARED[threshold])
            x.view(-1)[int((x - at).abs().argmin())] = at * (1 + 1.5e-7)
        of.expected = of.oracle.expected(of.inputs)
        output = torch.where(x > eval(SHARED[threshold]) * (1 + 3e-7), x + 1, 1 - x)
        if isinstance(compare(output, of.expected), Disagreement):
            fell += 1
            assert "row" not in of.settled(output)
    assert fell


def test_most_elements_settle_nothing_where_all_of_one_row_go_by_a_sum_that_samples_tip_over(monkeypatch):
    """Of 64 rows one adds up to nearly nothing; of 16 such references some first sample leaves its sign as it is."""
    text = source("return torch.sign(x.sum(-1, keepdim=True)) * x", "torch.randn(64, 96)")
    monkeypatch.setattr("harness.judge.witness.secrets", SimpleNamespace(randbits=lambda bits: 7))
    told = 0
    for seed in range(1, 17):
        of = asked(text, seed)
        x = of.inputs[0]
        x[5] -= x[5].double().mean().float()
        x[5, 0] -= x[5].double().sum().float() - 1e-7
        of.expected = of.oracle.expected(of.inputs)
        output = of.expected.like.clone()
        output[5] *= -1
        if isinstance(compare(output, of.expected), Disagreement):
            told += 1
            assert "most" not in of.settled(output)
    assert told


@pytest.mark.parametrize("name", ["a product", "a norm"])
def test_what_was_not_written_is_settled_by_a_row(name):
    of = asked(source(ROWS_APART[name]))
    poisoned = of.expected.like.clone()
    poisoned[3] = float("nan")
    assert "row" in of.settled(poisoned)


def test_a_large_error_is_settled_without_a_float64_and_one_that_its_own_error_may_explain_is_not(monkeypatch):
    monkeypatch.setattr(oracle, "FLOAT64_BYTES", 1 << 16)
    of = asked(source("return x @ self.w"))
    assert of.expected.exact is of.expected.like
    one = of.expected.like.clone()
    one[7, 7] += 9.0
    assert "row" in of.settled(one)
    one[7, 7] = of.expected.like[7, 7] + 0.01
    assert of.settled(one) == set()


def test_an_element_at_a_jump_is_settled_by_nothing():
    of = asked(source("return torch.sign(x @ self.w)"))
    products = of.inputs[0] @ of.oracle.model.w
    at = int(products.abs().argmin())
    with torch.no_grad():
        of.inputs[0][at // 48] *= 0  # a product of 0, which may come out as anything
        of.inputs[0][at // 48, :2] = torch.stack([of.oracle.model.w[1, at % 48], -of.oracle.model.w[0, at % 48]])
    of = Asked(of.oracle, of.inputs, of.oracle.expected(of.inputs))
    other = of.expected.like.clone()
    other.view(-1)[at] = 1.0 if float(other.view(-1)[at]) < 0 else -1.0
    assert of.settled(other) == set()


def test_a_wrong_candidate_is_told_without_a_sample_of_the_whole(judge_function, monkeypatch):
    monkeypatch.setattr(Oracle, "otherwise", lambda *_, **__: pytest.fail("the whole was asked"))
    verdict = judge_function(source("return x @ self.w"), twin(lambda x, w, book: x @ w * 1.1), models=True).verdict
    assert (verdict.kind, verdict.reason) == ("wrong", "values")
