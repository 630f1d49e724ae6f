"""What the harness logs where it is asked to, and that no candidate has a part in it."""

import ast
import hashlib
import logging
import os
from pathlib import Path

import pytest

from harness import logs
from harness.controller.evaluate import evaluate
from harness.controller.session import open_session
from harness.errors import InputError
from harness.judge.jobs import FROM_JUDGE, Logged
from harness.library import load_problem
from harness.schema import Submission
from harness.settings import Settings

HARNESS = Path(logs.__file__).parent
CANDIDATE = """\
import os
import torch

assert "HARNESS_LOG" not in os.environ
with open("/proc/self/environ", "rb") as file:
    assert b"HARNESS_LOG" not in file.read()
links = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
held = [os.readlink(link) for link in links if os.path.lexists(link)]
assert not any(path.endswith("events.log") for path in held), held
import logging
assert not any(type(handler) is not logging.NullHandler for handler in logging.getLogger("harness").handlers)
logging.getLogger("harness").warning("a candidate's own words")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
"""


@pytest.fixture
def fresh():
    """The logger as it is when nothing was asked for, and again afterwards."""
    root = logging.getLogger("harness")
    before, level = list(root.handlers), root.level
    yield root
    root.handlers[:] = before
    root.setLevel(level)


def test_nothing_is_written_unless_it_is_asked_for(fresh, capfd):
    logs.configure({})
    assert logs.wanted() == ""
    logs.logger("judge").info("an event")
    assert capfd.readouterr() == ("", "")


def test_an_event_is_one_line_with_the_submission_s_id(fresh, tmp_path):
    path = tmp_path / "events.log"
    logs.configure({"HARNESS_LOG": f"info:{path}"})
    logs.configure({"HARNESS_LOG": f"info:{path}"})  # a second session of the same process
    assert logs.wanted() == "info"
    with logs.about("a\nb.py 12ab"):
        logs.logger("judge").info("two\nlines \x1b[31m")
        logs.logger("judge").debug("too fine")
    logs.relayed("harness.judge", "info", "from afar", origin="judge:17")
    first, second = path.read_text().splitlines()
    assert first.endswith(f"info  judge      controller:{os.getpid()} [a?b.py 12ab] two?lines ?[31m")
    assert second.endswith("judge:17 [-] from afar")
    assert path.stat().st_mode & 0o777 == 0o600


def test_standard_error_is_where_no_file_is_named(fresh, capsys):
    logs.configure({"HARNESS_LOG": "debug"})
    logs.logger("sandbox").debug("an event")
    assert capsys.readouterr().err.rstrip().endswith("an event")


@pytest.mark.parametrize("value", ["loud", "info:/nowhere/at/all", "1", ":x"])
def test_what_cannot_be_done_is_bad_input(fresh, value):
    with pytest.raises(InputError, match="HARNESS_LOG"):
        logs.configure({"HARNESS_LOG": value})


def test_a_judge_hands_its_events_on(fresh):
    sent = []
    logs.relay("debug", lambda *event: sent.append(event))
    logs.logger("judge").debug("seen %d", 3)
    assert sent == [("harness.judge", "debug", "seen 3")]
    message = Logged(room="harness.judge", level="debug", text="seen 3")
    assert FROM_JUDGE.validate_json(message.model_dump_json()) == message


SECRET = ("seed", "token", "secret", "api_key", "source", "environ", "password", "contents", "inputs")


def logged() -> list[tuple[Path, ast.Call]]:
    """Every call that logs an event."""
    calls = []
    for path in HARNESS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="_log"))):
                    calls.append((path, node))
    return calls


def test_no_event_names_a_secret_or_a_seed():
    calls = logged()
    assert len(calls) > 8
    for path, call in calls:
        assert isinstance(call.args[0], ast.Constant), f"{path}: the text of an event is fixed"
        names = [ast.unparse(argument).lower() for argument in call.args[1:]]
        assert not [name for name in names if any(secret in name for secret in SECRET)], f"{path}:{call.lineno}"


@pytest.mark.slow
def test_all_kinds_of_process_are_seen_and_a_candidate_sees_nothing_of_it(fresh, tmp_path, monkeypatch):
    path = tmp_path / "events.log"
    monkeypatch.setenv("HARNESS_LOG", f"debug:{path}")
    sha256 = hashlib.sha256(CANDIDATE.encode()).hexdigest()
    submission = Submission(path="relu.py", sha256=sha256, text=CANDIDATE)
    settings = Settings(timing_s=0.0, workload={"batch_size": 4, "dim": 1000})
    with open_session("cpu", settings) as session:
        record = evaluate(submission, load_problem("level1/19_ReLU"), session=session).record
    assert record.verdict.kind == "correct", record.verdict
    lines = path.read_text().splitlines()
    for words in (
        ("controller:", "session on cpu"),
        ("controller:", "zygote", "is ready"),
        ("judge:", "job of"),
        ("worker", "harness.worker.serve:main"),
        ("controller:", "the judge of cpu is ready"),
        (f"[relu.py {sha256[:12]}]", "correct on cpu"),
    ):
        assert any(all(word in line for word in words) for line in lines), (words, lines)
    assert not any("own words" in line for line in lines)
