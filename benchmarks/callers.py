"""Whose verdict is it: many callers at once, of the library, and of a server that is killed.

    python benchmarks/callers.py --answers 500 --out benchmarks/results/callers-cpu.json

Answers are correct, wrong, broken, empty or name themselves in their error, in a random order. Of the library 64
threads and 64 tasks of an event loop ask one Evaluator; some cancel, some have a deadline. Of the server 64 clients
ask; some cancel, some have a deadline, many are refused with 429, and it is killed (SIGKILL) at random moments and
started anew, each time with work under way. Every verdict has to be that of the text that was asked, by its error, its
kind and the text's hash. In the end each answer is asked for once more, and has to have one record that counts, the
one that was told before.
"""

import argparse
import asyncio
import contextlib
import hashlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from serve import ANSWER, PROBLEM, RIGHT, ROOT, facts

from harness import Evaluator, Record, Settings
from harness.client import NoVerdict, judge
from harness.errors import DeadlineError
from harness.sandbox.processes import descendants
from harness.store import open_run

CALLERS = 64
_MIXED = {
    0: (RIGHT, "correct"),
    1: (RIGHT.replace("min", "max"), "wrong"),
    2: ("I am sorry.", "failed"),
    3: (RIGHT.replace("clamp", "clmp"), "failed"),
    4: ("def", "failed"),
    5: ("", "failed"),
}


def text_of(number: int) -> str:
    """Of fifty 44 name themselves; the others are of other kinds, and differ by a comment."""
    if number % 50 in _MIXED:
        return f"{_MIXED[number % 50][0]}\n# answer {number}\n"
    return ANSWER.format(number=number)


def sha256_of(number: int) -> str:
    return hashlib.sha256(text_of(number).encode()).hexdigest()


def is_its_own(number: int, record: Record) -> bool:
    if record.submission.sha256 != sha256_of(number):
        return False
    if number % 50 in _MIXED:
        return record.verdict.kind == _MIXED[number % 50][1]
    return f"answer {number} of many" in getattr(record.verdict, "detail", "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=500)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--only", choices=["library", "server"])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found: dict[str, object] = dict(facts())
    if options.only != "server":
        found["library"] = of_library(options.answers)
        print("library", json.dumps(found["library"], indent=2), flush=True)
    if options.only != "library":
        found["server"] = of_server(options.answers, options.kills)
        print("server", json.dumps(found["server"], indent=2), flush=True)
    if options.out:
        options.out.write_text(json.dumps(found, indent=2) + "\n")


def shuffled(answers: int, seed: int) -> list[int]:
    numbers = list(range(answers))
    random.Random(seed).shuffle(numbers)
    return numbers


def held() -> dict[str, float]:
    """What this process has."""
    status = Path("/proc/self/status").read_text()
    return {
        "memory_mb": round(int(status.split("VmRSS:")[1].split()[0]) / 1024, 1),
        "threads": threading.active_count(),
        "open files": len(os.listdir("/proc/self/fd")),
        "processes below": len(descendants(os.getpid())),
    }


# The library


