"""Every candidate of the corpus that a CPU can show gets the verdict that its first line names."""

import pytest
from corpus import Entry, read_corpus

from harness.catalog import read_problem
from harness.intake import read_submission
from harness.pipeline.evaluate import evaluate

CORPUS = read_corpus()
ON_THE_CPU = [entry for entry in CORPUS if "cpu" in entry.devices]


@pytest.mark.parametrize("entry", ON_THE_CPU, ids=lambda entry: entry.name)
def test_a_candidate_gets_the_verdict_its_first_line_names(entry: Entry, session):
    record = evaluate(read_submission(entry.path), read_problem(entry.problem), session=session).record
    verdict = record.verdict
    assert any(expected.meets(verdict) for expected in entry.expectations("cpu")), verdict
    assert verdict.kind != "correct" or (record.timing is not None) == (record.device.kind == "cpu")
