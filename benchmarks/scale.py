"""Several GPUs of one host: the rate of a batch with 1, 2 and 4 of them, and whether a neighbour moves a time.

    python benchmarks/scale.py --gpus 1 2 4 -o benchmarks/results/scale-h100.json

For each count a batch on so many GPUs of as many submissions a GPU, all of them different, made as those of
`throughput.py`, each from a cache that holds the slim library and one build. The submissions of the one on one GPU are
among those of every other, where they are timed beside neighbours: a time has moved where the two intervals of its
speed-up do not overlap. Needs as many GPUs as the largest count. FILE is written after each batch.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from throughput import KERNEL, PROBLEM, ROOT, write_submissions

Timings = dict[int, dict[str, Any]]
"""Of a batch, by sample."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--submissions", type=int, default=30, help="for each GPU")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    for found in measured(sorted({1, *options.gpus}), options.submissions):
        if options.output:
            options.output.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


def measured(counts: Sequence[int], submissions: int) -> Iterator[dict[str, Any]]:
    """What is known so far, after each batch: a machine may be there for a short time only."""
    found: dict[str, Any] = {"date": datetime.now(UTC).date().isoformat(), "submissions a GPU": submissions}
    found |= {"rates": {}, "times the rate of one": {}, "beside others": {}}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        warm = prepared(work)
        alone: Timings = {}
        for count in counts:
            records = batch(work, count, submissions, warm)
            found["environment"] = records[0]["environment"]
            found["rates"][count] = rate(records)
            first = found["rates"][counts[0]]["per_hour"]
            found["times the rate of one"][count] = found["rates"][count]["per_hour"] / first
            if alone:
                found["beside others"][count] = moved(alone, timings(records))
            alone = alone or timings(records)
            yield found


def prepared(work: Path) -> Path:
    """A cache with the slim library in it, which is compiled once for a torch, and one build that no batch asks for."""
    (work / "first").mkdir()
    text = KERNEL.read_text().replace("block_size = 256", "block_size = 1024")
    (work / "first" / f"level_1_problem_{PROBLEM}_sample_0_kernel.py").write_text(text)
    judge(work / "first", work / "run-first", gpus=1, cache=work / "warm")
    return work / "warm"


def batch(work: Path, count: int, submissions: int, warm: Path) -> list[dict[str, Any]]:
    """The records of a batch on the first `count` GPUs, each with the seconds of the whole as `batch_s`."""
    folder, cache, run = (work / f"{what}-{count}" for what in ("answers", "cache", "run"))
    folder.mkdir()
    total = submissions * count
    write_submissions(folder, distinct=total, total=total)
    subprocess.run(["cp", "-r", str(warm), str(cache)], check=True)
    started = time.monotonic()
    judge(folder, run, gpus=count, cache=cache)
    seconds = time.monotonic() - started
    records = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    assert len(records) == total, f"{len(records)} of {total} were judged"
    return [record | {"batch_s": seconds} for record in records]


def judge(folder: Path, run: Path, *, gpus: int, cache: Path) -> None:
    """`harness batch` on the first of this machine's GPUs."""
    devices = ",".join(map(str, range(gpus)))
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "CUDA_VISIBLE_DEVICES": devices}
    command = [sys.executable, "-m", "harness", "batch", str(folder), "--run", str(run), "--device", "cuda"]
    command += ["--audit", "none"]
    quiet = subprocess.DEVNULL
    subprocess.run(command, env=environment, cwd=ROOT, stdout=quiet, stderr=quiet, check=True)


def rate(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    phases: Counter[str] = Counter()
    for record in records:
        phases.update(record["phases_s"])
    seconds = records[0]["batch_s"]
    return {
        "seconds": seconds,
        "per_hour": 3600 * len(records) / seconds,
        "verdicts": dict(Counter(record["verdict"]["kind"] for record in records)),
        "devices": dict(Counter(record["device"]["gpu"] for record in records)),
        "mean_phase_seconds": {name: total / len(records) for name, total in phases.items()},
    }


def timings(records: Sequence[dict[str, Any]]) -> Timings:
    return {record["submission"]["sample"]: record["timing"] for record in records if record["timing"]}


def moved(alone: Timings, beside: Timings) -> dict[str, Any]:
    """How the times of the submissions that both have differ."""
    both = sorted(alone.keys() & beside.keys())
    pairs = [(alone[sample], beside[sample]) for sample in both]
    ratios = [after["speedup"]["value"] / before["speedup"]["value"] for before, after in pairs]
    return {
        "submissions": len(both),
        "moved beyond its interval": sum(apart(one["speedup"], other["speedup"]) for one, other in pairs),
        "speedups of those, alone and beside": [
            [one["speedup"], other["speedup"]] for one, other in pairs if apart(one["speedup"], other["speedup"])
        ],
        "speedup, beside over alone": {
            "median": statistics.median(ratios),
            "least": min(ratios),
            "most": max(ratios),
        },
        "candidate_ms, beside over alone": statistics.median(
            after["candidate_ms"] / before["candidate_ms"] for before, after in pairs
        ),
    }


def apart(one: dict[str, float], other: dict[str, float]) -> bool:
    return one["high"] < other["low"] or other["high"] < one["low"]


if __name__ == "__main__":
    main()
