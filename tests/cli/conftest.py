"""The command line in this process with one session for all (starting one costs three seconds), or as a process."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.cli import main
from harness.controller.session import Session, open_session
from harness.settings import Settings

Invoke = Callable[..., Result]
SMALL = """
import torch

batch_size = 4
dim = 32


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return []
"""
RAISING = SMALL.replace("return torch.relu(x)", "raise KeyError('no weights')")

RIGHT = """
import time
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        time.sleep(0)  # tests replace it; a round of 256 calls is soon taken
        return torch.relu(x)
"""
WRONG = RIGHT.replace("torch.relu(x)", "x + 1")
FAILING = RIGHT.replace("return torch.relu(x)", "raise ValueError('no such kernel')")


@pytest.fixture(scope="session")
def shared_session() -> Iterator[Session]:
    with open_session("cpu", Settings()) as session:
        yield session


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: small problems in problems/ (a sound one and one that raises) and three submissions."""
    files = {
        "problems/level1/19_ReLU.py": SMALL,
        "problems/level1/20_Raising.py": RAISING,
        "right.py": RIGHT,
        "wrong.py": WRONG,
        "failing.py": FAILING,
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def invoke(here: Path, shared_session: Session, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Runs `harness ...` in this process; what would start a session takes the shared one, with its own settings."""

    @contextmanager
    def shared(device: str, settings: Settings, **_: Any) -> Iterator[Session]:
        del device
        shared_session.settings = settings
        yield shared_session

    monkeypatch.setattr("harness.controller.session.open_session", shared)
    monkeypatch.setattr("harness.controller.engine.open_session", shared)
    monkeypatch.setattr("harness.cli.console.say_if_first_build", lambda console: None)

    def run(*arguments: str | Path) -> Result:
        judges = arguments[0] in ("eval", "compare", "batch")
        short = ["--timing", "0"] if judges and "--timing" not in arguments else []
        short += ["--audit", "none"] if judges and "--audit" not in arguments else []  # 30 s, by chance
        return CliRunner().invoke(main, [*map(str, arguments), *short], catch_exceptions=False)

    return run


@pytest.fixture(scope="session")
def start() -> Callable[..., subprocess.Popen[str]]:
    """Starts `harness ...` as a process of its own."""

    def start(arguments: Sequence[str | Path], cwd: Path, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "harness", *map(str, arguments)],
            cwd=cwd,
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start
