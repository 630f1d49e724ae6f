"""Commands as a user that may do less: another user, or what a container's default profile leaves.

For tests and benchmarks that must hold there too; only root can become another user.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import SandboxError
from harness.sandbox import host, linux, seccomp

_NOBODY = ("--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all")
_NAMELESS = ("--reuid=65533", "--regid=65533", "--clear-groups", "--inh-caps=-all")
"""A user of its own: limits are counted by user, so that both settings can be tried at the same time."""
# What Docker leaves to root by default: github.com/moby/moby, oci/caps/defaults.go.
_DOCKER = (
    "chown dac_override fsetid fowner mknod net_raw setgid setuid setfcap setpcap net_bind_service sys_chroot kill "
    "audit_write"
)
_CONTAINED = ("--inh-caps=-all", "--bounding-set=-all," + ",".join(f"+{name}" for name in _DOCKER.split()))
_NO_NAMESPACES = """
import os, sys
sys.path.insert(0, {root!r})
from harness.sandbox import linux
from harness.sandbox import seccomp
linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
linux.install_seccomp({program!r})
os.execv(sys.argv[1], sys.argv[1:])
"""


@dataclass(frozen=True)
class Setting:
    """Options of setpriv(1), and whether new namespaces and mounts are refused beside that."""

    options: tuple[str, ...]
    namespaces: bool

    @property
    def another_user(self) -> bool:
        return self.options in (_NOBODY, _NAMELESS)


SETTINGS = {
    "nobody": Setting(_NOBODY, namespaces=True),
    "nobody-contained": Setting(_NAMELESS, namespaces=False),
    "contained": Setting(_CONTAINED, namespaces=False),
}
"""Another user; another user in a container that allows no namespaces; root in such a container."""


def command_elsewhere(setting: str, command: Sequence[str]) -> list[str]:
    """The command line that runs `command`, whose program is an absolute path, in one of SETTINGS. Needs setpriv."""
    found = SETTINGS[setting]
    inner = list(command)
    if not found.namespaces:
        script = _NO_NAMESPACES.format(root=str(host.PACKAGE_ROOT), program=_without_namespaces())
        inner = [command[0], "-c", script, *command]
    return ["setpriv", *found.options, *inner]


def python_elsewhere(setting: str) -> str:
    """The interpreter for a setting. Raises SandboxError where there is none that its user can run."""
    return python_for_anybody() if SETTINGS[setting].another_user else sys.executable


def environment_elsewhere(folder: Path) -> dict[str, str]:
    """What such an interpreter runs in: our packages, and a folder of its own to write to."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": ":".join(_packages()),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": str(folder),
        "HOME": str(folder),
    }


def python_for_anybody() -> str:
    """An interpreter like ours that another user can run.

    Raises SandboxError where there is none, or where another user may not enter where our packages lie.
    """
    closed = host.closed_to_others([str(host.PACKAGE_ROOT), *_packages()])
    if closed is not None:
        raise SandboxError(f"another user may not enter {closed}, where packages lie")
    same = f"/usr/bin/python3.{sys.version_info.minor}"
    for python in (sys.executable, same):
        if Path(python).exists() and host.closed_to_others([os.path.realpath(python)]) is None:
            return python
    raise SandboxError(f"neither {sys.executable} nor {same} can be run by another user")


def _packages() -> list[str]:
    return [entry for entry in sys.path if entry.endswith("site-packages")]


def _without_namespaces() -> bytes:
    """A filter like Docker's: no new namespaces, no mounts."""
    code = seccomp.Program(linux.MACHINE)
    for name in ("unshare", "setns", "mount", "umount2", "pivot_root", "mount_setattr"):
        code.deny(seccomp.DENIED[name])
    code.deny_namespaces()
    return code.bytes()
