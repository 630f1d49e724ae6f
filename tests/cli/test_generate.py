import itertools
import json
import re
import selectors
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scripted_server import Act, Fail, Hang, Reset, Say, Script, Server

from harness.controller import session as session_module
from harness.generate import asking as asking_module
from harness.intake import read_folder
from harness.schema.generation import Generation
from harness.store import open_run

KEY = "sk-a-secret-of-ours"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key, no proxy, and short waits."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for name in ("OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(asking_module, "_FIRST_WAIT_S", 0.01)


@pytest.fixture
def serve() -> Iterator[Callable[[Script | Act], Server]]:
    servers = []

    def start(script: Script | Act) -> Server:
        server = Server(script if callable(script) else lambda request: script)
        servers.append(server.__enter__())
        return server

    yield start
    for server in servers:
        server.__exit__()


@pytest.fixture
def answers(here: Path) -> dict[str, str]:
    """Responses by what becomes of them."""
    codes = {name: (here / f"{name}.py").read_text() for name in ("right", "wrong", "failing")}
    return {name: f"Here it is.\n\n```python\n{code}```\n" for name, code in codes.items()}


def turn_of(request) -> int:
    return sum(message["role"] == "assistant" for message in request.messages)


def command(server: Server, *more: str, run: str = "r", name: str = "generate") -> list[str]:
    judging = ["--timing", "none"] if name == "run" else []  # timing waits for whatever else is timed on this machine
    return [name, "--model", "m", "--base-url", server.url, "--run", run, "--only", "19_ReLU", *judging, *more]


def kept(run: Path) -> dict[str, Generation]:
    found = run.glob("generations/**/sample_*.json")
    return {path.stem: Generation.model_validate_json(path.read_bytes()) for path in found}


# generate


def test_answers_lie_where_batch_reads_them(here, invoke, serve, answers):
    server = serve(lambda request: Say(answers["wrong"], delay_s=0.01))
    result = invoke(*command(server, "--samples", "3"))
    assert result.exit_code == 0, result.stderr
    assert result.stdout == (
        "3 answered now; 21 tokens read, 15 written\nharness batch runs/r/generations --run r judges them\n"
    )
    judged = invoke("batch", "runs/r/generations", "--run", "r")
    assert judged.exit_code == 0, judged.stderr
    records = sorted(open_run("r").records(), key=lambda record: record.submission.sample)
    assert [(one.problem.title, one.submission.sample, one.verdict.kind) for one in records] == [
        ("level1/19_ReLU", sample, "wrong") for sample in range(3)
    ]
    submission = records[1].submission
    assert (submission.path, submission.model) == ("m/level1/19_ReLU/sample_1.txt", "m")
    assert (submission.turn, submission.parent) == (0, None)
    assert (submission.prompt_tokens, submission.completion_tokens) == (7, 5)


@pytest.mark.parametrize("model", ["openai/gpt-4o", "qwen:7b", "../up", ".hidden", "/models/a b", "19_ReLU", "level1"])
def test_a_models_name_is_kept_whatever_it_is(here, invoke, serve, answers, model):
    server = serve(Say(answers["failing"]))
    arguments = command(server)
    arguments[2] = model
    assert invoke(*arguments).exit_code == 0
    (submission,) = read_folder(here / "runs/r/generations")
    assert (submission.model, submission.problem) == (model, "level1/19_ReLU")
    assert {path.name for path in here.iterdir()} == {"problems", "runs", "right.py", "wrong.py", "failing.py"}


def test_what_was_answered_is_not_asked_again(here, invoke, serve):
    server = serve(Say("first"))
    assert invoke(*command(server, "--samples", "2")).exit_code == 0
    server.script = lambda request: Say("second")
    result = invoke(*command(server, "--samples", "3"))
    assert "2 answers are there already" in result.stderr
    assert "1 answered now" in result.stdout
    assert sorted(one.text for one in kept(here / "runs/r").values()) == ["first", "first", "second"]
    assert "nothing was left to ask" in invoke(*command(server, "--samples", "3")).stdout
    assert len(server.requests) == 3


