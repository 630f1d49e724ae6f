"""OpenEnv: an environment whose one step is a verdict. `openenv_kernels:app` is its server."""

from typing import Any

from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State

from harness.client import DEADLINE_S, judge, reward


class KernelAction(Action):
    answer: str


class KernelObservation(Observation):
    problem: str
    detail: str = ""


class KernelEnvironment(Environment[KernelAction, KernelObservation, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True
    state = State()

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, problem: str = "level1/19_ReLU", **_: Any
    ) -> KernelObservation:
        self.state, self.problem = State(episode_id=episode_id), problem
        return KernelObservation(problem=problem)

    def step(self, action: KernelAction, timeout_s: float | None = None, **_: Any) -> KernelObservation:
        summary = judge(action.answer, self.problem, deadline_s=timeout_s or DEADLINE_S)["summary"]
        self.state.step_count += 1
        return KernelObservation(
            problem=self.problem, detail=summary["detail"], reward=reward(summary), done=True, metadata=summary
        )


app = create_app(KernelEnvironment, KernelAction, KernelObservation)
