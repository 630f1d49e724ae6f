"""Attached inputs: the slots of calls as they lie before a worker, and which of its addresses show them."""

import os
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from harness.judge.failure import SubjectFailed
from harness.judge.inputs import InputSets
from harness.judge.shared_arenas import SharedArenas
from harness.judge.snapshot import Allocation, Mapping, Source, mappings_of
from harness.judge.worker_conversation import Conversation
from harness.transport.memory import CopiedArena
from harness.transport.values import packed_plain
from harness.transport.worker_messages import Detach, Prepare, Prepared, Released, Take, Taken

DETACH_S = 10.0
"""What letting go of the inputs may take. It waits for what the worker has queued on its device; all calls are over by
then, and gigabytes are unmapped in tenths of a second."""


@dataclass(frozen=True)
class _Attached:
    """Sets, the number of their arena, and the address where the worker says that it lies."""

    arena: int
    sets: InputSets
    base: int


class AttachedInputs:
    """The sets that one worker sees; none at first. Methods raise SubjectFailed as the conversation does."""

    def __init__(self, conversation: Conversation, arenas: SharedArenas) -> None:
        self._talk, self._arenas = conversation, arenas
        self._attached: _Attached | None = None
        self._has_contents = False
        self._shown: Sequence[int] = ()
        self._mappings: list[Mapping] = []

    @property
    def attached(self) -> bool:
        """Whether there are any."""
        return self._attached is not None

    @property
    def copied_arena(self) -> CopiedArena | None:
        """The arena of the sets, where judge and worker each have memory of their own behind it."""
        arena = self._attached.sets.arena if self._attached is not None else None
        return arena if isinstance(arena, CopiedArena) else None

    @property
    def allocations(self) -> list[Allocation]:
        """Their memory on a device, by its addresses in the worker; one at most."""
        if self._attached is None:
            return []
        arena = self._attached.sets.arena
        return [Allocation(self._attached.base, arena.size, "", arena.bytes())]

    def attach(self, sets: InputSets) -> None:
        """Lay the slots of `sets` before the worker, in place of those before."""
        sets.show_all()
        arena, base = self._arenas.attach(sets.arena)
        self._talk.ask(Prepare(arena=arena, slots=sets.values), Prepared)
        self._attached = _Attached(arena, sets, base)
        self.locate()

    def detach(self) -> None:
        """Take the slots away again."""
        assert self._attached is not None
        self._talk.ask(Detach(arena=self._attached.arena), Released, seconds=DETACH_S)
        self._attached, self._mappings = None, []

    def give_contents(self) -> None:
        """Have the worker copy what was written for the next round, where it does not see it anyway; once a round."""
        arena = self.copied_arena
        if arena is not None and not self._has_contents:
            assert self._attached is not None
            parts = self._attached.sets.newly_written()
            arena.send(parts)
            self._talk.ask(Take(arena=self._attached.arena, parts=parts), Taken)
        self._has_contents = True

    def round_begins(self, slots: Sequence[int]) -> None:
        """The worker has the contents of this round's slots, and what is written from now on is the next one's."""
        self.give_contents()
        self._has_contents, self._shown = False, slots

    def parts_of(self, calls: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """Of a copied arena what these calls of the round saw; else none."""
        if self._attached is None or self.copied_arena is None:
            return ()
        return self._attached.sets.parts_of({self._shown[call] for call in calls})

    def take_back(self, parts: Sequence[tuple[int, int]]) -> None:
        """Have what the worker sent of a copied arena."""
        if (arena := self.copied_arena) is not None:
            arena.take(parts)

    def plain_of(self, slots: Sequence[int]) -> str | None:
        """What the worker is told of slots besides their tensors, where that was drawn anew."""
        plain = None if self._attached is None else self._attached.sets.plain_of(slots)
        return None if plain is None else packed_plain(plain)

    def locate(self) -> None:
        """Where the worker sees the sets. On the host by the kernel's account, as it may map them more than once."""
        self._mappings = []
        if self._attached is None:
            return
        arena, base = self._attached.sets.arena, self._attached.base
        self._mappings = [Mapping(base, base + arena.size, 0)]
        if arena.kind == "host":
            with suppress(OSError):
                descriptor = arena.descriptor()
                try:
                    self._mappings = mappings_of(self._talk.pid, descriptor)
                finally:
                    os.close(descriptor)

    def part_at(self, address: int, size: int) -> Source | None:
        """The part of the sets that an output is; None where it lies elsewhere. Raises SubjectFailed for both."""
        next_one = bisect_right(self._mappings, address, key=lambda mapping: mapping.end)
        for mapping in self._mappings[next_one : next_one + 1]:  # how many there are is the worker's choice
            if mapping.start < address + size:
                if address < mapping.start or mapping.end < address + size:
                    raise SubjectFailed("protocol", "an output lies partly in an input")
                assert self._attached is not None
                start = mapping.offset + address - mapping.start
                return Source(self._talk.pid, address, "", self._attached.sets.arena.bytes()[start:])
        return None
