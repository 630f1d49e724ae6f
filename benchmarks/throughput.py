"""A batch of 100 submissions of 60 distinct sources, from an empty artifact cache: its rate and where time goes.

    python benchmarks/throughput.py [--device auto] [--submissions 100] [--distinct 60] [-o FILE]

The submissions are the GELU document's kernel in 60 versions, 40 of them handed in twice, as a model that is sampled
often repeats itself. The slim library is prepared beforehand: it is compiled once for a torch.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean

ROOT = Path(__file__).resolve().parent.parent
KERNEL = ROOT / "reference_solutions" / "level1" / "88_MinGPTNewGelu.py"
PROBLEM = "88"


def write_submissions(folder: Path, *, distinct: int, total: int) -> None:
    """`total` files named as KernelBench names them, of `distinct` sources."""
    source = KERNEL.read_text()
    assert "block_size = 256" in source
    for sample in range(total):
        block = 32 * (1 + sample % distinct % 30)
        text = source.replace("block_size = 256", f"block_size = {block}")
        if form := sample % distinct // 30:
            text = text.replace("0.5f * xi", f"xi * 0.5f /* form {form} */")
        (folder / f"level_1_problem_{PROBLEM}_sample_{sample}_kernel.py").write_text(text)


def batch(folder: Path, run: Path, device: str, cache: Path) -> float:
    """Seconds of one `harness batch`."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, "-m", "harness", "batch", str(folder), "--run", str(run), "--device", device]
    started = time.monotonic()
    subprocess.run(command, check=True, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--submissions", type=int, default=100)
    parser.add_argument("--distinct", type=int, default=60, help="sources among them")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for name in ("first", "all"):
            (work / name).mkdir()
        write_submissions(work / "first", distinct=1, total=1)
        (work / "first" / f"level_1_problem_{PROBLEM}_sample_0_kernel.py").write_text(
            KERNEL.read_text().replace("block_size = 256", "block_size = 1024")
        )
        batch(work / "first", work / "run-first", options.device, work / "cache")
        write_submissions(work / "all", distinct=options.distinct, total=options.submissions)
        seconds = batch(work / "all", work / "run", options.device, work / "cache")
        records = [json.loads(line) for line in (work / "run" / "records.jsonl").read_text().splitlines()]
    phases: Counter[str] = Counter()
    for record in records:
        phases.update(record["phases_s"])
    result = {
        "date": datetime.now(UTC).date().isoformat(),
        "environment": records[0]["environment"],
        "device": records[0]["device"],
        "submissions": len(records),
        "verdicts": dict(Counter(record["verdict"]["kind"] for record in records)),
        "cached_builds": sum(build["cached"] for record in records for build in record["builds"]),
        "seconds": seconds,
        "per_hour": 3600 * len(records) / seconds,
        "mean_phase_seconds": {name: total / len(records) for name, total in phases.items()},
        "mean_build_seconds": mean(
            build["seconds"] for record in records for build in record["builds"] if not build["cached"]
        ),
    }
    if options.output:
        options.output.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
