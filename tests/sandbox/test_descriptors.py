"""Our own processes may have more descriptors than those that are confined, and none is too high to wait for."""

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from harness.sandbox import Isolation, Limits, bubblewrap, descriptors, run_tool, tool_confinement

LIMIT = "import resource\nreport(resource.getrlimit(resource.RLIMIT_NOFILE))\n"


def limited(soft: int, hard: int, code: str) -> list[str]:
    """What code says in a process that starts with these limits."""
    head = f"import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))\n"
    done = subprocess.run([sys.executable, "-c", head + code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_our_limit_is_raised_to_the_hard_one_and_half_of_that_is_left_to_others() -> None:
    code = (
        "from harness.sandbox import descriptors\n"
        "print(descriptors.confined(4096), descriptors.raise_limit(), *resource.getrlimit(resource.RLIMIT_NOFILE))\n"
        "print(descriptors.confined(64))\n"
    )
    assert limited(100, 1000, code) == ["500", "1000", "1000", "1000", "64"]


def test_no_more_than_a_million_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 1 << 30))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: asked.append(limits))
    assert descriptors.raise_limit() == 1 << 20
    assert asked == [(1 << 20, 1 << 30)]


def test_a_zygote_of_which_our_processes_are_forks_has_all_that_its_starter_may_have() -> None:
    code = (
        "from harness.sandbox import Zygote\n"
        "with Zygote.start(preload=('harness.sandbox.selftest',)) as zygote:\n"
        "    zygote.ready()\n"
        "    limits = open(f'/proc/{zygote.pid}/limits').read()\n"
        "    print(*next(line for line in limits.splitlines() if line.startswith('Max open files')).split()[3:5])\n"
    )
    assert limited(512, 1000, code) == ["1000", "1000"]


def test_a_worker_may_have_at_most_half_of_what_ours_may(candidate) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    ours = descriptors.confined(1 << 30) * 2
    ran = candidate(LIMIT, limits=Limits(open_files=1 << 30))
    assert ran.reports == ([ours // 2, ours // 2],)
    assert ours <= (hard if hard != resource.RLIM_INFINITY else descriptors.MOST)
    ran = candidate(LIMIT, limits=Limits(open_files=64))
    assert ran.reports == ([64, 64],)


@pytest.mark.parametrize("method", ["full", "basic"])
def test_a_compiler_may_have_at_most_half_as_well(method: Isolation, tmp_path: Path) -> None:
    if method == "full" and bubblewrap() is None:
        pytest.skip("bubblewrap is not here, or may not run")
    if tool_confinement().tier == "none":
        pytest.skip("this kernel has no Landlock")
    run = run_tool(["sh", "-c", "ulimit -Sn; ulimit -Hn"], cwd=tmp_path, deadline_s=30, isolation=method)
    assert run.output.split() == [str(descriptors.confined(4096))] * 2


@pytest.mark.parametrize("number", [5, 2000])
def test_a_descriptor_of_any_number_is_waited_for(number: int) -> None:
    descriptors.raise_limit()
    read, write = os.pipe()
    high = os.open(os.devnull, os.O_RDONLY) if number == 5 else number
    os.dup2(read, high)
    try:
        assert not descriptors.readable(high, 0)
        os.write(write, b"x")
        assert descriptors.readable(high, 10)
        os.close(write)
        assert os.read(high, 2) == b"x"
        assert descriptors.readable(high, None)  # its end
    finally:
        os.close(read)
        os.close(high)


def test_what_waits_in_sockets_of_a_worker_keeps_nobody_from_handing_over_descriptors() -> None:
    """As a user without privileges, in a process of its own: the kernel does not bound root."""
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    code = f"""
import array, os, socket
from harness.sandbox import descriptors
descriptors.raise_limit()
os.setgroups([])
os.setresgid(4243, 4243, 4243)
os.setresuid(4243, 4243, 4243)
def fill():
    one, kept = os.open(os.devnull, os.O_RDONLY), []
    while True:
        kept.append(socket.socketpair())
        kept[-1][0].setblocking(False)
        try:
            while True:
                kept[-1][0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [one] * 250))])
        except BlockingIOError:
            continue
        except OSError as error:
            return error.errno, kept
told, tell = os.pipe()
stay, end = os.pipe()
if os.fork() == 0:
    os.close(end)
    limit = descriptors.confined({Limits().open_files})
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    number, kept = fill()
    os.write(tell, b"%d" % number)
    os.read(stay, 1)
    os._exit(0)
number = int(os.read(told, 10))
ours, theirs = socket.socketpair()
socket.send_fds(ours, [b"x"], [0, 1, 2])
print(number)
"""
    assert limited(1024, 16384, code) == [str(errno.ETOOMANYREFS)]
