"""Real nodes on this machine: what is killed is judged again, nothing twice, and nothing is left running."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from fake_cluster import soon
from loopback_cluster import loopback_cluster
from relu import PROBLEM, RIGHT

from harness.store import open_run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(find_spec("ray") is None, reason="the extra `ray` is not installed"),
]

ACTOR = "ray::NodeProcess"
NUMBERED = RIGHT.rstrip() + "  # answer {number}\n"
KINDS = {
    "correct": NUMBERED,
    "wrong": NUMBERED.replace("min", "max"),
    "failed": NUMBERED.replace("clamp", "clmp"),
}


@pytest.fixture
def generations(tmp_path):
    """A folder of mixed answers to three problems, and the problems."""
    for level, name in enumerate(("19_ReLU", "20_Other", "21_Third"), 1):
        folder = tmp_path / f"problems/level{level}"
        folder.mkdir(parents=True)
        (folder / f"{name}.py").write_text(PROBLEM)
    answers = tmp_path / "answers"
    answers.mkdir()

    def make(count):
        for number in range(count):
            level = number % 3 + 1
            text = list(KINDS.values())[number % 7 % 3].format(number=number)
            path = answers / f"level_{level}_problem_{18 + level}_sample_{number}_kernel.py"
            path.write_text(text)
        return answers

    return make


def command(name, *arguments, cluster, tmp_path):
    log = (tmp_path / "commands.log").open("ab")
    options = ["--ray", cluster.address, "--device", "cpu", "--problems", tmp_path / "problems"]
    options += ["--timing", "none"]  # what is timed waits for whatever else is timed on this machine
    with log:
        return subprocess.Popen(
            [sys.executable, "-m", "harness", name, *map(str, arguments), *map(str, options), "--audit", "none"],
            stdout=log,
            stderr=log,
            env=cluster.environment,
            cwd=tmp_path,
        )


def said(tmp_path):
    return (tmp_path / "commands.log").read_text()


def kept(run: Path) -> int:
    path = run / "records.jsonl"
    return len(path.read_bytes().splitlines()) if path.exists() else 0


def test_a_batch_outlives_an_actor_a_raylet_and_its_driver(tmp_path, generations):
    count, run = 240, tmp_path / "run"  # more than are judged until the late node is there
    answers = generations(count)
    with loopback_cluster("head", "second") as cluster:
        driver = command("batch", answers, "--run", run, cluster=cluster, tmp_path=tmp_path)

        def judges_on(more):
            before = kept(run)
            soon(lambda: kept(run) >= before + more or driver.poll() is not None, 400)
            assert driver.poll() is None, said(tmp_path)

        try:
            judges_on(3)
            cluster.kill("second", ACTOR)
            judges_on(6)
            cluster.start("late")
            soon(lambda: cluster.processes("late", ACTOR) or driver.poll() is not None, 200)
            assert driver.poll() is None, said(tmp_path)
            cluster.kill("second", "/raylet ")
            judges_on(6)
            driver.kill()
            driver.wait(60)
            soon(lambda: not (cluster.processes("head", ACTOR) or cluster.processes("late", ACTOR)), 200)
            left = count - kept(run)
            assert left > 0
            driver = command("batch", answers, "--run", run, cluster=cluster, tmp_path=tmp_path)
            assert driver.wait(600) == 0, said(tmp_path)
        finally:
            driver.kill()
            driver.wait(60)
    records = list(open_run(run).records())
    assert sorted(record.submission.path for record in records) == sorted(os.listdir(answers))
    assert kept(run) == count
    expected = {path.name: path.read_text() for path in answers.iterdir()}
    for record in records:
        number = record.submission.sample
        assert record.verdict.kind == list(KINDS)[number % 7 % 3], record
        assert f"answer {number}" in expected[record.submission.path]
    assert "lost" in said(tmp_path)
    assert "(raylet)" not in said(tmp_path)
    assert "The actor is dead because its worker process has died" in said(tmp_path)


def test_a_server_over_a_cluster_loses_no_job_with_an_actor(tmp_path, generations):
    generations(0)
    with loopback_cluster("head") as cluster:
        where = ["--port", 0, "--state", tmp_path / "state"]
        server = command("serve", *where, cluster=cluster, tmp_path=tmp_path)
        try:
            soon(lambda: "serving on" in said(tmp_path) or server.poll() is not None, 300)
            assert server.poll() is None, said(tmp_path)
            url = said(tmp_path).split("serving on ")[1].split(",")[0]
            text = f"""
import json, sys, threading
from concurrent.futures import ThreadPoolExecutor
from harness.client import judge
answers = json.loads(sys.stdin.read())
ask = lambda answer: judge(answer, "19_ReLU", url={url!r}, deadline_s=900)["summary"]["kind"]
print(json.dumps(list(ThreadPoolExecutor(8).map(ask, answers))))
"""
            clients = subprocess.Popen(
                [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=cluster.environment
            )
            asked = [list(KINDS.values())[number % 3].format(number=number) for number in range(18)]
            assert clients.stdin is not None
            clients.stdin.write(json.dumps(asked).encode())
            clients.stdin.close()
            clients.stdin = None
            soon(lambda: kept(tmp_path / "state/run") >= 2, 300)
            cluster.kill("head", ACTOR)
            out, _ = clients.communicate(timeout=600)
            assert json.loads(out) == [list(KINDS)[number % 3] for number in range(18)]
            server.terminate()
            assert server.wait(200) == 0, said(tmp_path)
        finally:
            server.kill()
            server.wait(60)
    records = list(open_run(tmp_path / "state/run").records())
    assert len({record.submission.path for record in records}) == len(records) == 18


def test_a_thread_that_joins_a_cluster_and_leaves_it_takes_no_signal_from_the_command():
    text = """
import os, signal, sys, threading
from harness.cluster.ray_cluster import join
signal.signal(signal.SIGTERM, lambda number, frame: print("told", flush=True))
def joins():
    cluster, _ = join(sys.argv[1], "cpu")
    os.kill(os.getpid(), signal.SIGTERM)
    cluster.close()
for _ in range(2):
    thread = threading.Thread(target=joins)
    thread.start()
    thread.join()
    os.kill(os.getpid(), signal.SIGTERM)
"""
    with loopback_cluster("head") as cluster:
        ran = subprocess.run(
            [sys.executable, "-c", text, cluster.address],
            capture_output=True, text=True, env=cluster.environment, timeout=200, check=False,
        )  # fmt: skip
    assert (ran.returncode, ran.stdout.split()) == (0, ["told"] * 4), ran.stderr


def test_the_doctor_asks_every_node(tmp_path):
    with loopback_cluster("head", "second") as cluster:
        ran = subprocess.run(
            [sys.executable, "-m", "harness", "doctor", "--ray", cluster.address, "--json"],
            capture_output=True, text=True, env=cluster.environment, timeout=500, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stdout + ran.stderr
        told = json.loads(ran.stdout)
        assert len(told["nodes"]) == 2
        assert told["differences"] == []


def test_an_address_where_no_cluster_is_is_said(tmp_path, generations):
    answers = generations(1)

    def asked(address):
        return subprocess.run(
            [sys.executable, "-m", "harness", "batch", answers, "--run", tmp_path / "run", "--problems",
             tmp_path / "problems", "--ray", address],
            capture_output=True, text=True, timeout=300, check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )  # fmt: skip

    refused = asked("auto")
    assert refused.returncode == 2
    assert "'auto' is no address of a Ray cluster: give HOST:PORT" in refused.stderr
