"""SkyRL: an environment of several turns. `reward_spec["ground_truth"]` of a row is the name of its problem."""

from typing import Any

from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

from harness.client import judge, reward


class KernelEnv(BaseTextEnv):
    def __init__(self, env_config: Any = None, extras: dict[str, Any] | None = None) -> None:
        super().__init__()
        extras = extras or {}
        self.problem, self.max_turns = extras["reward_spec"]["ground_truth"], extras.get("max_turns", 1)

    def step(self, action: str) -> BaseTextEnvStepOutput:
        self.turns += 1
        summary = judge(action, self.problem)["summary"]
        done = self.turns >= self.max_turns
        told = summary["detail"] or "Correct. Make it faster."
        more = [] if done else [{"role": "user", "content": told}]
        return BaseTextEnvStepOutput(observations=more, reward=reward(summary), done=done, metadata=summary)
