"""Outputs of the tools as their manuals show them, and one session for what runs."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.controller.session import Session, open_session
from harness.settings import Settings

OUTPUTS = Path(__file__).parent.parent / "data" / "tool_output"


@pytest.fixture
def output() -> Callable[[str], str]:
    """The output of a tool, by the name of its sample."""
    return lambda name: (OUTPUTS / f"{name}.txt").read_text()


@pytest.fixture(scope="session")
def session() -> Iterator[Session]:
    with open_session("cpu", Settings(timeout_s=30, timing="none", memory_bytes=4 << 30, audit="none")) as opened:
        yield opened
