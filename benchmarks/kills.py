"""Is anything lost: mixed submissions over a Ray cluster on this machine whose processes are killed with SIGKILL.

    python benchmarks/kills.py --submissions 200 --out benchmarks/results/kills-cpu.json

Submissions are correct, wrong, raise, are no Python, do not compile, crash and hang. They are judged on the CPU, each
node a raylet of its own, once by `harness batch --ray` and once by `harness serve --ray` with clients that ask all at
once. Meanwhile an actor is killed, a node joins late, a raylet is killed, then the command itself, which is started
again, then an actor and a session's prepared process on the nodes that are left, and the command is told to stop and
started again. In the end each submission has to have one record that counts, with the verdict that its text has. All
of it runs in a process namespace of its own, where what is left behind is seen, whoever its parent was. Nothing is
timed, since timing waits for whatever else is timed on this machine. Needs the extras `ray` and `serve`, `unshare` of
util-linux, and root.
"""

import argparse
import contextlib
import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

from serve import PROBLEM, RIGHT, ROOT, facts

from harness import Record
from harness.client import NoVerdict, judge
from harness.store import open_run

sys.path.insert(0, str(ROOT / "tests/support"))

from fake_cluster import soon
from loopback_cluster import LoopbackCluster, loopback_cluster

ACTOR, RAYLET, PREPARED = "ray::NodeProcess", "/raylet ", " -I -c "
"""What the titles of processes have in them; the last is of all that a session starts."""
NAMES = ("19_ReLU", "20_Other", "21_Third")
CLIENTS = 16
PATIENCE_S = 1800.0
"""For the next verdicts to come."""
BUILT = '''import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
torch::Tensor relu(torch::Tensor x) {{ return x.clamp_min({bound}); }} // answer {number}
"""
module = load_inline(name="relu", cpp_sources=SOURCE, functions=["relu"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.relu(x)
'''
DOES = RIGHT.replace("return x.clamp(min=0)", "{does}\n        return x.clamp(min=0)")
SHARES = {
    "correct": 6,
    "built": 1,
    "wrong": 4,
    "raises": 2,
    "no Python": 2,
    "does not compile": 2,
    "crashes": 2,
    "hangs": 1,
}
"""Of twenty."""
EXPECTED = {
    "correct": "correct",
    "built": "correct",
    "wrong": "wrong",
    "raises": "exception",
    "no Python": "syntax",
    "does not compile": "compile",
    "crashes": "crash",
    "hangs": "timeout",
}
"""What has to be found of each sort: the reason of a failure, else the verdict."""
SORTS = [sort for sort, share in SHARES.items() for _ in range(share)]


def sort_of(number: int) -> str:
    return SORTS[number * 7 % len(SORTS)]  # 7 and 20 have no common factor: each sort in its share, mixed


def text_of(number: int) -> str:
    texts = {
        "correct": RIGHT,
        "built": BUILT.format(bound=0, number=number),
        "wrong": RIGHT.replace("min", "max"),
        "raises": RIGHT.replace("clamp", "clmp"),
        "no Python": "import torch\n\n\nclass ModelNew(torch.nn.Module)\n    pass\n",
        "does not compile": BUILT.format(bound="nothing", number=number),
        "crashes": "import ctypes\n" + DOES.format(does="ctypes.string_at(0)"),
        "hangs": "import time\n" + DOES.format(does="time.sleep(3600)"),
    }
    return f"{texts[sort_of(number)]}\n# answer {number}\n"


def is_its_own(number: int, record: Record) -> bool:
    """Whether it is this submission's, and says what this has to come to."""
    found = record.verdict.reason if record.verdict.kind == "failed" else record.verdict.kind
    same = record.submission.sha256 == hashlib.sha256(text_of(number).encode()).hexdigest()
    return same and found == EXPECTED[sort_of(number)]


