"""A crowd as models hand it in: how many an hour, and what each kind of outcome costs in CPU and device seconds.

    python benchmarks/crowd.py --device cuda -n 300 -o benchmarks/results/crowd-h200.json
    python benchmarks/crowd.py --device cpu -n 24 --limit-s 280

Half are correct, in sizes of 5 us to 20 ms a call on a GPU (small ones on a CPU), a fifth are wrong, a fifth do not
compile, in the shares that 47 model-written ones had, 3% hang, and the rest crash, take memory or flood their output.
No two are equal. `--before` builds those that do not compile once more by stock, which is what all of them took.
The slim library, which is compiled once for a torch, is taken from the user's cache; nothing else is.
`--limit-s` ends the batch after so many seconds: the rate is that of what was judged by then. `told_s` is when the last
verdict was told: the batch ends once stock was asked about its sample, a minute after the last of that.
CPU seconds are those of every process of the batch together; by outcome there are the seconds of the phases alone, and
device seconds are those in which a device was held: load, check, time, alone, trace.
"""

import argparse
import itertools
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
GPU_SIZES = (1 << 14, 1 << 18, 1 << 22, 1 << 26, 1 << 28)
CPU_SIZES = (1 << 8, 1 << 12, 1 << 16)
GPU_SIDES, CPU_SIDES = (512, 1024, 4096, 8192), (32, 64)
ON_DEVICE = ("load", "check", "time", "alone", "trace")

PROBLEM = """import torch


class Model(torch.nn.Module):
    def forward(self, {names}):
        return {answer}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""
SCALED = ("x", "torch.nn.functional.gelu(x, approximate='tanh')", "torch.rand({size})")
PRODUCT = ("x, y", "torch.relu(x @ y)", "torch.rand({size}, {size}), torch.rand({size}, {size})")
CUDA = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void crowd_kernel(const float* x, float* out, long n) {{
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) {{
        float v = x[i];
        out[i] = {value};
    }}
}}

torch::Tensor crowd({parameters}) {{
    {before}
    auto out = torch::empty_like(x);
    const int block = {block};
    long n = x.numel();
    crowd_kernel<<<(n + block - 1) / block, block>>>(x.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}}
"""
CANDIDATE = '''import torch
from torch.utils.cpp_extension import load_inline

cuda_source = """{cuda}"""
cpp_source = "{declaration}"
module = load_inline(name="crowd_{number}", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["crowd"])


class ModelNew(torch.nn.Module):
    def forward(self, {names}):
        {first}
        return module.crowd({names})
'''
GELU = "0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)))"
Change = Callable[[str], str]


def _replaced(old: str, new: str) -> Change:
    def change(text: str) -> str:
        assert old in text, old
        return text.replace(old, new, 1)

    return change


WRONG: tuple[Change, ...] = (
    _replaced("if (i < n)", "if (i < n - 1)"),
    _replaced("out[i] = ", "out[i] = 1.01f * "),
    _replaced("float v = x[i];", "float v = x[i / 2];"),
    _replaced(
        "auto out = torch::empty_like(x);", "auto out = torch::empty_like(x); if (x.numel()) return out.zero_();"
    ),
)
_MODULE = 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("other", &crowd); }'
UNCOMPILED: dict[str, tuple[int, Change]] = {
    "second-module": (28, _replaced("    return out;\n}\n", f"    return out;\n}}\n{_MODULE}\n")),
    "undeclared-function": (10, _replaced('functions=["crowd"]', 'functions=["crowd", "crowd_backward"]')),
    "at-cuda": (6, _replaced("block, block>>>", "block, block, 0, at::cuda::getCurrentCUDAStream()>>>")),
    "scalar_t": (2, _replaced("x.data_ptr<float>()", "x.data_ptr<scalar_t>()")),
    "macro": (1, _replaced("    auto out", "    CHECK_CROWD_INPUT(x);\n    auto out")),
}
HANGS: tuple[Change, ...] = (
    _replaced(
        "        float v = x[i];", "        while (((volatile const float*)x)[i] < 2e30f) {}\n        float v = x[i];"
    ),
    _replaced("        pass", "        while True:\n            pass"),
)
CRASHES: tuple[Change, ...] = (
    _replaced("out[i] = ", "out[i + (1L << 40)] = "),
    _replaced("        pass", "        import ctypes\n        ctypes.string_at(0)"),
    _replaced("        pass", "        raise ValueError('no')"),
    _replaced("        pass", "        self.kept = [bytearray(1 << 30) for _ in range(40)]"),
    _replaced("        pass", "        [print('x' * 1_000_000) for _ in range(2000)]"),
)


