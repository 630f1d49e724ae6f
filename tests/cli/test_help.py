import importlib
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from harness import __version__
from harness.cli import COMMANDS, Entry, main
from harness.errors import DeviceError, InputError, MachineError

ROOT = Path(__file__).parents[2]
HEAVY = ["torch", "numpy", "pydantic", "rich", "openai", "datasets", "ninja"]


def loaded_after(*arguments: str, names: list[str]) -> set[str]:
    """Which of `names` a fresh interpreter has imported when the command line has answered."""
    body = f"""
import sys
from harness.cli import main
try:
    main({list(arguments)!r}, prog_name="harness")
except SystemExit as leave:
    assert leave.code == 0, leave.code
print("loaded:", *sorted(set({names!r}) & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", body], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].removeprefix("loaded:").split())


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_starts_without_anything_heavy(arguments):
    commands = [entry.module for entry in COMMANDS.values()]
    assert loaded_after(*arguments, names=HEAVY + commands + ["harness.schema"]) == set()


def test_the_leaderboard_starts_without_torch():
    assert loaded_after("leaderboard", "--help", names=["torch", "openai", "datasets"]) == set()


def test_help_lists_every_command_with_its_summary():
    shown = CliRunner().invoke(main, ["--help"])
    assert shown.exit_code == 0
    for name, entry in COMMANDS.items():
        assert f"  {name:<12} {entry.summary}" in shown.output


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_in_the_table_is_there_and_explains_itself(name):
    entry = COMMANDS[name]
    assert isinstance(getattr(importlib.import_module(entry.module), entry.attribute), click.Command)
    shown = CliRunner().invoke(main, [name, "--help"])
    assert shown.exit_code == 0
    assert f"Usage: main {name}" in shown.output


def test_the_version_is_the_packages():
    assert CliRunner().invoke(main, ["--version"]).output == f"harness, version {__version__}\n"


def test_python_dash_m_harness_is_the_command_line():
    done = subprocess.run([sys.executable, "-m", "harness", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"harness, version {__version__}\n"


# The border at which faults become exit statuses


class FakeModule:
    """Stands in `sys.modules` as the home of a command that raises."""

    def __init__(self, error: BaseException | None) -> None:
        @click.command()
        def command() -> None:
            if error:
                raise error

        self.command = command


@pytest.fixture
def run_raising(monkeypatch):
    def run(error):
        monkeypatch.setitem(sys.modules, "fake_command", FakeModule(error))
        monkeypatch.setitem(COMMANDS, "fake", Entry("fake_command", "command", "Raise."))
        return CliRunner().invoke(main, ["fake"])

    return run


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (InputError("there is no problem x: see problems/"), 2, "there is no problem x: see problems/"),
        (MachineError("the disk is full"), 3, "the disk is full"),
        (DeviceError("the device was lost"), 3, "the device was lost"),
        (OSError(28, "No space left on device", "/runs/r"), 3, "/runs/r: No space left on device"),
        (OSError(28, "No space left on device"), 3, "No space left on device"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_a_fault_is_one_sentence_and_its_exit_status(run_raising, error, status, sentence):
    result = run_raising(error)
    assert result.exit_code == status
    assert result.stderr == f"harness: {sentence}\n"
    assert result.stdout == ""


def test_a_bug_of_ours_is_never_the_status_of_a_wrong_kernel(run_raising):
    result = run_raising(ZeroDivisionError("oops"))
    assert result.exit_code == 3
    assert "ZeroDivisionError: oops" in result.stderr
    assert result.stderr.endswith(
        "harness: this is a fault of the harness itself: please report it with the lines above\n"
    )


def test_a_status_that_a_command_chose_stays(run_raising):
    assert run_raising(click.exceptions.Exit(1)).exit_code == 1
    assert run_raising(None).exit_code == 0


@pytest.mark.parametrize("arguments", [["no-such-command"], ["--no-such-option"], ["leaderboard"], []])
def test_bad_usage_is_status_2(arguments):
    assert CliRunner().invoke(main, arguments).exit_code == 2


@pytest.mark.parametrize(
    ("module", "command"),
    [("pydantic", ["runs", "show", "absent"]), ("rich", ["runs", "list"])],
)
def test_a_package_that_is_missing_is_named_with_what_brings_it(module, command, tmp_path):
    (tmp_path / f"{module}.py").write_text(f"raise ModuleNotFoundError(name='{module}')")
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-m", "harness", *command], env=environment, capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 3
    assert f"{module} is not installed for " in done.stderr
    assert "pip install 'kernel-harness' brings it" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_completes_commands_as_the_readme_says(shell):
    environment = os.environ | {"_HARNESS_COMPLETE": f"{shell}_source"}
    script = "import sys; sys.argv = ['harness']; from harness.cli import main; main(prog_name='harness')"
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "_HARNESS_COMPLETE" in done.stdout
