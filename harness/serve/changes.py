"""Changes: how the engine's threads wake what waits on the event loop."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Changes:
    """Those that wait for a job, by its id. Nothing is kept of a job that is not waited for."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: dict[str, set[asyncio.Event]] = {}

    def attach(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """The loop on which callers wait; None when it is about to end."""
        self._loop = loop

    def announce(self, id: str) -> None:
        """Wake those that wait for `id`, all for "". From any thread.

        What comes to wait only now looks at the job after this, and finds the change.
        """
        loop = self._loop
        if loop is not None and not loop.is_closed() and (not id or id in self._waiting):
            loop.call_soon_threadsafe(self._wake, id)

    def _wake(self, id: str) -> None:
        for known in [id] if id else list(self._waiting):
            for event in self._waiting.get(known, ()):
                event.set()

    @contextmanager
    def of(self, *ids: str) -> Iterator[asyncio.Event]:
        """An event that is set by every change of these; clear it before looking."""
        event = asyncio.Event()
        for id in ids:
            self._waiting.setdefault(id, set()).add(event)
        try:
            yield event
        finally:
            for id in ids:
                self._waiting[id].discard(event)
                if not self._waiting[id]:
                    del self._waiting[id]


def phase_of(id: str) -> str:
    """What a change of a job's phase is announced as: most that wait for a job wait for its end alone."""
    return f"{id} phase"
