"""How workers end, and that everything of them ends with them."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.errors import SandboxError
from harness.sandbox import Isolation, Policy, Zygote
from harness.sandbox.selftest import run, running

REPOSITORY = Path(__file__).resolve().parents[2]
DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in (0, 1, 2):
            os.close(fd)
        report("daemon")
        time.sleep(120)
    os._exit(0)
os.wait()
"""


def _is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state in "ZX"


def _sleepers(mark: str) -> list[int]:
    """The host's processes whose command line holds `mark`."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and mark.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


def _wait_until(condition, seconds: float = 5.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.parametrize(
    ("source", "code", "number"),
    [
        ("pass", 0, None),
        ("import os; os._exit(0)", 0, None),
        ("import os; os._exit(7)", 7, None),
        ("raise SystemExit(3)", 3, None),
        ("raise SystemExit('words')", 1, None),
        ("raise ValueError('words')", 1, None),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", None, signal.SIGSEGV),
        ("import ctypes; ctypes.string_at(0)", None, signal.SIGSEGV),
        ("import os; os.abort()", None, signal.SIGABRT),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", None, signal.SIGKILL),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", None, signal.SIGTERM),
        ("import os, signal; os.kill(os.getpid(), signal.SIGFPE)", None, signal.SIGFPE),
    ],
)
def test_the_end_is_reported_as_it_was(candidate, source: str, code: int | None, number: int | None) -> None:
    ended = candidate(source).exit
    assert ended is not None
    assert (ended.code, ended.signal) == (code, number)
    assert ended.cause == ("exited" if number is None else "signal")


def test_the_traceback_and_the_place_of_a_crash_are_in_the_log(candidate) -> None:
    raised = candidate("def forward():\n    raise ValueError('words')\nforward()").exit
    crashed = candidate("import ctypes\ndef forward():\n    ctypes.string_at(0)\nforward()").exit
    assert raised is not None
    assert "ValueError: words" in raised.log
    assert crashed is not None
    assert "Segmentation fault" in crashed.log
    assert "in forward" in crashed.log


NO_FORKS = """
import os
from pathlib import Path

fork = os.fork

def forks_or_not():
    if Path({mark!r}).exists():
        raise BlockingIOError(11, "Resource temporarily unavailable")
    return fork()

os.fork = forks_or_not
"""


def test_a_prepared_process_that_can_fork_no_more_says_so_and_serves_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers of others may have all processes that the user may have: it must not end, and all that it started."""
    mark = tmp_path / "none is left"
    (tmp_path / "no_forks_for_a_test.py").write_text(NO_FORKS.format(mark=str(mark)))
    monkeypatch.syspath_prepend(tmp_path)
    with Zygote.start(preload=("harness.sandbox.selftest", "no_forks_for_a_test")) as zygote:
        with running(zygote, "import time\ntime.sleep(60)", Policy()) as (worker, _):
            open_before = len(os.listdir(f"/proc/{zygote.pid}/fd"))
            mark.touch()
            for _ in range(3):
                with pytest.raises(SandboxError, match="could not be started: Resource temporarily unavailable"):
                    run(zygote, "pass", Policy())
                with pytest.raises(SandboxError, match="could not be started: Resource temporarily unavailable"):
                    zygote.spawn_trusted("harness.sandbox.zygote:nothing", ())
            mark.unlink()
            assert worker.wait(0) is None
            until = time.monotonic() + 30  # what has gone it notices when it looks, and others may have its core
            while len(os.listdir(f"/proc/{zygote.pid}/fd")) > open_before and time.monotonic() < until:
                time.sleep(0.01)
            assert len(os.listdir(f"/proc/{zygote.pid}/fd")) <= open_before
        ended = run(zygote, "import os; os._exit(7)", Policy()).exit
        assert ended is not None
        assert ended.code == 7


def test_a_worker_that_closes_everything_is_still_held(candidate) -> None:
    ended = candidate("import os\nos.closerange(0, 100)\nos._exit(5)").exit
    assert ended is not None
    assert ended.code == 5


