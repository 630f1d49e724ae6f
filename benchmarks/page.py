"""A made-up run as a page: what it costs to make, how large it is, how much memory that needs.

    python benchmarks/page.py [--models N] [--problems N] [--samples N] [-o FILE]

Nothing was measured for it: models, problems and times come from a seeded generator. With `-o` the page is kept, to
be looked at.
"""

import argparse
import random
import resource
import time
from collections.abc import Callable, Iterator
from math import prod
from pathlib import Path

from harness.report.page import render
from harness.schema import (
    Baseline,
    BuildSummary,
    CandidateRef,
    Conditions,
    Correct,
    Device,
    Environment,
    ErrorSummary,
    Extraction,
    Failed,
    Flag,
    Infrastructure,
    Interval,
    Kernel,
    Mismatch,
    ProblemRef,
    Profile,
    Record,
    Rejected,
    Roofline,
    SandboxReport,
    SubmissionRef,
    Timing,
    ToolReport,
    Verdict,
    Workload,
    Wrong,
)

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "reference_solutions").rglob("*.py"))
OPERATORS = ("Matmul", "Softmax", "LayerNorm", "Conv2d", "GELU", "MaxPool", "CrossEntropy", "Cumsum", "Gemm_Add_ReLU")
LOG = """\
candidate.py:13: error: identifier "column" is undefined
    out[row * n + column] = 0.0f;
                  ^

1 error detected in the compilation of candidate.py.
"""
BANDWIDTH_GB_S, MATRIX_TFLOPS = 4200.0, 720.0


def made_up(models: int, problems: int, samples: int) -> Iterator[Record]:
    """Records of `models` x `problems` x `samples`; later models are better, one in ten answers is doubtful."""
    draw = random.Random(7)
    for model in range(models):
        skill = model / max(1, models - 1)
        for problem in range(problems):
            for sample in range(samples):
                yield record(draw, f"model-{chr(ord('a') + model % 26)}{model // 26 or ''}", problem, sample, skill)


def record(draw: random.Random, model: str, problem: int, sample: int, skill: float) -> Record:
    verdict = _verdict(draw, skill)
    level = f"level{1 + problem % 3}"
    name = f"{problem + 1}_{OPERATORS[problem % len(OPERATORS)]}"
    floor_ms = 10 ** random.Random(problem).uniform(-2, 1)
    fraction = min(0.97, draw.lognormvariate(-1.6 + 1.2 * skill, 0.6))
    timing = _timing(draw, floor_ms / fraction, skill) if isinstance(verdict, Correct) else None
    return Record(
        problem=ProblemRef(set=level, name=name, sha256="0" * 64, workload=Workload()),
        submission=SubmissionRef(
            path=f"{model}/{level}_problem_{problem + 1}_sample_{sample}.txt",
            sha256="1" * 64,
            sample=sample,
            model=model,
            extraction=Extraction(policy="last", kind="response", first_line=12),
        ),
        candidate=CandidateRef(sha256="2" * 64, languages=("cuda",)),
        device=Device(kind="cuda", name="NVIDIA H200"),
        verdict=verdict,
        timing=timing,
        roofline=_roofline(floor_ms, fraction) if timing else None,
        profile=_profile(floor_ms / fraction) if timing else None,
        tools=(ToolReport(tool="memcheck", clean=False, summary="2 invalid reads of 4 bytes", lines=(14,)),)
        if isinstance(verdict, Wrong)
        else (),
        flags=_flags(draw),
        builds=(BuildSummary(name="kernels", toolchain="slim", cached=False, seconds=1.7, cpu_seconds=3.3),),
        sandbox=SandboxReport(layers=("user-namespace", "network-namespace", "landlock-7", "seccomp", "limits")),
        phases_s={"extract": 0.001, "screen": 0.004, "build": 1.72, "load": 0.04, "check": 0.35, "time": 2.1},
        environment=Environment(
            harness="0.1.0", python="3.12.3", torch="2.11.0+cu130", cuda="13.0", driver="580.159.04", gpu="NVIDIA H200",
            cpu="Intel(R) Xeon(R) Processor", cores=16, host="made-up",
        ),
        judged_at="2026-11-21T05:34:05+00:00",
    )  # fmt: skip


