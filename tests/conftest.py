"""What holds for the tests of every room."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

if "PYTEST_XDIST_WORKER" in os.environ:  # before torch: threads of several runs that wait awake take each other's cores
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import hypothesis
import pytest

from harness.schema import Problem, Submission

# How long an example takes says nothing: machines that others use too have failed tests by it.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

TESTS = Path(__file__).parent
FIRST = (
    "adversarial/test_honest_candidates.py",
    "sandbox/test_elsewhere.py",
    "adversarial/test_cheats_on_answers.py",
    "cli/test_batch.py",
    "adversarial/test_cheats_on_time.py",
    "judge/test_large_outputs.py",
    "adversarial/test_cheats_on_isolation.py",
    "serve/test_process.py",
    "serve/test_faults.py",
    "controller/test_timing_alone.py",
    "cli/test_generate.py",
    "cli/test_eval.py",
    "test_library.py",
    "cli/test_kernelbench.py",
    "test_package.py",
    "docs/test_commands.py",
)
"""Files that take half a minute and more: in turn such as time candidates, which two processes do one after the other,
and such as do not. Left for the end one of them would keep one core busy and the other idle. What the pages' commands
build the demo has built before them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first; the others stay in order."""
    places = {TESTS / name: place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


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
