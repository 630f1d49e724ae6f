"""One session for all candidates of the folder: one prepared process, one judge."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.controller.session import Session, open_session
from harness.settings import Settings

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))  # the corpus is read by a benchmark too


@pytest.fixture(scope="session")
def session() -> Iterator[Session]:
    settings = Settings(timeout_s=5, timing_s=0, memory_bytes=4 << 30, audit="none")
    with open_session("cpu", settings) as opened:
        yield opened
