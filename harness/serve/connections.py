"""Connections: how many there may be, and how long the server waits for the peer of one.

One that says nothing, sends its head or its body byte by byte, or does not read what it is sent has no claim on a
descriptor: it is ended after a time, and at once where there are as many as may be and another comes. Of those the one
goes that the server has waited for longest.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from harness.sandbox import raise_limit

MOST_CONNECTIONS = 4096
ACCEPTED_AT_ONCE = 128
"""So many may come before the first of them is looked at, and so many wait to be accepted."""
PEER_S = 30.0
"""What a peer may take from connecting, or from its last answer, to the end of the next head; and to make room for what
is written to it. A body has its own bound (`guard.py`)."""


def most_connections() -> int:
    """How many connections this process may hold: a quarter of its descriptors, the others are for what judges.

    Raises the limit on descriptors as far as the hard one lets.
    """
    return max(1, min(MOST_CONNECTIONS, raise_limit() // 4))


class Connection(H11Protocol):
    """One connection, ended by this class where its peer keeps it waiting. `most` is how many there may be."""

    most = MOST_CONNECTIONS
    peer_s = PEER_S

    @classmethod
    def of_at_most(cls, most: int, peer_s: float = PEER_S) -> "type[Connection]":
        return type(cls.__name__, (cls,), {"most": most, "peer_s": peer_s})

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._idle: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._asked_at = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._see()
        if len(self.connections) > self.most:
            self._end_one()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._idle, self._unread):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        self._see()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._see()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self._unread or self.loop.call_later(self.peer_s, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    @property
    def waits_since(self) -> float | None:
        """Since when, by the loop's clock, the server has waited for the peer; None where it is the server's turn."""
        waited = [timer.when() for timer in (self._idle, self._unread) if timer is not None]
        if waited:
            return min(waited) - self.peer_s
        return self._asked_at if self.cycle.more_body else None

    def _see(self) -> None:
        """Start the clock where no request is under way, stop it where one is."""
        if self.cycle is not None and not self.cycle.response_complete:
            if self._idle is not None:
                self._idle.cancel()
                self._idle, self._asked_at = None, self.loop.time()
        elif self._idle is None:
            self._idle = self.loop.call_later(self.peer_s, self.transport.abort)

    def _end_one(self) -> None:
        """End the connection that was waited for longest; this one where all have a request under way."""
        held = [one for one in self.connections if isinstance(one, Connection)]
        waiting = [(since, one) for one in held if (since := one.waits_since) is not None]
        _, longest = min(waiting, key=lambda found: found[0], default=(0.0, self))
        self.connections.discard(longest)  # it goes by itself, but only when others may have come as well
        longest.transport.abort()
