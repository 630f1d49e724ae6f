"""What holds for the tests of every room."""

import gc
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

if "PYTEST_XDIST_WORKER" in os.environ:  # before torch: threads of several runs that wait awake take each other's cores
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import hypothesis
import pytest

from harness.schema import Problem, Submission

gc.disable()  # until all tests are collected: looking for garbage among them takes a third of that

# How long an example takes says nothing: machines that others use too have failed tests by it.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

TESTS = Path(__file__).parent
TIMED = (
    "adversarial/test_honest_candidates.py",
    "adversarial/test_cheats_on_answers.py",
    "adversarial/test_cheats_on_time.py",
    "adversarial/test_cheats_on_isolation.py",
    "controller/test_timing_alone.py",
    "cli/test_kernelbench.py",
    "judge/test_outputs.py",
    "judge/test_copied_memory.py",
    "controller/test_kept_reference.py",
)
"""Files that time candidates nearly all the while. Only one candidate of a machine is timed at a time, so one process
has them all, and others do what times nothing meanwhile."""
LAST = (
    "cli/test_batch.py",
    "serve/test_process.py",
    "test_package.py",
    "docs/test_commands.py",
    "serve/test_faults.py",
    "test_library.py",
    "cli/test_eval.py",
    "cli/test_generate.py",
    "generate/test_examples.py",
    "controller/test_giving_up.py",
    "controller/test_doubted.py",
    "test_mcp.py",
    "test_logs.py",
)
"""Files that time a candidate now and then, and would wait for those: they come when these are done, the longest first,
so that no process is left alone with one. What the pages' commands build the demo has built before them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is timed first, what is timed now and then last; the others stay in order."""
    places = {TESTS / name: place - len(TIMED) for place, name in enumerate(TIMED)}
    places |= {TESTS / name: 1 + place for place, name in enumerate(LAST)}
    items.sort(key=lambda item: places.get(item.path, 0))


def pytest_collection_finish() -> None:
    """What was collected stays, and need not be looked at again."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Several processes are given files one by one, and all of TIMED as if they were one."""
    from xdist.scheduler import LoadFileScheduling

    class TimedTogether(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.split("::", 1)[0]
            return "timed" if file.removeprefix(f"{TESTS.name}/") in TIMED else file

    return TimedTogether(config, log)


@pytest.fixture(autouse=True)
def nobody_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test builds by stock as well because it was drawn by lot; `--audit all` still does."""
    monkeypatch.setattr("harness.controller.evaluate.ONE_IN", 1 << 62)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that file permissions leave open to everybody, so that only the sandbox can refuse."""
    folder = Path(tempfile.mkdtemp(prefix="harness-test-", dir="/var/tmp"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def problem() -> Callable[..., Problem]:
    """A problem whose inputs have `batch_size` x `dim` elements."""

    def make(text: str = "batch_size = 4096\ndim = 1024\n", *, shape: str = "batch_size, dim") -> Problem:
        source = f"""import torch

{text}

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.rand({shape})]


def get_init_inputs():
    return []
"""
        return Problem(set="level1", name="19_ReLU", sha256=digest(source), source=source)

    return make


@pytest.fixture
def submission() -> Callable[..., Submission]:
    def make(text: str, *, path: str = "a.py", **more: object) -> Submission:
        return Submission(path=path, sha256=digest(text), text=text, **more)

    return make


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
