"""Candidates of the corpus on a CPU, and whether each gets the verdict that its first line names."""

import re

from corpus import Entry, read_corpus

from harness.catalog import read_problem
from harness.controller.evaluate import evaluate
from harness.controller.session import Session
from harness.intake import read_submission

CANNOT_BE_TIMED = {"roots"}  # its contents are the same each time, and no others can be made
SMALLER = {
    "relu": {"batch_size": 4},
    "inplace": {"batch_size": 8},
    "counts": {"n": 64},
    "largest": {"n": 1 << 14},
    "histogram": {"n": 1 << 14},
    "one_hot": {"rows": 64},
}
"""By the problem, at what size a CPU is asked, unless the candidate names a number that is written there: rounds have
up to 256 calls, and drawing as many inputs of the size as written takes ten to forty seconds a candidate."""
NAMES_A_SIZE = re.compile(r"\b(64|65536|256|1 << 20|1048576)\b")


def entries(*threats: str) -> list[Entry]:
    """Those that a CPU can show, of threats that begin so; "" stands for those that are broken."""
    chosen = [entry for entry in read_corpus() if "cpu" in entry.devices]
    return [entry for entry in chosen if entry.threat in threats or entry.threat[:1] in set(threats) - {""}]


def names_its_verdict(entry: Entry, session: Session) -> None:
    submission, problem = read_submission(entry.path), read_problem(entry.problem)
    smaller = {} if NAMES_A_SIZE.search(submission.text) else SMALLER.get(problem.name, {})
    settings = session.settings.model_copy(update={"workload": smaller})
    record = evaluate(submission, problem, session=session, settings=settings).record
    verdict = record.verdict
    assert any(expected.meets(verdict) for expected in entry.expectations("cpu")), verdict
    timed = record.device.kind == "cpu" and entry.problem.stem not in CANNOT_BE_TIMED
    assert verdict.kind != "correct" or (record.timing is not None) == timed