@dataclass
class Command:
    """`harness batch` or `harness serve` over a cluster, as often as it is started."""

    cluster: LoopbackCluster
    arguments: list[str]
    folder: Path
    killed: list[str] = field(default_factory=list)
    """What was killed, and after how many verdicts."""
    started: float = field(default_factory=time.monotonic)
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        command = [sys.executable, "-m", "harness", *self.arguments, "--ray", self.cluster.address, "--device", "cpu"]
        command += ["--problems", str(self.folder / "problems"), "--timing", "none", "--audit", "none"]
        command += ["--timeout", "20"]
        with self._log() as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, env=self.cluster.environment, cwd=self.folder
            )

    def _log(self) -> BinaryIO:
        return (self.folder / "said.log").open("ab")

    def said(self) -> str:
        return (self.folder / "said.log").read_text()

    def end(self, number: int) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(120)

    def lives(self) -> bool:
        """Raises AssertionError with what it said where it has ended."""
        assert self.process is not None
        assert self.process.poll() is None, self.said()
        return True

    def note(self, what: str, judged: int) -> None:
        self.killed.append(f"{what}, {judged} judged, after {time.monotonic() - self.started:.0f} s")
        print(self.killed[-1], flush=True)


def kill_in_turn(command: Command, judged: Callable[[], int], submissions: int) -> None:
    """Kill one after the other, each with work under way. `judged` says how many verdicts there are."""
    cluster = command.cluster

    def again(number: int) -> None:
        command.end(number)
        command.start()

    steps: dict[str, Callable[[], None]] = {
        "the second node's actor": lambda: cluster.kill("second", ACTOR),
        "a node that joins": lambda: cluster.start("late"),
        "the second node's raylet": lambda: cluster.kill("second", RAYLET),
        "the command, which is started again": lambda: again(signal.SIGKILL),
        "the late node's actor": lambda: cluster.kill("late", ACTOR),
        "the first node's prepared process": lambda: kill_session(cluster, "head"),
        "the first node's actor": lambda: cluster.kill("head", ACTOR),
        "the command by SIGTERM, which is started again": lambda: again(signal.SIGTERM),
    }
    for place, (what, do) in enumerate(steps.items(), 1):
        after = submissions * place // (len(steps) + 2)
        soon(lambda after=after: command.lives() and judged() >= after, PATIENCE_S)  # type: ignore[misc]
        do()
        command.note(what, judged())


def news_of(said: str) -> list[str]:
    """What the command said of its nodes: those that judge, that were lost, and what was in flight there."""
    lines = [line.strip() for line in said.splitlines()]
    return [line for line in lines if re.search(r"\bjudges on \d|\b(lost|without) \S+: ", line)]


def kill_session(cluster: LoopbackCluster, node: str) -> None:
    """SIGKILL to the process that all of a node's session is forked from, which is the actor's child."""
    soon(lambda: cluster.processes(node, ACTOR), PATIENCE_S)
    actors = cluster.processes(node, ACTOR)
    for pid in cluster.processes(node, PREPARED):
        with contextlib.suppress(OSError):
            if int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) in actors:
                os.kill(pid, signal.SIGKILL)


def lines_of(run: Path) -> list[bytes]:
    path = run / "records.jsonl"
    return path.read_bytes().splitlines() if path.exists() else []


def found_in(run: Path, submissions: int, numbers: Mapping[str, int]) -> dict[str, Any]:
    """What a run has in the end; `numbers` says of each submission's path which it is."""
    records = list(open_run(run).records())
    of = Counter(record.submission.path for record in records)
    return {
        "submissions": submissions,
        "records that count": len(records),
        "without a record": sum(path not in of for path in numbers),
        "with more than one that counts": sum(count > 1 for count in of.values()),
        "not what its text has to come to": [
            f"{sort_of(numbers[record.submission.path])}: {str(record.verdict)[:300]}"
            for record in records
            if not is_its_own(numbers[record.submission.path], record)
        ],
        "verdicts": dict(Counter(sort_of(numbers[record.submission.path]) for record in records)),
        "layers of isolation that were missing": sorted({one for record in records for one in record.sandbox.missing}),
        "lines of records": len(lines_of(run)),
        "of these faults": sum(json.loads(line)["verdict"]["kind"] == "infrastructure" for line in lines_of(run)),
    }