def test_a_text_that_a_death_left_unwritten_is_mended_without_asking(here, invoke, serve):
    server = serve(Say("once"))
    invoke(*command(server))
    text = here / "runs/r/generations/m/level1/19_ReLU/sample_0.txt"
    text.unlink()
    assert invoke(*command(server)).exit_code == 0
    assert text.read_text() == "once"
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--temperature", "0.7"], "temperature is None there and 0.7 here"),
        (["--variant", "zero-shot"], "variant is 'one-shot' there and 'zero-shot' here"),
        (["--param", "top_p=0.5"], "parameters is {} there and {'top_p': 0.5} here"),
    ],
)
def test_a_run_that_was_asked_for_otherwise_is_left_alone(here, invoke, serve, more, said):
    server = serve(Say("x"))
    assert invoke(*command(server)).exit_code == 0
    result = invoke(*command(server, "--samples", "2", *more))
    assert result.exit_code == 2
    assert f"{said}. Choose another run name" in result.stderr
    assert len(server.requests) == 1


def test_an_answer_to_a_problem_that_has_changed_is_not_passed_off_as_one(here, invoke, serve):
    server = serve(Say("x"))
    assert invoke(*command(server)).exit_code == 0
    problem = here / "problems/level1/19_ReLU.py"
    problem.write_text(problem.read_text() + "\n")
    result = invoke(*command(server))
    assert result.exit_code == 2
    assert "answers level1/19_ReLU as it was before it was changed" in result.stderr


def test_two_models_in_one_run_lie_apart(here, invoke, serve):
    server = serve(lambda request: Say(request.body["model"]))
    for model in ("a", "b"):
        arguments = command(server)
        arguments[2] = model
        assert invoke(*arguments).exit_code == 0
    assert {(one.model, one.text) for one in read_folder(here / "runs/r/generations")} == {("a", "a"), ("b", "b")}


def test_odd_answers_are_told_and_counted_and_are_no_fault(here, invoke, serve):
    says = [Say(""), Say("half", finish="length"), Say("", refusal="no"), Say("whole")]
    server = serve(lambda request: says[request.number])
    result = invoke(*command(server, "--samples", "4", "--concurrency", "1"))
    assert result.exit_code == 0
    assert result.stdout.startswith("4 answered now, 1 truncated, 1 refused, 1 empty; ")
    assert "truncated   level1/19_ReLU sample 1  (length)" in result.stderr


def test_a_server_that_is_not_there_is_named_and_nothing_is_said_to_be_judged(here, invoke, serve, monkeypatch):
    monkeypatch.setattr("harness.generate.asking._FIRST_WAIT_S", 0.002)
    arguments = command(serve(lambda request: Say("x")))
    arguments[4] = "http://127.0.0.1:9/v1"
    result = invoke(*arguments)
    assert result.exit_code == 3
    assert result.stdout == "nothing was answered, 1 asked; 0 tokens read, 0 written\n"
    assert "unanswered  level1/19_ReLU sample 0  no answer from http://127.0.0.1:9: " in result.stderr


def test_what_was_not_answered_is_a_fault_and_is_asked_for_again(here, invoke, serve):
    server = serve(lambda request: Fail(400, "too long") if request.number == 0 else Say("x"))
    result = invoke(*command(server, "--samples", "2", "--concurrency", "1"))
    assert result.exit_code == 3
    assert "unanswered  level1/19_ReLU sample 0  HTTP 400: " in result.stderr
    assert "1 were not answered" in result.stderr
    assert invoke(*command(server, "--samples", "2")).exit_code == 0
    assert len(server.requests) == 3


def test_the_price_is_shown(invoke, serve):
    server = serve(Say("x", usage={"prompt_tokens": 1_000_000, "completion_tokens": 500_000}))
    assert "1M tokens read, 500k written, $1.20" in invoke(*command(server, "--price", "0.20/2")).stdout


def test_the_key_is_written_nowhere_and_said_nowhere(here, invoke, serve):
    server = serve(lambda request: Say(f"you are {request.key}"))
    result = invoke(*command(server))
    assert server.requests[0].key == KEY
    assert KEY not in result.output
    assert all(KEY.encode() not in path.read_bytes() for path in here.rglob("*") if path.is_file())


