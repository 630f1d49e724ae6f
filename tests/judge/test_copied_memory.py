"""Where a driver shares no device memory, judge and worker copy it over the host. A CPU shows the same way."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import torch

from harness.catalog import text_problem
from harness.controller.evaluate import evaluate
from harness.controller.session import Session, open_session
from harness.schema import Correct, Record, Wrong
from harness.settings import Settings
from harness.transport.memory import CopiedArena

PROBLEM = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x), x.t() + 1


def get_inputs():
    return [torch.rand(60, 40)]


def get_init_inputs():
    return []
"""


def model_new(body: str) -> str:
    return f"import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        {body}\n"


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with open_session("cpu", Settings(timing_s=0, timeout_s=10, audit="none")) as opened:
        opened.seats[0].device = replace(opened.seats[0].device, copied=True)
        yield opened


@pytest.fixture
def judged(session, submission) -> Callable[[str], Record]:
    def judge(body: str) -> Record:
        return evaluate(submission(model_new(body)), text_problem(PROBLEM), session=session).record

    return judge


def test_what_one_side_sends_the_other_takes():
    mine = CopiedArena(5000, "cpu")
    theirs = CopiedArena(5000, "cpu", mine.descriptor())
    mine.bytes().fill_(7)
    theirs.bytes().fill_(0)
    assert not torch.equal(mine.bytes(), theirs.bytes())
    mine.send([(0, mine.size)])
    theirs.take([(100, 200), (4000, 50)])
    assert theirs.bytes().nonzero().view(-1).tolist() == [*range(100, 300), *range(4000, 4050)]
    theirs.take([(0, theirs.size)])
    assert torch.equal(mine.bytes(), theirs.bytes())
    mine.close()
    theirs.take([(0, theirs.size)])
    assert bool((theirs.bytes() == 7).all())
    theirs.close()


def test_a_time_says_that_memory_was_copied(judged):
    record = judged("return torch.clamp(x, min=0), x.t() + 1")
    assert isinstance(record.verdict, Correct)
    assert record.timing is not None
    assert [flag.severity for flag in record.flags if flag.rule == "copied-memory"] == ["warn"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return torch.relu(x) + 1e-2 * (x == x.max()), x.t() + 1", "values"),
        ("return x, x.t() + 1", "aliased-input"),
        ("return torch.relu(x), x.add_(1).t()", "inputs-changed"),
        ("return torch.relu(x), (x + 1).t()[:, 1:]", "shape"),
    ],
)
def test_what_is_wrong_is_found_through_the_copies(judged, body, reason):
    verdict = judged(body).verdict
    assert isinstance(verdict, Wrong)
    assert verdict.reason == reason


@pytest.mark.parametrize("body", ["return x.copy_(torch.relu(x)), x.t() + 1", "x.neg_(); return x.sum(1), x[:1] - 2"])
def test_what_the_reference_leaves_in_its_inputs_has_to_be_left_there_in_timed_calls_too(session, submission, body):
    problem = text_problem(PROBLEM.replace("return torch.relu(x), x.t() + 1", body))
    right, wrong = (
        evaluate(submission(model_new(answer)), problem, session=session).record
        for answer in (body, f"x = x.clone(); {body}")
    )
    assert isinstance(right.verdict, Correct), right.verdict
    assert right.timing is not None
    assert isinstance(wrong.verdict, Wrong)
    assert wrong.verdict.reason == "inputs-changed"


def test_a_worker_that_copies_nothing_breaks_the_protocol(judged):
    verdict = judged(
        "import gc; from harness.worker.serve import Server\n"
        "        server = next(o for o in gc.get_objects() if type(o) is Server)\n"
        "        import importlib; messages = importlib.import_module('harness.transport.worker_messages')\n"
        "        server._host_copy = lambda value: messages.HostCopy(address=0, size=0, copied_to=0)\n"
        "        return torch.relu(x), x.t() + 1"
    ).verdict
    assert (verdict.kind, verdict.reason) == ("failed", "protocol")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_gpu_is_judged_and_timed_through_copies(submission):
    with open_session("cuda", Settings(timing_s=0, audit="none")) as opened:
        opened.seats[0].device = replace(opened.seats[0].device, copied=True)
        right, wrong = (
            evaluate(submission(model_new(body)), text_problem(PROBLEM), session=opened).record
            for body in ("return torch.relu(x), x.t() + 1", "return torch.relu(x) + 1e-2, x.t() + 1")
        )
    assert isinstance(right.verdict, Correct)
    assert right.timing is not None
    assert "copied-memory" in [flag.rule for flag in right.flags]
    assert isinstance(wrong.verdict, Wrong)
