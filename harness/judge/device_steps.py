"""Device steps: calls on a device that are shown one by one, each once the one before is answered, and timed by when
their outputs are there.

Contents come and outputs are read by the device's copy engines, which wait for nobody: a kernel of the judge's would
wait for a switch between contexts, some hundred times what such a call takes. What is read is read again and again from
where the output before lay, from before the worker is told on. A call is over when what was read is what it stays: who
answers too early has gained nothing, and who answers late does something else meanwhile.

How far apart the judge reads (9 to 12 us, H200, November 2026) is more than what tells two subjects apart, so the first
look comes at random within that: on average all are late by as much.
"""

import itertools
import os
import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from harness.backends.hardware import CopyEngines, Hardware
from harness.judge.attached_inputs import AttachedInputs
from harness.judge.failure import SubjectFailed
from harness.judge.inputs import Staged
from harness.judge.kept_outputs import ByAddress
from harness.judge.opened_memory import OpenedMemory
from harness.judge.output_layouts import Layout, OutputLayouts
from harness.judge.shared_arenas import SharedArenas
from harness.judge.snapshot import Allocation, Kept, Source, kept_words, once
from harness.judge.statistics import median
from harness.judge.subject import Stepped, Unsettled
from harness.judge.tensors import overlap
from harness.judge.worker_conversation import Conversation
from harness.transport.memory import element_size
from harness.transport.steps_page import ADDRESSES, ANSWERED, OVER, SEED, SHOWN, TENSORS, WORDS, shown
from harness.transport.values import TensorValue
from harness.transport.worker_messages import Attending, Done, Steps

_WHOLE_BYTES = 1 << 16
"""An output of no more is read whole each time, and written over before each call: what it was tells nothing then."""
_RUN_BYTES, _RUNS = 64, 64
"""Of a larger one so many to twice as many runs of so many bytes over all of it: how far apart and from where on is
drawn for each call, so that no order of writing has them first."""
COPIES_WITH_GAPS = 4
"""So many copies a look takes where elements of an output do not lie side by side, or outputs lie in several ways,
which share them, of either side's: a look tells when an output was there no better than the time that it takes. One
copy else."""
_MOST_TENSORS = 8
"""A look at more of them would take longer than a call."""
_LONGEST_PITCH = (1 << 31) - 1  # what the driver takes
_LOOKS = 128
"""So often an output is looked at before it is answered; a longer call is over when it is."""
_BEFORE, _LAST = _LOOKS, _LOOKS + 1
"""Where the look before a call lies, and the one after it was answered."""
_ATTENTION = 16
"""Looks between two questions whether the worker said something else."""
_PERIOD_S, _LONGEST_PERIOD_S, _KNOWN_LOOKS = 1e-5, 1e-4, 64
"""What is taken for the time of a look until it is known, and at most, by the median of so many."""
_MOST_FOLLOWERS = 1 << 10
"""So much is remembered of which output follows which; then it is learned anew."""


_Addresses = tuple[int, ...]
"""Of the tensors of an output, in order; below zero where one lies in the inputs of its call, by how far into these."""


@dataclass(frozen=True)
class _Run:
    """`height` runs of `width` bytes of a tensor, `pitch` bytes apart, from `offset` on, as it lies by one of the ways.

    `at` is where they are in a look.
    """

    way: int
    tensor: int
    offset: int
    width: int
    pitch: int
    height: int
    at: int

    @property
    def size(self) -> int:
        return self.width * self.height

    @property
    def reaches(self) -> int:
        return self.offset + self.pitch * (self.height - 1) + self.width


@dataclass(frozen=True)
class _Held:
    """Where a tensor is mapped here, how many bytes from there on, and where the memory begins that holds it."""

    address: int
    room: int
    begins: int

    def has_room_for(self, run: _Run) -> bool:
        return run.reaches <= self.room


