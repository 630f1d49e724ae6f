"""Equal candidates are judged once: of those in one session the first is judged, and the others take its verdict over.

Equal is what decides alike: the whole text of the candidate, the problem, the settings, the kind of device. Nothing is
kept beyond the session, which is a batch, an `Evaluator` or a server's set of processes, nor taken over between runs.
Not covered: devices of one kind that differ.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from harness.schema import Candidate, DeviceKind, Problem
from harness.settings import Settings

T = TypeVar("T")
MOST = 4096
"""Verdicts that are remembered; of more the oldest are forgotten."""
MOST_BYTES = 32 << 20
"""What all that is remembered may have together, by the word of those that tell it."""
_POLL_S = 0.2


def key_of(candidate: Candidate, problem: Problem, settings: Settings, kind: DeviceKind) -> str:
    """Equal for what is judged alike, and for nothing else."""
    parts = (problem, settings)
    texts = [kind, candidate.model_dump_json(exclude={"first_line"}), *(part.model_dump_json() for part in parts)]
    return hashlib.sha256("\0".join(texts).encode(errors="surrogatepass")).hexdigest()


class Reuse(Generic[T]):
    """What was judged in a session, by key. Thread-safe.

    What asks first owns the key until it tells what it found, or that it found nothing.
    """

    def __init__(self) -> None:
        self._owners: dict[str, tuple[object, int]] = {}
        self._found: OrderedDict[str, tuple[T, int]] = OrderedDict()
        self._size = 0
        self._changed = threading.Condition()

    def ask(self, key: str, owner: object, *, rank: int = 0, on_wait: Callable[[], None] = lambda: None) -> T | None:
        """What was found for this key, which is waited for while another is at it.

        None where `owner` is to find it, and to `tell`. Nothing waits for what is less urgent: an owner of a lower
        `rank` takes the key from one of a higher. `on_wait` is called now and then while that is waited for; what it
        raises ends the wait.
        """
        while True:
            with self._changed:
                if key in self._found:
                    self._found.move_to_end(key)
                    return self._found[key][0]
                if key not in self._owners or rank < self._owners[key][1]:
                    self._owners[key] = owner, rank
                    return None
                self._changed.wait(_POLL_S)
            on_wait()

    def tell(self, key: str, owner: object, found: T | None, *, size: int = 0) -> None:
        """`owner` has ended, with this, which has so many bytes.

        None where it is nothing that another may take over: the next one finds out. An owner that the key was taken
        from tells nothing.
        """
        with self._changed:
            if key not in self._owners or self._owners[key][0] is not owner:
                return
            del self._owners[key]
            if found is not None:
                self._found[key] = found, size
                self._size += size
            while len(self._found) > MOST or self._size > MOST_BYTES:
                self._size -= self._found.popitem(last=False)[1][1]
            self._changed.notify_all()
