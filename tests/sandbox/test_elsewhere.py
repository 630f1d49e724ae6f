"""The same tests where less is allowed: as a user who is not root, and in what a container's default profile leaves.

Each setting runs the room's tests once more, in a pytest of its own.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.sandbox import host, linux, seccomp

REPOSITORY = Path(__file__).resolve().parents[2]
NOBODY = ("--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all")
# What Docker leaves to root by default: github.com/moby/moby, oci/caps/defaults.go.
DOCKER = (
    "chown dac_override fsetid fowner mknod net_raw setgid setuid setfcap setpcap net_bind_service sys_chroot kill "
    "audit_write"
)
CONTAINED = ("--inh-caps=-all", "--bounding-set=-all," + ",".join(f"+{name}" for name in DOCKER.split()))
NO_NAMESPACES = """
import os, sys
sys.path.insert(0, {repository!r})
from harness.sandbox import linux, seccomp
linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
linux.install_seccomp({program!r})
os.execv(sys.argv[1], sys.argv[1:])
"""


def _without_namespaces() -> bytes:
    """A filter like Docker's: no new namespaces, no mounts."""
    code = seccomp.Program(linux.MACHINE)
    for name in ("unshare", "setns", "mount", "umount2", "pivot_root", "mount_setattr"):
        code.deny(seccomp.DENIED[name])
    code.deny_namespaces()
    return code.bytes()


def _python_for_anybody() -> str:
    """An interpreter like ours that a user who is not root can run."""
    same = f"/usr/bin/python3.{sys.version_info.minor}"
    for python in (sys.executable, same):
        if Path(python).exists() and host.closed_to_others([os.path.realpath(python)]) is None:
            return python
    pytest.skip(f"neither {sys.executable} nor {same} can be run by another user")


@pytest.fixture
def folder_of_nobody() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="harness-test-", dir="/var/tmp"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


SETTINGS = {
    "nobody": (NOBODY, False),
    "nobody, no namespaces": (NOBODY, True),
    "root of a container": (CONTAINED, True),
}


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_room_s_tests_pass(setting: str, folder_of_nobody: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv (util-linux) is not here")
    options, deny = SETTINGS[setting]
    python = _python_for_anybody() if options is NOBODY else sys.executable
    command = [
        python,
        "-m",
        "pytest",
        str(REPOSITORY / "tests" / "sandbox"),
        "--ignore",
        __file__,
        "-p",
        "no:cacheprovider",
    ]
    if deny:
        script = NO_NAMESPACES.format(repository=str(REPOSITORY), program=_without_namespaces())
        command = [python, "-c", script, *command]
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": ":".join(entry for entry in sys.path if entry.endswith("site-packages")),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": str(folder_of_nobody),
        "HOME": str(folder_of_nobody),
    }
    run = subprocess.run(
        ["setpriv", *options, *command, "-rs"],
        cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    assert ("no full tier" in run.stdout) == deny
