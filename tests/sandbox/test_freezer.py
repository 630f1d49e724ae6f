"""What is stopped does not run, and what ran all the same is found out."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from harness.sandbox import freezer, processes
from harness.sandbox.freezer import Freezer, NotStopped, Used

SPIN = "while True: pass"
SLEEP = "import time; time.sleep(60)"
FORKS = "import os, time\nif os.fork(): time.sleep(60)\nelse:\n    while True: pass"
HELPER_THREADS = "import threading, time\n[threading.Thread(target=time.sleep, args=(60,)).start() for _ in range(8)]"
SPINNING_THREADS = f"import threading\n[threading.Thread(target=exec, args=({SPIN!r},)).start() for _ in range(3)]"
LEADERLESS = """
import ctypes, threading
def spin():
    while True: pass
threading.Thread(target=spin).start()
ctypes.CDLL(None).syscall(60, 0)  # exit of this one task: the leader is a zombie, the thread goes on
"""
RESUMES_ITSELF = """
import ctypes, signal, time
libc = ctypes.CDLL(None)
signal.signal(signal.SIGCONT, lambda *_: None)  # one that is ignored would not be sent
event = (ctypes.c_int * 16)(0, 0, signal.SIGCONT, 0)  # struct sigevent: value, signo, SIGEV_SIGNAL
spec = (ctypes.c_long * 4)(0, 20_000_000, 0, 20_000_000)
for _ in range(8):  # the signal of one that is pending when SIGSTOP comes is gone
    timer = ctypes.c_void_p()
    assert libc.timer_create(1, event, ctypes.byref(timer)) == 0
    assert libc.timer_settime(timer, 0, spec, None) == 0
    time.sleep(0.002)
while True: pass
"""
IN_VFORK = """
import ctypes, os
libc = ctypes.CDLL(None)
if libc.syscall(58) == 0:  # vfork: the parent waits in the kernel until the child is gone
    end = __import__("time").monotonic() + 60
    while __import__("time").monotonic() < end: pass
    os._exit(0)
"""


@pytest.fixture(autouse=True)
def no_supervisor(monkeypatch):
    """The parent of what is started here is pytest, whose other children are no orphans of it."""
    monkeypatch.setattr(freezer, "_orphans", lambda pid, supervisor: [])


@pytest.fixture
def started() -> Iterator:
    alive: list[subprocess.Popen] = []

    def start(code: str, settle_s: float = 0.3) -> int:
        alive.append(subprocess.Popen([sys.executable, "-c", code]))
        time.sleep(settle_s)
        return alive[-1].pid

    yield start
    for process in alive:
        for pid in [process.pid, *processes.descendants(process.pid)]:
            processes.kill(pid)
        process.wait()


def cpu_s(pid: int) -> float:
    return time.clock_gettime((~pid << 3) | 2)


@pytest.mark.parametrize("code", [SPIN, SLEEP, HELPER_THREADS, FORKS])
def test_what_is_stopped_uses_no_cpu_time_until_it_is_resumed(started, code):
    pid = started(code)
    frozen = Freezer(pid)
    frozen.stop()
    family = [pid, *processes.descendants(pid)]
    before = [cpu_s(one) for one in family]
    time.sleep(0.1)
    assert [cpu_s(one) for one in family] == before
    assert frozen.holds
    assert not frozen.ran()
    frozen.resume()
    assert not frozen.holds
    time.sleep(0.2)
    assert (cpu_s(family[-1]) > before[-1] + 0.01) == (code in (SPIN, FORKS))


def test_a_process_whose_leader_has_exited_is_stopped_and_counted(started):
    pid = started(LEADERLESS)
    frozen = Freezer(pid)
    before = cpu_s(pid)
    frozen.stop()
    assert processes.lives(pid)
    after = cpu_s(pid)
    assert after > before
    time.sleep(0.1)
    assert cpu_s(pid) == after
    assert not frozen.ran()
    os.kill(pid, signal.SIGCONT)
    time.sleep(0.1)
    assert frozen.ran()


def test_a_process_that_a_timer_of_its_own_resumes_is_found_out(started):
    frozen = Freezer(started(RESUMES_ITSELF))
    try:
        frozen.stop()
    except NotStopped:
        return  # it was resumed before it came to rest
    deadline = time.monotonic() + 5.0
    while not frozen.ran():  # once it is given a core
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_parent_that_waits_in_vfork_rests_once_its_child_is_stopped(started):
    if os.uname().machine != "x86_64":
        pytest.skip("the number of vfork is that of x86-64")
    pid = started(IN_VFORK)
    frozen = Freezer(pid)
    frozen.stop()
    child = only_child_of(pid)
    before = cpu_s(child)
    time.sleep(0.1)
    assert cpu_s(child) == before
    assert not frozen.ran()
    frozen.resume()
    time.sleep(0.1)
    assert cpu_s(child) > before


def test_a_parent_that_is_let_go_of_by_vfork_while_it_is_to_rest_runs_none_of_its_code(started):
    if os.uname().machine != "x86_64":
        pytest.skip("the number of vfork is that of x86-64")
    pid = started(IN_VFORK + SPIN)
    frozen = Freezer(pid)
    frozen.stop()
    child = only_child_of(pid)
    before = cpu_s(pid)
    os.kill(child, signal.SIGKILL)
    time.sleep(0.2)
    assert cpu_s(pid) - before < 0.05  # of SPIN it would have used 0.2


def test_what_is_there_and_was_not_stopped_is_found_out(started):
    pid = started(SLEEP)
    frozen = Freezer(pid)
    frozen.stop()
    os.kill(pid, signal.SIGCONT)
    time.sleep(0.05)
    os.kill(pid, signal.SIGSTOP)
    assert frozen.ran() == (cpu_s(pid) != frozen._stopped[pid] / 1e9)


def test_a_worker_that_is_gone_as_a_whole_raises_nothing():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    frozen = Freezer(process.pid)
    frozen.stop()
    assert not frozen.ran()
    frozen.resume()


@pytest.fixture
def one_busy_core(started) -> Iterator[None]:
    """This process and what it starts share one core with three busy loops."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        for _ in range(3):
            started(SPIN, settle_s=0)
        yield
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.mark.parametrize("code", [SPIN, FORKS, SPINNING_THREADS], ids=["a task", "a child", "threads"])
def test_a_task_that_is_shown_as_stopped_before_it_has_left_its_core_is_not_accused(
    started, one_busy_core, monkeypatch, code
):
    pid = started(code, settle_s=1.0)
    monkeypatch.setattr(processes, "is_stopped", lambda pid: True)  # as early as that the kernel may show it
    frozen = Freezer(pid)
    for _ in range(20):
        frozen.stop()
        time.sleep(0.02)
        assert not frozen.ran()
        frozen.resume()
        time.sleep(0.005)


