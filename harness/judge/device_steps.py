"""Device steps: calls on a device that are shown one by one, each once the one before is answered, and timed by when
their outputs are there.

Contents come and outputs are read by the device's copy engines, which wait for nobody: a kernel of the judge's would
wait for a switch between contexts, some hundred times what such a call takes. What is read is read again and again from
where the output before lay, from before the worker is told on. A call is over when what was read is what it stays: who
answers too early has gained nothing, and who answers late does something else meanwhile.

How far apart the judge reads (some 8 us) is more than what tells two subjects apart, so the first look comes at random
within that: on average all are late by as much.
"""

import random
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from harness.backends.hardware import CopyEngines, Hardware
from harness.judge.attached_inputs import AttachedInputs
from harness.judge.failure import LaidOutAnew
from harness.judge.inputs import Staged
from harness.judge.kept_outputs import ByAddress
from harness.judge.opened_memory import OpenedMemory
from harness.judge.output_layouts import Layout, OutputLayouts
from harness.judge.shared_arenas import SharedArenas
from harness.judge.snapshot import Allocation, Source, kept_words
from harness.judge.subject import Stepped, Unsettled
from harness.judge.worker_conversation import Conversation
from harness.transport.memory import HostArena, element_size
from harness.transport.steps_page import ADDRESSES, ANSWERED, MOST_TENSORS, OVER, SHOWN, TENSORS, shown
from harness.transport.values import TensorValue
from harness.transport.worker_messages import Attending, Done, Steps

_WHOLE_BYTES = 1 << 14
"""An output of no more is read whole each time."""
_RUN_BYTES, _RUNS = 64, 128
"""Of a larger one so many runs of so many bytes, evenly spaced from a random place on: 8 KB."""
_DENSE = 0.95
"""Where so much of what an output reaches over is elements; of others single ones are read, SCATTERED of them."""
_SCATTERED = 32
_LOOKS = 256
"""So often an output is read at most before it is answered; a longer call is over when it is."""
_ATTENTION = 16
"""Looks between two questions whether the worker said something else."""
_PERIOD_S = 8e-6
"""What is taken for the time between two looks until it is known."""


@dataclass(frozen=True)
class _Run:
    """`height` runs of `width` bytes of a tensor, `pitch` bytes apart, from `offset` on.

    `at` is where they are in a look.
    """

    tensor: int
    offset: int
    width: int
    pitch: int
    height: int
    at: int

    @property
    def size(self) -> int:
        return self.width * self.height