def _verdict(draw: random.Random, skill: float) -> Verdict:
    lot = draw.random()
    if lot < 0.35 + 0.5 * skill:
        error = ErrorSummary(relative=2.4e-6, reference_relative=1.9e-6, of_tolerance=draw.uniform(0.01, 0.6))
        return Correct(trials=16, error=error, repeatable="bitwise")
    if lot < 0.9:
        if draw.random() < 0.5:
            return Failed(stage="build", reason="compile", detail=LOG.splitlines()[0], log=LOG)
        mismatch = Mismatch(
            output="output", elements=1 << 24, mismatched=draw.randrange(1, 1 << 24), worst_index=(12, 4033),
            actual=draw.gauss(0, 2), expected=draw.gauss(0, 2), tolerance=3.99e-5,
        )  # fmt: skip
        return Wrong(reason="values", detail="output: many elements differ", trial="signed", mismatch=mismatch)
    if lot < 0.97:
        return Rejected(rule="faster-than-possible", detail="below the time that writing the outputs takes")
    return Infrastructure(detail="the device fell off the bus: reset it and give the same command again")


def _timing(draw: random.Random, candidate_ms: float, skill: float) -> Timing:
    speedup = draw.lognormvariate(-0.3 + 0.9 * skill, 0.7)
    reference_ms = candidate_ms * speedup
    spread = draw.uniform(0.002, 0.03)
    interval = Interval(value=speedup, low=speedup * (1 - spread), high=speedup * (1 + spread))
    compiled = Interval(value=speedup * 0.8, low=interval.low * 0.8, high=interval.high * 0.8)
    return Timing(
        candidate_ms=candidate_ms,
        reference_ms=reference_ms,
        speedup=interval,
        conclusion="faster" if interval.low > 1 else "slower" if interval.high < 1 else "ambiguous",
        rounds=24,
        calls_per_round=19,
        hand_over_ms=0.21,
        candidate_samples_ms=tuple(candidate_ms * draw.lognormvariate(0, spread) for _ in range(24)),
        reference_samples_ms=tuple(reference_ms * draw.lognormvariate(0, spread) for _ in range(24)),
        candidate_device_ms=candidate_ms * 0.98,
        reference_device_ms=reference_ms * 0.98,
        baselines=(
            Baseline(name="compile", reference_ms=reference_ms * 0.8, speedup=compiled, conclusion="ambiguous"),
        ),
        conditions=Conditions(
            samples=31, sm_mhz=1980, sm_mhz_lowest=1905, sm_mhz_highest=1980, memory_mhz=3201, temperature_c=41,
            power_w=312.5, disturbed=draw.random() < 0.03,
        ),
    )  # fmt: skip


def _roofline(floor_ms: float, fraction: float) -> Roofline:
    moved = int(floor_ms * BANDWIDTH_GB_S * 1e6)
    return Roofline(
        bytes_read=moved // 2, bytes_written=moved - moved // 2, flops=moved // 8, bandwidth_gb_s=BANDWIDTH_GB_S,
        matrix_tflops=MATRIX_TFLOPS, floor_ms=floor_ms, write_floor_ms=floor_ms / 2, fraction=fraction,
    )  # fmt: skip


def _profile(candidate_ms: float) -> Profile:
    kernels = (
        Kernel(name="fused_kernel(float const*, float*, int)", origin="candidate", ms=candidate_ms * 0.7, launches=1),
        Kernel(name="cublasLt::sm90_xmma_gemm_f32f32", origin="library", ms=candidate_ms * 0.25, launches=2),
    )
    return Profile(device_ms=candidate_ms * 0.95, custom_kernel_share=0.74, kernels=kernels)


def _flags(draw: random.Random) -> tuple[Flag, ...]:
    lot = draw.random()
    if lot < 0.05:
        return (Flag(rule="patched-function", severity="reject", detail="replaces torch.cuda.synchronize", lines=(3,)),)
    if lot < 0.1:
        return (Flag(rule="side-stream", severity="warn", detail="makes a stream of its own", lines=(7, 21)),)
    return ()


def attachments(_run: str, record: Record) -> dict[str, str]:
    source = SOURCES[len(record.submission.path) % len(SOURCES)].read_text()
    texts = {"candidate.py": source, "submission.txt": f"Here is the kernel.\n\n```python\n{source}```\n"}
    return texts | ({"build.log": LOG} if isinstance(record.verdict, Failed) else {})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=8)
    parser.add_argument("--problems", type=int, default=50)
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    shape = (arguments.models, arguments.problems, arguments.samples)
    making_s = cpu_seconds(lambda: sum(1 for _ in made_up(*shape)))
    pages: list[str] = []
    both_s = cpu_seconds(lambda: pages.append(render({"made-up": made_up(*shape)}, attachments, title="A made-up run")))
    page = pages[0]
    if arguments.output:
        arguments.output.write_text(page, encoding="utf-8")
    size_mb, peak_mb = len(page) / 1e6, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{prod(shape)} submissions: {both_s - making_s:.1f} CPU s, {size_mb:.1f} MB, peak memory {peak_mb:.0f} MB")


def cpu_seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


if __name__ == "__main__":
    main()
