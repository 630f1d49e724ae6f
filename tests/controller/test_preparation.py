"""Preparing a candidate: where its import runs."""

import os
from hashlib import sha256

import pytest

from harness.controller.preparation import prepare
from harness.controller.session import open_session
from harness.library import load_problem
from harness.schema.submission import Candidate
from harness.settings import Settings

SOURCE = "import os, sys\nsys.exit(f'it may run on {sorted(os.sched_getaffinity(0))}')\n"


def test_an_import_runs_where_the_thread_may_that_asks_for_it() -> None:
    """Judges' cores are not among those: what is timed there takes the host's time."""
    candidate = Candidate(source=SOURCE, sha256=sha256(SOURCE.encode()).hexdigest(), languages=())
    mine = os.sched_getaffinity(0)
    with open_session("cpu", Settings()) as session:
        os.sched_setaffinity(0, {max(mine)})
        try:
            found = prepare(
                candidate,
                load_problem("level1/19_ReLU"),
                "cpu",
                entry="ModelNew",
                zygote=session.zygote,
                build=lambda request: pytest.fail(f"built {request}"),
                settings=Settings(),
            )
        finally:
            os.sched_setaffinity(0, mine)
    assert found.failure is not None
    assert f"it may run on [{max(mine)}]" in found.failure.detail
