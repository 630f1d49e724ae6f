"""Each limit ends a worker with its own cause, in bounded time, and leaves nothing behind."""

import os
import signal
import time
from pathlib import Path

import pytest

from harness.sandbox import Isolation, Limits, Policy, Zygote
from harness.sandbox.selftest import running

MIB = 1 << 20


def test_a_large_allocation_raises_in_python(candidate) -> None:
    ran = candidate(
        """
try:
    bytearray(40 << 30)
    report("allocated")
except MemoryError:
    report("MemoryError")
""",
        limits=Limits(memory_bytes=256 * MIB),
    )
    assert ran.reports == ("MemoryError",)
    assert ran.exit is not None
    assert ran.exit.cause == "exited"


def test_memory_that_no_rlimit_counts_is_seen_by_the_watchdog(candidate) -> None:
    ran = candidate(
        """
import mmap, time
shared = mmap.mmap(-1, 1 << 30)
for at in range(0, 1 << 30, 1 << 20):
    shared[at:at + (1 << 20)] = b"x" * (1 << 20)
    time.sleep(0.001)
time.sleep(30)
""",
        limits=Limits(memory_bytes=128 * MIB),
    )
    assert ran.exit is not None
    assert ran.exit.cause == "memory"
    assert 128 * MIB <= ran.exit.peak_rss_bytes < 900 * MIB


def test_memory_shared_by_forked_children_counts_once(candidate) -> None:
    ran = candidate(
        """
import os, time
block = b"x" * (96 << 20)
children = []
for _ in range(4):
    pid = os.fork()
    if pid == 0:
        time.sleep(0.4)
        os._exit(0)
    children.append(pid)
for pid in children:
    os.waitpid(pid, 0)
""",
        limits=Limits(memory_bytes=256 * MIB),
    )
    assert ran.exit is not None
    assert (ran.exit.cause, ran.exit.code) == ("exited", 0)


@pytest.mark.parametrize("how", ["one process", "many processes"])
def test_cpu_time_is_counted_over_all_processes(candidate, how: str) -> None:
    source = "import os\n" + ("os.fork()\nos.fork()\n" if how == "many processes" else "") + "while True: pass"
    started = time.monotonic()
    ran = candidate(source, limits=Limits(cpu_s=0.5))
    assert ran.exit is not None
    assert ran.exit.cause == "cpu"
    assert 0.4 < ran.exit.cpu_s < 2.5
    assert time.monotonic() - started < 6


def test_a_fork_bomb_is_over_soon(candidate) -> None:
    # Bounded by itself too: a hole in the sandbox must not take the machine down.
    ran = candidate(
        """
import os, time
end = time.monotonic() + 4
while time.monotonic() < end:
    try:
        os.fork()
    except OSError:
        time.sleep(0.01)
""",
        limits=Limits(processes=40),
    )
    assert ran.exit is not None
    assert ran.exit.cause == "processes"


def test_a_file_cannot_grow_past_its_limit(candidate) -> None:
    ran = candidate(
        """
import errno
try:
    with open("large", "wb") as file:
        for _ in range(64):
            file.write(b"x" * (1 << 20))
    report("written")
except OSError as error:
    report(errno.errorcode[error.errno])
""",
        limits=Limits(file_bytes=8 * MIB),
    )
    assert ran.reports == ("EFBIG",)


def test_who_does_not_ignore_the_signal_of_a_large_file_dies_of_it_with_a_cause_of_its_own(candidate) -> None:
    ran = candidate(
        """
import os, signal
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
os.truncate(os.open("large", os.O_CREAT | os.O_WRONLY), 1 << 40)
""",
        limits=Limits(file_bytes=8 * MIB),
    )
    assert ran.exit is not None
    assert (ran.exit.cause, ran.exit.signal) == ("file", signal.SIGXFSZ)


def test_many_files_cannot_fill_the_disk(candidate, tier: Isolation) -> None:
    ran = candidate(
        """
import errno, time
try:
    for number in range(400):
        with open(f"file{number}", "wb") as file:
            file.write(b"x" * (1 << 20))
        time.sleep(0.01)
    report("written")
except OSError as error:
    report(errno.errorcode[error.errno])
""",
        limits=Limits(scratch_bytes=32 * MIB, memory_bytes=2048 * MIB),
    )
    assert ran.exit is not None
    assert ran.reports == (("ENOSPC",) if tier == "full" else ())
    assert ran.exit.cause == ("exited" if tier == "full" else "scratch")


def test_a_log_flood_neither_blocks_nor_fills_memory(candidate) -> None:
    ran = candidate(
        """
import sys, os
print("first line", flush=True)
line = b"y" * 65536
for _ in range(2000):
    os.write(1, line)
print("last line", file=sys.stderr, flush=True)
report("through")
""",
        limits=Limits(log_bytes=8192),
    )
    assert ran.reports == ("through",)
    assert ran.exit is not None
    log = ran.exit.log
    assert len(log) < 9000
    assert log.startswith("first line\n")
    assert log.endswith("last line\n")
    assert f"[... {2000 * 65536 + len('first line') + len('last line') + 2 - 8192} bytes left out ...]" in log


def test_open_files_are_limited(candidate) -> None:
    ran = candidate(
        """
import os
try:
    while True:
        os.open("/dev/null", os.O_RDONLY)
except OSError:
    report("limited")
""",
        limits=Limits(open_files=64),
    )
    assert ran.reports == ("limited",)


def test_nothing_of_the_scratch_survives(zygote: Zygote, tier: Isolation) -> None:
    """Whatever its permissions, in the basic tier too, where it is a folder of the host."""
    source = """
import os
os.makedirs("a/b")
open("a/b/file", "w").close()
os.chmod("a/b", 0)
os.chmod("a", 0)
os.symlink("/usr", "link")
top = os.getcwd()
for _ in range(1500):
    os.mkdir("d")
    os.chdir("d")
report(top)
"""
    with running(zygote, source, Policy(isolation=tier)) as (worker, answers):
        assert worker.wait(60) is not None
        folder = os.read(answers, 1000).decode().strip().strip('"')
    if tier == "full":
        assert folder == "/tmp"
        assert not Path("/tmp/a").exists()
    else:
        assert folder.startswith("/")
        assert not Path(folder).exists()
