"""What Ray costs: many made-up submissions through sessions that judge nothing, on nodes that are all this machine.

    python benchmarks/cluster.py --submissions 10000 --nodes 4 --out benchmarks/results/cluster-cpu.json

Each node is a raylet of its own with a session of a fake kind: its verdict is there at once, with attachments as long
as a real one's. What is left is the driver, placement, messages and Ray. Memory: of the driver and of each actor, after
a tenth of the submissions, half of them and all. Order: by how many places a submission was overtaken. Overhead:
seconds of a round trip with nothing else in flight, and CPU seconds of all processes for one submission, each as a
share of what a submission takes at 60 a minute and node, which is one second. Needs the extra `ray`.
"""

import argparse
import hashlib
import json
import os
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))

from loopback_cluster import LoopbackCluster, loopback_cluster  # noqa: E402

import harness  # noqa: E402
from harness.cluster.engine import ClusterEngine, not_judged  # noqa: E402
from harness.cluster.messages import DeviceSeen, Opening  # noqa: E402
from harness.controller.engine import Ask, DeviceFacts, Engine  # noqa: E402
from harness.controller.evaluate import Evaluated  # noqa: E402
from harness.errors import MachineError  # noqa: E402
from harness.sandbox.processes import descendants  # noqa: E402
from harness.schema import Environment, Failed, Problem, Submission  # noqa: E402
from harness.settings import Settings  # noqa: E402

WIDTH = 16
TEXT_BYTES = 6_000
"""Of a submission, and of the log beside its record: about what models write."""
PROBLEMS = 50
A_MINUTE = 60


class FakeSession:
    """An engine whose verdicts are there at once."""

    width = WIDTH

    def __init__(self) -> None:
        environment = Environment(harness=harness.__version__, python="3", torch="2")
        self.devices = (DeviceFacts("cpu", "a fake device", environment),)
        self._seen = DeviceSeen(name="cpu", model="a fake device", environment=environment)

    def submit(self, ask: Ask) -> "Future[Evaluated]":
        verdict = Failed(stage="run", reason="exception", detail=f"it says {ask.submission.path}")
        record = not_judged(ask, MachineError(""), self._seen).model_copy(update={"verdict": verdict})
        judged: Future[Evaluated] = Future()
        judged.set_result(Evaluated(record, {"submission.txt": ask.submission.text, "build.log": "x" * TEXT_BYTES}))
        return judged

    def stop(self) -> None:
        """Nothing is under way."""


@contextmanager
def fake_session(opening: Opening) -> Iterator[Any]:
    yield FakeSession()


def ask_of(number: int) -> Ask:
    text = f"# {number}\n".ljust(TEXT_BYTES, "x")
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    name = f"{number % PROBLEMS}_Made_up"
    problem = Problem(set="level1", name=name, sha256=hashlib.sha256(name.encode()).hexdigest(), source="x" * 2000)
    return Ask(Submission(path=f"{number}", sha256=sha256, text=text), problem, Settings(), noting=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=10_000)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    names = [f"node{number}" for number in range(options.nodes)]
    with loopback_cluster(*names) as cluster:
        found = measured(cluster, names, options.submissions)
    if options.out:
        options.out.write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found, indent=2))


def measured(cluster: LoopbackCluster, names: list[str], submissions: int) -> dict[str, Any]:
    os.environ.update({name: cluster.environment[name] for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN")})
    from harness.cluster.ray_cluster import join

    joined, kind = join(cluster.address, "cpu", opens=fake_session)
    with ClusterEngine(joined, kind, Settings()) as engine:
        trips = alone(engine)
        actors = [pid for name in names for pid in cluster.processes(name, "ray::NodeProcess")]
        before = {pid: cpu_s(pid) for pid in everything(cluster, names)}
        flowing = flow(engine, submissions, [os.getpid(), *actors])
        after = {pid: cpu_s(pid) for pid in everything(cluster, names)}
    spent = sum(after[pid] - before.get(pid, 0.0) for pid in after)
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "cores": len(os.sched_getaffinity(0)),
        "nodes": len(names),
        "round trip with nothing else in flight, ms": {
            "median": 1000 * statistics.median(trips),
            "p95": 1000 * sorted(trips)[int(0.95 * len(trips))],
        },
        "share of a second a submission": {
            "round trip": statistics.median(trips) * A_MINUTE / 60,
            "CPU of all processes": spent / submissions * A_MINUTE / 60,
        },
        **flowing,
    }


def alone(engine: Engine) -> list[float]:
    """Seconds from asking to the verdict, one submission after the other."""
    trips = []
    for number in range(220):
        started = time.monotonic()
        engine.evaluate(ask_of(number))
        trips.append(time.monotonic() - started)
    return trips[20:]


def flow(engine: Engine, submissions: int, watched: list[int]) -> dict[str, Any]:
    """A stream of all, each answered under its own name."""
    memory = {}
    order: list[int] = []
    started = time.monotonic()
    for number, evaluated in engine.stream((number, ask_of(number)) for number in range(submissions)):
        assert evaluated.record.submission.path == f"{number}"
        order.append(number)
        if len(order) in (submissions // 10, submissions // 2, submissions):
            memory[len(order)] = [round(resident_mb(pid), 1) for pid in watched]
    seconds = time.monotonic() - started
    assert sorted(order) == list(range(submissions))
    late = [place - number for place, number in enumerate(order)]
    return {
        "submissions": submissions,
        "a second": submissions / seconds,
        "MB of the driver and of each actor, after so many": memory,
        "places that one was overtaken": {"most": max(late), "p99": sorted(late)[int(0.99 * len(late))]},
        "in flight at most": 2 * engine.width,
        "threads of the driver": threading.active_count(),
    }


def everything(cluster: LoopbackCluster, names: list[str]) -> set[int]:
    """This process and all of the cluster's."""
    return {os.getpid(), *(pid for name in names for pid in cluster.processes(name, "")), *descendants(os.getpid())}


def cpu_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


if __name__ == "__main__":
    main()
