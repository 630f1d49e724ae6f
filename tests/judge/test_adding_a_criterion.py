"""To add a criterion of correctness: a row. Nothing else changes."""

import pytest

from harness.judge import criteria
from harness.judge.criteria import Criterion

RELU = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.randn(8, 16)]
def get_init_inputs():
    return []
"""
STUBS = {
    "leaf": lambda leaf: f"{leaf.name} is of rank 2" if leaf.actual.dim() == 2 and leaf.like.dim() == 2 else "",
    "memory": lambda call: "saw a slot" if call.sets.red_zones_intact(call.slot) and call.inputs() else "",
    "outputs": lambda call: f"answered {len(call.outputs)} calls" if call.outputs else "",
}


@pytest.mark.parametrize(
    ("evidence", "said"), [("leaf", "output is of rank 2"), ("memory", "saw a slot"), ("outputs", "answered 2 calls")]
)
def test_an_honest_answer_is_wrong_by_a_further_row_and_by_no_row_that_is_there(
    judge_function, monkeypatch, evidence, said
):
    assert judge_function(RELU, lambda x: x.clamp(min=0)).verdict.kind == "correct"
    row = Criterion(evidence, "structure", STUBS[evidence])
    monkeypatch.setattr(criteria, "CRITERIA", (*criteria.CRITERIA, row))
    verdict = judge_function(RELU, lambda x: x.clamp(min=0)).verdict
    assert (verdict.kind, verdict.reason, verdict.detail.partition(":")[0]) == ("wrong", "structure", said)


@pytest.mark.parametrize("row", criteria.CRITERIA, ids=lambda row: row.broken.__name__.strip("_"))
def test_every_row_is_of_evidence_that_is_asked_for(row):
    assert row.evidence in STUBS
