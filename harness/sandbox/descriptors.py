"""Descriptors: how many our own processes and those that are confined may have open, and waiting for one.

The limits differ on purpose. Linux counts descriptors that are on their way in a socket for the whole user, and refuses
a sender (ETOOMANYREFS, unix(7)) where they are more than the sender itself may have open: a worker of our own user
could fill that count to its own limit, and ours must be well above it for the judge to hand over anything.
"""

import resource
import select

MOST = 1 << 20
"""More are never asked for: some containers allow a billion, and some programs close all that they may have."""


def raise_limit() -> int:
    """Raise the limit of this process, and of what it starts, as far as it may: how many it may have open then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _most(hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return MOST if soft == resource.RLIM_INFINITY else soft


def confined(wanted: int) -> int:
    """How many a process that is not trusted may have open: `wanted`, or half of what one of ours may."""
    return min(wanted, _most(resource.getrlimit(resource.RLIMIT_NOFILE)[1]) // 2)


def _most(hard: int) -> int:
    return MOST if hard == resource.RLIM_INFINITY else min(hard, MOST)


def readable(descriptor: int, timeout_s: float | None) -> bool:
    """Whether there is something to read, or the end, within so many seconds; None waits for ever.

    Not by `select`, which takes no descriptor above 1023.
    """
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(None if timeout_s is None else max(0.0, timeout_s) * 1000))
