"""What a supervisor says of how its process ended."""

import signal
import socket
from types import SimpleNamespace
from typing import Any

import pytest

from harness.sandbox import Limits, Policy, processes
from harness.sandbox.host import Host
from harness.sandbox.policy import GIB
from harness.sandbox.supervisor import Supervisor
from harness.sandbox.zygote_messages import SpawnRequest


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
            return supervisor._exit(SimpleNamespace(peak_bytes=peak_bytes, cpu_s=0.0)).cause

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
