"""Answers kept from before, or not computed (threats B and C): what a CPU can show gets the verdict it names."""

import pytest
from verdicts import entries, names_its_verdict


@pytest.mark.parametrize("entry", entries("B", "C"), ids=lambda entry: entry.name)
def test_a_candidate_gets_the_verdict_its_first_line_names(entry, session):
    names_its_verdict(entry, session)
