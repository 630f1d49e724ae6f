"""Equal candidates are judged once: of those in one session the first is judged, and the others take its verdict over.

Equal is what decides alike: the whole text of the candidate, the problem, the settings, the kind of device. Nothing is
kept beyond the batch, nor taken over between runs. Not covered: devices of one kind that differ.
"""

import hashlib
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from harness.schema import Candidate, DeviceKind, Problem
from harness.settings import Settings

T = TypeVar("T")
MOST = 4096
"""Verdicts that are remembered; of more the oldest are forgotten."""
_POLL_S = 0.2


def key_of(candidate: Candidate, problem: Problem, settings: Settings, kind: DeviceKind) -> str:
    """Equal for what is judged alike, and for nothing else."""
    parts = (problem, settings)
    texts = [kind, candidate.model_dump_json(exclude={"first_line"}), *(part.model_dump_json() for part in parts)]
    return hashlib.sha256("\0".join(texts).encode(errors="surrogatepass")).hexdigest()


@dataclass
class _Entry(Generic[T]):
    owner: "weakref.ref[object]"
    found: T | None = None


class Reuse(Generic[T]):
    """What was judged in a session, by key. Thread-safe.

    The first that asks owns the key until it tells what it found, or is gone: one that was given up tells nothing.
    """

    def __init__(self) -> None:
        self._entries: OrderedDict[str, _Entry[T]] = OrderedDict()
        self._changed = threading.Condition()

    def ask(self, key: str, owner: object, on_wait: Callable[[], None] = lambda: None) -> T | None:
        """What was found for this key, which is waited for while another is at it; None where `owner` is to find it.

        `on_wait` is called now and then while that is waited for; what it raises ends the wait.
        """
        while True:
            with self._changed:
                entry = self._entries.get(key)
                if entry is not None and entry.found is not None:
                    self._entries.move_to_end(key)
                    return entry.found
                at_it = entry.owner() if entry is not None else None
                if at_it is None or at_it is owner:
                    self._entries[key] = _Entry(weakref.ref(owner))
                    while len(self._entries) > MOST:
                        self._entries.popitem(last=False)
                    return None
                self._changed.wait(_POLL_S)
            on_wait()

    def leave(self, key: str, owner: object) -> None:
        """`owner` has ended. Where it told nothing, the next one finds out."""
        with self._changed:
            entry = self._entries.get(key)
            if entry is not None and entry.owner() is owner and entry.found is None:
                del self._entries[key]
            self._changed.notify_all()

    def tell(self, key: str, owner: object, found: T | None) -> None:
        """What `owner` found; None where it is nothing that another may take over, so that the next one finds out."""
        with self._changed:
            entry = self._entries.get(key)
            if entry is not None and entry.owner() is owner:
                if found is None:
                    del self._entries[key]
                else:
                    entry.found = found
            self._changed.notify_all()
