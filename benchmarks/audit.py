"""What `--audit sample` costs a batch: 60 correct and 40 failing candidates, judged with and without it.

    python benchmarks/audit.py [--device cpu] [--correct 60] [--failing 40] [--modes none sample all stock] [-o FILE]

Candidates are C++ for the CPU, each of its own source. Of the failing ones a third does not compile, a third gives
wrong values and a third raises. Every run begins with an empty artifact cache and the slim library in place. `told_s`
is when the last verdict stood, `seconds` when the command ended, which waits for what was drawn. `stock` stands for
`--toolchain stock`; with `all` beside it, the submissions that the two judge differently are named. FILE is written
after each run.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PATH = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
PROBLEM = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(8, 1024)]


def get_init_inputs():
    return []
"""
CANDIDATE = '''import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

torch::Tensor relu_{number}(torch::Tensor x) {{
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    auto y = torch::empty_like(x);
    const float* a = x.data_ptr<float>();
    float* b = y.data_ptr<float>();
    for (int64_t i = 0; i < x.numel(); ++i) {body};
    return y;
}}
"""
extension = load_inline(name="relu_{number}", cpp_sources=SOURCE, functions=["relu_{number}"], extra_cflags=["-O2"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu_{number}(x)
'''
RIGHT = "b[i] = a[i] > 0 ? a[i] : 0"
FAILING = ("b[i] = missing(a[i])", "b[i] = a[i] + 1", "TORCH_CHECK(false, i)")
MODES = {
    "none": ["--audit", "none"],
    "sample": ["--audit", "sample"],
    "all": ["--audit", "all"],
    "stock": ["--audit", "none", "--toolchain", "stock"],
}
"""By name, what is said to `harness batch`."""


def write_submissions(folder: Path, *, correct: int, failing: int) -> None:
    """Files that name their problem, correct and failing ones mixed."""
    bodies = [RIGHT] * correct + [FAILING[number % 3] for number in range(failing)]
    for number in range(len(bodies)):
        body = bodies[number * 37 % len(bodies)] if len(bodies) % 37 else bodies[number]
        (folder / f"19_ReLU_sample_{number}.py").write_text(CANDIDATE.format(number=number, body=body))


def batch(work: Path, submissions: Path, mode: str, device: str, run: str) -> dict[str, Any]:
    """Seconds and verdicts of one `harness batch`."""
    cache = work / "cache"
    shutil.rmtree(cache / "kernel-harness" / "artifacts", ignore_errors=True)
    command = [sys.executable, "-m", "harness", "batch", str(submissions), "--run", str(work / run), *MODES[mode]]
    command += ["--device", device, "--problems", str(work / "problems"), "--timing", "0"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONPATH": PATH}
    started = told = time.monotonic()
    pipes: dict[str, Any] = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        assert process.stderr is not None
        for _ in process.stderr:
            told = time.monotonic()
    seconds = time.monotonic() - started
    records = [json.loads(line) for line in (work / run / "records.jsonl").read_text().splitlines()]
    last = {record["submission"]["path"]: record for record in records}
    return {
        "told_s": round(told - started, 1),
        "seconds": round(seconds, 1),
        "verdicts": dict(Counter(record["verdict"]["kind"] for record in last.values())),
        "by_submission": {path: record["verdict"]["kind"] for path, record in sorted(last.items())},
        "asked_of_stock": sum(record["confirmed"] == "stock" for record in last.values()),
        "differed": {
            path: flag["detail"]
            for path, each in sorted(last.items())
            for flag in each["flags"]
            if flag["rule"] == "fast-build-differed"
        },
    }


def summary(runs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The runs, the ratios of `sample` to `none`, and what `all` and `stock` judge differently."""
    found: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores",
        "load_average": os.getloadavg(),
    }
    found |= runs
    if {"none", "sample"} <= runs.keys():
        found["ratio"] = round(runs["sample"]["seconds"] / runs["none"]["seconds"], 3)
        found["ratio_until_told"] = round(runs["sample"]["told_s"] / runs["none"]["told_s"], 3)
    if {"all", "stock"} <= runs.keys():
        one, other = runs["all"]["by_submission"], runs["stock"]["by_submission"]
        found["all_and_stock_differ_in"] = sorted(
            path for path in one.keys() | other.keys() if one.get(path) != other.get(path)
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--correct", type=int, default=60)
    parser.add_argument("--failing", type=int, default=40)
    parser.add_argument("--modes", nargs="+", choices=list(MODES), default=["none", "sample"])
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for name in ("problems/level1", "one", "many"):
            (work / name).mkdir(parents=True)
        (work / "problems" / "level1" / "19_ReLU.py").write_text(PROBLEM)
        write_submissions(work / "one", correct=1, failing=0)
        batch(work, work / "one", "none", options.device, "prepared")
        write_submissions(work / "many", correct=options.correct, failing=options.failing)
        runs: dict[str, dict[str, Any]] = {}
        for mode in options.modes:
            runs[mode] = batch(work, work / "many", mode, options.device, mode)
            if options.output:
                options.output.write_text(json.dumps(summary(runs), indent=1) + "\n")
    print(json.dumps(summary(runs), indent=1))


if __name__ == "__main__":
    main()
