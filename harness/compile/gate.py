"""MemoryGate: no more compilers at a time than the machine has memory for."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from harness.compile.waiting import POLL_S, GoOn, endless

# Left to everything else on the machine: judges, workers, the page cache.
SHARE = 0.7


class MemoryGate:
    """A semaphore counted in bytes. One that asks for more than there is runs alone."""

    def __init__(self, budget_bytes: int) -> None:
        self.budget_bytes = budget_bytes
        self._used = 0
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def hold(self, size_bytes: int, go_on: GoOn = endless) -> Iterator[None]:
        """Wait for room for `size_bytes`, and keep it while the block runs. What `go_on` raises ends the wait."""
        with self._changed:
            while self._used and self._used + size_bytes > self.budget_bytes:
                go_on()
                self._changed.wait(POLL_S)
            self._used += size_bytes
        try:
            yield
        finally:
            with self._changed:
                self._used -= size_bytes
                self._changed.notify_all()


def available_bytes() -> int:
    """What compilers may take: a share of the memory now free, or of the cgroup's limit where that is less."""
    return int(min(_mem_available(), _cgroup_limit()) * SHARE)


def _mem_available() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return 4 << 30


def _cgroup_limit() -> int:
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(name).read_text().strip()
        except OSError:
            continue
        if text.isdigit():
            return int(text)
    return 1 << 62