def of_library(answers: int) -> dict[str, object]:
    numbers, chance = shuffled(answers, 1), random.Random(2)
    found: dict[int, Record | str] = {}
    before, started = held(), time.monotonic()
    with Evaluator(device="cpu", settings=Settings(timing_s=0, audit="none")) as evaluator:

        def in_a_thread(number: int, pause_s: float | None, deadline_s: float | None) -> None:
            try:
                if pause_s is None:
                    found[number] = evaluator.evaluate(text_of(number), PROBLEM, deadline_s=deadline_s)
                    return
                future = evaluator.submit(text_of(number), PROBLEM, deadline_s=deadline_s)
                time.sleep(pause_s)
                found[number] = "cancelled" if future.cancel() else future.result()
            except DeadlineError:
                found[number] = "late"

        async def in_a_task(number: int, patience_s: float | None, deadline_s: float | None) -> None:
            try:
                asked = evaluator.aevaluate(text_of(number), PROBLEM, deadline_s=deadline_s)
                found[number] = await asyncio.wait_for(asked, patience_s)
            except TimeoutError:
                found[number] = "cancelled"
            except DeadlineError:
                found[number] = "late"

        def drawn() -> tuple[float | None, float | None]:
            return chance.choice([None, None, None, chance.uniform(0, 20)]), chance.choice([None, None, None, 0.05, 60])

        async def tasks() -> None:
            left = iter([(number, *drawn()) for number in numbers[: answers // 2]])

            async def one() -> None:
                for asked in left:
                    await in_a_task(*asked)

            await asyncio.gather(*(one() for _ in range(CALLERS)))

        with ThreadPoolExecutor(CALLERS + 1) as threads:
            waits = [threads.submit(asyncio.run, tasks())]
            waits += [threads.submit(in_a_thread, number, *drawn()) for number in numbers[answers // 2 :]]
            for done in waits:
                done.result()  # raises whatever is no HarnessError of a deadline
        took, during = time.monotonic() - started, held()
        again = {n for n in numbers if isinstance(found[n], str)}
        later = dict(evaluator.evaluate_many((text_of(n), PROBLEM) for n in sorted(again)))
        drained = evaluator.drain(60)
    first = {number: record for number, record in found.items() if isinstance(record, Record)}
    second = dict(zip(sorted(again), (later[place] for place in sorted(later)), strict=True))
    return {
        "answers": answers,
        "callers": f"{CALLERS} threads and {CALLERS} tasks",
        "seconds": round(took, 1),
        "what became of them": dict(
            Counter(one if isinstance(one, str) else one.verdict.kind for one in found.values())
        ),
        "verdicts of somebody else": sum(not is_its_own(number, record) for number, record in first.items()),
        "lost": answers - len(found),
        "asked again": len(again),
        "of these somebody else's": sum(not is_its_own(number, record) for number, record in second.items()),
        "drained": drained,
        "held": {"before": before, "while asked": during, "closed": held()},
    }


# The server


class Server:
    """`harness serve` on one state and one port, as often as it is started."""

    def __init__(self, folder: Path, problems: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.port = int(taken.getsockname()[1])
        self.url, self.state, self._problems = f"http://127.0.0.1:{self.port}", folder / "state", problems
        self.left_behind = 0
        """Processes that outlived the server that they were started by."""

    def start(self) -> None:
        arguments = ["--port", self.port, "--state", self.state, "--problems", self._problems, "--device", "cpu"]
        arguments += ["--timing", 0, "--queue", 16, "--audit", "none"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "harness", "serve", *map(str, arguments)],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert self._process.stderr is not None
        assert "serving on" in self._process.stderr.readline()

    def end(self, number: int) -> int:
        below = descendants(self._process.pid)
        self._process.send_signal(number)
        status = self._process.wait(120)
        assert self._process.stderr is not None
        self._process.stderr.close()
        self.left_behind += len(still_there(below, seconds=10))
        return status

    def ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            headers = {"Content-Type": "application/json"}
            connection.request(method, path, json.dumps(body) if body else None, headers)
            response = connection.getresponse()
            return {"status": response.status, **json.loads(response.read())}


def still_there(pids: Iterable[int], *, seconds: float) -> list[int]:
    """Those of these processes that live so many seconds from now."""
    end = time.monotonic() + seconds
    while (left := [pid for pid in pids if Path(f"/proc/{pid}").exists()]) and time.monotonic() < end:
        time.sleep(0.05)
    return left


def of_server(answers: int, kills: int) -> dict[str, object]:
    numbers, chance = shuffled(answers, 3), random.Random(4)
    found: dict[int, dict[str, Any] | str] = {}
    refused = Counter[int]()
    started = time.monotonic()

    def cancelling(server: Server, number: int) -> dict[str, Any] | str:
        """Ask without waiting and cancel; the judgement where it came too late."""
        with contextlib.suppress(OSError, HTTPException, ValueError):
            asked = server.ask("POST", "/v1/judgements", {"submission": text_of(number), "problem": "19_ReLU"})
            refused[asked["status"]] += 1
            if asked["status"] in (200, 202):
                told = server.ask("DELETE", f"/v1/judgements/{asked['id']}")
                if told["status"] in (200, 202):
                    return told if told["state"] == "done" else "cancelled"
        return "refused"

    def one(server: Server, number: int, way: str) -> None:
        if way == "cancel":
            found[number] = cancelling(server, number)
            return
        try:
            found[number] = judge(
                text_of(number), "19_ReLU", url=server.url, deadline_s=0.3 if way == "late" else 3600.0
            )
        except NoVerdict as error:
            found[number] = "late" if way == "late" else f"no verdict: {error}"

    with tempfile.TemporaryDirectory() as folder:
        problems = Path(folder) / "problems/level1"
        problems.mkdir(parents=True)
        (problems / "19_ReLU.py").write_text(PROBLEM)
        server = Server(Path(folder), problems.parent)
        server.start()
        moments = []
        with ThreadPoolExecutor(CALLERS) as threads:
            ways = {number: chance.choice(["judge", "judge", "judge", "judge", "cancel", "late"]) for number in numbers}
            waits = [threads.submit(one, server, number, ways[number]) for number in numbers]
            for answered in sorted(chance.sample(range(answers // 20, answers * 9 // 10), kills)):
                while len(found) < answered:
                    time.sleep(0.01)
                time.sleep(chance.uniform(0, 1))
                moments.append(f"{len(found)} answered after {time.monotonic() - started:.0f} s")
                server.end(signal.SIGKILL)
                server.start()
            for done in waits:
                done.result()
        took = time.monotonic() - started
        with ThreadPoolExecutor(CALLERS) as threads:
            again = dict(
                zip(
                    numbers,
                    threads.map(lambda n: judge(text_of(n), "19_ReLU", url=server.url, deadline_s=3600), numbers),
                    strict=True,
                )
            )
        metrics = metrics_of(server)
        status = server.end(signal.SIGTERM)
        lines = len((server.state / "run/records.jsonl").read_text().splitlines())
        counting = list(open_run(server.state / "run").records())
    told = {number: answer for number, answer in found.items() if isinstance(answer, dict)}
    by_id = {record.submission.path: record for record in counting}
    kept = {number: by_id.get(answer["id"]) for number, answer in again.items()}
    return {
        "answers": answers,
        "callers": f"{CALLERS} clients, a queue of 16",
        "seconds": round(took, 1),
        "killed": moments,
        "exit status of the last": status,
        "processes left behind": server.left_behind,
        "what became of them": dict(
            Counter(answer if isinstance(answer, str) else answer["summary"]["kind"] for answer in found.values())
        ),
        "refused since the last start": metrics,
        "verdicts of somebody else": sum(
            not is_its_own(number, Record.model_validate(answer["record"]))
            for answers_of in (told, again)
            for number, answer in answers_of.items()
        ),
        "verdicts that differ when asked again": sum(
            again[n]["record"] != answer["record"] for n, answer in told.items()
        ),
        "lost": answers - len(again),
        "ids": len({answer["id"] for answer in again.values()}),
        "records that count": len(counting),
        "ids with more than one": len(counting) - len(by_id),
        "lines of records": lines,
        "whose record that counts is not what was told": sum(
            record is None or record.model_dump(mode="json") != again[number]["record"]
            for number, record in kept.items()
        ),
    }


def metrics_of(server: Server) -> int:
    """How many requests were refused with 429."""
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    with contextlib.closing(connection):
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
    return int(sum(float(line.split()[-1]) for line in lines if 'outcome="refused"' in line and "_total" in line))


if __name__ == "__main__":
    main()
