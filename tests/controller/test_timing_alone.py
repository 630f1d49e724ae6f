"""Judges of several processes on one device: their timed phases take turns, and the one that waits says so."""

import json
import os
import subprocess
import sys
import threading
from itertools import combinations

import pytest

from harness.controller.evaluate import evaluate
from harness.controller.session import open_session
from harness.judge.device_lock import FOLDER, DeviceLock
from harness.settings import Settings

RIGHT = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"
THIEF = RIGHT.replace("        return", f"        open({str(FOLDER / 'cpu.lock')!r})\n        return")
SMALL = "batch_size = 8\ndim = 64\n"
JUDGING = """
import json, sys, time
from harness.catalog import text_problem
from harness.controller.evaluate import evaluate
from harness.controller.session import open_session
from harness.library import load_submission
from harness.settings import Settings

problem, submission = text_problem(sys.argv[1]), load_submission(sys.argv[2])
with open_session("cpu", Settings(timing_s=1.0, audit="none")) as session:
    for _ in range(2):
        steps = []

        def on_phase(name):
            steps.append((name, time.monotonic()))

        found = evaluate(submission, problem, session=session, on_phase=on_phase)
        waited_s = found.record.phases_s.get("wait", 0.0)
        print(json.dumps([steps, time.monotonic(), waited_s, found.record.verdict.kind]), flush=True)
"""


def test_what_waits_for_a_device_says_for_whom_and_is_judged_all_the_same(submission, problem):
    lock, steps, waiting = DeviceLock("cpu"), [], threading.Event()

    def on_phase(name: str) -> None:
        steps.append(name)
        if name == f"waiting for cpu, which process {os.getpid()} is timing on":
            waiting.set()

    with open_session("cpu", Settings(timing_s=0, audit="none")) as session:
        session.seats[0].start()  # others may be timing: the lock is not held while processes start
        lock.take(lambda holder: None)
        try:
            found = []
            asked = submission(RIGHT), problem(SMALL)
            thread = threading.Thread(
                target=lambda: found.append(evaluate(*asked, session=session, on_phase=on_phase).record)
            )
            thread.start()
            assert waiting.wait(120)
            thread.join(0.5)
            assert thread.is_alive()
        finally:
            lock.release()
        thread.join()
        thief = evaluate(submission(THIEF), problem(SMALL), session=session).record
    assert found[0].verdict.kind == "correct"
    assert (thief.verdict.kind, thief.verdict.reason) == ("failed", "exception"), "a candidate opened the lock"
    assert "cpu.lock" in thief.verdict.detail
    assert found[0].phases_s["wait"] > 0.4
    assert steps[-1] == "time"


@pytest.mark.slow
def test_timed_phases_of_two_processes_do_not_overlap(problem):
    """Each is seen from its session: from the first word that it is timed to its verdict, messages' ways included."""
    command = [sys.executable, "-c", JUDGING, problem(SMALL).source, RIGHT]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    judged = [[json.loads(line) for line in process.communicate(timeout=280)[0].splitlines()] for process in processes]
    assert [kind for of in judged for *_, kind in of] == ["correct"] * 4
    spans = [[(min(at for name, at in steps if name == "time"), end) for steps, end, *_ in of] for of in judged]
    assert all(end - begin > 0.9 for of in spans for begin, end in of)
    overlaps = [
        min(one[1], other[1]) - max(one[0], other[0])
        for first, second in combinations(spans, 2)
        for one in first
        for other in second
    ]
    assert max(overlaps) < 0.3
    said = [name for of in judged for steps, *_ in of for name, _ in steps if name.startswith("waiting for cpu")]
    assert said
    assert sum(waited_s for of in judged for _, _, waited_s, _ in of) > 0.5
