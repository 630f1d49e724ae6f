"""What KernelBench's analysis does with its two files, in our words."""

import ast
import json
import math
import re
from collections.abc import Mapping

from harness.report.kernelbench import Level


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


class Analysis:
    """`scripts/benchmark_eval_analysis.py` on the given files, for a level whose checkout has `problems` (by number).

    Results are brought into one list and baselines into another, and the two are compared place by place.
    """

    def __init__(self, files: Mapping[str, str], level: Level, problems: Mapping[int, str]) -> None:
        told = dict(re.findall(r'(\w+)=("[^"]*"|\S+)', level.command))
        asked = self._subset(told["subset"].strip('"'), problems)
        results = json.loads(files[f"runs/{told['run_name']}/eval_results.json"], parse_constant=_refuse)
        times = json.loads(files[f"results/timing/{told['hardware']}/{told['baseline']}.json"], parse_constant=_refuse)
        names = {name: times[f"level{told['level']}"][name] for name in asked.values()}
        firsts = {}
        for number, samples in results.items():
            found = [sample for sample in samples if sample["sample_id"] == 0]
            assert len(found) <= 1
            if found:
                firsts[number] = found[0]
        for number in asked:
            firsts.setdefault(str(number), {"compiled": False, "correctness": False, "runtime": -1.0})
        assert len(firsts) == len(names)
        self.total = len(asked)
        self.compiled = sum(first["compiled"] is True for first in firsts.values())
        self.correct = sum(first["correctness"] is True for first in firsts.values())
        self.speedups = [
            baseline["mean"] / first["runtime"]
            for first, baseline in zip(firsts.values(), names.values(), strict=True)
            if first["correctness"]
        ]

    @staticmethod
    def _subset(text: str, problems: Mapping[int, str]) -> dict[int, str]:
        subset = ast.literal_eval(text)
        if isinstance(subset, list) and len(subset) == 2:
            subset = range(subset[0], subset[1] + 1)
        return {number: problems[number] for number in sorted(subset)}

    def fast(self, p: float) -> float:
        return sum(speedup > p for speedup in self.speedups) / self.total

    @property
    def geomean(self) -> float:
        return math.prod(self.speedups) ** (1 / len(self.speedups))