def problems(on_gpu: bool) -> list[tuple[str, str, str]]:
    """Kind, name and source of each."""
    sizes, sides = (GPU_SIZES, GPU_SIDES) if on_gpu else (CPU_SIZES, CPU_SIDES)
    made: list[tuple[str, str, str]] = []
    for kind, (names, answer, inputs), values in (("gelu", SCALED, sizes), ("product", PRODUCT, sides)):
        for size in values:
            source = PROBLEM.format(names=names, answer=answer, inputs=inputs.format(size=size))
            made.append((kind, f"{len(made) + 1}_{kind}_{size}", source))
    return made


def honest(kind: str, number: int, block: int) -> str:
    """A candidate of a kind that is right, and like no other number's."""
    names, before, value = ("x", "", GELU) if kind == "gelu" else ("x, y", "x = torch::mm(x, y);", "fmaxf(v, 0.0f)")
    parameters = ", ".join(f"torch::Tensor {name}" for name in names.split(", "))
    cuda = CUDA.format(value=value, parameters=parameters, before=before, block=block)
    cuda += f"// the {number}th of the crowd\n"
    declaration = f"torch::Tensor crowd({parameters});"
    return CANDIDATE.format(cuda=cuda, declaration=declaration, number=number, names=names, first="pass")


def crowd(count: int, seed: int) -> Iterator[tuple[str, Change]]:
    """What is to become of each, and what makes it so; in an order that is drawn."""
    draw = random.Random(seed)
    kinds = [name for name, (share, _) in UNCOMPILED.items() for _ in range(share)]
    shares = {"correct": count // 2, "wrong": count // 5, "uncompiled": count // 5, "hang": max(1, round(count * 0.03))}
    members = [name for name, number in shares.items() for _ in range(number)]
    members += ["crash"] * (count - len(members))
    draw.shuffle(members)
    wrongs, hangs, crashes = (itertools.cycle(changes) for changes in (WRONG, HANGS, CRASHES))
    for member in members:
        match member:
            case "correct":
                yield member, lambda text: text
            case "wrong":
                yield member, next(wrongs)
            case "uncompiled":
                kind = draw.choice(kinds)
                yield f"uncompiled/{kind}", UNCOMPILED[kind][1]
            case "hang":
                yield member, next(hangs)
            case _:
                yield member, next(crashes)


def write(folder: Path, count: int, seed: int, *, on_gpu: bool) -> dict[str, str]:
    """Problems and submissions in `folder`; what each submission's file is meant to become."""
    (folder / "problems" / "level1").mkdir(parents=True)
    (folder / "submissions").mkdir()
    made = problems(on_gpu)
    for _, name, source in made:
        (folder / "problems" / "level1" / f"{name}.py").write_text(source)
    meant = {}
    for number, (member, change) in enumerate(crowd(count, seed)):
        index = number % len(made)
        text = change(honest(made[index][0], number, (64, 128, 256, 512)[number % 4]))
        file = f"level_1_problem_{index + 1}_sample_{number}_kernel.py"
        (folder / "submissions" / file).write_text(text)
        meant[file] = member
    return meant


def slim_library(cache: Path) -> None:
    """Lay what toolchains prepare once into an empty cache, as far as the user's own cache has it."""
    from harness.cache_folder import cache_folder

    tools = cache_folder() / "tools"
    if tools.is_dir():
        shutil.copytree(tools, cache / "tools", ignore=shutil.ignore_patterns("names-*"))


class Batch(NamedTuple):
    """One `harness batch`: its seconds, those until the last verdict was told and its CPU seconds, and its records: the
    last of each submission, as one that stock was asked about is recorded once more.
    """

    seconds: float
    told_s: float
    cpu_s: float
    records: list[dict[str, Any]]


def batch(folder: Path, run: str, more: list[str], limit_s: float | None) -> Batch:
    """A batch with a cache of its own folder."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    command = [sys.executable, "-m", "harness", "batch", str(folder / "submissions"), "--run", str(folder / run)]
    command += ["--problems", str(folder / "problems"), *more]
    before, started, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic(), time.time()
    process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        process.wait(limit_s)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        process.wait()
    seconds, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    file = folder / run / "records.jsonl"
    records = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    first = {record["submission"]["path"]: record for record in reversed(records)}
    last = {record["submission"]["path"]: record for record in records}
    told = max((datetime.fromisoformat(record["judged_at"]).timestamp() for record in first.values()), default=began)
    return Batch(seconds, told - began, cpu_s, list(last.values()))


def by_outcome(records: list[dict[str, Any]], meant: dict[str, str]) -> dict[str, Any]:
    """For each kind of member: how many, their verdicts, and mean seconds by phase and on the device."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        groups[meant[Path(record["submission"]["path"]).name]].append(record)
    found = {}
    for member, group in sorted(groups.items()):
        phases: Counter[str] = Counter()
        for record in group:
            phases.update(record["phases_s"])
        verdicts = Counter("/".join(filter(None, (v["kind"], v.get("reason")))) for v in (r["verdict"] for r in group))
        found[member] = {
            "count": len(group),
            "verdicts": dict(verdicts),
            "decided": dict(Counter(b["decided"] for r in group for b in r["builds"] if b["decided"])),
            "build_cpu_s": sum(build["cpu_seconds"] for r in group for build in r["builds"]) / len(group),
            "device_s": sum(phases[name] for name in ON_DEVICE) / len(group),
            "phases_s": {name: total / len(group) for name, total in phases.items()},
        }
    return found


def by_problem(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Of each problem's correct members, by how they were timed: how many, their seconds on the device by phase, and
    the speed-ups that were stated, from the least to the most.
    """
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        if record["verdict"]["kind"] == "correct" and record["timing"]:
            groups[record["problem"]["name"], record["timing"]["mode"]].append(record)
    found: dict[str, Any] = defaultdict(dict)
    for (title, mode), group in sorted(groups.items()):
        found[title][mode] = {
            "count": len(group),
            **{name: sum(r["phases_s"].get(name, 0.0) for r in group) / len(group) for name in ON_DEVICE},
            "speedups": sorted(round(record["timing"]["speedup"]["value"], 3) for record in group),
        }
    return found


def as_meant(record: dict[str, Any], member: str) -> bool:
    """Whether a verdict is one that a member of the crowd should get."""
    verdict = record["verdict"]
    match member.partition("/")[0]:
        case "correct" | "wrong" as kind:
            return bool(verdict["kind"] == kind)
        case "uncompiled":
            return bool(verdict["kind"] == "failed" and verdict["reason"] == "compile")
        case "hang":
            return bool(verdict["kind"] == "failed" and verdict["reason"] in ("timeout", "cpu-time"))
        case _:
            return bool(verdict["kind"] in ("failed", "wrong", "correct"))  # a flood may be right


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", help="cuda, cuda:N or cpu (small sizes, emulated)")
    parser.add_argument("-n", "--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timing", default="full", help="as for harness batch")
    parser.add_argument("--before", action="store_true", help="build those that do not compile by stock as well")
    parser.add_argument("--limit-s", type=float, help="end the batch after so many seconds")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        slim_library(folder / "cache" / "kernel-harness")
        meant = write(folder, options.count, options.seed, on_gpu=options.device != "cpu")
        more = ["--device", options.device, "--timing", options.timing]
        if options.device == "cpu":  # a machine without a GPU may be a small one, and emulated calls have no deadline
            more += ["--memory", "2", "--timeout", "10"]
        seconds, told_s, cpu_s, records = batch(folder, "crowd", more, options.limit_s)
        unlike = {
            record["submission"]["path"]: [meant[Path(record["submission"]["path"]).name], record["verdict"]["kind"]]
            for record in records
            if not as_meant(record, meant[Path(record["submission"]["path"]).name])
        }
        result: dict[str, Any] = {
            "date": datetime.now(UTC).date().isoformat(),
            "device": records[0]["device"] if records else options.device,
            "environment": records[0]["environment"] if records else {},
            "cores": len(os.sched_getaffinity(0)),
            "timing": options.timing,
            "asked": options.count,
            "judged": len(records),
            "seconds": seconds,
            "per_hour": 3600 * len(records) / seconds,
            "told_s": told_s,
            "told_per_hour": 3600 * len(records) / max(told_s, 1.0),
            "cpu_s": cpu_s,
            "unlike": unlike,
            "by_outcome": by_outcome(records, meant),
            "by_problem": by_problem(records),
        }
        if options.before:
            for file, member in meant.items():
                if not member.startswith("uncompiled"):
                    (folder / "submissions" / file).unlink()
            by_stock = batch(folder, "before", [*more, "--toolchain", "stock"], options.limit_s)
            result["before"] = {"judged": len(by_stock.records), "seconds": by_stock.seconds, "cpu_s": by_stock.cpu_s}
    if options.output:
        options.output.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))
    return 1 if unlike else 0


if __name__ == "__main__":
    sys.exit(main())
