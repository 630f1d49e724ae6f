"""inspect-ai: a task whose scorer is a verdict. `--retry-on-error` judges again what had none."""

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, Scorer, Target, accuracy, mean, scorer, stderr
from inspect_ai.solver import TaskState, generate

from harness.client import judge_async


@scorer(metrics={"correct": [accuracy(), stderr()], "speedup": [mean()]})
def verdict() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        summary = (await judge_async(state.output.completion, target.text))["summary"]
        speedup = (summary["speedup"] or {"value": 0.0})["value"]
        value = {"correct": float(summary["correct"]), "speedup": speedup}
        return Score(value=value, explanation=summary["detail"], metadata=summary)

    return score


@task
def kernels(problems: str = "level1/19_ReLU") -> Task:
    samples = [Sample(input=f"Write a faster ModelNew for {name}.", target=name) for name in problems.split(",")]
    return Task(dataset=MemoryDataset(samples), solver=generate(), scorer=verdict())