@dataclass(frozen=True)
class _Seen:
    """What was read of a call's output after it was answered, by these runs; the addresses of its tensors, and where
    these are held.
    """

    named: _Addresses
    held: Sequence[_Held]
    runs: Sequence[_Run]
    look: torch.Tensor


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
        self._follows: dict[tuple[_Addresses, ...], _Addresses] = {}
        self._before: tuple[_Addresses, _Addresses] = ((), ())
        self._had: set[_Addresses] = set()
        self._looks_s: deque[float] = deque(maxlen=_KNOWN_LOOKS)
        self._lost = self._anew = False
        self._copies, self._deadline = 1, 0.0
        self._ways_read: list[Layout] = []
        self._seen: list[_Seen] = []
        self._noise = torch.empty(0, dtype=torch.uint8)
        self._chance = random.SystemRandom()
        self.spared: frozenset[int] = frozenset()
        """Which tensors of an output may be handed out again, and so are not written over."""

    def copies(self) -> int:
        """By how many copies outputs like the newest can be looked at while they are written; 0 where they cannot."""
        leaves = self._layouts.newest
        if self._hardware.copy_engines() is None or not 0 < len(leaves) <= _MOST_TENSORS or self._layouts.has_plain:
            return 0
        ways = self._ways()
        if not all(leaf.elements and not overlap(once(leaf), leaf.strides) for way in ways for leaf in way):
            return 0
        return COPIES_WITH_GAPS if len(ways) > 1 or any(map(_has_gaps, leaves)) else 1

    def _ways(self) -> list[Layout]:
        """How outputs are read: by the newest layout and by others that were described of as many tensors, but those
        without gaps, of the same words, by one.
        """
        newest = self._layouts.newest
        known = [newest, *self._layouts.alike(len(newest))]
        return list({tuple(map(_words_taken, layout)): layout for layout in reversed(known)}.values())[::-1]

    def take(
        self,
        staged: Sequence[Staged],
        *,
        seed: int,
        own_seeds: Sequence[int],
        copies: int,
        seconds: float,
        why: str,
        stop: Callable[[], None],
    ) -> tuple[Stepped, Done]:
        """Call on each, one by one; how long that took, and the `Done` of the last one. `seconds` bound all of them.
        Each tensor of an output is looked at by so many `copies`, and by more where it needs them. `own_seeds` are
        those of the calls where they have not all `seed`, else none.

        `stop` is called as soon as that has come. `seen` then has what was read of that call.
        """
        self._lost = self._anew = False
        self._seen.clear()
        number, words = self._attached()
        words[SHOWN] = words[ANSWERED] = 0
        self._engines, self._copies = self._hardware.copy_engines(), max(copies, self.copies())
        self._ways_read = self._ways()
        self._make_noise()
        self._looks_s.clear()
        self._before, self._had = ((), ()), set()
        if len(self._follows) > _MOST_FOLLOWERS:
            self._follows.clear()
        asked = time.monotonic()
        self._talk.ask(Steps(seed=None if own_seeds else seed, page=number), Attending, seconds=seconds, why=why)
        waited_s = time.monotonic() - asked
        took_s: list[float] = []
        besides_s: list[float] = []
        self._deadline = time.monotonic() + seconds
        for call, one in enumerate(staged, 1):
            own_seed = own_seeds[call - 1] if own_seeds else 0
            seen_s, answered_s = self._step(words, call, one, own_seed, seconds, why)
            took_s.append(seen_s)
            besides_s.append(max(0.0, answered_s - seen_s))
            if self._anew:
                break
        started = time.monotonic()
        self._hardware.touch()  # before it knows that there is no more: what waits on the device for a call is there
        touch_s = time.monotonic() - started
        asked = time.monotonic()
        words[SHOWN] = OVER
        done = self._talk.last_step(seconds=seconds, stop=stop)
        waited_s += time.monotonic() - asked
        if not self._anew and done.addresses[0] != self._answered:
            raise SubjectFailed("protocol", "named another output than it had answered the last call with")
        return Stepped(took_s, besides_s, touch_s, waited_s, settled=not self._lost, anew=self._anew), done

    def seen(self, done: Done) -> ByAddress:
        """What was read of the last call, by address. Raises Unsettled where the output of any could not be read."""
        named = done.addresses[0]
        if self._lost:
            raise Unsettled
        found: ByAddress = {}
        for way in range(len(self._ways_read)):
            for address, kept in zip(named, self._read_by(way, -1), strict=True):
                if kept is not None:
                    found.setdefault(address, []).append(kept)
        if not set(named) <= found.keys():
            raise Unsettled
        return found

    def seen_of(self, call: int) -> list[list[Kept]]:
        """What was read of the tensors of a call's output once it was answered, in each way in which that can be read
        in which outputs were described. Of rounds of which all could be read.
        """
        ways = [self._read_by(way, call) for way in range(len(self._ways_read))]
        found = (_laid_out(ways, layout) for layout in self._layouts.alike(len(self._seen[call].named)))
        return [kept for kept in found if kept is not None]

    def _read_by(self, way: int, call: int) -> list[Kept | None]:
        """As if it lay so; None where that tells of no element, or it has no room to lie so."""
        seen = self._seen[call]
        return [self._kept_of(seen, way, index, leaf) for index, leaf in enumerate(self._ways_read[way])]

    def _kept_of(self, seen: "_Seen", way: int, index: int, leaf: TensorValue) -> Kept | None:
        runs = [run for run in seen.runs if (run.way, run.tensor) == (way, index)]
        address, held = seen.named[index], self._holding(seen.named[index], leaf)
        if held is None or not all(map(seen.held[index].has_room_for, runs)):
            return None
        source = Source(0, address, held.handle, held.raw[address - held.base :])
        words, elements = _words_of(runs, seen.look, leaf)
        kept = kept_words(source, leaf, words, elements.to(self._hardware.device))
        return kept if kept.places is not None and len(kept.places) else None

    def close(self) -> None:
        """Unmap the page. The worker may be at its end by then."""
        if self._page is not None:
            self._page[1].release()
            self._page = None

    # ---- before the calls --------------------------------------------------------------------------------------

    def _attached(self) -> tuple[int, memoryview]:
        if self._page is None:
            self._page = self._arenas.attach_words(8 * WORDS)
        return self._page

    def _draw_runs(self) -> None:
        """Draw what is read of an output, in each of the ways in which it may lie."""
        self._runs: list[_Run] = []
        at = 0
        each, more = divmod(self._copies, len(self._ways_read))
        for number, way in enumerate(self._ways_read):
            copies = max(1, each + (number < more))
            for tensor, leaf in enumerate(way):
                for offset, width, pitch, height in runs_of(leaf, self._chance, copies):
                    self._runs.append(_Run(number, tensor, offset, width, pitch, height, at))
                    at += width * height
        self._look_bytes = at
        if self._room.numel() < (_LAST + 1) * at:
            assert self._engines is not None
            self._room = self._engines.room((_LAST + 1) * at)
            self._numbers = self._room.numpy()

    # ---- a call ------------------------------------------------------------------------------------------------

    def _step(
        self, words: memoryview, number: int, staged: Staged, own_seed: int, seconds: float, why: str
    ) -> tuple[float, float]:
        """One call: seconds until its output was there, and until it was answered. Where nothing tells of the output,
        which lies elsewhere than those before let expect, or is the same as before, it is over once it was read.
        """
        engines = self._engines
        assert engines is not None
        self._draw_runs()
        follower = self._expected()
        expected = self._absolute(follower, staged)
        held = self._held(expected)
        if held is not None:
            if follower in self._had:  # before this round it was another call's, and may be a weight's by now
                self._write_over(follower, [one.address for one in held])
            self._look(held, _BEFORE)
        first_s = self._chance.random() * self._period_s()
        ended: list[float] = []
        now, wait, look = time.monotonic, engines.wait, self._look
        wait()
        started = now()
        self._show(staged)
        words[SEED] = own_seed  # no sooner: what it decides can be drawn while contents come
        words[SHOWN] = shown(number, staged.slot)
        shown_s, asked = now(), 0
        while (began := now()) < shown_s + first_s:
            pass
        while words[ANSWERED] != number:
            asked += 1
            if held is not None and len(ended) < _LOOKS:
                look(held, len(ended))
                wait()
                ended.append(ends := now())
                self._looks_s.append(ends - began)
                began = ends
            if not asked % _ATTENTION:
                self._deadline = self._talk.attend(self._deadline, seconds, why)
                began = now()
        answered_s = now()
        count = words[TENSORS]
        self._answered = named = tuple(words[ADDRESSES : ADDRESSES + min(count, _MOST_TENSORS)])
        relative = self._relative(named, staged)
        self._follows[self._before] = self._follows[self._before[1:]] = relative
        self._before = self._before[1], relative
        self._had.add(relative)
        self._anew = count != len(self._layouts.newest)
        was_looked_at = held is not None and named == expected
        held = held if was_looked_at else self._held(named)
        if held is None:
            self._lost = True
            return answered_s - started, answered_s - started
        look(held, _LAST)
        wait()
        ended.append(now())
        self._seen.append(_Seen(named, held, self._runs, torch.from_numpy(self._seen_at(_LAST).copy())))
        over_s = self._over_s(ended, held) if was_looked_at else ended[-1]
        return over_s - started, answered_s - started

    def _show(self, staged: Staged) -> None:
        """Show a call's contents, and return once they are there."""
        assert self._engines is not None
        if staged.reveal is not None:
            staged.reveal()
            self._hardware.wait()
        else:
            self._engines.queue_write(staged.host, staged.shown, staged.size)
            self._engines.wait()

    def _over_s(self, ended: Sequence[float], held: Sequence[_Held]) -> float:
        """When a call was over whose looks ended at these times, the last one after it was answered."""
        tells = [slice(run.at, run.at + run.size) for run in self._runs if held[run.tensor].has_room_for(run)]
        parts = [slice(0, self._look_bytes)] if len(tells) == len(self._runs) else tells
        last = self._seen_at(_LAST)

        def is_last(look: int) -> bool:
            seen = self._seen_at(look)
            return all(np.array_equal(seen[part], last[part]) for part in parts)

        if is_last(_BEFORE):
            return ended[-1]
        look = len(ended) - 1
        while look and is_last(look - 1):
            look -= 1
        return ended[look]

    def _look(self, held: Sequence[_Held], place: int) -> None:
        """Have what is read of an output at these addresses copied to a place for that.

        As much of the memory's end where a run has no room: who lays outputs out so would be looked at faster.
        """
        assert self._engines is not None
        queue, into = self._engines.queue_read, self._room.data_ptr() + place * self._look_bytes
        for run in self._runs:
            at = held[run.tensor]
            if at.has_room_for(run):
                queue(at.address + run.offset, into + run.at, width=run.width, pitch=run.pitch, height=run.height)
            else:
                end = at.address + at.room
                if at.begins + run.size <= end:
                    queue(end - run.size, into + run.at, width=run.width, pitch=run.width, height=run.height)

    def _seen_at(self, place: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
        seen: np.ndarray[Any, np.dtype[np.uint8]] = self._numbers[place * self._look_bytes :][: self._look_bytes]
        return seen

    def _expected(self) -> _Addresses:
        """Where the next output lies, by what followed the two before, or the one before."""
        last = self._before[1]
        return self._follows.get(self._before, self._follows.get((last,), last))

    def _relative(self, named: _Addresses, staged: Staged) -> _Addresses:
        """The same with places in the inputs of this call in the place of addresses there."""
        begins = self._slot_begins(staged)
        return tuple(begins - address - 1 if 0 <= address - begins < staged.size else address for address in named)

    def _absolute(self, named: _Addresses, staged: Staged) -> _Addresses:
        begins = self._slot_begins(staged)
        return tuple(begins - address - 1 if address < 0 else address for address in named)

    def _slot_begins(self, staged: Staged) -> int:
        """Where the worker sees the inputs of this call."""
        base = next((held.base for held in self._inputs.allocations), 0)
        return base + staged.slot * staged.size

    def _make_noise(self) -> None:
        assert self._engines is not None
        if not self._noise.numel():
            self._noise = self._engines.room(_WHOLE_BYTES)
        # By no generator that contents are drawn by: whose state this would tell.
        self._noise.numpy()[:] = np.frombuffer(os.urandom(_WHOLE_BYTES), dtype=np.uint8)

    def _write_over(self, named: _Addresses, held: Sequence[int]) -> None:
        """Write over small outputs of a call before, in memory of their own and without gaps: where the next one is
        the same it is there once it was written again. Who looks what was written over learns nothing: all of it is.
        """
        assert self._engines is not None
        for place, (address, mapped, leaf) in enumerate(zip(named, held, self._layouts.newest, strict=True)):
            size = leaf.span * element_size(leaf.dtype)
            even = size // 2 * 2  # CudaCopies writes in halves
            is_small = 0 < even <= _WHOLE_BYTES and not _has_gaps(leaf)
            if is_small and place not in self.spared and self._opened.holding(address, size) is not None:
                self._engines.queue_write(self._noise.data_ptr(), mapped, even)

    def _period_s(self) -> float:
        """What a look takes. What a host does to one of them is none of it."""
        return min(median(self._looks_s), _LONGEST_PERIOD_S) if self._looks_s else _PERIOD_S

    def _held(self, addresses: Sequence[int]) -> list[_Held] | None:
        """Where an output at these addresses of the worker is mapped here; None where not all of it is, however it may
        lie.
        """
        if len(addresses) != len(self._layouts.newest):
            return None
        found = []
        for address, as_it_lies in zip(addresses, zip(*self._ways_read, strict=True), strict=True):
            held = self._holding(address, min(as_it_lies, key=lambda leaf: leaf.span * element_size(leaf.dtype)))
            if held is None:
                return None
            offset = address - held.base
            begins = held.raw.data_ptr()
            found.append(_Held(begins + offset, held.raw.numel() - offset, begins))
        return found

    def _holding(self, address: int, leaf: TensorValue) -> Allocation | None:
        size = leaf.span * element_size(leaf.dtype)
        in_inputs = (held for held in self._inputs.allocations if held.holds(address, size))
        return self._opened.holding(address, size) or next(in_inputs, None)


def _words_taken(leaf: TensorValue) -> tuple[object, ...]:
    """Which words of memory a tensor takes."""
    how = (tuple(leaf.shape), tuple(leaf.strides)) if _has_gaps(leaf) else leaf.span
    return element_size(leaf.dtype), how


def _laid_out(ways: Sequence[Sequence[Kept | None]], layout: Layout) -> list[Kept] | None:
    """What was read in the first of several ways that tells of all tensors as if they were laid out so."""
    for way in ways:
        fitting = (one and one.as_laid_out(leaf) for one, leaf in zip(way, layout, strict=True))
        kept = [one for one in fitting if one is not None]
        if len(kept) == len(layout):
            return kept
    return None


def _words_of(runs: Sequence[_Run], look: torch.Tensor, leaf: TensorValue) -> tuple[torch.Tensor, torch.Tensor]:
    """Where in an output, in elements' widths, what was read of it lies, and that; a row for each."""
    width = element_size(leaf.dtype)
    words, elements = [], []
    for run in runs:
        rows = torch.arange(run.height)[:, None] * run.pitch + torch.arange(0, run.width, width)
        words.append((rows.reshape(-1) + run.offset) // width)
        elements.append(look[run.at : run.at + run.size].view(-1, width))
    return torch.cat(words), torch.cat(elements)


def runs_of(leaf: TensorValue, chance: random.Random, copies: int = 1) -> list[tuple[int, int, int, int]]:
    """What is read of a tensor by so many copies: where a run begins, its width, the pitch of several, all in bytes,
    and how many. None of them lies between elements, but where all is read.
    """
    width = element_size(leaf.dtype)
    size = leaf.span * width
    if size <= _WHOLE_BYTES:
        borders = [size // width * part // copies * width for part in range(copies + 1)]
        return [(start, end - start, end - start, 1) for start, end in itertools.pairwise(borders) if end > start]
    inner, levels = _rows_of(leaf)
    if not levels:
        return [_line(size, width, max(1, _RUNS // copies), chance) for _ in range(copies)]
    stride, rows = max(levels, key=lambda level: level[1])
    others = [level for level in levels if level[0] != stride]
    starts = [width * sum(chance.randrange(count) * apart for apart, count in others) for _ in range(copies)]
    return [_slope(start, inner * width, stride * width, rows, width, chance) for start in starts]


def _line(size: int, width: int, count: int, chance: random.Random) -> tuple[int, int, int, int]:
    """`count` to twice as many runs over so many bytes without gaps, of elements of a width."""
    run = min(_RUN_BYTES, size) // width * width
    pitch = max(run, chance.randint(size // (2 * count), size // count) // width * width)
    first = chance.randrange(min(pitch, size - run + 1)) // width * width
    return _runs(first, run, pitch, 1 + (size - run - first) // pitch, chance)


def _slope(
    start: int, inner: int, stride: int, rows: int, width: int, chance: random.Random
) -> tuple[int, int, int, int]:
    """A run in every so-manieth of rows that are `stride` bytes apart and have `inner` each, from a random column in
    the first of them to one in the last.
    """
    run = min(_RUN_BYTES, inner) // width * width
    step = chance.randint(1, max(1, rows // _RUNS))
    first = chance.randrange(min(step, rows))
    count = min(2 * _RUNS, 1 + (rows - 1 - first) // step)
    first += chance.randrange(rows - first - (count - 1) * step)
    column, last = (chance.randrange((inner - run) // width + 1) for _ in range(2))
    further = (last - column) // (count - 1) if count > 1 else 0
    if further < 0:  # towards zero, or the last one would lie before the row
        further = -((column - last) // (count - 1))
    return _runs(start + first * stride + column * width, run, step * stride + further * width, count, chance)


def _runs(first: int, run: int, pitch: int, count: int, chance: random.Random) -> tuple[int, int, int, int]:
    """So many runs, or one of them, whichever, where no copy has such a pitch."""
    if count > 1 and run <= pitch <= _LONGEST_PITCH:
        return first, run, pitch, count
    return first + chance.randrange(count) * pitch, run, run, 1


def _has_gaps(leaf: TensorValue) -> bool:
    """Whether elements of a tensor, none of which lies over another, do not all lie side by side."""
    return bool(_rows_of(leaf)[1])


def _rows_of(leaf: TensorValue) -> tuple[int, list[tuple[int, int]]]:
    """How many elements lie side by side, and how these lie: strides in elements and how often, the smallest first."""
    inner, levels = 1, list[tuple[int, int]]()
    for stride, count in sorted(zip(leaf.strides, leaf.shape, strict=True)):
        if count == 1 or stride == 0:
            continue
        if not levels and stride == inner:
            inner *= count
        elif levels and stride == levels[-1][0] * levels[-1][1]:
            levels[-1] = levels[-1][0], levels[-1][1] * count
        else:
            levels.append((stride, count))
    return inner, levels
