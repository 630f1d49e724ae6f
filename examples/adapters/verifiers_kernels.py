"""verifiers: a taskset whose reward is a verdict."""

from collections.abc import Iterator

import verifiers.v1 as vf

from harness.client import judge_async, reward


class KernelData(vf.TaskData):
    problem: str


class KernelTask(vf.Task[KernelData]):
    @vf.reward(weight=1.0)
    async def speed(self, trace: vf.Trace) -> float:
        return reward((await judge_async(trace.last_reply or "", self.data.problem))["summary"])


class KernelConfig(vf.TasksetConfig):
    problems: list[str] = ["level1/19_ReLU"]


class KernelTaskset(vf.Taskset[KernelTask, KernelConfig]):
    def load(self) -> Iterator[KernelTask]:
        for index, problem in enumerate(self.config.problems):
            prompt = f"Write a faster ModelNew for the problem {problem}."
            yield KernelTask(KernelData(idx=index, prompt=prompt, problem=problem), self.config.task)
