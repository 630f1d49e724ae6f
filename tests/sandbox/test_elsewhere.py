"""The same tests where less is allowed: as a user who is not root, and in what a container's default profile leaves.

Each setting runs the room's tests once more, in a pytest of its own.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.errors import SandboxError
from harness.sandbox.elsewhere import (
    SETTINGS,
    command_elsewhere,
    environment_elsewhere,
    python_elsewhere,
    python_for_anybody,
)

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
        """Raises SandboxError where nothing of ours can be run by the other user."""
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
def running() -> Iterator[dict[str, Running | SandboxError]]:
    """All of them at once, since they wait most of the time; in the place of those that cannot be, why."""
    with ExitStack() as closing:
        found: dict[str, Running | SandboxError] = {}
        for setting in SETTINGS:
            folder = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="harness-test-", dir="/var/tmp")))
            folder.chmod(0o777)
            try:
                found[setting] = started = Running.started(setting, folder)
            except SandboxError as error:
                found[setting] = error
                continue
            closing.callback(started.process.wait)
            closing.callback(started.process.kill)
        yield found


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv (util-linux) is not here")
def test_the_room_s_tests_pass(setting: str, running: dict[str, Running | SandboxError]) -> None:
    found = running[setting]
    if isinstance(found, SandboxError):
        pytest.skip(str(found))
    status = found.process.wait(timeout=300)
    said = found.said("stdout")
    told = "\n".join(line for line in said.splitlines() if not line.startswith("SKIPPED"))
    assert status == 0, told[-6000:] + found.said("stderr")[-2000:]
    assert ("no full tier" in said) != SETTINGS[setting].namespaces


@pytest.mark.parametrize("closed", [None, "packages"])
def test_another_user_is_given_an_interpreter_only_where_packages_are_open_to_it(
    closed: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "packages"
    packages.mkdir(mode=0o755 if closed is None else 0o700)
    monkeypatch.setattr("harness.sandbox.host.PACKAGE_ROOT", packages)
    monkeypatch.setattr("harness.sandbox.host.closed_to_others", lambda paths: closed_among(list(paths), packages))
    if closed is None:
        assert Path(python_for_anybody()).exists()
        return
    with pytest.raises(SandboxError, match=rf"another user may not enter {packages}, where packages lie"):
        python_for_anybody()


def closed_among(paths: list[str], packages: Path) -> str | None:
    """Of the folder alone by its mode: what lies above a test's folder is its user's own."""
    return str(packages) if str(packages) in paths and packages.stat().st_mode & 0o005 != 0o005 else None
