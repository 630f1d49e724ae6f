"""Every candidate of this folder gets the verdict that its first line names.

The line reads `VERDICT[/REASON] [THREAT | control]: what it does`.
"""

import ast
import re
from pathlib import Path

import pytest

from harness.catalog import read_problem
from harness.intake import read_submission
from harness.pipeline.evaluate import evaluate

FOLDER = Path(__file__).parent
CANDIDATES = sorted(path for path in FOLDER.glob("*.py") if path.name not in ("conftest.py", Path(__file__).name))
EXPECTATION = re.compile(r"(?P<kind>\w+)(/(?P<reason>[\w-]+))?( (?P<threat>[A-D]\d+|control))?: .+")


def expectation(path: Path) -> tuple[str, str | None]:
    first = (ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()[0]
    match = EXPECTATION.fullmatch(first)
    assert match, f"{path.name}: its first line names no verdict: {first!r}"
    return match["kind"], match["reason"]


@pytest.mark.parametrize("path", CANDIDATES, ids=lambda path: path.stem)
def test_a_candidate_gets_the_verdict_its_first_line_names(path, session, data):
    kind, reason = expectation(path)
    record = evaluate(read_submission(path), read_problem(data / "problems" / "relu.py"), session=session).record
    verdict = record.verdict
    assert verdict.kind == kind, verdict
    if reason is not None:
        assert verdict.reason == reason, verdict
    assert (record.timing is not None) == (kind == "correct" and record.device.kind == "cpu")
