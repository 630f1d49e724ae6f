"""What README and the pages tell people to type is typed here: every command, in order, in a fresh copy."""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from scripted_server import Say, Server

from harness.cache_folder import cache_folder
from harness.cli import COMMANDS, main

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```(?P<language>console|python)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(harness [^`]+)`")
OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")

ASK = """'from harness.client import judge; print(judge(open("answer.md").read(), "level1/19_ReLU")["summary"])'"""
# What is no more than said here: tests inside of tests, the demo (tests/test_package.py runs it from a wheel), the hub
# (tests/catalog reads that), an index of packages, and a server on a GPU (tests/serve asks one).
DRY = {
    "make demo": "make -n demo",
    "make test": "make -n test",
    "harness problems fetch": "true",
    "pip install 'kernel-harness[serve]'": "true",
    "harness serve --device cuda &": "true",
    "harness serve --device cuda --state serve &": "true",
    f"python -c {ASK}": "true",
}

# What ends with another status than 0 because of what it shows: a candidate that failed.
STATUSES = {
    "harness eval examples/out_of_bounds.py --problem level1/19_ReLU --device cpu --sanitize memcheck": 1,
    "harness eval examples/out_of_bounds.py --problem 19_ReLU --sanitize memcheck": 1,
}

ANSWER = """
```python
import torch  # as a model for cuda would write it, but for the kernel


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
```
"""


def commands(page: Path) -> list[str]:
    """The commands of a page's console blocks, without the comments behind them."""
    lines = (line for block in BLOCK.finditer(page.read_text()) for line in block["text"].splitlines())
    return [re.sub(r"\s+# .*", "", line[2:]) for line in lines if line.startswith("$ ")]


def tracked() -> list[str]:
    """What a clone holds."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no clone: git does not say which files are ours")
    return [name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clone") / "kernel-harness"
    for name in tracked():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with Server(lambda request: Say(ANSWER)) as started:
        yield started


@pytest.fixture(scope="session")
def environment(clone: Path, server: Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """`harness` is this Python's, on the copy; a model answers; home is empty but for a checkout of KernelBench.

    What is judged is timed for as short as can be, nobody is drawn to be built by stock as well, and inputs are small:
    two seconds for each of some fifty answers, and inputs of megabytes or products that are emulated at more than a few
    rows, show no more.
    """
    home = tmp_path_factory.mktemp("home")
    shim = home / "bin/harness"
    shim.parent.mkdir()
    some = 'case "$1" in eval|run|batch) set -- "$@" --set batch_size=4 --set dim=256;; esac'
    both_levels = 'case "$1 $2" in "batch examples/"*) set -- "$@" --set in_features=256 --set out_features=256;; esac'
    quickly = f'{some}\n{both_levels}\ncase "$1" in eval|run|batch) set -- "$@" --timing 0 --audit none;; esac'
    shim.write_text(f'#!/bin/sh\n{quickly}\nexec {shlex.quote(sys.executable)} -m harness "$@"\n')
    shim.chmod(0o755)
    (home / "bin/make").write_text(
        f'#!/bin/sh\nexec {shutil.which("make")} -o .venv/.installed BIN={shlex.quote(str(shim.parent))} "$@"\n'
    )
    (home / "bin/make").chmod(0o755)
    lay_kernelbench(clone, home / "KernelBench")
    lay_what_was_built(home / ".cache/kernel-harness")
    return os.environ | {
        "HOME": str(home),
        "PATH": f"{shim.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(clone),
        "OPENAI_BASE_URL": server.url,
    }


def lay_kernelbench(clone: Path, checkout: Path) -> None:
    """Its problems, a run of one answer, and the data set as `harness problems fetch` would have left it."""
    shutil.copytree(clone / "problems", checkout / "KernelBench")
    fetched = checkout.parent / ".cache/kernel-harness/problems/ScalingIntelligence--KernelBench"
    shutil.copytree(clone / "problems", fetched)
    run = checkout / "runs/NAME"
    run.mkdir(parents=True)
    shutil.copy(clone / "examples/submissions/level_1_problem_19_sample_0_kernel.txt", run)
    (run / "eval_results.json").write_text("{}")


def lay_what_was_built(cache: Path) -> None:
    """What this machine has built before, so that the headers of all and kernels that other tests build are built once.

    What a builder is writing or throwing away at this moment may be missing, and is built again.
    """
    for kept in ("tools", "artifacts"):
        with contextlib.suppress(OSError):  # shutil.Error is one
            shutil.copytree(cache_folder() / kept, cache / kept, dirs_exist_ok=True)


def set_stage(page: Path, clone: Path) -> None:
    """What a page's text presupposes."""
    if page.name == "leaderboard.md":
        for name in ("yesterday", "today"):
            shutil.copytree(clone / "runs/h200-documents", clone / "runs" / name)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.stem)
def test_every_command_of_a_page_works_in_order_in_a_fresh_copy(
    page: Path, clone: Path, environment: dict[str, str]
) -> None:
    set_stage(page, clone)
    script = "\n".join(
        f"echo {shlex.quote('$ ' + command)}\n{DRY.get(command, command)} < /dev/null\necho $? >&3"
        for command in commands(page)
    )
    statuses = clone.parent / f"{page.stem}.statuses"
    done = subprocess.run(
        ["bash", "-c", f"exec 3> {shlex.quote(str(statuses))}\n{script}"],
        cwd=clone, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
    )  # fmt: skip
    came_to = dict(zip(commands(page), map(int, statuses.read_text().split()), strict=True))
    assert came_to == {command: STATUSES.get(command, 0) for command in came_to}, done.stdout
    assert not re.search(r"^Traceback", done.stdout, re.MULTILINE)  # a candidate's own is shown further in


def test_what_the_readme_shows_of_the_shipped_run_is_what_the_command_prints(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What it leaves out stands as `...`."""
    monkeypatch.chdir(tmp_path)
    printed = CliRunner().invoke(main, ["leaderboard", str(ROOT / "runs/h200-documents")]).stdout
    (shown,) = re.findall(r"^```\n(#  model.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    at = 0
    for part in shown.split("...\n"):
        assert part in printed[at:]
        at = printed.index(part, at) + len(part)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_option_that_a_page_names_beside_its_command_is_there(page: Path) -> None:
    for text in INLINE.findall(page.read_text()):
        words = text.split()[1:]
        if not words or words[0] not in COMMANDS:
            assert not words or not words[0][0].isalpha(), f"{page.name}: {text}"
            continue
        known = set(options_of(words))
        assert set(OPTION.findall(text)) <= known, f"{page.name}: {text}"


def options_of(words: list[str]) -> Iterator[str]:
    """The options of the command that these words begin with."""
    context = click.Context(main)
    command = main.get_command(context, words[0])
    if isinstance(command, click.Group) and len(words) > 1:
        command = command.get_command(context, words[1]) or command
    assert command is not None
    for parameter in command.params:
        yield from parameter.opts


@pytest.mark.slow
def test_the_python_of_the_readme_runs(clone: Path, environment: dict[str, str]) -> None:
    (code,) = [
        block["text"] for block in BLOCK.finditer((ROOT / "README.md").read_text()) if block["language"] == "python"
    ]
    nobody_is_drawn = "import harness.controller.evaluate as judging\njudging.ONE_IN = 1 << 62\n"
    subprocess.run([sys.executable, "-c", nobody_is_drawn + code], cwd=clone, env=environment, check=True, timeout=300)
