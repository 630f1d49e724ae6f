"""What a supervisor says of how its process ended."""

import os
import signal
import socket
import time
from types import SimpleNamespace
from typing import Any

import pytest

from harness.sandbox import Limits, Policy, channel, processes, supervisor
from harness.sandbox.host import Host
from harness.sandbox.policy import GIB
from harness.sandbox.selftest import SOURCE_ENTRY
from harness.sandbox.supervisor import Supervisor
from harness.sandbox.zygote_messages import SpawnRequest, Status


@pytest.fixture
def killed():
    """How a worker ended that got a SIGKILL of nobody's when it had so many bytes, of a limit of 64 GiB."""

    def ended(peak_bytes: int, *, group: Any = None) -> str:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            policy = Policy(limits=Limits(memory_bytes=64 * GIB))
            request = SpawnRequest(entry="harness.sandbox.zygote:nothing", policy=policy)
            supervisor = Supervisor(request, ours, [], Host(readable=(), groups="none"))
            supervisor._status = int(signal.SIGKILL)
            supervisor._group = group
            supervisor._watchdog = SimpleNamespace(peak_bytes=peak_bytes, cpu_s=0.0)
            return supervisor._exit().cause

    return ended


@pytest.fixture
def short_of_memory(monkeypatch):
    """The kernel's out-of-memory killer strikes once each time somebody looks."""
    kills = iter(range(1000))
    monkeypatch.setattr(processes, "kernel_oom_kills", lambda: next(kills))


@pytest.mark.usefixtures("short_of_memory")
def test_a_large_worker_that_the_kernel_killed_for_memory_is_out_of_memory(killed) -> None:
    assert killed(32 * GIB) == "memory"


@pytest.mark.usefixtures("short_of_memory")
def test_a_small_worker_that_the_kernel_killed_for_the_sake_of_others_is_not_out_of_memory(killed) -> None:
    assert killed(1 * GIB) == "signal"


def test_a_large_worker_that_was_killed_while_memory_was_not_short_is_not_out_of_memory(killed, monkeypatch) -> None:
    monkeypatch.setattr(processes, "kernel_oom_kills", lambda: 7)
    assert killed(32 * GIB) == "signal"


@pytest.mark.usefixtures("short_of_memory")
def test_where_there_is_a_group_it_knows_for_certain(killed) -> None:
    usage = SimpleNamespace(peak_bytes=32 * GIB, cpu_s=1.0, processes=0)
    for exceeded, cause in ((None, "signal"), ("memory", "memory")):
        group = SimpleNamespace(usage=lambda: usage, exceeded=lambda said=exceeded: said)
        assert killed(32 * GIB, group=group) == cause


@pytest.mark.parametrize("reported", [(Status(status=7),), ()])
def test_a_process_that_was_killed_before_it_read_our_word_has_ended_and_broken_nothing(reported) -> None:
    """The kernel then says once that the connection was reset, before what the process had sent."""
    ours, theirs = channel.pair()
    with ours:
        for message in reported:
            theirs.send(message.model_dump_json().encode())
        ours.send(b"go")
        theirs.close()
        heard = [supervisor._receive_report(ours)[0] for _ in range(2)]
    assert heard == [*reported, None, None][:2]


def test_what_a_process_uses_is_looked_at_before_its_entry_runs() -> None:
    """Or what it takes at once would be counted as ours, and one that made itself unreadable as another user's."""
    (source, write_source), (order, tell) = os.pipe(), os.pipe()
    with open(write_source, "w") as text:
        text.write("report('ran')")
    if (pid := os.fork()) == 0:
        _supervise_with_a_slow_look(source, tell)
    os.close(tell)
    os.close(source)
    with open(order) as said:
        assert said.read().splitlines() == ["looked", '"ran"']
    assert os.waitpid(pid, 0)[1] == 0


def _supervise_with_a_slow_look(source: int, tell: int) -> None:
    class Slow(supervisor.Watchdog):
        def __init__(self, *of: Any) -> None:
            time.sleep(0.3)
            super().__init__(*of)
            os.write(tell, b"looked\n")

    code = 1
    try:
        supervisor.Watchdog = Slow  # type: ignore[misc]
        ours, theirs = channel.pair()
        request = SpawnRequest(entry=SOURCE_ENTRY, policy=Policy(isolation="none"))
        one = Supervisor(request, ours, [os.dup(source), os.dup(tell)], Host(readable=(), groups="none"))
        one.start()
        theirs.recv(1 << 16)
        code = 0 if one.watch().exit.code == 0 else 2
    finally:
        os._exit(code)