def test_a_server_without_keys_needs_none(invoke, serve, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    server = serve(Say("x"))
    assert invoke(*command(server)).exit_code == 0
    assert server.requests[0].key == "none"


def test_another_variable_may_hold_the_key(invoke, serve, monkeypatch):
    monkeypatch.setenv("ROUTER_KEY", "sk-of-the-router")
    server = serve(Say("x"))
    assert invoke(*command(server, "--key-env", "ROUTER_KEY")).exit_code == 0
    assert server.requests[0].key == "sk-of-the-router"


def test_a_dry_run_prints_the_prompts_and_asks_nobody(here, invoke, serve):
    server = serve(Say("x"))
    result = invoke(*command(server, "--dry-run", "--hardware", "H200", "--language", "c++", "--temperature", "0.5"))
    assert result.exit_code == 0
    assert result.stdout.startswith("==== level1/19_ReLU  prompt ")
    assert "temperature=0.5" in result.stdout
    assert "---- user\n" in result.stdout
    assert (here / "problems/level1/19_ReLU.py").read_text().strip() in result.stdout
    assert "NVIDIA H200" in result.stdout
    assert server.requests == []
    assert not (here / "runs").exists()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--only", "no_such"], "There is no problem 'no_such'"),
        (["--problems", "absent"], "There are no problems at absent"),
        (["--templates", "absent"], "there is no folder of templates absent"),
        (["--hardware", "abacus"], "no figures are known of 'abacus'"),
        (["--base-url", "localhost:8000"], "is no base URL of a server"),
        (["--base-url", "http://user:pass@localhost/v1"], "holds what may be a secret"),
        (
            ["--base-url", "https://api.openai.com/v1", "--key-env", "ABSENT"],
            "no key in the environment variable ABSENT",
        ),
    ],
)
def test_bad_input_is_one_sentence_before_anything_is_asked(here, invoke, serve, more, sentence):
    server = serve(Say("x"))
    result = invoke(*command(server, *more))
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert "pass" not in result.stderr
    assert server.requests == []
    assert not (here / "runs").exists()


@pytest.mark.parametrize("more", [["--param", "seed"], ["--param", "model=x"], ["--price", "1"], ["--samples", "0"]])
def test_bad_usage_is_status_2(invoke, serve, more):
    assert invoke(*command(serve(Say("x")), *more)).exit_code == 2


def test_verdicts_that_the_run_has_are_sent_back(here, invoke, serve, answers):
    server = serve(lambda request: Say(answers["right" if turn_of(request) else "failing"]))
    assert invoke(*command(server, "--turns", "2")).exit_code == 0
    assert len(server.requests) == 1, "there is no verdict yet"
    assert invoke("batch", "runs/r/generations", "--run", "r").exit_code == 0
    assert invoke(*command(server, "--turns", "2")).exit_code == 0
    assert [message["role"] for message in server.requests[1].messages] == ["system", "user", "assistant", "user"]
    assert "ValueError: no such kernel" in server.requests[1].asked
    assert invoke("batch", "runs/r/generations", "--run", "r").exit_code == 0
    assert invoke(*command(server, "--turns", "2")).exit_code == 0
    assert len(server.requests) == 2
    first, second = sorted(open_run("r").records(), key=lambda record: record.submission.turn)
    assert (first.verdict.kind, second.verdict.kind) == ("failed", "correct")
    assert second.submission.parent == first.submission.sha256


# run


def improving(answers: dict[str, str]) -> Script:
    return lambda request: Say(answers[["failing", "wrong", "right"][turn_of(request)]])


def test_a_model_that_improves_over_three_turns_is_on_the_leaderboard_by_its_best(here, invoke, serve, answers):
    server = serve(improving(answers))
    result = invoke(*command(server, "--turns", "3", "--samples", "2", name="run"))
    assert result.exit_code == 0, result.stderr
    assert [turn_of(request) for request in server.requests].count(2) == 2
    for request in server.requests:
        if turn_of(request) == 1:
            assert "ValueError: no such kernel" in request.asked
        if turn_of(request) == 2:
            assert "elements of output are out of tolerance" in request.asked
    records = {(one.submission.sample, one.submission.turn): one for one in open_run("r").records()}
    assert {key: record.verdict.kind for key, record in records.items()} == {
        (sample, turn): kind for sample in (0, 1) for turn, kind in enumerate(("failed", "wrong", "correct"))
    }
    for sample in (0, 1):
        assert records[sample, 2].submission.parent == records[sample, 1].submission.sha256
        assert records[sample, 1].submission.parent == records[sample, 0].submission.sha256
    board = json.loads(invoke("leaderboard", "r", "--format", "json").stdout)
    (row,) = board["rows"]
    assert row["model"] == "m"
    (fast_0,) = (each for each in row["fast_p"] if each["p"] == 0)
    assert fast_0["value"] == 1.0
    (best,) = row["best"]
    assert best["submission"] == f"m/level1/19_ReLU/sample_{best['sample']}_turn_2.txt"
    assert [turn["verdict"] for turn in best["path"]] == ["failed", "wrong", "correct"]
    assert "\nfailed, wrong, correct" in result.stdout


