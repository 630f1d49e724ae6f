"""What `harness serve` costs, and whether it stays small: many clients, many requests, real judges on the CPU.

    python benchmarks/serve.py --requests 10000 --judged 2500 --out benchmarks/results/serve-cpu.json

Every answer raises an error that names it, so each verdict is checked to be its own. The server's own cost is measured
in a second run over a bench that judges nothing: what is left is HTTP, the table of jobs, the run's record on the disk.
"""

import argparse
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import harness
from harness.client import NoVerdict, judge_many

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
    parser.add_argument("--only-server", action="store_true", help="leave out the run with judges")
    options = parser.parse_args()
    found: dict[str, object] = {"clients": options.clients, "queue": options.queue}
    found |= facts()
    with tempfile.TemporaryDirectory() as folder:
        problems = Path(folder) / "problems/level1"
        problems.mkdir(parents=True)
        (problems / "19_ReLU.py").write_text(PROBLEM)
        for name, fake in (("judging nothing", True), *((("judging", False),) if not options.only_server else ())):
            with served(Path(folder) / name, problems.parent, queue=options.queue, fake=fake) as (url, pid):
                requests = options.requests if fake else options.judged or options.requests
                found[name] = measured(url, pid, requests=requests, clients=options.clients)
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
def served(state: Path, problems: Path, *, queue: int, fake: bool) -> Iterator[tuple[str, int]]:
    """A server in a process of its own: its address and its pid."""
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
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
        process.stderr.close()


def measured(url: str, pid: int, *, requests: int, clients: int) -> dict[str, object]:
    """Ask `requests` times with `clients` at once; seconds, megabytes, and how many verdicts were somebody else's."""
    began: dict[int, float] = {}

    def tasks() -> Iterator[tuple[str, str]]:
        for number in range(requests):
            began[number] = time.monotonic()
            yield ANSWER.format(number=number), "19_ReLU"

    memory = {"before": memory_mb(pid)}
    cpu_s, started = cpu_seconds(pid), time.monotonic()
    latencies, strangers, lost = [], 0, 0
    for place, answer in judge_many(tasks(), concurrency=clients, url=url, deadline_s=3600):
        latencies.append(time.monotonic() - began[place])
        if isinstance(answer, NoVerdict):
            lost += 1
        elif f"answer {place} of many" not in answer["summary"]["detail"]:
            strangers += 1
        for part in (4, 2):
            if len(latencies) == requests // part:
                memory[f"after 1/{part}"] = memory_mb(pid)
    took = time.monotonic() - started
    memory["after all"] = memory_mb(pid)
    return {
        "requests": requests,
        "seconds": round(took, 1),
        "judgements a second": round(requests / took, 1),
        "verdicts of somebody else": strangers,
        "without a verdict": lost,
        "latency_s": percentiles(latencies),
        "server's CPU ms a judgement": round(1000 * (cpu_seconds(pid) - cpu_s) / requests, 2),
        "server's memory_mb": memory,
        "server's threads": threads_of(pid),
        "server's open files": len(os.listdir(f"/proc/{pid}/fd")),
        "repeat_ms": repeated(url),
    }


def repeated(url: str) -> dict[str, float]:
    """Milliseconds of a request that the store answers."""
    found = []
    for _ in range(200):
        started = time.monotonic()
        next(iter(judge_many([(ANSWER.format(number=0), "19_ReLU")], concurrency=1, url=url)))
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
    """The command, with a bench that answers at once in the place of the session."""
    from serving import FakeBench

    import harness.serve.bench

    bench = FakeBench()
    harness.serve.bench.open_bench = lambda device, settings: bench.open()  # type: ignore[assignment]
    from harness.cli import main as command

    command(sys.argv[2:])


if __name__ == "__main__":
    serve_without_judges() if sys.argv[1:2] == ["fake"] else main()
