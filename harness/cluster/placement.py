"""Placement: which of those that wait a node takes next.

A problem has a node of its own, where the reference's worker is kept, and so has a source, whose build is in that
node's cache. A node with room takes the most urgent that waits: what was asked of this node alone, then what answers
one of its problems, then its sources, then the oldest of all. No node idles while something waits that it may judge.
"""

import hashlib
import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
_STALE = 1000
"""So many entries of what was taken may lie in the lines before they are made anew."""


@dataclass(frozen=True)
class Waiting(Generic[T]):
    """What waits. Lower ranks are more urgent, within one lower numbers; `only` this node may take it, where set."""

    number: int
    rank: int
    problem: str
    source: str
    thing: T
    only: str | None = None


class Placement(Generic[T]):
    """What waits for a node. Used by one thread."""

    def __init__(self) -> None:
        self._waiting: dict[int, Waiting[T]] = {}
        self._nodes: tuple[str, ...] = ()
        self._lines: dict[tuple[str, str], list[tuple[int, int]]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def things(self) -> list[T]:
        """All that waits, in no order."""
        return [each.thing for each in self._waiting.values()]

    def set_nodes(self, nodes: Iterable[str]) -> None:
        """The nodes that judge from now on. What has its home on one of the others gets a new one."""
        self._nodes = tuple(sorted(nodes))
        self._make_anew()

    def put(self, waiting: Waiting[T]) -> None:
        self._waiting[waiting.number] = waiting
        self._enter(waiting)

    def drop(self, number: int) -> T | None:
        """It waits no longer; what it was, None where it did not wait."""
        waiting = self._waiting.pop(number, None)
        return None if waiting is None else waiting.thing

    def take(self, node: str) -> T | None:
        """What this node judges next, which waits no longer; None where there is nothing for it."""
        fronts = [self._front(line) for line in (("only", node), ("problem", node), ("source", node), ("all", ""))]
        there = [front for front in fronts if front is not None]
        if not there:
            return None
        waiting = self._waiting.pop(min(there, key=lambda front: front[0])[1])
        if sum(map(len, self._lines.values())) > 4 * len(self._waiting) + _STALE:
            self._make_anew()
        return waiting.thing

    def _front(self, name: tuple[str, str]) -> tuple[int, int] | None:
        """Rank and number of the first of a line that waits still."""
        line = self._lines.get(name, [])
        while line and line[0][1] not in self._waiting:
            heapq.heappop(line)
        return line[0] if line else None

    def _enter(self, waiting: Waiting[T]) -> None:
        if waiting.only is not None:
            names = [("only", waiting.only)]
        else:
            homes = {"problem": waiting.problem, "source": waiting.source} if self._nodes else {}
            names = [("all", ""), *((what, home(key, self._nodes)) for what, key in homes.items())]
        for name in names:
            heapq.heappush(self._lines.setdefault(name, []), (waiting.rank, waiting.number))

    def _make_anew(self) -> None:
        self._lines = {}
        for waiting in self._waiting.values():
            self._enter(waiting)


def home(key: str, nodes: Iterable[str]) -> str:
    """The node of a problem or a source: where one node comes or goes, only what is its own moves.

    Source: rendezvous hashing (Thaler and Ravishankar, IEEE/ACM Transactions on Networking 6(1), 1998).
    """
    return max(nodes, key=lambda node: hashlib.sha256(f"{node}\n{key}".encode("utf-8", "surrogateescape")).digest())