def test_asking_beside_judges_needs_no_watch_of_epoll(invoke, serve, answers, monkeypatch):
    """A worker could take all that its user may have."""
    monkeypatch.setattr(selectors, "DefaultSelector", lambda: pytest.fail("a loop waits by epoll"))
    result = invoke(*command(serve(Say(answers["right"])), name="run"))
    assert result.exit_code == 0, result.stderr
    assert [record.verdict.kind for record in open_run("r").records()] == ["correct"]


def test_expected_values_and_seeds_are_never_sent_back(here, invoke, serve, answers):
    server = serve(improving(answers))
    assert invoke(*command(server, "--turns", "3", name="run")).exit_code == 0
    (wrong,) = (record for record in open_run("r").records() if record.verdict.kind == "wrong")
    sent = server.requests[-1].asked
    mismatch = wrong.verdict.mismatch
    told = [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*(?:\.\d+)?", sent)]
    excess = abs(mismatch.actual - mismatch.expected) / mismatch.tolerance
    assert told[:-1] == [mismatch.mismatched, mismatch.elements, *mismatch.worst_index]
    assert told[-1] == pytest.approx(excess, rel=0.01) or "a million" in sent
    assert "should be" not in sent
    assert "seed" not in sent


def test_judging_starts_while_answers_are_still_to_come(here, invoke, serve, answers):
    judged_by_then = []

    def script(request):
        if request.number == 3:
            deadline = time.monotonic() + 30
            kept = here / "runs/r/records.jsonl"
            while not (kept.exists() and kept.read_bytes().count(b"\n")) and time.monotonic() < deadline:
                time.sleep(0.02)
            judged_by_then.append(kept.read_bytes().count(b"\n"))
        return Say(answers["failing"])

    arguments = command(serve(script), "--samples", "4", "--concurrency", "1", name="run")
    assert invoke(*arguments).exit_code == 0
    assert judged_by_then[0] >= 1


def test_a_run_goes_on_where_it_stopped(here, invoke, serve, answers):
    server = serve(improving(answers))
    assert invoke(*command(server, "--turns", "3")).exit_code == 0
    assert invoke(*command(server, "--turns", "3", name="run")).exit_code == 0
    assert [turn_of(request) for request in server.requests] == [0, 1, 2]
    again = invoke(*command(server, "--turns", "3", name="run"))
    assert "3 answers are there already, 3 of them judged" in again.stderr
    assert "nothing was left to ask; 0 tokens read, 0 written; 0 judged now" in again.stdout
    assert len(server.requests) == 3


def test_a_server_that_closes_its_door_half_way_loses_no_answer(here, invoke, serve, answers):
    server = serve(lambda request: Say(answers["wrong"]) if request.number < 2 else Fail(401, "no more"))
    result = invoke(*command(server, "--samples", "4", "--concurrency", "1", name="run"))
    assert result.exit_code == 2
    assert "lets nobody in (HTTP 401" in result.stderr
    assert [record.verdict.kind for record in open_run("r").records()] == ["wrong", "wrong"]
    server.script = lambda request: Say(answers["wrong"])
    assert invoke(*command(server, "--samples", "4", name="run")).exit_code == 0
    assert len(list(open_run("r").records())) == 4


def test_a_judge_that_cannot_be_started_ends_the_asking_too(here, invoke, serve, answers, shared_session, monkeypatch):
    from harness.errors import DeviceError

    def lost(seat):
        raise DeviceError("the GPU cannot be used")

    shared_session.seats[0].close()
    monkeypatch.setattr(session_module.JudgeSeat, "_start", lost)
    result = invoke(*command(serve(lambda request: Hang()), name="run"))
    assert result.exit_code == 3
    assert "the GPU cannot be used" in result.stderr


def test_a_fault_of_the_machine_is_tried_again_and_ends_the_conversation(here, invoke, serve, answers, monkeypatch):
    from harness.controller.evaluate import examine
    from harness.errors import ToolchainError

    met = []

    def failing_examine(draft, **options):
        if draft.submission.sample == 0:
            met.append(draft.submission.turn)
            raise ToolchainError("g++ cannot be found: install it or mend the PATH.")
        examine(draft, **options)

    monkeypatch.setattr("harness.controller.evaluate.examine", failing_examine)
    number, improve = itertools.count(), improving(answers)  # no two answers are equal: nothing is taken over

    def differing(request):
        say = improve(request)
        return Say(say.text.replace("import torch", f"import torch  # {next(number)}", 1))

    server = serve(differing)
    result = invoke(*command(server, "--samples", "2", "--turns", "2", name="run"))
    assert result.exit_code == 3
    assert "to be tried again: not judged" in result.stderr
    assert met == [0, 0]
    kinds = {(one.submission.sample, one.submission.turn): one.verdict.kind for one in open_run("r").records()}
    assert kinds == {(0, 0): "infrastructure", (1, 0): "failed", (1, 1): "wrong"}
    monkeypatch.setattr("harness.controller.evaluate.examine", examine)
    assert invoke(*command(server, "--samples", "2", "--turns", "2", name="run")).exit_code == 0
    kinds = {(one.submission.sample, one.submission.turn): one.verdict.kind for one in open_run("r").records()}
    assert kinds == {(sample, turn): kind for sample in (0, 1) for turn, kind in enumerate(("failed", "wrong"))}


LOOKS_FOR_KEYS = """
import glob
import os
import torch

found = [str(dict(os.environ))]
for path in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline"):
    try:
        found.append(open(path, errors="replace").read())
    except OSError:
        pass


class ModelNew(torch.nn.Module):
    def forward(self, x):
        raise ValueError(" ".join(found))
"""


def test_a_worker_sees_nothing_of_the_key(here, start, serve):
    server = serve(Say(f"```python\n{LOOKS_FOR_KEYS}```\n"))
    process = start([*command(server, "--device", "cpu", "--key-env", "THE_KEY", name="run")], here, THE_KEY=KEY)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    assert server.requests[0].key == KEY
    (record,) = open_run(here / "runs/r").records()
    assert record.verdict.reason == "exception"
    assert "HOME" in record.verdict.detail + record.verdict.log
    assert all(KEY.encode() not in path.read_bytes() for path in here.rglob("*") if path.is_file())


# Dying


@pytest.mark.slow
def test_a_thousand_requests_with_limits_resets_and_a_kill_lose_and_repeat_nothing(here, start, serve):
    """10% of the requests meet a limit, 5% a reset, and the process dies by SIGKILL about half way."""

    def script(request):
        if request.number % 10 == 3:
            return Fail(429, headers={"retry-after-ms": "20"})
        if request.number % 20 == 8:
            return Reset()
        return Say(f"answer {request.number}", pieces=2)

    problems = here / "problems/level1"
    source = (problems / "19_ReLU.py").read_text()
    for number in range(100, 200):
        (problems / f"{number}_P.py").write_text(source.replace("dim = 32", f"dim = {number}"))
    for path in (problems / "19_ReLU.py", problems / "20_Raising.py"):
        path.unlink()
    server = serve(script)
    arguments = ["generate", "--model", "m", "--base-url", server.url, "--run", "r", "--samples", "10"]
    process = start([*arguments, "--concurrency", "32"], cwd=here)
    below = here / "runs/r/generations/m/level1"
    while len(list(below.glob("*/*.txt"))) < 450:
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    before = {path: path.read_bytes() for path in below.glob("*/sample_*.json")}
    answered_before = len(server.answered)
    process = start([*arguments, "--concurrency", "32"], cwd=here)
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    assert stdout.startswith(f"{1000 - len(before)} answered now")
    after = {path: path.read_bytes() for path in below.glob("*/sample_*.json")}
    assert len(after) == 1000
    assert before.items() <= after.items()
    answers = Counter(Generation.model_validate_json(content).key for content in after.values())
    assert set(answers.values()) == {1}
    assert {path.with_suffix(".txt").read_text() for path in after} == {
        Generation.model_validate_json(content).text for content in after.values()
    }
    assert len(server.answered) - answered_before == 1000 - len(before), "what was kept is not asked again"
    assert len(read_folder(here / "runs/r/generations")) == 1000
    assert len(server.requests) > 1100


@pytest.mark.slow  # three starts
def test_kills_in_the_middle_of_a_run_lose_and_repeat_nothing(here, start, serve, answers):
    server = serve(lambda request: Say(answers["wrong" if turn_of(request) else "failing"]))
    arguments = command(server, "--samples", "12", "--turns", "2", "--device", "cpu", name="run")
    records = here / "runs/r/records.jsonl"
    for least in (4, 14):
        process = start(arguments, cwd=here)
        while (records.read_bytes().count(b"\n") if records.exists() else 0) < least:
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.005)
        process.kill()
        process.communicate(timeout=30)
    process = start(arguments, cwd=here)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    written = [json.loads(line)["submission"] for line in records.read_text().splitlines()]
    assert Counter((one["sample"], one["turn"]) for one in written) == Counter(
        (sample, turn) for sample in range(12) for turn in (0, 1)
    )
    texts = {one["sha256"]: one["turn"] for one in written}
    assert {texts[one["parent"]] for one in written if one["turn"]} == {0}
    assert len(server.answered) <= 24 + 2 * 16, "only what was in flight is asked again"
