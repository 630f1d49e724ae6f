"""A leaderboard of a made-up run: its time and memory without an index, with one, and after more was judged.

    python benchmarks/leaderboard.py [--records 1000000] [--format csv] [-o FILE]

The records have the size and the variety of real ones: 20 models answer 270 problems of three levels, some answers are
wrong, do not compile, are flagged; the correct ones have 2 times 25 raw samples. Memory is the sum over the process
and those it starts, sampled twenty times a second: what they share, such as the interpreter's code, counts for each.
"""

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy
import pydantic

import harness
from harness.schema import (
    BuildSummary,
    CandidateRef,
    Correct,
    Device,
    Environment,
    ErrorSummary,
    Extraction,
    Failed,
    Flag,
    Interval,
    ProblemRef,
    Record,
    SandboxReport,
    SubmissionRef,
    Timing,
    Verdict,
    Wrong,
)
from harness.store import Manifest, open_run

MODELS, PROBLEMS = 20, 270
LAYERS = (
    "user-namespace", "mount-namespace", "pid-namespace", "network-namespace", "ipc-namespace", "uts-namespace",
    "limits", "uid", "capabilities", "no-new-privileges", "landlock-7", "seccomp", "session", "subreaper",
)  # fmt: skip
VERDICTS: tuple[Verdict, ...] = (
    Correct(trials=31, error=ErrorSummary(relative=1e-6, reference_relative=1e-6, of_tolerance=0.02)),
    Wrong(reason="values", detail="output: 805,265,012 of 1,610,612,736 elements differ", trial="signed"),
    Failed(stage="build", reason="compile", detail="identifier is undefined", log="error: " + 1200 * "x"),
    Failed(stage="run", reason="timeout", detail="no answer within 60 s"),
)


def template(verdict: Verdict, *, flagged: bool, generator: random.Random) -> str:
    """The JSON of a record, with marks in the place of what differs between records."""
    samples = tuple(generator.gauss(1.0, 0.01) for _ in range(50))
    timing = Timing(
        candidate_ms=1.0, reference_ms=1.5, speedup=Interval(value=777.5, low=777.25, high=777.75), conclusion="faster",
        rounds=25, calls_per_round=12, candidate_samples_ms=samples[:25], reference_samples_ms=samples[25:],
    )  # fmt: skip
    record = Record(
        problem=ProblemRef(set="@SET", name="@NAME", sha256="0" * 64),
        submission=SubmissionRef(
            path="@PATH", sha256="1" * 64, sample=777777, model="@MODEL", prompt_tokens=1700, completion_tokens=5200,
            extraction=Extraction(policy="last", kind="response", first_line=275),
        ),
        candidate=CandidateRef(sha256="2" * 64, languages=("cuda",)),
        device=Device(kind="cuda", name="NVIDIA H200"),
        verdict=verdict,
        timing=timing if isinstance(verdict, Correct) else None,
        flags=(Flag(rule="no-kernel", severity="warn", detail="defines no kernel", lines=(1,)),) if flagged else (),
        builds=(BuildSummary(name="kernel", toolchain="slim", cached=False, seconds=1.7, cpu_seconds=3.4),),
        sandbox=SandboxReport(layers=LAYERS),
        phases_s={"extract": 0.001, "screen": 0.001, "build": 1.7, "load": 0.02, "check": 2.3, "time": 2.1},
        environment=Environment(harness="0.1.0", python="3.12.3", torch="2.11.0+cu130", gpu="NVIDIA H200", cores=16),
        judged_at="2026-11-21T05:34:05+00:00",
    )  # fmt: skip
    return record.model_dump_json()


def lines(first: int, last: int) -> "list[str]":
    generator = random.Random(first)
    templates = [template(each, flagged=flagged, generator=generator) for each in VERDICTS for flagged in (False, True)]
    made = []
    for number in range(first, last):
        problem, model, sample = number % PROBLEMS, number // PROBLEMS % MODELS, number // (PROBLEMS * MODELS)
        kind = generator.choices(range(len(VERDICTS)), (55, 20, 20, 5))[0]
        speedup = generator.lognormvariate(0.0, 0.6)
        name = f"{problem}_Problem_of_a_usual_length"
        line = templates[2 * kind + (generator.random() < 0.1)]
        for mark, text in (
            ("@SET", f"level{problem * 3 // PROBLEMS + 1}"),
            ("@NAME", name),
            ("@PATH", f"model-{model}/level_1_problem_{problem}_sample_{sample}_kernel.py"),
            ("@MODEL", f"model-{model}"),
            ("777777", str(sample)),
            ("777.5", repr(speedup)),
            ("777.25", repr(speedup * 0.99)),
            ("777.75", repr(speedup * 1.01)),
        ):
            line = line.replace(mark, text, 1)
        made.append(line + "\n")
    return made


def write_records(path: Path, first: int, last: int) -> None:
    with path.open("a") as file:
        for start in range(first, last, 10_000):
            file.writelines(lines(start, min(start + 10_000, last)))
        file.flush()
        os.fsync(file.fileno())


def measure(run: Path, format_name: str) -> dict[str, float]:
    """One `harness leaderboard`: wall and CPU seconds, and the largest sum of resident memory in MB."""
    before = os.times()
    started = time.monotonic()
    output = run.parent / "board"
    command = [sys.executable, "-m", "harness", "leaderboard", str(run), "--format", format_name, "-o", str(output)]
    process = subprocess.Popen(command)
    peak_bytes = 0
    while process.poll() is None:
        peak_bytes = max(peak_bytes, sum(map(resident, tree(process.pid))))
        time.sleep(0.05)
    seconds = time.monotonic() - started
    assert process.returncode == 0
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return {"seconds": round(seconds, 2), "cpu_seconds": round(cpu, 2), "peak_mb": round(peak_bytes / 1e6)}


def tree(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:  # it is gone
        return []
    return [pid, *(each for child in children for each in tree(int(child)))]


def resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def cpu_name() -> str:
    names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return names[0].partition(":")[2].strip() if names else platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--format", default="csv")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    load = os.getloadavg()[0]  # of one minute: seconds mean little where others compute as well
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "made-up"
        with open_run(run, create=True, manifest=Manifest(created="2026-11-21", harness=harness.__version__)):
            pass
        path = run / "records.jsonl"
        write_records(path, 0, options.records)
        size_mb = path.stat().st_size / 1e6
        time.sleep(3)  # an index does not trust what was written less than two seconds before it
        measured = {"without an index": measure(run, options.format), "with it": measure(run, options.format)}
        index_mb = sum(each.stat().st_size for each in run.glob(".*.index")) / 1e6
        write_records(path, options.records, options.records + options.records // 100)
        time.sleep(3)
        measured["after 1% more"] = measure(run, options.format)
    result = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": {"cpu": cpu_name(), "cores": len(os.sched_getaffinity(0)), "system": platform.platform()},
        "versions": {
            "harness": harness.__version__,
            "python": platform.python_version(),
            "numpy": numpy.__version__,
            "pydantic": pydantic.VERSION,
        },
        "records": options.records,
        "records_mb": round(size_mb, 1),
        "index_mb": round(index_mb, 1),
        "format": options.format,
        "load_before": round(load, 2),
        "measured": measured,
    }
    if options.output:
        options.output.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
