"""What `harness serve` costs, and whether it stays small: many clients, many requests, real judges on the CPU.

    python benchmarks/serve.py --requests 10000 --judged 300 --out benchmarks/results/serve-cpu.json
    python benchmarks/serve.py --only-judges --judged 10000 --distinct 900 --out ...

Answers raise an error that names them, so each verdict is checked to be its own; one in fifty is correct, one wrong.
The server's own cost is measured over a bench that judges nothing: what is left is HTTP, the table of jobs, the run's
record on the disk. `--distinct N` asks for N different answers, in a random order and as often as requests are left:
all but the first of an answer attach to its job or are answered from the store.
"""

import argparse
import hashlib
import json
import os
import platform
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest import mock

import harness
from harness.client import NoVerdict, judge_many
from harness.sandbox.processes import descendants

ROOT = Path(__file__).parents[1]
PROBLEM = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(4, 8)]


def get_init_inputs():
    return []
"""
RIGHT = """import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.clamp(min=0)
"""
ANSWER = """import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        raise RuntimeError("answer {number} of many")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--judged", type=int, help="requests of the run with judges; as many where it is left out")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--queue", type=int, default=48, help="fewer than clients, so that some are refused with 429")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--distinct", type=int, help="different answers of the run with judges; all where left out")
    parser.add_argument("--only-judges", action="store_true", help="leave out the run without judges")
    parser.add_argument("--only-server", action="store_true", help="leave out the run with judges")
    options = parser.parse_args()
    found: dict[str, object] = {"clients": options.clients, "queue": options.queue}
    found |= facts()
    with tempfile.TemporaryDirectory() as folder:
        problems = Path(folder) / "problems/level1"
        problems.mkdir(parents=True)
        (problems / "19_ReLU.py").write_text(PROBLEM)
        nothing, judging = (("judging nothing", True),), (("judging", False),)
        for name, fake in (*(() if options.only_judges else nothing), *(() if options.only_server else judging)):
            left: list[int] = []
            state = Path(folder) / name
            with served(state, problems.parent, queue=options.queue, fake=fake, left=left) as (url, pid):
                requests = options.requests if fake else options.judged or options.requests
                distinct = requests if fake else options.distinct or requests
                one = measured(url, pid, requests=requests, clients=options.clients, distinct=distinct, mixed=not fake)
            found[name] = {**one, "processes left behind": len(left)}
            print(name, json.dumps(found[name], indent=2), flush=True)
    if options.out:
        options.out.write_text(json.dumps(found, indent=2) + "\n")


def facts() -> dict[str, object]:
    """When this was, and on what."""
    models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "harness": harness.__version__,
        "machine": models[0].partition(": ")[2] if models else platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("torch", "fastapi", "uvicorn", "pydantic")},
    }


