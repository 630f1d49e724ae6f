"""The command in a process of its own, with judges: it is drained, killed, started again and refused an address."""

import contextlib
import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from relu import PROBLEM, RIGHT

from harness.client import NoVerdict, judge, judge_many
from harness.sandbox.processes import descendants
from harness.store import open_run

pytest.importorskip("fastapi")


def answer_that_names_itself(number: int) -> str:
    return RIGHT.replace("return x", f"raise RuntimeError('answer {number} of many')\n        return x")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


class Server:
    """`harness serve` on one state and one port, as often as it is started."""

    def __init__(self, folder: Path, problems: Path) -> None:
        self.port, self.state, self.problems = free_port(), folder / "state", problems
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[str] | None = None
        self.token = ""
        self.descriptors: int | None = None
        self.soft: int | None = None

    def start(self, *more: str) -> None:
        """Returns when it serves. It may have so many `descriptors`, where that is set."""
        command = ["serve", "--port", str(self.port), "--state", str(self.state), "--problems", str(self.problems)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "harness", *command, "--device", "cpu", "--timing", "0", *more],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "HARNESS_TOKEN": self.token},
            preexec_fn=self._limit,
        )
        assert self.process.stderr is not None
        said = self.process.stderr.readline()
        assert said.startswith(f"serving on {self.url}"), said

    def _limit(self) -> None:
        if self.descriptors is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (self.soft or self.descriptors, self.descriptors))

    def end(self, number: int) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        status = self.process.wait(120)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return status


