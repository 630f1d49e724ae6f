"""Write a checkout like KernelBench's, with small problems at two levels and a run of made-up generations.

    python benchmarks/kernelbench_run.py FOLDER [-n 250]
    harness batch FOLDER/runs/made-up --problems FOLDER --run made-up --timing 0.1
    harness leaderboard made-up --format kernelbench -o FOLDER

What becomes of each generation is known beforehand: `expected` says which are correct. They differ by little and build
next to nothing, so that what is measured is the way through the harness and not the compilers.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

RUN = "made-up"

_PROBLEM = """import torch

batch_size = 16
dim = 256


class Model(torch.nn.Module):
    def forward(self, x):
        return {reference}


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
"""
_CANDIDATE = """import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return {candidate}
"""
_COMPILED = '''import torch
from torch.utils.cpp_extension import load_inline

source = """
torch::Tensor relu(torch::Tensor x) {
    return x.clamp_min(0);
}
"""
extension = load_inline(name="relu", cpp_sources=source, functions=["relu"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu(x)
'''
_REFUSED = _COMPILED.replace("return x.clamp_min(0);", "return x.clamp_min(0)")


@dataclass(frozen=True)
class _Asked:
    """A problem: its reference, and the same in other words."""

    level: int
    number: int
    name: str
    reference: str
    candidate: str

    @property
    def file(self) -> str:
        return f"KernelBench/level{self.level}/{self.number}_{self.name}.py"


_PROBLEMS = (
    _Asked(1, 1, "ReLU", "torch.relu(x)", "x.clamp(min=0)"),
    _Asked(1, 2, "Square", "x**2", "x * x"),
    _Asked(1, 3, "Sigmoid", "torch.sigmoid(x)", "1 / (1 + torch.exp(-x))"),
    _Asked(1, 10, "Sum", "x.sum(1)", "torch.einsum('ij->i', x)"),
    _Asked(1, 11, "Transpose", "x.T.contiguous()", "x.permute(1, 0).clone(memory_format=torch.contiguous_format)"),
    _Asked(2, 1, "Scale_Add_ReLU", "torch.relu(x * 2 + 1)", "(2 * x + 1).clamp(min=0)"),
    _Asked(2, 2, "Swish", "x * torch.sigmoid(x)", "torch.nn.functional.silu(x)"),
    _Asked(2, 30, "Abs_Mean", "x.abs().mean(1)", "x.abs().sum(1) / x.shape[1]"),
)
# One of these for each sample in turn; the first is sample 0, which KernelBench's analysis looks at.
_KINDS = ("right", "off by one", "raises", "right", "not Python")


def write(folder: Path, generations: int = 250, *, compiled: bool = True) -> dict[str, bool]:
    """Write the checkout and its run; for each file of the run by name, whether what it holds is correct.

    Without `compiled` no generation has anything to build.
    """
    for asked in _PROBLEMS:
        _write(folder / asked.file, _PROBLEM.format(reference=asked.reference))
    run = folder / "runs" / RUN
    expected = {}
    for index in range(generations):
        asked, sample = _PROBLEMS[index % len(_PROBLEMS)], index // len(_PROBLEMS)
        name = f"level_{asked.level}_problem_{asked.number}_sample_{sample}"
        source, expected[f"{name}_kernel.py"] = _generation(asked, sample, compiled=compiled)
        _write(run / f"{name}_kernel.py", source)
        _write(run / f"{name}_prompt.txt", "Write ModelNew.\n")
    _write(run / "generation_config.yaml", "level: 1\nmodel_name: nobody/made-up\ntemperature: 0.0\n")
    return expected


def _generation(asked: _Asked, sample: int, *, compiled: bool) -> tuple[str, bool]:
    """What a sample answers, and whether that is correct. ReLU has a kernel: one that builds, one that does not."""
    kind = _KINDS[sample % len(_KINDS)]
    if compiled and asked.name == "ReLU" and kind in ("right", "raises"):
        return (_COMPILED, True) if kind == "right" else (_REFUSED, False)
    written = {
        "right": asked.candidate,
        "off by one": f"{asked.candidate} + 1",
        "raises": "self.kernel(x)",
        "not Python": f"{asked.candidate} +",
    }
    source = _CANDIDATE.format(candidate=written[kind])
    return f"# sample {sample}\n{source}", kind == "right"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-n", "--generations", type=int, default=250)
    asked = parser.parse_args()
    expected = write(asked.folder, asked.generations)
    print(f"{len(expected)} generations, {sum(expected.values())} of them correct, in {asked.folder / 'runs' / RUN}")


if __name__ == "__main__":
    main()
