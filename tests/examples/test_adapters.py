"""Each adapter against a server, where its package is installed. A fault reaches the trainer as a fault."""

import asyncio
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from serving import Serve, Served

from harness.client import NoVerdict

pytest.importorskip("fastapi")

ADAPTERS = Path(__file__).parents[2] / "examples/adapters"
CORRECT_BY_KEVIN = 2.3


@pytest.fixture
def served(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.delenv("HARNESS_TOKEN", raising=False)
    with serve() as made:
        monkeypatch.setenv("HARNESS_URL", made.url)
        yield made


def adapter(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ADAPTERS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_verl_gets_a_score(served: Served) -> None:
    verl = adapter("verl_reward")

    def score(text: str) -> Any:
        return asyncio.run(verl.compute_score("kernels", text, "level1/19_ReLU", extra_info={}, reward_router=None))

    assert score("correct") == {"score": CORRECT_BY_KEVIN, "correct": 1.0, "speedup": 2.0}
    assert score("an answer") == {"score": 0.0, "correct": 0.0, "speedup": 0.0}
    with pytest.raises(NoVerdict):
        score("problem")


@pytest.mark.filterwarnings("ignore")
def test_skyrl_gets_turns_with_what_was_wrong(served: Served) -> None:
    pytest.importorskip("skyrl_gym")
    extras = {"reward_spec": {"ground_truth": "level1/19_ReLU"}, "max_turns": 2}
    env = adapter("skyrl_env").KernelEnv(extras=extras)
    first = env.step("an answer")
    assert (first["reward"], first["done"]) == (0.0, False)
    assert first["observations"] == [{"role": "user", "content": "it says an answer"}]
    last = env.step("correct")
    assert (last["reward"], last["done"], last["observations"]) == (CORRECT_BY_KEVIN, True, [])
    with pytest.raises(NoVerdict):
        env.step("problem")


@pytest.mark.filterwarnings("ignore")
def test_verifiers_gets_a_reward(served: Served) -> None:
    pytest.importorskip("verifiers.v1")
    kernels = adapter("verifiers_kernels")
    taskset = kernels.KernelTaskset(kernels.KernelConfig(problems=["level1/19_ReLU"]))
    (task,) = list(taskset.load())

    class Trace:
        last_reply = "correct"

    assert asyncio.run(task.speed(Trace())) == CORRECT_BY_KEVIN
    Trace.last_reply = "problem"
    with pytest.raises(NoVerdict):
        asyncio.run(task.speed(Trace()))


@pytest.mark.filterwarnings("ignore")
def test_openenv_gets_an_episode_of_one_step(served: Served) -> None:
    pytest.importorskip("openenv.core")
    from fastapi.testclient import TestClient

    kernels = adapter("openenv_kernels")
    environment = kernels.KernelEnvironment()
    assert (environment.reset(episode_id="a").problem, environment.state.episode_id) == ("level1/19_ReLU", "a")
    step = environment.step(kernels.KernelAction(answer="correct"))
    assert (step.reward, step.done, step.detail) == (CORRECT_BY_KEVIN, True, "")
    assert environment.step(kernels.KernelAction(answer="an answer")).detail == "it says an answer"
    with pytest.raises(NoVerdict):
        environment.step(kernels.KernelAction(answer="problem"))
    with TestClient(kernels.app) as client:
        assert client.post("/reset", json={}).json()["observation"]["problem"] == "level1/19_ReLU"


@pytest.mark.filterwarnings("ignore")
def test_inspect_scores_a_sample(served: Served, tmp_path: Path) -> None:
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import solver

    @solver
    def says(text: str) -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            state.output = ModelOutput.from_content("mockllm/model", text)
            return state

        return solve

    def scored(text: str) -> Any:
        task = adapter("inspect_kernels").kernels()
        options = {"model": "mockllm/model", "log_dir": str(tmp_path / "logs"), "display": "none"}
        (log,) = inspect_ai.eval(task, solver=says(text), fail_on_error=False, **options)
        assert log.status == "success", log.error
        return log.samples[0]

    assert scored("correct").scores["verdict"].value == {"correct": 1.0, "speedup": 2.0}
    assert scored("an answer").scores["verdict"].value == {"correct": 0.0, "speedup": 0.0}
    assert "NoVerdict" in scored("problem").error.traceback
