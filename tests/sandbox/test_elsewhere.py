"""The same tests where less is allowed: as a user who is not root, and in what a container's default profile leaves.

Each setting runs the room's tests once more, in a pytest of its own.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import SandboxError
from harness.sandbox.elsewhere import SETTINGS, command_elsewhere, python_for_anybody

REPOSITORY = Path(__file__).resolve().parents[2]
STRICTEST_ONLY = "test_freezer.py"
"""Stopping a process needs least where most is refused: run there alone, it shows the two other settings as well."""


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_room_s_tests_pass(setting: str, open_folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv (util-linux) is not here")
    try:
        python = python_for_anybody() if SETTINGS[setting].another_user else sys.executable
    except SandboxError as error:
        pytest.skip(str(error))
    command = [
        python,
        "-m",
        "pytest",
        str(REPOSITORY / "tests" / "sandbox"),
        "--ignore",
        __file__,
        *(("--ignore", str(Path(__file__).with_name(STRICTEST_ONLY))) if setting != "nobody-contained" else ()),
        "-p",
        "no:cacheprovider",
    ]
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": ":".join(entry for entry in sys.path if entry.endswith("site-packages")),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": str(open_folder),
        "HOME": str(open_folder),
    }
    run = subprocess.run(
        command_elsewhere(setting, [*command, "-rs"]),
        cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    said = "\n".join(line for line in run.stdout.splitlines() if not line.startswith("SKIPPED"))
    assert run.returncode == 0, said[-6000:] + run.stderr[-2000:]
    assert ("no full tier" in run.stdout) != SETTINGS[setting].namespaces
