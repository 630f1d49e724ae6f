"""What the tests of intake share: candidates made from source."""

import hashlib
from collections.abc import Callable

import pytest

from harness.intake import extract
from harness.schema import Candidate, Submission

MakeCandidate = Callable[[str], Candidate]


@pytest.fixture
def candidate() -> MakeCandidate:
    """Make a candidate of source that defines `ModelNew`."""

    def make(source: str) -> Candidate:
        sha256 = hashlib.sha256(source.encode()).hexdigest()
        outcome = extract(Submission(path="kernel.py", sha256=sha256, text=source)).outcome
        assert isinstance(outcome, Candidate), outcome
        return outcome

    return make
