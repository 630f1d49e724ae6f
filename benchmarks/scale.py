"""Several GPUs of one host: the rate of a batch with 1, 2 and 4 of them, and whether a neighbour moves a time.

    python benchmarks/scale.py --gpus 1 2 4 -o benchmarks/results/scale-h200.json

For each count a batch on so many GPUs of as many submissions a GPU, all of them different, made as those of
`throughput.py`, each from a cache that holds the slim library and one build. Then the same few candidates alone on the first GPU, and again on it while a batch keeps the
other GPUs busy: a time has moved where the two intervals of its speed-up do not overlap, or where the candidate's
medians differ by more than the wider of the two intervals is wide. Needs as many GPUs as the largest count.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from throughput import KERNEL, PROBLEM, ROOT, write_submissions

TIMED = 8
"""Candidates that are timed alone and beside others."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--submissions", type=int, default=50, help="for each GPU")
    parser.add_argument("--beside", type=int, default=3, help="turns alone and beside others, 0 for none")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    for found in measured(sorted(options.gpus), options.submissions, options.beside):
        if options.output:
            options.output.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


def measured(counts: list[int], submissions: int, turns: int) -> Iterator[dict[str, Any]]:
    """What is known so far, after each count and in the end: a machine may be there for a short time only."""
    found: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "submissions a GPU": submissions,
        "rates": {},
    }
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        warm = prepared(work)
        for count in counts:
            found["rates"][count] = rate(work, count, submissions * count, warm)
            found["environment"] = records_of(work / f"run-{count}")[0]["environment"]
            first = found["rates"][counts[0]]["per_hour"] / counts[0]
            found["times the rate of one"] = {of: one["per_hour"] / first for of, one in found["rates"].items()}
            yield found
        if counts[-1] > 1 and turns:
            yield found | {"beside others": beside_others(work, counts[-1], warm, turns)}


def prepared(work: Path) -> Path:
    """A cache with the slim library in it, which is compiled once for a torch, and one build that no batch asks for."""
    (work / "first").mkdir()
    text = KERNEL.read_text().replace("block_size = 256", "block_size = 1024")
    (work / "first" / f"level_1_problem_{PROBLEM}_sample_0_kernel.py").write_text(text)
    start(work / "first", work / "run-first", visible=[0], cache=work / "warm").wait()
    return work / "warm"


def rate(work: Path, count: int, submissions: int, warm: Path) -> dict[str, Any]:
    """Of a batch on the first `count` GPUs."""
    folder, cache = work / f"all-{count}", work / f"cache-{count}"
    folder.mkdir()
    write_submissions(folder, distinct=submissions, total=submissions)
    subprocess.run(["cp", "-r", str(warm), str(cache)], check=True)
    started = time.monotonic()
    status = start(folder, work / f"run-{count}", visible=list(range(count)), cache=cache).wait()
    seconds = time.monotonic() - started
    records = records_of(work / f"run-{count}")
    assert status == 0, f"harness batch left with {status}"
    phases: Counter[str] = Counter()
    for record in records:
        phases.update(record["phases_s"])
    return {
        "seconds": seconds,
        "per_hour": 3600 * len(records) / seconds,
        "verdicts": dict(Counter(record["verdict"]["kind"] for record in records)),
        "devices": dict(Counter(record["device"]["gpu"] for record in records)),
        "mean_phase_seconds": {name: total / len(records) for name, total in phases.items()},
    }


def beside_others(work: Path, count: int, warm: Path, turns: int) -> dict[str, Any]:
    """The same candidates on the first GPU, alone and while a batch keeps the others busy, in turn.

    What one shows of itself is what a neighbour has to exceed.
    """
    timed = work / "timed"
    timed.mkdir()
    write_submissions(timed, distinct=TIMED, total=TIMED)
    load = work / "load"
    load.mkdir()
    write_submissions(load, distinct=1000, total=1000)
    taken: dict[str, list[list[dict[str, Any]]]] = {"alone": [], "beside": []}
    for turn in range(turns):
        taken["alone"].append(timed_once(work, f"alone-{turn}", timed, warm))
        busy = start(load, work / f"load-{turn}", visible=list(range(1, count)), cache=warm)
        try:
            wait_for_records(work / f"load-{turn}", 3 * count, busy)
            taken["beside"].append(timed_once(work, f"beside-{turn}", timed, warm))
            assert busy.poll() is None, "the other GPUs had nothing to do any more"
        finally:
            busy.send_signal(signal.SIGINT)
            busy.wait()
    moved = [
        moves(alone, beside)
        for first, second in zip(taken["alone"], taken["beside"], strict=True)
        for alone, beside in zip(first, second, strict=True)
    ]
    itself = [
        moves(before, after)
        for before_all, after_all in zip(taken["alone"], taken["alone"][1:], strict=False)
        for before, after in zip(before_all, after_all, strict=True)
    ]
    return {
        "candidates": TIMED,
        "times each": turns,
        "moved beyond its interval": sum(one["moved"] for one in moved),
        "of": len(moved),
        "the same where both were alone": sum(one["moved"] for one in itself),
        "of these": len(itself),
        "pairs": moved,
    }


def timed_once(work: Path, name: str, folder: Path, cache: Path) -> list[dict[str, Any]]:
    """The timings of a batch on the first GPU, by sample. Raises AssertionError where one is not correct."""
    status = start(folder, work / name, visible=[0], cache=cache).wait()
    assert status == 0, f"harness batch left with {status}"
    records = sorted(records_of(work / name), key=lambda record: record["submission"]["sample"])
    assert all(record["timing"] for record in records), "a candidate was not timed"
    return [record["timing"] for record in records]


def moves(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    one, other = before["speedup"], after["speedup"]
    apart = one["high"] < other["low"] or other["high"] < one["low"]
    width = max((each["high"] - each["low"]) / each["value"] for each in (one, other))
    slower = after["candidate_ms"] / before["candidate_ms"] - 1
    return {
        "candidate_ms": [before["candidate_ms"], after["candidate_ms"]],
        "speedups": [one, other],
        "slower": slower,
        "moved": apart or abs(slower) > width,
    }


def start(folder: Path, run: Path, *, visible: list[int], cache: Path) -> "subprocess.Popen[bytes]":
    """`harness batch` on these GPUs."""
    devices = ",".join(map(str, visible))
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "CUDA_VISIBLE_DEVICES": devices}
    command = [sys.executable, "-m", "harness", "batch", str(folder), "--run", str(run), "--device", "cuda"]
    command += ["--audit", "none"]
    return subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for_records(run: Path, count: int, busy: "subprocess.Popen[bytes]") -> None:
    path = run / "records.jsonl"
    while not path.exists() or len(path.read_bytes().splitlines()) < count:
        assert busy.poll() is None, "the batch beside ended too early"
        time.sleep(0.5)


def records_of(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]


if __name__ == "__main__":
    main()
