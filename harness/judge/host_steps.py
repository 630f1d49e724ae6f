"""Host steps: calls on a host that are shown one by one, each once the one before is answered.

They are asked for and answered by words of shared memory at which both sides look awake (`steps_page`): a message, and
waking whoever waits for it asleep, take longer than a short call, and so does a stop of the worker. What is verified of
a call are elements at random places of its output, which are read as soon as it is answered, of each call, while the
worker goes on: a candidate does not learn which calls are verified, and what it does after its answer comes some
microseconds too late.
"""

import secrets
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch

from harness.judge.attached_inputs import AttachedInputs
from harness.judge.failure import LaidOutAnew, SubjectFailed
from harness.judge.output_layouts import Layout, OutputLayouts
from harness.judge.shared_arenas import SharedArenas
from harness.judge.snapshot import Kept, Source, offsets_of
from harness.judge.worker_conversation import Conversation
from harness.transport.memory import PlacesReader, element_size
from harness.transport.steps_page import (
    ADDRESSES,
    ANSWERED,
    MOST_TENSORS,
    OVER,
    PLAIN,
    SEED,
    SHOWN,
    TENSORS,
    TEXT_BYTES,
    WORDS,
    shown,
    text_in,
)
from harness.transport.values import TensorValue
from harness.transport.worker_messages import Attending, Done, Steps

_PLACES, _FEWEST_PLACES, _MOST_PLACES = 16, 4, 1 << 9
"""So many elements of a tensor are read after each call, by each of the ways in which it may lie, and fewer of many
tensors: each takes a microsecond. Seven calls that leave out half of an output pass once in 10**33."""
_OTHER_WAY_S = 2e-5
"""So long reading an output by another layout than the newest may take; more of it is the call's own, as it is where a
candidate keeps its memory from being read."""
_TEXT_BYTES = 1 << 16
"""There is room for at least so much of what calls are given besides tensors."""
_ATTENTION = 32
"""Looks between two questions whether the worker said something else."""
_AWAKE_S, _ASLEEP_SHARE = 2e-3, 0.02
"""So long an answer is waited for awake, then in naps of that share of the time: who answers early gains as much."""


