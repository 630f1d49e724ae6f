"""verl: a reward function. `ground_truth` of a row is the name of its problem."""

from typing import Any

from harness.client import judge_async, reward


async def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None, **options: Any
) -> dict[str, float]:
    summary = (await judge_async(solution_str, ground_truth))["summary"]
    speedup = summary["speedup"] or {"value": 0.0}
    return {"score": reward(summary), "correct": float(summary["correct"]), "speedup": speedup["value"]}
