"""Candidates of the corpus on a CPU, and whether each gets the verdict that its first line names."""

from corpus import Entry, read_corpus

from harness.catalog import read_problem
from harness.controller.evaluate import evaluate
from harness.controller.session import Session
from harness.intake import read_submission

CANNOT_BE_TIMED = {"roots"}  # its contents are the same each time, and no others can be made
SMALLER = {"relu": {"batch_size": 4}}
"""By the problem, at what size a CPU is asked. A call of ReLU is so short that a round has 256 of them at any size, and
drawing 256 inputs of 64 rows takes ten seconds a candidate that nothing is learnt from."""


def entries(*threats: str) -> list[Entry]:
    """Those that a CPU can show, of threats that begin so; "" stands for those that are broken."""
    chosen = [entry for entry in read_corpus() if "cpu" in entry.devices]
    return [entry for entry in chosen if entry.threat in threats or entry.threat[:1] in set(threats) - {""}]


def names_its_verdict(entry: Entry, session: Session) -> None:
    problem = read_problem(entry.problem)
    settings = session.settings.model_copy(update={"workload": SMALLER.get(problem.name, {})})
    record = evaluate(read_submission(entry.path), problem, session=session, settings=settings).record
    verdict = record.verdict
    assert any(expected.meets(verdict) for expected in entry.expectations("cpu")), verdict
    timed = record.device.kind == "cpu" and entry.problem.stem not in CANNOT_BE_TIMED
    assert verdict.kind != "correct" or (record.timing is not None) == timed