def of_batch(command: Command, submissions: int) -> dict[str, Any]:
    answers, run = command.folder / "answers", command.folder / "run"
    answers.mkdir()
    numbers = {f"level_{n % 3 + 1}_problem_{19 + n % 3}_sample_{n}_kernel.py": n for n in range(submissions)}
    for path, number in numbers.items():
        (answers / path).write_text(text_of(number))
    command.arguments = ["batch", str(answers), "--run", str(run)]
    command.start()
    kill_in_turn(command, lambda: len(lines_of(run)), submissions)
    assert command.process is not None
    status = command.process.wait(PATIENCE_S)
    return {"exit status": status, **found_in(run, submissions, numbers)}


def of_server(command: Command, submissions: int) -> dict[str, Any]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = int(taken.getsockname()[1])
    state = command.folder / "state"
    command.arguments = ["serve", "--port", str(port), "--state", str(state)]
    command.start()
    answers: dict[int, dict[str, Any]] = {}
    lost: list[str] = []

    def ask(number: int) -> None:
        try:
            answers[number] = judge(
                text_of(number), NAMES[number % 3], url=f"http://127.0.0.1:{port}", deadline_s=2 * PATIENCE_S
            )
        except NoVerdict as error:
            lost.append(f"{number}: {error}")

    with ThreadPoolExecutor(CLIENTS) as clients:
        asked = clients.map(ask, range(submissions))
        kill_in_turn(command, lambda: len(answers) + len(lost), submissions)
        list(asked)
    assert command.process is not None
    status = command.end(signal.SIGTERM)
    told = {number: Record.model_validate(answer["record"]) for number, answer in answers.items()}
    return {
        "clients": CLIENTS,
        "exit status of the last": status,
        "answered": len(answers),
        "lost jobs that a client saw": lost,
        "answers that are somebody else's": sum(not is_its_own(number, record) for number, record in told.items()),
        "ids": len({answer["id"] for answer in answers.values()}),
        **found_in(state / "run", submissions, {answer["id"]: number for number, answer in answers.items()}),
    }


def others() -> dict[int, str]:
    """All other processes that run in this namespace, but its first; those that only wait to be waited for are over."""
    found = {}
    for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            title = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if pid not in (1, os.getpid()) and state != "Z":
            found[pid] = title[:200]
    return found


@contextmanager
def prepared(folder: Path) -> Iterator[Command]:
    """A cluster of two nodes, and three problems. Raises AssertionError where a process of the cluster is left."""
    for level, name in enumerate(NAMES, 1):
        (folder / f"problems/level{level}").mkdir(parents=True)
        (folder / f"problems/level{level}/{name}.py").write_text(PROBLEM)
    with loopback_cluster("head", "second") as cluster:
        command = Command(cluster, [], folder)
        try:
            yield command
        finally:
            if command.process is not None and command.process.poll() is None:
                command.end(signal.SIGKILL)


def measured(what: Callable[[Command, int], dict[str, Any]], submissions: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        with prepared(Path(folder)) as command:
            found = what(command, submissions)
            seconds, said = time.monotonic() - command.started, news_of(command.said())
            deadline = time.monotonic() + 30
            while left := [title for title in others().values() if ACTOR in title or PREPARED in title]:
                if time.monotonic() > deadline:
                    break
                time.sleep(0.1)
        deadline = time.monotonic() + 30
        while (still := others()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return {
            "seconds": round(seconds),
            "killed": command.killed,
            **found,
            "what the command said of nodes": said,
            "processes left after the command": left,
            "processes left after the cluster": list(still.values()),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=200)
    parser.add_argument("--only", choices=["batch", "serve"])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.inside:
        alone = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", '"$@"; exit $?', "sh"]
        sys.exit(subprocess.call([*alone, sys.executable, *sys.argv, "--inside"]))
    found: dict[str, Any] = {**facts(), "ray": version("ray"), "nodes": "two, and one that joins late"}
    for name, what in (("batch", of_batch), ("serve", of_server)):
        if options.only in (None, name):
            found[name] = measured(what, options.submissions)
            print(name, json.dumps(found[name], indent=2), flush=True)
    if options.out:
        options.out.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
