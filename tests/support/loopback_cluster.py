"""A Ray cluster of several nodes on this machine, each a raylet of its own, guarded by a token of its own."""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fake_cluster import soon

from harness.sandbox.processes import descendants

_START_S = 180.0


class LoopbackCluster:
    """`start` adds a node; the first is the head, which has to live on."""

    def __init__(self, folder: Path) -> None:
        """`folder` has a short path: sockets lie in it."""
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.address = f"127.0.0.1:{taken.getsockname()[1]}"
        self._folder = folder
        self._nodes: dict[str, subprocess.Popen[bytes]] = {}
        self._seen: set[int] = set()
        self.environment = {
            **os.environ,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
            "PYTHONUNBUFFERED": "1",  # `ray start --block` is read while it runs
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }

    def start(self, name: str, *, cpus: int = 1) -> None:
        """A node, which is there when it has said so."""
        where = ["--address", self.address]
        if not self._nodes:
            where = ["--head", "--port", self.address.rpartition(":")[2], "--include-dashboard=false"]
            where += ["--temp-dir", str(self._folder)]
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", *where, "--node-ip-address=127.0.0.1"]
        command += [f"--num-cpus={cpus}", "--object-store-memory=80000000", "--disable-usage-stats", "--block"]
        said = self._folder.parent / f"{name}.log"
        with said.open("wb") as log:
            self._nodes[name] = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.environment, start_new_session=True
            )
        soon(lambda: self._is_up(name, said), _START_S)

    def _is_up(self, name: str, said: Path) -> bool:
        assert self._nodes[name].poll() is None, said.read_text()
        return "Ray runtime started" in said.read_text()

    def processes(self, name: str, title: str) -> list[int]:
        """Those of a node whose title, or program, is this."""
        below = descendants(self._nodes[name].pid)
        self._seen |= set(below)
        return [pid for pid in below if title in _title(pid)]

    def kill(self, name: str, title: str) -> None:
        """SIGKILL to the one process of a node with this title."""
        soon(lambda: self.processes(name, title), _START_S)
        for pid in self.processes(name, title):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        """End all nodes. Raises AssertionError where a process of theirs is left."""
        for name in list(self._nodes):
            self.processes(name, "")
        for process in reversed(self._nodes.values()):
            process.terminate()
        try:
            for process in self._nodes.values():
                process.wait(60)
            soon(lambda: not any(map(_lives, self._seen)))
        finally:
            for pid in (*self._seen, *(process.pid for process in self._nodes.values() if process.poll() is None)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _lives(pid: int) -> bool:
    """Whether it runs: one that nobody waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@contextmanager
def loopback_cluster(*names: str) -> Iterator[LoopbackCluster]:
    """A cluster with these nodes. Raises AssertionError where anything of it is left in the end."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="hr", ignore_cleanup_errors=True) as folder:
        inside = Path(folder) / "r"
        inside.mkdir()
        cluster = LoopbackCluster(inside)
        try:
            for name in names:
                cluster.start(name)
            yield cluster
        finally:
            cluster.close()