class HostSteps:
    """Those of one worker. Methods raise SubjectFailed as the conversation does."""

    def __init__(
        self, conversation: Conversation, arenas: SharedArenas, *, inputs: AttachedInputs, layouts: OutputLayouts
    ) -> None:
        self._talk, self._arenas, self._inputs, self._layouts = conversation, arenas, inputs, layouts
        self._page: tuple[int, memoryview] | None = None
        self._texts: dict[int, bytes] = {}
        self._number = self._plain = 0
        self._answered: tuple[int, ...] = ()
        self._named: list[tuple[int, ...]] = []
        self._read: list[list[_Reading]] = []

    def expect(self, slots: Sequence[int], *, seed: int | None, empty: bool, seconds: float, why: str) -> None:
        """Be ready for calls of these slots, or fewer, in this order; each has its own seed where there is none. For
        `empty` ones the model is called for the first alone.
        """
        plain = {slot: self._inputs.plain_of([slot]) for slot in slots}
        self._texts = {slot: (text or "").encode() for slot, text in plain.items()}
        number, words = self._attached(max(map(len, self._texts.values())))
        words[SHOWN] = words[ANSWERED] = 0
        self._number = 0
        self._draw_places(len(slots))
        self._talk.ask(Steps(seed=seed, page=number, empty=empty), Attending, seconds=seconds, why=why)

    def step(self, slot: int, *, seed: int, seconds: float, why: str) -> float:
        """Call the model on a slot, whose contents are there; when it was over, and what may be verified of it read.

        Raises LaidOutAnew where its output has another number of tensors than was described last.
        """
        assert self._page is not None
        _, words = self._page
        if text := self._texts[slot]:
            text_in(words)[: len(text)] = text
        words[TEXT_BYTES], words[SEED] = len(text), seed
        self._number = number = self._number + 1
        looks, now, began = 0, time.monotonic, time.monotonic()
        deadline = began + seconds
        words[SHOWN] = shown(number, slot)
        while words[ANSWERED] != number:
            looks += 1
            if not looks % _ATTENTION:
                deadline = self._talk.attend(deadline, seconds, why)
                if (waited_s := now() - began) > _AWAKE_S:
                    time.sleep(waited_s * _ASLEEP_SHARE)
        count = words[TENSORS]
        self._answered = named = tuple(words[ADDRESSES : ADDRESSES + min(count, MOST_TENSORS)])
        self._plain = words[PLAIN]
        if count != len(self._layouts.newest):
            raise LaidOutAnew("named another number of outputs than it had described before")
        is_read = self._newest.read(number - 1, named)
        over_s = now()
        self._read.append([*([self._newest] if is_read else []), *self._read_otherwise(number - 1, named)])
        self._named.append(named)
        return max(over_s, now() - _OTHER_WAY_S * len(self._each)) if self._each else over_s

    def _read_otherwise(self, call: int, named: Sequence[int]) -> list["_Reading"]:
        """Read an output by the other layouts: all at once, or each by itself where one of them leads to where nothing
        is mapped.
        """
        if self._others.read(call, named):
            return [self._others]
        each = secrets.SystemRandom().sample(self._each, len(self._each))
        return [one for one in each if one.read(call, named)]

    def end(self, *, seconds: float, stop: Callable[[], None]) -> Done:
        """The `Done` of the last of the calls; `stop` is called as soon as it has come."""
        assert self._page is not None
        self._page[1][SHOWN] = OVER
        done = self._talk.last_step(seconds=seconds, stop=stop)
        if done.addresses[0][:MOST_TENSORS] != self._answered or done.plain[0] != self._plain:
            raise SubjectFailed("protocol", "named another output than it had answered the last call with")
        return done

    def seen_of(self, call: int) -> list[list[Kept]]:
        """What was read of the tensors of a call's output once it was answered, in each way in which that can be read
        in which outputs were described; none where it could not be.
        """
        return [kept for one in self._read[call] for kept in one.kept(call, self._named[call])]

    def close(self) -> None:
        """Unmap the page. The worker may be at its end by then."""
        if self._page is not None:
            self._page[1].release()
            self._page = None

    def _attached(self, text_bytes: int) -> tuple[int, memoryview]:
        """The page, with room for so much text."""
        if self._page is None or len(text_in(self._page[1])) < text_bytes:
            self.close()
            room = max(_TEXT_BYTES, 1 << (text_bytes - 1).bit_length() if text_bytes else 0)
            self._page = self._arenas.attach_words(8 * WORDS + room)
        return self._page

    def _draw_places(self, calls: int) -> None:
        """Draw what is read of each call's output, in each of the ways in which it may lie."""
        layouts, tensors = self._layouts, len(self._layouts.newest)
        most = max(_FEWEST_PLACES, min(_PLACES, _MOST_PLACES // max(1, tensors)))
        form = _form_of(layouts.newest)
        ways = [way for way in layouts.alike(tensors) if _form_of(way) == form] if tensors <= MOST_TENSORS else []
        self._newest = _Reading(self._talk.pid, [way for way in ways if way == layouts.newest], calls, most)
        others = [way for way in ways if way != layouts.newest]
        self._others = _Reading(self._talk.pid, others, calls, most)
        self._each = [_Reading(self._talk.pid, [way], calls, most) for way in others]
        self._named, self._read = [], []


class _Reading:
    """Elements of each call's output at random places, as if it lay in each of these ways."""

    def __init__(self, pid: int, ways: Sequence[Layout], calls: int, most: int) -> None:
        self._pid, self._ways = pid, ways
        leaves = [leaf for way in ways for leaf in way]
        self._flat = [_places_of(leaf, calls, most) for leaf in leaves]
        counts = [flat.shape[1] for flat in self._flat]
        widths = np.repeat([element_size(leaf.dtype) for leaf in leaves], counts).astype(np.int64)
        offsets = [offsets_of(leaf, flat)[0].numpy() for leaf, flat in zip(leaves, self._flat, strict=True)]
        tensor_of = np.repeat([index for way in ways for index in range(len(way))], counts).astype(np.intp)
        # In an order of chance: whichever way is the right one, some of it is among the first.
        order = secrets.SystemRandom().sample(range(len(widths)), len(widths))
        self._offsets = np.concatenate([*offsets, np.empty((calls, 0), np.int64)], axis=1).astype(np.uint64)[:, order]
        self._of_tensor = tensor_of[order]
        begins = np.empty_like(widths)
        begins[order] = np.cumsum(widths[order]) - widths[order]
        self._begins = np.split(begins, np.cumsum(counts)[:-1]) if leaves else []
        self._rows = torch.empty((calls, int(widths.sum())), dtype=torch.uint8)
        self._reader = PlacesReader(pid, widths[order].tolist(), self._rows)

    def read(self, call: int, named: Sequence[int]) -> bool:
        """Read them of an output whose tensors begin at these addresses; False where not all can be."""
        places = self._offsets[call] + np.array(named, np.uint64)[self._of_tensor]  # beyond the highest it begins anew
        return self._reader.read(call, places)

    def kept(self, call: int, named: Sequence[int]) -> list[list[Kept]]:
        """What was read of the tensors of a call, in each way."""
        parts = zip(self._flat, self._begins, strict=True)
        found: list[list[Kept]] = []
        for way in self._ways:
            found.append([])
            for address, leaf, (flat, begins) in zip(named, way, parts, strict=False):
                places = begins[:, None] + np.arange(element_size(leaf.dtype))
                data = torch.from_numpy(self._rows[call].numpy()[places])
                found[-1].append(Kept(Source(self._pid, address), leaf, data, flat[call]))
        return found


def _form_of(layout: Layout) -> list[tuple[object, ...]]:
    return [(leaf.dtype, tuple(leaf.shape)) for leaf in layout]


def _places_of(leaf: TensorValue, calls: int, most: int) -> torch.Tensor:
    """Flat indices of elements for each of so many calls, all of a tensor of no more than `most`."""
    if leaf.elements <= most:
        return torch.arange(leaf.elements).expand(calls, -1)
    chance = torch.Generator().manual_seed(secrets.randbits(62))  # not torch's own, whose state contents tell
    return torch.randint(0, leaf.elements, (calls, most), generator=chance)
