"""Groups of cgroup v2 where a part of the tree is ours, what is said where it is not, and that nothing stays behind."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.sandbox import Isolation, Limits, Policy, Zygote, cgroup
from harness.sandbox.selftest import run, running

MIB = 1 << 20
REPOSITORY = Path(__file__).resolve().parents[2]
OWNER = """
import sys, time
from harness.sandbox import Policy, Zygote
from harness.sandbox.selftest import running
with (
    Zygote.start(preload=("harness.sandbox.selftest",)) as zygote,
    running(zygote, "import time\\ntime.sleep(120)", Policy()) as (worker, _),
):
    print(zygote.pid, worker.pid, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def grouped(zygote: Zygote) -> None:
    """For tests that need a tree of our own."""
    lacking = [one for one in zygote.ready().missing if one.startswith("cgroup: ")]
    if lacking:
        pytest.skip(lacking[0])


def _wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _own() -> Path:
    return cgroup._own_group()


def _tree() -> dict[str, tuple[str, str]]:
    """Every group at and below the place where ours lie, with what it hands down and who of us is in it."""
    own = _own()
    top = own.parent if (own.parent / "cgroup.procs").exists() else own
    found = {}
    for folder, _, _ in os.walk(top):
        with contextlib.suppress(OSError):  # gone meanwhile
            handed_down = (Path(folder) / "cgroup.subtree_control").read_text()
            held = str(os.getpid()) in (Path(folder) / "cgroup.procs").read_text().split()
            found[folder] = (handed_down, "this process" if held else "")
    return found


@contextlib.contextmanager
def _owner() -> Iterator[tuple[subprocess.Popen[bytes], int, int]]:
    """A process that owns a prepared process with a worker, and the pids of these."""
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-c", OWNER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as owner:
        assert owner.stdout is not None
        zygote_pid, worker_pid = map(int, owner.stdout.readline().split())
        try:
            yield owner, zygote_pid, worker_pid
        finally:
            owner.kill()


def _group_of(pid: int) -> str:
    lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    return next(line.removeprefix("0::") for line in lines if line.startswith("0::"))


def test_a_worker_has_a_group_or_its_record_says_why_not(zygote: Zygote, tier: Isolation) -> None:
    with zygote.spawn_worker("harness.sandbox.zygote:nothing", [], Policy(isolation=tier)) as worker:
        lacking = [one.partition(": ")[2] for one in worker.missing if one.startswith("cgroup: ")]
        assert ("cgroup" in worker.layers) == (not lacking)
        assert all(lacking)


def test_the_group_lies_below_that_of_the_prepared_process(grouped: None, zygote: Zygote, tier: Isolation) -> None:
    with running(zygote, "import time\ntime.sleep(60)", Policy(isolation=tier)) as (worker, _):
        folder, _, name = _group_of(worker.pid).rpartition("/")
        assert name.startswith("worker-")
        assert folder.rpartition("/")[2].startswith("harness-")


def test_memory_is_bounded_at_once_however_fast_it_is_taken(grouped: None, candidate) -> None:
    ran = candidate(
        """
import mmap
shared = mmap.mmap(-1, 1 << 30)
page = b"x" * mmap.PAGESIZE
for at in range(0, 1 << 30, mmap.PAGESIZE):
    shared[at:at + mmap.PAGESIZE] = page
report("taken")
""",
        limits=Limits(memory_bytes=128 * MIB),
    )
    assert ran.exit is not None
    assert (ran.reports, ran.exit.cause, ran.exit.signal) == ((), "memory", signal.SIGKILL)
    assert 100 * MIB < ran.exit.peak_rss_bytes < 400 * MIB


def test_the_end_of_one_process_by_memory_is_the_end_of_all(grouped: None, candidate) -> None:
    ran = candidate(
        """
import os, time
if os.fork() == 0:
    hog = [b"x" * (1 << 20) for _ in range(1 << 12)]
time.sleep(60)
""",
        limits=Limits(memory_bytes=128 * MIB),
    )
    assert ran.exit is not None
    assert ran.exit.cause == "memory"


def test_threads_are_bounded_exactly_and_reaching_the_bound_is_the_cause(grouped: None, candidate) -> None:
    ran = candidate(
        """
import threading, time
started = 0
try:
    while started < 500:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        started += 1
except RuntimeError:
    report(started)
""",
        limits=Limits(threads=40),
    )
    assert ran.exit is not None
    assert ran.exit.cause == "processes"
    assert all(isinstance(count, int) and count < 40 for count in ran.reports)


def test_more_processes_than_allowed_are_seen_below_the_bound_of_threads(grouped: None, candidate) -> None:
    source = "import os, time\nfor _ in range(20):\n    if os.fork() == 0:\n        time.sleep(60)\ntime.sleep(60)"
    ended = candidate(source, limits=Limits(processes=8)).exit
    assert ended is not None
    assert ended.cause == "processes"


def test_cpu_time_of_those_whom_nobody_waited_for_counts(grouped: None, candidate) -> None:
    ended = candidate(
        """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(100):
    if os.fork() == 0:
        end = time.process_time() + 0.1
        while time.process_time() < end:
            pass
        os._exit(0)
    time.sleep(0.15)
""",
        limits=Limits(cpu_s=1.0),
        timeout_s=60,
    ).exit
    assert ended is not None
    assert ended.cause == "cpu"
    assert ended.cpu_s > 1.0


def test_a_worker_cannot_lift_its_limits(grouped: None, candidate) -> None:
    ran = candidate(
        """
import glob, os
own = open("/proc/self/cgroup").read().rpartition("0::")[2].strip()
def writes(path, text):
    try:
        with open(path, "w") as file:
            file.write(text)
        return True
    except OSError:
        return False
groups = ["/sys/fs/cgroup" + own, "/sys/fs/cgroup"]
report(any(writes(f"{group}/{name}", text) for group in groups
           for name, text in (("memory.max", "max"), ("pids.max", "max"), ("cgroup.procs", "0"))))
""",
        devices=True,
    )
    assert ran.reports == (False,)


def test_nothing_stays_in_the_tree(grouped: None) -> None:
    before = _tree()
    with Zygote.start(preload=("harness.sandbox.selftest",)) as zygote:
        assert run(zygote, "pass", Policy()).exit is not None
        assert len(_tree()) > len(before)
        with zygote.spawn_worker("harness.sandbox.zygote:nothing", [], Policy()):
            pass
    assert _tree() == before


def test_nothing_stays_where_the_prepared_process_ends_before_its_workers(grouped: None) -> None:
    before = _tree()
    with Zygote.start(preload=("harness.sandbox.selftest",)) as zygote:
        with running(zygote, "import time\ntime.sleep(60)", Policy()) as (worker, _):
            zygote.close()
            ended = worker.wait(10)
            assert ended is not None
            assert ended.cause == "killed"
    assert _tree() == before


def test_nothing_stays_where_the_owner_is_killed(grouped: None) -> None:
    before = _tree()
    with _owner() as (owner, _, worker_pid):
        assert _tree() != before
        owner.kill()
        assert _wait_until(lambda: not Path(f"/proc/{worker_pid}").exists())
        assert _wait_until(lambda: _tree() == before), _tree()


def test_what_a_killed_prepared_process_leaves_goes_with_the_next_start(grouped: None) -> None:
    before = _tree()
    with _owner() as (owner, zygote_pid, worker_pid):
        os.kill(zygote_pid, signal.SIGKILL)
        assert _wait_until(lambda: not Path(f"/proc/{worker_pid}").exists())
        owner.kill()
        owner.wait()
        with Zygote.start(preload=()) as zygote:
            assert "cgroup" in zygote.ready().layers
        assert _wait_until(lambda: _tree() == before), _tree()


@pytest.mark.parametrize("first", [0, 1])
def test_two_prepared_processes_of_one_owner_may_end_in_any_order(grouped: None, first: int) -> None:
    before = _tree()
    two = [Zygote.start(preload=("harness.sandbox.selftest",)) for _ in range(2)]
    try:
        assert all("cgroup" in one.ready().layers for one in two)
        two[first].close()
        ended = run(two[1 - first], "bytearray(200 << 20)", Policy(limits=Limits(memory_bytes=64 * MIB))).exit
        assert ended is not None
        assert (ended.code, ended.cause) != (0, "exited")
    finally:
        for one in two:
            one.close()
    assert _tree() == before


# -- which place is fit, on a tree of plain files


def _lay(group: Path, *, controllers: str = "cpu memory pids", hands_down: str = "", root: bool = False) -> Path:
    group.mkdir(parents=True)
    (group / "cgroup.controllers").write_text(controllers)
    (group / "cgroup.subtree_control").write_text(hands_down)
    (group / "cgroup.procs").write_text("")
    if not root:
        (group / "cgroup.type").write_text("domain")
    return group


def test_a_tree_without_controllers_is_not_ours(tmp_path: Path) -> None:
    top = _lay(tmp_path / "top", controllers="cpu pids", root=True)
    assert cgroup._unfit(top, top, move=False) == f"no memory controller of cgroup v2 reaches {top}"


def test_nobody_else_is_moved(tmp_path: Path) -> None:
    own = _lay(tmp_path / "own")
    (own / "cgroup.procs").write_text(f"{os.getpid()}\n")
    assert cgroup._unfit(own, own, move=True) is None
    (own / "cgroup.procs").write_text(f"{os.getpid()}\n0\n")  # as the kernel shows one outside of our pid namespace
    assert cgroup._unfit(own, own, move=True) == f"{own} holds processes that are not ours to move"


def test_the_group_above_is_taken_only_where_it_hands_controllers_down(tmp_path: Path) -> None:
    above = _lay(tmp_path / "above")
    own = _lay(above / "own")
    assert cgroup._unfit(above, own, move=False) == f"{above} hands no controllers down"
    (above / "cgroup.subtree_control").write_text("memory pids")
    assert cgroup._unfit(above, own, move=False) is None


def test_no_worker_escapes_a_limit_of_the_group_that_it_would_lie_beside(tmp_path: Path) -> None:
    above = _lay(tmp_path / "above", hands_down="memory pids")
    own = _lay(above / "own")
    (own / "memory.max").write_text("1073741824\n")
    assert cgroup._unfit(above, own, move=False) == f"workers beside {own} would escape its memory.max"


def test_the_root_is_taken_as_it_is_and_our_own_group_by_moving(tmp_path: Path) -> None:
    root = _lay(tmp_path / "root", root=True)
    own = _lay(root / "own")
    assert list(cgroup._places(root)) == [(root, False)]
    assert list(cgroup._places(own)) == [(own, True), (root, False)]