def test_a_worker_can_be_killed_and_says_what_it_said(zygote: Zygote, tier: Isolation) -> None:
    source = (
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('here')\nreport(1)\ntime.sleep(60)"
    )
    with running(zygote, source, Policy(isolation=tier)) as (worker, answers):
        os.read(answers, 10)
        assert worker.wait(0.05) is None
        started = time.monotonic()
        worker.kill()
        ended = worker.wait(5)
        assert time.monotonic() - started < 2
        assert ended is not None
        assert (ended.cause, ended.signal, ended.log) == ("killed", signal.SIGKILL, "here\n")
        assert worker.wait(0) == ended


def test_a_stopped_worker_can_be_killed(zygote: Zygote, tier: Isolation) -> None:
    with running(zygote, "import os; report(1); os.kill(os.getpid(), 19)", Policy(isolation=tier)) as (worker, answers):
        os.read(answers, 10)
        worker.kill()
        ended = worker.wait(5)
        assert ended is not None
        assert ended.cause == "killed"


def test_its_end_can_be_polled(zygote: Zygote, tier: Isolation) -> None:
    with running(zygote, "import time; time.sleep(0.2)", Policy(isolation=tier)) as (worker, _):
        assert select.select([worker], [], [], 0)[0] == []
        assert select.select([worker], [], [], 10)[0] == [worker]
        ended = worker.wait(0)
        assert ended is not None
        assert ended.code == 0


def test_a_daemon_does_not_outlive_its_worker(zygote: Zygote, tier: Isolation) -> None:
    mark = f"harness-daemon-{os.getpid()}-{tier}"
    source = DAEMON.replace("time.sleep(120)", f"os.execv('/bin/sh', ['{mark}', '-c', 'sleep 120; true'])")
    with running(zygote, source, Policy(isolation=tier)) as (worker, _):
        ended = worker.wait(10)
        assert ended is not None
        assert (ended.cause, ended.code) == ("exited", 0)
        assert _sleepers(mark) == []


def test_leaving_the_block_kills_the_worker_and_its_children(zygote: Zygote, tier: Isolation) -> None:
    mark = f"harness-child-{os.getpid()}-{tier}"
    shell = f"subprocess.Popen(['{mark}', '-c', 'sleep 120; true'], executable='/bin/sh')"
    source = f"import subprocess\n{shell}\nreport(1)\nwhile True: pass"
    with running(zygote, source, Policy(isolation=tier)) as (worker, answers):
        os.read(answers, 10)
        assert _wait_until(lambda: _sleepers(mark))
        pid = worker.pid
    assert _is_gone(pid)
    assert _sleepers(mark) == []


OWNER = """
import os, sys, time
sys.path.insert(0, {repository!r})
from harness.sandbox import Policy, Zygote
from harness.sandbox.selftest import running
with Zygote.start(preload=("harness.sandbox.selftest",)) as zygote:
    source = {daemon!r} + "time.sleep(120)"
    with running(zygote, source, Policy(isolation={tier!r})) as (worker, answers):
        os.read(answers, 100)
        print(zygote.pid, worker.pid, flush=True)
        time.sleep(120)
"""