class DeviceSteps:
    """Those of one worker. Methods raise SubjectFailed as the conversation does."""

    def __init__(
        self,
        conversation: Conversation,
        arenas: SharedArenas,
        *,
        hardware: Hardware,
        inputs: AttachedInputs,
        layouts: OutputLayouts,
        opened: OpenedMemory,
    ) -> None:
        self._talk, self._arenas, self._hardware = conversation, arenas, hardware
        self._inputs, self._layouts, self._opened = inputs, layouts, opened
        self._engines: CopyEngines | None = None
        self._page: tuple[int, memoryview] | None = None
        self._room = torch.empty(0, dtype=torch.uint8)
        self._follows: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._before: tuple[int, ...] = ()
        self._period_s, self._lost = _PERIOD_S, False
        self._chance = random.SystemRandom()

    def are_possible(self) -> bool:
        """Whether outputs like the newest can be looked at while they are written."""
        leaves = self._layouts.newest
        return (
            self._hardware.copy_engines() is not None
            and 0 < len(leaves) <= MOST_TENSORS
            and all(leaf.elements for leaf in leaves)
        )

    def take(
        self, staged: Sequence[Staged], *, seed: int, seconds: float, why: str, stop: Callable[[], None]
    ) -> tuple[Stepped, Done]:
        """Call on each, one by one; how long that took, and the `Done` of the last one. `seconds` bound each.

        `stop` is called as soon as that has come. `seen` then has what was read of that call.
        """
        self._lost = False
        number, words = self._attached()
        words[SHOWN] = words[ANSWERED] = 0
        self._engines = self._hardware.copy_engines()
        self._begin_looking(self._layouts.newest)
        self._talk.ask(Steps(seed=seed, page=number), Attending, seconds=seconds, why=why)
        took_s: list[float] = []
        besides_s: list[float] = []
        for call, one in enumerate(staged, 1):
            seen_s, answered_s = self._step(words, call, one, seconds, why)
            took_s.append(seen_s)
            besides_s.append(max(0.0, answered_s - seen_s))
        started = time.monotonic()
        self._hardware.touch()  # before it knows that there is no more: what waits on the device for a call is there
        touch_s = time.monotonic() - started
        words[SHOWN] = OVER
        done = self._talk.last_step(seconds=seconds, stop=stop)
        self._lost |= done.addresses[0] != self._before
        return Stepped(took_s, besides_s, touch_s, settled=not self._lost), done

    def seen(self, done: Done) -> ByAddress:
        """What was read of the last call, by address. Raises Unsettled where the output of any could not be read."""
        named, leaves = done.addresses[0], self._layouts.newest
        if self._lost:
            raise Unsettled
        found: ByAddress = {}
        look = self._room[-self._look_bytes :]
        for index, (address, leaf) in enumerate(zip(named, leaves, strict=True)):
            held = self._holding(address, leaf)
            assert held is not None
            source = Source(0, address, held.handle, held.raw[address - held.base :])
            words, elements = self._words_of(index, leaf, look)
            kept = kept_words(source, leaf, words, elements.to(self._hardware.device))
            found.setdefault(address, []).append(kept)
        return found

    # ---- before the calls --------------------------------------------------------------------------------------

    def _attached(self) -> tuple[int, memoryview]:
        if self._page is None:
            arena = HostArena(8 * (ADDRESSES + MOST_TENSORS))
            number, _ = self._arenas.attach(arena)
            self._page = number, arena.words()
        return self._page

    def _begin_looking(self, leaves: Layout) -> None:
        """Draw what is read of an output like these."""
        self._runs: list[_Run] = []
        at = 0
        for tensor, leaf in enumerate(leaves):
            for offset, width, pitch, height in _runs_of(leaf):
                self._runs.append(_Run(tensor, offset, width, pitch, height, at))
                at += width * height
        self._look_bytes = at
        if self._room.numel() < (_LOOKS + 1) * at:
            assert self._engines is not None
            self._room = self._engines.room((_LOOKS + 1) * at)
        self._numbers = self._room.numpy()

    # ---- a call ------------------------------------------------------------------------------------------------

    def _step(self, words: memoryview, number: int, staged: Staged, seconds: float, why: str) -> tuple[float, float]:
        """One call: seconds until its output was there, and until it was answered."""
        engines = self._engines
        assert engines is not None
        expected = self._follows.get(self._before, self._before)
        held = self._held(expected)
        first_s = self._chance.random() * self._period_s
        ended: list[float] = []
        now, wait, look = time.monotonic, engines.wait, self._look
        started = now()
        engines.queue_write(staged.host, staged.shown, staged.size)
        wait()
        words[SHOWN] = shown(number, staged.slot)
        shown_s = now()
        deadline, asked = shown_s + seconds, 0
        while now() < shown_s + first_s:
            pass
        while words[ANSWERED] != number:
            asked += 1
            if held is not None and len(ended) < _LOOKS:
                look(held, len(ended))
                wait()
                ended.append(now())
            if not asked % _ATTENTION:
                deadline = self._talk.attend(deadline, seconds, why)
        answered_s = now()
        named = tuple(words[ADDRESSES : ADDRESSES + min(words[TENSORS], MOST_TENSORS)])
        if (count := words[TENSORS]) != len(self._layouts.newest):
            raise LaidOutAnew(f"has {count} outputs, another number than it had described before")
        self._learn_period(ended)
        self._follows[self._before], self._before = named, named
        if named != expected or held is None:
            held, ended = self._held(named), []
        last = len(ended)
        if held is not None:
            look(held, _LOOKS)
            wait()
            ended.append(now())
            while last and self._is_last(last - 1):
                last -= 1
        else:
            self._lost = True
            ended.append(answered_s)
        return ended[last] - started, answered_s - started

    def _look(self, held: Sequence[int], place: int) -> None:
        """Have what is read of an output at these addresses copied to a place for that."""
        assert self._engines is not None
        queue, into = self._engines.queue_read, self._room.data_ptr() + self._place(place)
        for run in self._runs:
            queue(held[run.tensor] + run.offset, into + run.at, width=run.width, pitch=run.pitch, height=run.height)

    def _place(self, look: int) -> int:
        """Where a look begins; the last one ends with the room."""
        return look * self._look_bytes if look < _LOOKS else self._room.numel() - self._look_bytes

    def _is_last(self, look: int) -> bool:
        """Whether a look saw what the last one did."""
        at = self._place(look)
        one, last = self._numbers[at : at + self._look_bytes], self._numbers[-self._look_bytes :]
        return bool((one == last).all())

    def _learn_period(self, ended: Sequence[float]) -> None:
        if len(ended) > 1:
            self._period_s = 0.9 * self._period_s + 0.1 * (ended[-1] - ended[0]) / (len(ended) - 1)

    def _held(self, addresses: Sequence[int]) -> list[int] | None:
        """Where an output at these addresses of the worker is mapped here; None where not all of it is."""
        leaves = self._layouts.newest
        if len(addresses) != len(leaves):
            return None
        found = []
        for address, leaf in zip(addresses, leaves, strict=True):
            held = self._holding(address, leaf)
            if held is None:
                return None
            found.append(held.raw.data_ptr() + address - held.base)
        return found

    def _holding(self, address: int, leaf: TensorValue) -> Allocation | None:
        size = leaf.span * element_size(leaf.dtype)
        in_inputs = (held for held in self._inputs.allocations if held.holds(address, size))
        return self._opened.holding(address, size) or next(in_inputs, None)

    # ---- after the calls ---------------------------------------------------------------------------------------

    def _words_of(self, index: int, leaf: TensorValue, look: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Where in an output, in elements' widths, what was read of it lies, and that; a row for each."""
        width = element_size(leaf.dtype)
        words, elements = [], []
        for run in (run for run in self._runs if run.tensor == index):
            rows = torch.arange(run.height)[:, None] * run.pitch + torch.arange(0, run.width, width)
            words.append((rows.reshape(-1) + run.offset) // width)
            elements.append(look[run.at : run.at + run.size].view(-1, width))
        return torch.cat(words), torch.cat(elements)


def _runs_of(leaf: TensorValue) -> list[tuple[int, int, int, int]]:
    """What is read of a tensor: where a run begins, its width, the pitch of several, all in bytes, and how many."""
    width = element_size(leaf.dtype)
    size = leaf.span * width
    if size <= _WHOLE_BYTES:
        return [(0, size, size, 1)]
    once = [1 if stride == 0 else count for count, stride in zip(leaf.shape, leaf.strides, strict=True)]
    if torch.Size(once).numel() < _DENSE * leaf.span:
        places = [_random_place(once, leaf.strides) for _ in range(_SCATTERED)]
        return [(place * width, width, width, 1) for place in places]
    pitch = size // _RUNS // _RUN_BYTES * _RUN_BYTES
    first = secrets.randbelow((size - (_RUNS - 1) * pitch) // _RUN_BYTES) * _RUN_BYTES
    return [(first, _RUN_BYTES, pitch, _RUNS)]


def _random_place(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Where a random element lies, in elements."""
    return sum(secrets.randbelow(size) * stride for size, stride in zip(shape, strides, strict=True))