@pytest.fixture
def server(tmp_path: Path, problems: Path) -> Iterator[Server]:
    made = Server(tmp_path, problems)
    yield made
    if made.process is not None and made.process.poll() is None:
        made.end(signal.SIGKILL)


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One for what ends no server: with a token, few descriptors and fewer to begin with, and no times."""
    folder = tmp_path_factory.mktemp("standing")
    problem = folder / "problems/level1/19_ReLU.py"
    problem.parent.mkdir(parents=True)
    problem.write_text(PROBLEM)
    made = Server(folder, folder / "problems")
    made.token, made.descriptors, made.soft = "a secret word", 1024, 500
    made.start("--timing", "none")
    yield made
    assert made.end(signal.SIGTERM) == 0


@contextmanager
def asking(server: Server, numbers: range, *, concurrency: int) -> Iterator[dict[int, Any]]:
    """Clients that ask while the block runs; their answers are all there after it."""
    found: dict[int, Any] = {}

    def ask() -> None:
        tasks = [(answer_that_names_itself(number), "19_ReLU") for number in numbers]
        for place, answer in judge_many(tasks, concurrency=concurrency, url=server.url):
            found[numbers[place]] = answer

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield found
    finally:
        thread.join()


def check(server: Server, found: dict[int, Any], numbers: range) -> None:
    """Each asked has its own verdict, and one record that counts, which says the same."""
    records = {record.submission.path: record for record in open_run(server.state / "run").records()}
    assert sorted(found) == list(numbers)
    for number, answer in found.items():
        assert not isinstance(answer, NoVerdict), answer
        assert f"answer {number} of many" in answer["summary"]["detail"]
        kept = records.pop(answer["id"])
        assert kept.submission.sha256 == answer["record"]["submission"]["sha256"]
        assert kept.verdict.model_dump() == answer["record"]["verdict"]
    assert records == {}


def test_the_command_serves_and_drains_and_answers_from_its_store_when_started_again(server: Server) -> None:
    server.start()
    first = judge(RIGHT, "19_ReLU", url=server.url)
    assert first["summary"]["kind"] == "correct"
    assert server.end(signal.SIGTERM) == 0
    server.start()
    assert judge(RIGHT, "19_ReLU", url=server.url)["record"] == first["record"]
    assert server.end(signal.SIGINT) == 0
    assert len((server.state / "run/records.jsonl").read_text().splitlines()) == 1


def test_the_loop_of_the_server_has_nothing_that_a_worker_of_its_user_could_use_up(standing: Server) -> None:
    """Watches of epoll are counted by user (fs.epoll.max_user_watches), and descriptors on their way likewise."""
    process = Path(f"/proc/{standing.process.pid}")  # type: ignore[union-attr]
    with urllib.request.urlopen(f"{standing.url}/health", timeout=60):
        held = {os.readlink(link) for link in (process / "fd").iterdir()}
    assert any(link.startswith("socket:") for link in held)
    assert "anon_inode:[eventpoll]" not in held
    limits = (process / "limits").read_text().splitlines()
    assert next(line for line in limits if line.startswith("Max open files")).split()[3:5] == ["1024", "1024"]


def test_the_processes_that_judge_do_not_get_the_token(standing: Server) -> None:
    assert judge(RIGHT, "19_ReLU", url=standing.url, token=standing.token)["summary"]["kind"] == "correct"
    with pytest.raises(NoVerdict, match="401"):
        judge(RIGHT, "19_ReLU", url=standing.url)
    assert standing.process is not None
    below = descendants(standing.process.pid)
    read = 0
    for pid in below:
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):  # a worker may be ending
            assert standing.token.encode() not in Path(f"/proc/{pid}/environ").read_bytes()
            read += 1
    assert read >= 2


def test_connections_that_say_nothing_take_no_descriptor_from_what_judges(standing: Server) -> None:
    assert standing.process is not None
    another = RIGHT + "# another\n"  # which is not answered from the store
    with contextlib.ExitStack() as open_ones:
        for _ in range(600):
            open_ones.enter_context(socket.create_connection(("127.0.0.1", standing.port), timeout=60))
        with urllib.request.urlopen(f"{standing.url}/health", timeout=60) as answer:
            assert answer.status == 200
        assert judge(another, "19_ReLU", url=standing.url, token=standing.token)["summary"]["kind"] == "correct"
        assert len(os.listdir(f"/proc/{standing.process.pid}/fd")) < 400


@pytest.mark.slow
def test_what_takes_longer_than_the_drain_is_left_to_the_next_server(server: Server) -> None:
    endless = RIGHT.replace("return x", "import time\n        time.sleep(3600)\n        return x")
    server.start("--drain", "0.5", "--timeout", "300")
    with pytest.raises(NoVerdict, match="it is running"):
        judge(endless, "19_ReLU", url=server.url, deadline_s=5)
    assert server.end(signal.SIGTERM) == 0
    server.start("--timeout", "300", "--timing", "none")
    assert judge(RIGHT, "19_ReLU", url=server.url, priority="high")["summary"]["kind"] == "correct"


@pytest.mark.slow
def test_a_drained_server_leaves_nothing_lost(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.client._pause", lambda response, tries: random.uniform(0.1, 0.3))
    numbers = range(24)
    server.start()
    with asking(server, numbers, concurrency=64) as found:
        while len(found) < 5:
            threading.Event().wait(0.01)
        assert server.end(signal.SIGTERM) == 0
        server.start()
    check(server, found, numbers)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_at_random_moments_it_loses_nothing_and_changes_no_verdict(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.client._pause", lambda response, tries: random.uniform(0.1, 0.3))
    """With more answers and kills: benchmarks/callers.py."""
    numbers, chance = range(40), random.Random(7)
    server.start("--queue", "16")  # fewer than clients: some are refused
    with asking(server, numbers, concurrency=64) as found:
        for _ in range(3):
            threading.Event().wait(chance.uniform(0.1, 1.5))
            server.end(signal.SIGKILL)
            server.start("--queue", "16")
    check(server, found, numbers)
    before = {number: answer["record"] for number, answer in found.items()}
    with asking(server, numbers, concurrency=64) as again:
        pass
    assert {number: answer["record"] for number, answer in again.items()} == before


@pytest.mark.slow
def test_when_the_processes_that_judge_are_killed_the_verdicts_are_still_their_own(server: Server) -> None:
    """The zygote is a child of the server; all that judges is below it."""
    numbers = range(30)
    server.start("--timing", "none")
    assert server.process is not None
    with asking(server, numbers, concurrency=16) as found:
        while len(found) < 5:
            threading.Event().wait(0.01)
        threads = Path(f"/proc/{server.process.pid}/task").iterdir()
        children = [child for thread in threads for child in (thread / "children").read_text().split()]
        for child in children:
            os.kill(int(child), signal.SIGKILL)
    verdicts = {number: answer for number, answer in found.items() if not isinstance(answer, NoVerdict)}
    assert all(f"answer {n} of many" in answer["summary"]["detail"] for n, answer in verdicts.items())
    assert len(found) == 30
    assert len(verdicts) >= 20
    assert judge(RIGHT, "19_ReLU", url=server.url)["summary"]["kind"] == "correct"


def test_an_address_that_others_reach_is_refused_by_the_command(problems: Path, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "HARNESS_TOKEN"}
    done = subprocess.run(
        [sys.executable, "-m", "harness", "serve", "--host", "0.0.0.0", "--state", str(tmp_path / "state")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "set HARNESS_TOKEN" in done.stderr
    assert not (tmp_path / "state").exists()


def test_a_port_that_is_taken_is_said(problems: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = ["serve", "--port", port, "--state", str(tmp_path / "state")]
        done = subprocess.run([sys.executable, "-m", "harness", *command], capture_output=True, text=True, check=False)
    assert (done.returncode, json.dumps(port).strip('"') in done.stderr) == (2, True)
    assert "in use" in done.stderr
