"""The same tests where less is allowed: as a user who is not root, and in what a container's default profile leaves.

Each setting runs the room's tests once more, in a pytest of its own.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.errors import SandboxError
from harness.sandbox.elsewhere import SETTINGS, command_elsewhere, environment_elsewhere, python_elsewhere

REPOSITORY = Path(__file__).resolve().parents[2]
STRICTEST_ONLY = "test_freezer.py"
"""Stopping a process needs least where most is refused: run there alone, it shows the two other settings as well."""


@dataclass(frozen=True)
class Running:
    """A pytest of the room in a setting, and the folder that it and its words have."""

    process: subprocess.Popen[bytes]
    folder: Path

    @classmethod
    def started(cls, setting: str, folder: Path) -> "Running":
        """Raises SandboxError where no interpreter is there for the other user."""
        python = python_elsewhere(setting)
        once = () if setting == "nobody-contained" else ("--ignore", str(Path(__file__).with_name(STRICTEST_ONLY)))
        command = [python, "-m", "pytest", str(REPOSITORY / "tests" / "sandbox"), "--ignore", __file__, *once]
        with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
            process = subprocess.Popen(
                command_elsewhere(setting, [*command, "-p", "no:cacheprovider", "-rs"]),
                cwd=REPOSITORY, env=environment_elsewhere(folder), stdout=out, stderr=err,
            )  # fmt: skip
        return cls(process, folder)

    def said(self, where: str) -> str:
        return (self.folder / where).read_text()


@pytest.fixture(scope="module")
def running() -> Iterator[dict[str, Running]]:
    """All of them at once, since they wait most of the time; without those that there is no interpreter for."""
    with ExitStack() as closing:
        found = {}
        for setting in SETTINGS:
            folder = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="harness-test-", dir="/var/tmp")))
            folder.chmod(0o777)
            with suppress(SandboxError):
                found[setting] = started = Running.started(setting, folder)
                closing.callback(started.process.wait)
                closing.callback(started.process.kill)
        yield found


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv (util-linux) is not here")
def test_the_room_s_tests_pass(setting: str, running: dict[str, Running]) -> None:
    if setting not in running:
        pytest.skip("no interpreter is here that another user can run")
    status = running[setting].process.wait(timeout=300)
    said = running[setting].said("stdout")
    told = "\n".join(line for line in said.splitlines() if not line.startswith("SKIPPED"))
    assert status == 0, told[-6000:] + running[setting].said("stderr")[-2000:]
    assert ("no full tier" in said) != SETTINGS[setting].namespaces
