"""Output memory: what the outputs of a round lie in, whether calls share it, and what of it is overwritten."""

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise

from harness.judge.attached_inputs import AttachedInputs
from harness.judge.failure import LaidOutAnew, SubjectFailed
from harness.judge.opened_memory import OpenedMemory
from harness.judge.output_layouts import MOST_PARTS, Lie, OutputLayouts
from harness.judge.reach import Range, merged
from harness.judge.snapshot import share_pages
from harness.judge.worker_conversation import Conversation
from harness.sandbox import processes
from harness.transport.memory import overwrite_process
from harness.transport.worker_messages import Done

_SPOILT = (0xFF, 0x7B, 0xFB)
"""With one of these bytes, which nothing can know before, outputs are overwritten once they were read. In floats of all
sizes the first is NaN and the others are larger than almost any; in integers they are few values of many."""


class OutputMemory:
    """That of one worker, by what it named when the clock stopped. Methods raise SubjectFailed where that cannot be.

    `apart`: outputs lie on a device, whose memory is not the host's. `memory_bytes` is what the worker may have of the
    host's.
    """

    def __init__(
        self,
        conversation: Conversation,
        *,
        inputs: AttachedInputs,
        layouts: OutputLayouts,
        opened: OpenedMemory,
        apart: bool,
        memory_bytes: int,
    ) -> None:
        self._talk, self._inputs, self._layouts, self._opened = conversation, inputs, layouts, opened
        self._apart, self._memory_bytes = apart, memory_bytes
        self._chance = random.SystemRandom()
        self._spared: frozenset[int] = frozenset()

    def spare(self, places: frozenset[int]) -> None:
        """From now on leave these tensors of an output out, by their numbers in order."""
        self._spared = places

    def is_shared(self, done: Done) -> bool:
        """Whether memory of one call's outputs is memory of another call's as well."""
        if not self._apart:
            self._inputs.locate()
        of_calls = [
            merged(self._ranges_of(addresses, extents, self._layouts.parts))
            for addresses, extents in zip(done.addresses, done.extents, strict=True)
        ]
        ranges = sorted(one for of_call in of_calls for one in of_call)
        if any(start + size > after for (start, size), (after, _) in pairwise(ranges)):
            return True
        if not self._apart:
            with suppress(OSError):  # it is gone, which the next question tells
                calls = ([(start, start + size) for start, size in of_call] for of_call in of_calls)
                return share_pages(self._talk.pid, calls)
        return False

    def spoil(self, done: Done) -> None:
        """Overwrite what the outputs lie in, on a device mark it for that (`Subject.spoil`)."""
        newest = self._layouts.newest
        if newest and any(len(call) != len(newest) for call in done.addresses):
            raise LaidOutAnew("named another number of outputs than it had described before")
        if not self._apart:
            self._inputs.locate()
        if not self._apart and any(size > self._memory_bytes for call in done.extents for size in call):
            raise SubjectFailed("protocol", "named an output that is larger than all the memory that it may have")
        ranges = self._to_spoil(done, in_parts=not self._apart)
        if len(ranges) > MOST_PARTS:
            ranges = self._to_spoil(done, in_parts=False)
        if not self._apart:
            ranges = set(merged(ranges))
            if sum(size for _, size in ranges) > self._memory_bytes:
                raise SubjectFailed("protocol", "named outputs that are larger together than all memory it may have")
        self._overwrite(sorted(ranges), self._chance.choice(_SPOILT))

    def _ranges_of(
        self, addresses: Sequence[int], extents: tuple[int, ...], known: Mapping[tuple[int, ...], Lie]
    ) -> Iterator[Range]:
        """What the outputs of a call lie in, but for those that lie in an input or were spared.

        Without what lies between their elements, where it is `known` of outputs that reach as far how they lie.
        """
        of_call = known.get(extents) or tuple(((0, size),) for size in extents)
        for place, (address, size) in enumerate(zip(addresses, extents, strict=True)):
            if size and place not in self._spared and self._inputs.part_at(address, size) is None:
                yield from ((address + offset, part) for offset, part in of_call[place])

    def _to_spoil(self, done: Done, *, in_parts: bool) -> set[Range]:
        """What outputs of a round lie in, as far as it is to be overwritten.

        `in_parts`: without what lies between elements, by how outputs that reach as far were described last. One that
        is described otherwise afterwards is a failure.
        """
        ranges: set[Range] = set()
        known = self._layouts.parts if in_parts else {}
        self._layouts.overwritten_as({extents: known[extents] for extents in done.extents if extents in known})
        for addresses, extents in zip(done.addresses, done.extents, strict=True):
            ranges.update(self._ranges_of(addresses, extents, known))
            if len(ranges) > MOST_PARTS and in_parts:
                break
        return ranges

    def _overwrite(self, ranges: Sequence[Range], byte: int) -> None:
        if self._apart:
            self._opened.mark(ranges, byte)
            return
        try:
            overwrite_process(self._talk.pid, ranges, byte)
        except OSError as error:
            if processes.lives(self._talk.pid):  # one that is gone shows at the next question
                raise SubjectFailed("protocol", f"an output that cannot be written to: {error.strerror}") from error