@pytest.mark.parametrize("victim", ["owner", "zygote"])
def test_killing_the_owner_or_the_zygote_leaves_no_process(tier: Isolation, victim: str, tmp_path: Path) -> None:
    mark = f"harness-orphan-{os.getpid()}-{tier}-{victim}"
    daemon = DAEMON.replace("time.sleep(120)", f"os.execv('/bin/sh', ['{mark}', '-c', 'sleep 120; true'])")
    script = OWNER.format(repository=str(REPOSITORY), daemon=daemon, tier=tier)
    (tmp_path / "owner.py").write_text(script)  # a file, so that the mark is in no other command line
    command = [sys.executable, str(tmp_path / "owner.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as owner:
        assert owner.stdout is not None
        zygote_pid, worker_pid = map(int, owner.stdout.readline().split())
        assert _wait_until(lambda: _sleepers(mark))
        os.kill(owner.pid if victim == "owner" else zygote_pid, signal.SIGKILL)
        assert _wait_until(lambda: _is_gone(worker_pid) and _is_gone(zygote_pid) and not _sleepers(mark))
        owner.kill()


def test_two_workers_run_side_by_side_and_know_nothing_of_each_other(zygote: Zygote, tier: Isolation) -> None:
    wait = "import os, time\nopen('mine', 'w').close()\nreport(os.getpid())\ntime.sleep(30)"
    with running(zygote, wait, Policy(isolation=tier)) as (first, answers):
        inside = int(os.read(answers, 100))
        source = f"""
import os
report(os.path.exists("mine"))
for pid in {{{inside}, {first.pid}}} - {{os.getpid()}}:
    try:
        os.kill(pid, 9)
        report(pid)
    except OSError:
        pass
"""
        assert run(zygote, source, Policy(isolation=tier)).reports == (False,)
        assert first.wait(0.1) is None


def test_a_trusted_process_starts_workers_of_its_own(zygote: Zygote) -> None:
    read, write = os.pipe()
    with zygote.spawn_trusted("harness.sandbox.selftest:judge", [write]) as trusted:
        os.close(write)
        ended = trusted.wait(20)
        assert ended is not None
        assert (ended.code, ended.log) == (0, "a word of the judge\n")
    answer = os.read(read, 1000)
    os.close(read)
    assert answer == b"the worker ended with 42, unconfined: True"


def test_a_worker_whose_owner_is_gone_before_it_starts_does_not_stay(zygote: Zygote, tier: Isolation) -> None:
    from harness.sandbox import channel
    from harness.sandbox.zygote_messages import SpawnRequest

    mark = f"harness-forsaken-{os.getpid()}-{tier}"
    daemon = DAEMON.replace("time.sleep(120)", f"os.execv('/bin/sh', ['{mark}', '-c', 'sleep 120; true'])")
    source_read, source_write = os.pipe()
    answer_read, answer_write = os.pipe()
    os.write(source_write, (daemon + "time.sleep(120)").encode())
    os.close(source_write)
    ours, theirs = channel.pair()
    request = SpawnRequest(entry="harness.sandbox.selftest:run_source", policy=Policy(isolation=tier))
    with theirs:
        zygote._send(request, [theirs.fileno(), source_read, answer_write])
    ours.close()
    os.close(source_read)
    os.close(answer_write)
    assert select.select([answer_read], [], [], 10)[0]  # the daemon lives, or everybody is gone
    with open(answer_read, "rb") as answers:
        answers.read()  # until nobody has the other end any more
    assert _wait_until(lambda: not _sleepers(mark))


def test_an_entry_that_does_not_exist_is_our_fault(zygote: Zygote) -> None:
    with pytest.raises(SandboxError, match=r"There is no entry harness\.nowhere:main"):
        zygote.spawn_worker("harness.nowhere:main", [], Policy())


def test_a_module_that_cannot_be_imported_is_our_fault() -> None:
    with (
        Zygote.start(preload=("harness.nowhere",)) as zygote,
        pytest.raises(SandboxError, match=r"No module named 'harness\.nowhere'"),
    ):
        zygote.ready()


def test_an_interpreter_that_does_not_exist_is_our_fault() -> None:
    with pytest.raises(SandboxError, match="cannot be run"):
        Zygote.start(python="/nowhere/python")


def test_a_module_that_starts_threads_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "threaded.py").write_text(
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with Zygote.start(preload=("threaded",)) as zygote, pytest.raises(SandboxError, match="1 threads"):
        zygote.ready()


def test_many_workers_leave_no_descriptor_and_no_process(zygote: Zygote, tier: Isolation) -> None:
    run(zygote, "pass", Policy(isolation=tier))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        assert run(zygote, "pass", Policy(isolation=tier)).exit is not None
    assert len(os.listdir("/proc/self/fd")) == before


def test_no_less_than_basic_is_the_best_that_there_is(zygote: Zygote) -> None:
    with zygote.spawn_worker("harness.sandbox.zygote:nothing", [], Policy(isolation="basic-or-more")) as worker:
        assert worker.tier == zygote.ready().tier


def test_that_the_prepared_process_is_gone_is_seen_as_soon_as_its_sockets_are_closed() -> None:
    with Zygote.start(preload=("json",)) as own:
        own.ready()
        assert own.lives_on(0.05)
        assert own.pid is not None
        os.kill(own.pid, signal.SIGKILL)
        assert not own.lives_on(10.0)
        with pytest.raises(SandboxError, match=r"gone|died"):
            own.spawn_trusted("harness.sandbox.zygote:nothing", [])
    assert not own.lives_on(0.0)