@contextmanager
def served(state: Path, problems: Path, *, queue: int, fake: bool, left: list[int]) -> Iterator[tuple[str, int]]:
    """A server in a process of its own: its address and its pid. `left` gets what it left behind when it ended."""
    arguments = ["--port", "0", "--state", state, "--problems", problems, "--device", "cpu", "--timing", "0"]
    command = [sys.executable, *([__file__, "fake"] if fake else ["-m", "harness"]), "serve"]
    command += [*map(str, arguments), "--queue", str(queue), "--audit", "none"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests/support")])}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stderr is not None
    said = process.stderr.readline()
    try:
        yield said.split("serving on ")[1].split(",")[0], process.pid
    finally:
        below = descendants(process.pid)
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
        process.stderr.close()
        end = time.monotonic() + 10
        while any(Path(f"/proc/{pid}").exists() for pid in below) and time.monotonic() < end:
            time.sleep(0.05)
        left += [pid for pid in below if Path(f"/proc/{pid}").exists()]


def measured(
    url: str, pid: int, *, requests: int, clients: int, distinct: int, mixed: bool = True
) -> dict[str, object]:
    """Ask `requests` times with `clients` at once; seconds, megabytes, and how many verdicts were somebody else's.

    `mixed`: some answers are correct and some wrong; else all name themselves, as what judges nothing repeats.
    """
    began: dict[int, float] = {}
    known = [number if mixed else number // 48 * 50 + 2 + number % 48 for number in range(distinct)]
    numbers = [*known, *random.Random(3).choices(known, k=requests - distinct)]
    random.Random(4).shuffle(numbers)

    def tasks() -> Iterator[tuple[str, str]]:
        for place, number in enumerate(numbers):
            began[place] = time.monotonic()
            yield answer_of(number), "19_ReLU"

    held = {"before": held_by(pid)}
    cpu_s, started = cpu_seconds(pid), time.monotonic()
    latencies, strangers, lost = [], 0, []
    kinds: Counter[str] = Counter()
    records: dict[int, set[str]] = {}
    for place, answer in judge_many(tasks(), concurrency=clients, url=url, deadline_s=3600):
        latencies.append(time.monotonic() - began[place])
        if isinstance(answer, NoVerdict):
            lost.append(str(answer)[:200])
        else:
            kinds[answer["summary"]["kind"]] += 1
            strangers += not belongs(answer, numbers[place])
            records.setdefault(numbers[place], set()).add(json.dumps(answer["record"], sort_keys=True))
        if len(latencies) * 10 // requests > (len(latencies) - 1) * 10 // requests and len(latencies) < requests:
            held[f"after {len(latencies)}"] = held_by(pid)
    took = time.monotonic() - started
    time.sleep(1)  # the last clients' connections
    held["after all"] = held_by(pid)
    tenth = list(held.values())[1]["memory_mb"]
    return {
        "requests": requests,
        "distinct answers": distinct,
        "seconds": round(took, 1),
        "answers a second": round(requests / took, 1),
        "judgements a second": round(distinct / took, 1),
        "verdicts": dict(kinds),
        "verdicts of somebody else": strangers,
        "answers with more than one record": sum(len(of) > 1 for of in records.values()),
        "without a verdict": len(lost),
        "why": lost[:3],
        "outcomes of requests": outcomes(url),
        "latency_s": percentiles(latencies),
        "server's CPU ms a judgement": round(1000 * (cpu_seconds(pid) - cpu_s) / distinct, 2),
        "held": held,
        "memory after a tenth and after all, MB": (tenth, held["after all"]["memory_mb"]),
        "repeat_ms": repeated(url),
        "load average": [round(one, 1) for one in os.getloadavg()],
    }


def answer_of(number: int) -> str:
    """Most fail and say which they are; one in fifty is correct, and the one after it wrong."""
    if number % 50 == 0:
        return f"{RIGHT}# answer {number}\n"
    if number % 50 == 1:
        return f"{RIGHT.replace('min', 'max')}# answer {number}\n"
    return ANSWER.format(number=number)


def belongs(answer: dict[str, Any], number: int) -> bool:
    if number % 50 < 2:
        asked = hashlib.sha256(answer_of(number).encode()).hexdigest()
        is_same: bool = answer["record"]["submission"]["sha256"] == asked
        return is_same and answer["summary"]["kind"] == ("correct", "wrong")[number % 50]
    return f"answer {number} of many" in answer["summary"]["detail"]


def held_by(pid: int) -> dict[str, float]:
    """What the server's process has: memory, threads, descriptors; the processes below it, and their memory."""
    below = descendants(pid)
    return {
        "memory_mb": memory_mb(pid),
        "threads": threads_of(pid),
        "open files": len(os.listdir(f"/proc/{pid}/fd")),
        "processes below": len(below),
    }


def outcomes(url: str) -> dict[str, int]:
    """What became of all requests at once, by the server's own count: those that were refused were sent again."""
    with urllib.request.urlopen(f"{url}/metrics") as page:
        lines = [line for line in page.read().decode().splitlines() if line.startswith("harness_requests_total{")]
    return {line.split('"')[1]: int(float(line.split()[-1])) for line in lines}


def repeated(url: str) -> dict[str, float]:
    """Milliseconds of a request that the store answers."""
    found = []
    for _ in range(200):
        started = time.monotonic()
        next(iter(judge_many([(answer_of(2), "19_ReLU")], concurrency=1, url=url)))
        found.append(1000 * (time.monotonic() - started))
    return percentiles(found)


def percentiles(values: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(values, n=1000, method="inclusive")
    return {name: round(cuts[at - 1], 3) for name, at in {"p50": 500, "p90": 900, "p99": 990, "p999": 999}.items()}


def memory_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return round(int(status.split("VmRSS:")[1].split()[0]) / 1024, 1)


def cpu_seconds(pid: int) -> float:
    """User and system time of the server's own process, its children left out."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def threads_of(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/task"))


def serve_without_judges() -> None:
    """The command, with an engine that answers at once in the place of this machine's."""
    from serving import FakeBench

    import harness.controller.engine
    from harness.cli import main as command

    bench = FakeBench(remembered=1)
    with mock.patch.object(harness.controller.engine, "open_engine", return_value=bench.open()):
        command(sys.argv[2:])


if __name__ == "__main__":
    serve_without_judges() if sys.argv[1:2] == ["fake"] else main()