def only_child_of(pid):
    """Once it was forked, which on a busy machine takes a while."""
    while not (below := processes.descendants(pid)):
        time.sleep(0.01)
    (child,) = below
    return child


def test_a_child_that_had_ended_when_its_parent_was_stopped_may_be_reaped(started, monkeypatch):
    pid = started("import os, time\nif os.fork(): time.sleep(60)")
    child = only_child_of(pid)
    frozen = Freezer(pid)
    frozen.stop()
    family, clock = freezer.family, freezer._cpu_ns
    monkeypatch.setattr(freezer, "family", lambda *of: [one for one in family(*of) if one != child])
    monkeypatch.setattr(freezer, "_cpu_ns", lambda pid: freezer._GONE if pid == child else clock(pid))
    assert not frozen.ran()


def test_a_child_that_ends_while_its_parent_is_stopped_is_found_out(started):
    pid = started("import os, time\nos.fork()\ntime.sleep(60)")
    child = only_child_of(pid)
    frozen = Freezer(pid)
    frozen.stop()
    os.kill(child, signal.SIGKILL)
    while processes.lives(child):
        time.sleep(0.01)
    assert frozen.ran()


@pytest.mark.parametrize("wants_a_core", [True, False])
def test_a_task_is_waited_for_longer_only_while_all_that_it_wants_is_a_core(started, monkeypatch, wants_a_core):
    frozen = Freezer(started(SPIN))
    stops_at = time.monotonic() + 0.3
    monkeypatch.setattr(freezer, "STOPPING_S", 0.05)
    monkeypatch.setattr(processes, "is_stopped", lambda pid: time.monotonic() > stops_at)
    monkeypatch.setattr(processes, "wants_a_core", lambda pid: wants_a_core)
    if wants_a_core:
        frozen.stop()
        assert time.monotonic() > stops_at
    else:
        with pytest.raises(NotStopped, match="did not stop"):
            frozen.stop()


def test_a_task_that_goes_on_using_cores_is_not_starved(started, monkeypatch):
    frozen = Freezer(started(SPIN))
    with monkeypatch.context() as patch:
        patch.setattr(freezer, "STOPPING_S", 0.05)
        patch.setattr(processes, "is_stopped", lambda pid: False)
        patch.setattr(processes, "kill", lambda pid, number=0: None)
        with pytest.raises(NotStopped, match="did not stop"):
            frozen.stop()


def test_what_ended_meanwhile_counts_as_work_though_its_cpu_time_is_gone():
    before = Used({1: 5_000, 2: 7_000}, 0, "40")
    assert Used({1: 6_000, 2: 7_000}, 0, "40").worked_since(before, 1e-3) == pytest.approx(1e-6)
    assert Used({1: 6_000, 2: 7_000}, 0, "41").worked_since(before, 1e-3) == 1e-3
    assert Used({1: 6_000}, 0, "40").worked_since(before, 1e-3) == 1e-3
    assert Used({1: 6_000}, 400_000, "40").worked_since(before, 1e-3) == pytest.approx(6e-4)
    assert Used({1: 8_000_000, 2: 7_000}, 0, "40").worked_since(before, 1e-3) == 1e-3


def test_a_process_that_was_started_is_the_newest(started):
    before = processes.newest()
    started("pass")
    assert processes.newest() != before


def test_a_task_that_computes_wants_a_core_and_one_that_sleeps_does_not(started):
    assert processes.wants_a_core(started(SPIN))
    assert not processes.wants_a_core(started(SLEEP))
