"""Calls on a device that come one by one: both ends of it in two threads, over memory of the host's."""

import ctypes
import gc
import itertools
import os
import random
import sys
import threading
import time
from contextlib import closing
from types import SimpleNamespace

import pytest
import torch

from harness.judge import device_steps, inputs
from harness.judge.device_steps import DeviceSteps
from harness.judge.failure import SubjectFailed
from harness.judge.inputs import InputSets
from harness.judge.output_layouts import OutputLayouts
from harness.judge.snapshot import Allocation
from harness.judge.subject import Unsettled
from harness.transport.memory import HostArena
from harness.transport.values import TensorValue
from harness.transport.worker_messages import Attending, Done
from harness.worker import serve

LATE_S = 0.02


class Engines:
    """Copies at once."""

    def __init__(self):
        self.reads = 0

    def room(self, size):
        return torch.zeros(size, dtype=torch.uint8)

    def queue_write(self, host, device, size):
        ctypes.memmove(device, host, size)

    def queue_read(self, device, host, *, width, pitch, height):
        self.reads += 1
        for row in range(height):
            ctypes.memmove(host + row * width, device + row * pitch, width)

    def wait(self):
        time.sleep(1e-4)  # lets the other thread run


class Talk:
    """The other end, in a thread once calls are announced."""

    def __init__(self, server):
        self.server, self.page, self.raised = server, None, []

    def ask(self, request, kind, **_):
        def run():
            try:
                self.done = self.server._call_at_sight(self.page, request.seed)
            except Exception as error:  # noqa: BLE001
                self.raised.append(error)

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()
        return Attending()

    def attend(self, deadline, seconds, why):
        if self.raised or time.monotonic() > deadline:
            raise SubjectFailed("exception", str(*self.raised) or f"timeout: {why}")
        return deadline

    def last_step(self, *, seconds, stop):
        self.thread.join(seconds)
        stop()
        return self.done


@pytest.fixture(autouse=True)
def _turns_are_short():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(before)


def layout_of(value):
    return TensorValue(
        dtype=str(value.dtype).removeprefix("torch."),
        shape=tuple(value.shape),
        strides=tuple(value.stride()),
        offset=0,
    )


def laid_out_like(*outputs):
    layouts = OutputLayouts()
    for at, output in enumerate(outputs):
        layouts._remember((at,), tuple(layout_of(value) for value in output))
    return layouts


def seen_at(address, size):
    return torch.frombuffer((ctypes.c_ubyte * size).from_address(address), dtype=torch.uint8)


def in_one_of(outputs):
    """What holds a range of memory, where one of these outputs does."""
    storages = [one.untyped_storage() for one in outputs]
    held = [Allocation(one.data_ptr(), one.nbytes(), "ab", seen_at(one.data_ptr(), one.nbytes())) for one in storages]
    return lambda address, size: next((one for one in held if one.holds(address, size)), None)


class Stage:
    """A model on both sides of the page. `like` is an output of it; `maps` says which addresses are mapped here."""

    def __init__(self, model, *, like, shape=(64,), calls=6, maps=lambda address: True):
        self.sets = InputSets([torch.zeros(shape)], calls, HostArena)
        self.sets._apart = torch.full_like(self.sets._raw, 0xA5)
        self.sets._make_room()
        for slot in range(calls):
            self.sets.write(slot, [torch.rand(shape)])
        server = serve.Server(SimpleNamespace())
        server._model = model
        server._inputs = [self.sets.arguments(slot) for slot in range(calls)]
        self.talk, self.engines, self.stopped = Talk(server), Engines(), []

        def holding(address, size):
            return Allocation(address, size, "ab", seen_at(address, size)) if maps(address) else None

        def attach_words(size):
            with closing(HostArena(size)) as arena:
                self.talk.page = arena.words()
            return 7, self.talk.page

        self.steps = DeviceSteps(
            self.talk,
            SimpleNamespace(attach_words=attach_words),
            hardware=SimpleNamespace(copy_engines=lambda: self.engines, touch=lambda: None, device=torch.device("cpu")),
            inputs=SimpleNamespace(allocations=[]),
            layouts=laid_out_like(like),
            opened=SimpleNamespace(holding=holding),
        )

    def take(self, *, seconds=10.0, copies=None, own_seeds=()):
        staged, copies = self.sets.stage(range(self.sets.count)), copies or self.steps.copies() or 1
        stop = lambda: self.stopped.append(True)  # noqa: E731
        seeds = {"seed": 1, "own_seeds": own_seeds}
        return self.steps.take(staged, **seeds, copies=copies, seconds=seconds, why="", stop=stop)

    def last(self):
        return self.sets.arguments(self.sets.count - 1)[0]


def test_contents_come_call_by_call_and_what_is_seen_of_the_last_one_is_its_output():
    seen = []

    def model(x):
        seen.append(x.clone())
        return x * 2

    stage = Stage(model, like=[torch.zeros(64)])
    stepped, done = stage.take()
    assert stepped.settled
    assert stage.stopped == [True]
    assert len(stepped.call_s) == len(stepped.besides_s) == 6
    assert all(torch.equal(one, stage.sets.arguments(slot)[0]) for slot, one in enumerate(seen))
    (kept,) = stage.steps.seen(done)[done.addresses[0][0]]
    sampled = kept.sampled()
    assert torch.equal(sampled.values, (stage.last() * 2)[sampled.places])


def test_of_each_call_it_is_kept_what_its_output_was_when_it_was_answered():
    held = torch.zeros(64)
    stage = Stage(lambda x: torch.mul(x, 2, out=held), like=[held])
    stage.take()
    for call in range(6):
        ((kept,),) = stage.steps.seen_of(call)
        sampled = kept.sampled()
        assert torch.equal(sampled.values, (stage.sets.arguments(call)[0] * 2)[sampled.places])


def test_what_was_kept_of_a_call_is_read_in_every_way_in_which_outputs_lie_in_the_same_memory():
    held = torch.zeros(8, 8)
    stage = Stage(lambda x: torch.mul(x, 2, out=held.t()), like=[held.t()], shape=(8, 8))
    for at, way in enumerate((torch.zeros(8, 128)[:, :8], held, held.t())):  # of the first little was read
        stage.steps._layouts._remember((at,), (layout_of(way),))
    stage.take()
    ways = [one.sampled() for (one,) in stage.steps.seen_of(2)]
    x, flat = stage.sets.arguments(2)[0] * 2, torch.arange(64)
    read = [torch.empty(64).index_put((way.places,), way.values).view(8, 8) for way in ways]
    assert all(torch.equal(way.places.sort().values, flat) for way in ways)
    assert [torch.equal(one, x) for one in read] == [False, True]
    assert torch.equal(read[0], x.t())


def test_outputs_that_lie_with_other_gaps_in_every_call_are_read_in_each_of_these_ways():
    """One that pads its rows now more and now less was refused on a device, for its last call lay otherwise."""
    padded = [torch.zeros(256, width)[:, :80] for width in (80, 112, 144)]
    turns = itertools.cycle(padded)
    stage = Stage(lambda x: torch.mul(x, 2, out=next(turns)), like=[padded[0]], shape=(256, 80))
    stage.steps._opened.holding = in_one_of(padded)
    for at, way in enumerate(padded[1:], 1):
        stage.steps._layouts._remember((at,), (layout_of(way),))
    assert stage.steps.copies() == device_steps.COPIES_WITH_GAPS  # else a candidate could make looks take long
    real, reads = stage.steps._look, []

    def look(held, place):
        before = stage.engines.reads
        real(held, place)
        reads.append(stage.engines.reads - before)

    stage.steps._look = look
    stepped, done = stage.take()
    assert stepped.settled
    assert set(reads) == {device_steps.COPIES_WITH_GAPS}  # of an output without room for all of these ways, too
    for call in range(6):
        lies = [way for (way,) in stage.steps.seen_of(call) if way.layout.strides == padded[call % 3].stride()]
        x = (stage.sets.arguments(call)[0] * 2).flatten()
        sampled = lies[0].sampled()
        assert len(sampled.places)
        assert torch.equal(sampled.values, x[sampled.places])
    strides = {kept.layout.strides for kept in stage.steps.seen(done)[done.addresses[0][0]]}
    assert strides == {way.stride() for way in padded}  # the last one has room for all of these


def test_contents_of_later_calls_are_not_there_before_those_before_are_answered():
    stage = Stage(lambda x: x * 2, like=[torch.zeros(64)])
    shown = []

    def model(x):
        shown.append(sum(float(stage.sets.arguments(slot)[0].sum()) > 0 for slot in range(6)))
        return x * 2

    stage.sets._raw.fill_(0)
    stage.talk.server._model = model
    stage.take()
    assert shown == [1, 2, 3, 4, 5, 6]


def test_a_call_is_over_once_its_output_is_there_and_what_is_done_until_it_is_answered_is_told_apart():
    held = torch.zeros(64)

    def model(x):
        torch.mul(x, 2, out=held)
        time.sleep(LATE_S)
        return held

    stepped, _ = Stage(model, like=[held]).take()
    assert max(stepped.call_s[1:]) < LATE_S
    assert min(stepped.besides_s[1:]) > LATE_S / 2


def test_who_answers_before_its_output_is_there_has_an_output_that_was_not_there():
    held = torch.zeros(64)

    def model(x):
        threading.Timer(LATE_S, lambda: torch.mul(x, 2, out=held)).start()
        return held

    stage = Stage(model, like=[held])
    _, done = stage.take()
    (kept,) = stage.steps.seen(done)[done.addresses[0][0]]
    assert not torch.equal(kept.sampled().values, stage.last() * 2)
    time.sleep(2 * LATE_S)


def test_outputs_that_take_turns_are_looked_at_where_the_next_one_lies():
    both, turn = [torch.zeros(64), torch.zeros(64)], [0]

    def model(x):
        turn[0] += 1
        at = both[turn[0] % 2]
        torch.mul(x, 2, out=at)
        time.sleep(LATE_S)
        return at

    stepped, _ = Stage(model, like=both[:1]).take()
    assert max(stepped.call_s[3:]) < LATE_S  # the first two are not known, nor what follows the second


def test_an_output_where_nothing_is_mapped_leaves_the_round_open_be_it_of_one_call_alone():
    outputs = [torch.zeros(64) for _ in range(6)]
    places = iter(range(6))
    elsewhere = outputs[2].data_ptr()
    stage = Stage(lambda x: outputs[next(places)], like=outputs[:1], maps=lambda address: address != elsewhere)
    stepped, done = stage.take()
    assert not stepped.settled
    with pytest.raises(Unsettled):
        stage.steps.seen(done)


def test_another_number_of_outputs_is_another_layout_and_ends_the_round():
    stepped, done = Stage(lambda x: (x * 2, x * 3), like=[torch.zeros(64)]).take()
    assert stepped.anew
    assert len(stepped.call_s) == 1
    assert len(done.addresses[0]) == 2


def test_a_candidate_that_raises_in_a_call_has_failed():
    def model(x):
        raise ValueError("not today")

    with pytest.raises(SubjectFailed, match="not today"):
        Stage(model, like=[torch.zeros(64)]).take()


def test_a_call_has_a_deadline():
    stage = Stage(lambda x: time.sleep(10 * LATE_S) or x, like=[torch.zeros(64)])
    with pytest.raises(SubjectFailed, match="timeout"):
        stage.take(seconds=LATE_S)
    stage.talk.page[0] = device_steps.OVER
    stage.talk.thread.join()


def test_another_output_than_the_one_that_was_answered_is_a_failure():
    """It left the round open, when the candidate knew already that it had lost it: sixteen times faster for nothing."""
    stage = Stage(lambda x: x * 2, like=[torch.zeros(64)])
    last_step = stage.talk.last_step
    stage.talk.last_step = lambda **named: Done(((last_step(**named).addresses[0][0] + 64,),))
    with pytest.raises(SubjectFailed, match="named another output than it had answered"):
        stage.take()


def test_outputs_that_take_turns_unevenly_are_looked_at_where_the_next_one_lies():
    three, turn = [torch.zeros(64) for _ in range(2)], [0]

    def model(x):
        at = three[turn[0] % 3 // 2]
        turn[0] += 1
        torch.mul(x, 2, out=at)
        time.sleep(LATE_S)
        return at

    stepped, _ = Stage(model, like=three[:1], calls=9).take()
    assert max(stepped.call_s[6:]) < LATE_S


def test_an_output_that_is_the_same_as_before_takes_until_it_is_answered():
    held = torch.ones(64)

    def model(x):
        time.sleep(LATE_S)
        return held

    stepped, _ = Stage(model, like=[held]).take()
    assert min(stepped.call_s[1:]) > LATE_S


def test_a_look_that_a_host_makes_late_does_not_make_the_first_ones_later():
    stage = Stage(lambda x: x * 2, like=[torch.zeros(64)])
    wait, count = stage.engines.wait, [0]

    def late():
        count[0] += 1
        wait()
        if count[0] == 4:
            time.sleep(10 * LATE_S)

    stage.engines.wait = late
    stage.take()
    assert stage.steps._period_s() <= device_steps._LONGEST_PERIOD_S


def test_a_worker_that_is_late_to_look_sees_the_first_call_all_the_same():
    """It takes what it finds first for a call, however late it looks: the judge wrote that there is none before."""
    stage = Stage(lambda x: x * 2, like=[torch.zeros(64)])
    call = stage.talk.server._call_at_sight
    stage.talk.server._call_at_sight = lambda words, seed: time.sleep(2 * LATE_S) or call(words, seed)
    stepped, _ = stage.take(seconds=20 * LATE_S)
    assert len(stepped.call_s) == 6


def test_no_descriptor_is_kept_of_what_calls_are_asked_for_by():
    stages = [Stage(lambda x: x * 2, like=[torch.zeros(64)], calls=2) for _ in range(3)]
    gc.collect()  # of tests before
    before = len(os.listdir("/proc/self/fd"))
    for stage in stages:
        stage.take()
        stage.steps.close()
        stage.talk.page = None
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    "lay_out",
    [
        lambda x: x,
        lambda x: x.t(),
        lambda x: torch.cat([x, x], 1)[:, : x.shape[1] // 2],
        lambda x: x[:, :1].expand(x.shape),
        lambda x: x.double(),
        lambda x: x > 0.5,
    ],
    ids=["plain", "transposed", "with-gaps", "expanded", "doubles", "bools"],
)
@pytest.mark.parametrize("size", [16, 300])
def test_what_is_read_of_an_output_are_its_elements_however_it_lies(lay_out, size):
    value = lay_out(torch.rand(size, size))
    stage = Stage(lambda x: value, like=[value], calls=2)
    stage.steps.spared = frozenset({0})
    _, done = stage.take()
    (kept,) = stage.steps.seen(done)[done.addresses[0][0]]
    sampled = kept.sampled()
    assert len(sampled.places) >= 16
    assert torch.equal(sampled.values, value.reshape(-1)[sampled.places])


@pytest.mark.parametrize(
    "value",
    [
        torch.empty(1_000_003),
        torch.empty(1024, 1024)[:, :900],
        torch.empty(512, 3, 256)[:, 1],
        torch.empty(64, 8, 64, 32)[:, :6, :48],
        torch.empty(3, 200_000)[:, :100_001],
        torch.empty(30_000, 64)[:, 7],
        torch.empty(300, 300, dtype=torch.complex128),
        torch.empty(1000, 100, 3, dtype=torch.bool).transpose(0, 2),
    ],
    ids=["plain", "columns", "a-third", "two-gaps", "few-rows", "one-column", "complex", "bools"],
)
def test_what_is_read_of_a_large_output_is_spread_over_all_of_it_anew_for_each_call(value):
    """None of it lies between elements, however they lie: an order of writing that has what is read first would do."""
    leaf, width = layout_of(value), value.element_size()
    taken = torch.zeros(leaf.span * width, dtype=torch.bool)
    offsets = torch.zeros(1, dtype=torch.int64)
    for size, stride in zip(value.shape, value.stride(), strict=True):
        offsets = (offsets[:, None] + torch.arange(size) * stride).reshape(-1)
    taken.view(-1, width)[offsets] = True
    chance = random.Random(1)
    drawn = [device_steps.runs_of(leaf, chance, device_steps.COPIES_WITH_GAPS) for _ in range(30)]
    assert len({tuple(runs) for runs in drawn}) > 25
    assert {len(runs) for runs in drawn} == {device_steps.COPIES_WITH_GAPS}
    first_half = []
    for runs in drawn:
        places = [
            offset + row * pitch + byte
            for offset, run, pitch, height in runs
            for row in range(height)
            for byte in range(run)
        ]
        assert max(places) < len(taken)
        assert bool(taken[places].all())
        assert all(pitch >= run for _, run, pitch, height in runs if height > 1)
        first_half.append(sum(place < len(taken) / 2 for place in places) / len(places))
    assert 0.3 < sum(first_half) / len(first_half) < 0.7


@pytest.mark.parametrize("assumed", [64, 97, 128])
def test_no_order_of_writing_has_what_is_read_of_a_call_first(assumed):
    """Who writes all that lies so far apart, and then all a little further on, had a random share of it first."""
    leaf = layout_of(torch.empty(1 << 18))
    size, chance, shares = leaf.span * 4, random.Random(1), []
    apart = size // assumed // 4 * 4
    for _ in range(40):
        ((first, run, pitch, height),) = device_steps.runs_of(leaf, chance)
        shares.append(max((first + row * pitch + run - 1) % apart / apart for row in range(height)))
    assert sorted(shares)[len(shares) // 2] > 0.95


@pytest.mark.parametrize(
    "value",
    [
        torch.empty(2_000_000, dtype=torch.bfloat16),
        torch.empty(2, 1_000_064)[:, :1_000_000],
        torch.empty(8, 50304)[:, :50257],
        torch.empty(40, 5008)[:, :5000],
        torch.empty(300, 1008)[:, :1000],
    ],
    ids=["plain", "two-rows", "eight-rows", "forty-rows", "many-rows"],
)
def test_nothing_of_an_output_is_never_read_and_nothing_of_it_always(value):
    """A start that was drawn from what a division left over let 0.02% of an output be all that was ever read."""
    leaf, width, chance = layout_of(value), value.element_size(), random.Random(1)
    parts = 64
    read = [0] * parts
    for _ in range(200):
        seen = {
            (offset + row * pitch) % (leaf.strides[0] * width if value.dim() > 1 else leaf.span * width)
            for offset, _, pitch, height in device_steps.runs_of(leaf, chance, device_steps.COPIES_WITH_GAPS)
            for row in range(height)
        }
        size = (leaf.shape[1] if value.dim() > 1 else leaf.span) * width
        for part in {place * parts // size for place in seen}:
            read[min(part, parts - 1)] += 1
    assert min(read[:-1]) > 0
    assert len({tuple(device_steps.runs_of(leaf, chance, 1)) for _ in range(100)}) > 95


def test_outputs_that_lie_over_each_other_are_not_looked_at_and_no_copy_has_a_pitch_that_the_driver_refuses():
    windows = torch.rand(32, 1000).unfold(1, 16, 1)
    assert Stage(lambda x: windows, like=[windows]).steps.copies() == 0
    far = TensorValue(dtype="float32", shape=(17, 64), strides=(700_000_000, 1), offset=0)
    for _ in range(20):
        ((_, run, pitch, height),) = device_steps.runs_of(far, random.Random(1))
        assert (run, height) == (pitch, 1)


def test_an_output_at_a_place_that_nothing_foretells_is_over_once_it_was_read():
    """Who answers before it is there gained what the judge takes to read it."""
    pool = [torch.zeros(64) for _ in range(6)]
    places = iter(pool)

    def model(x):
        return torch.mul(x, 2, out=next(places))

    stage = Stage(model, like=pool[:1])
    wait = stage.engines.wait
    stage.engines.wait = lambda: (wait(), time.sleep(LATE_S))
    stepped, _ = stage.take()
    assert min(stepped.besides_s) == 0.0
    assert min(stepped.call_s) > 2 * LATE_S  # showing, and reading


def test_calls_have_the_seeds_that_come_with_them():
    drawn = []

    def model(x):
        drawn.append(torch.rand(64))
        return x + drawn[-1]

    Stage(model, like=[torch.zeros(64)]).take(own_seeds=[1, 2, 3, 1, 2, 3])
    assert torch.equal(drawn[0], drawn[3])
    assert not torch.equal(drawn[0], drawn[1])


def test_outputs_with_numbers_beside_tensors_are_not_looked_at():
    """These are named after the last call alone."""
    stage = Stage(lambda x: x, like=[torch.zeros(64)])
    stage.steps._layouts.has_plain = True
    assert stage.steps.copies() == 0


@pytest.mark.parametrize("size", [64, 63])
def test_what_a_call_does_not_write_is_in_no_small_output(size):
    """The first call wrote what is the same in all outputs, and none after it."""
    held, called = torch.full((size,), 7, dtype=torch.uint8), []

    def model(x):
        if not called:
            held[size // 2 :] = 0
        called.append(1)
        held[: size // 2] = len(called)
        return held

    stage = Stage(model, like=[held])
    _, done = stage.take()
    (kept,) = stage.steps.seen(done)[done.addresses[0][0]]
    sampled = kept.sampled()
    assert sampled.values[sampled.places >= size // 2].any()


@pytest.mark.parametrize("why", ["spared", "large", "in the inputs"])
def test_outputs_that_are_not_the_calls_alone_are_not_written_over(why):
    held = torch.zeros(64 if why != "large" else 1 << 15)
    stage = Stage(lambda x: x if why == "in the inputs" else held, like=[held])
    stage.steps.spared = frozenset({0} if why == "spared" else ())
    if why == "in the inputs":
        raw = stage.sets._raw
        stage.steps._inputs.allocations = [Allocation(raw.data_ptr(), raw.numel(), "", raw)]
    _, done = stage.take()
    (kept,) = stage.steps.seen(done)[done.addresses[0][0]]
    wanted = stage.last() if why == "in the inputs" else held
    sampled = kept.sampled()
    assert torch.equal(sampled.values, wanted[sampled.places])


def test_an_output_that_stays_the_same_is_over_once_it_was_written_again():
    """Nothing told of it, and who filled its other buffer with something else first seemed faster."""
    held = torch.ones(64)

    def model(x):
        held.fill_(1)
        time.sleep(LATE_S)
        return held

    stepped, _ = Stage(model, like=[held]).take()
    assert max(stepped.call_s[2:]) < LATE_S


def test_an_output_in_the_inputs_is_looked_at_where_those_of_its_call_lie():
    """Its address goes by the slot, which is drawn: who has memory of its own was seen earlier."""

    def model(x):
        x.mul_(2)
        time.sleep(LATE_S)
        return x

    stage = Stage(model, like=[torch.zeros(64)], calls=8)
    raw = stage.sets._raw
    stage.steps._inputs.allocations = [Allocation(raw.data_ptr(), raw.numel(), "", raw)]
    staged = stage.sets.stage([3, 0, 6, 2, 7, 1, 5, 4])
    seeds = {"seed": 1, "own_seeds": ()}
    stepped, _ = stage.steps.take(staged, **seeds, copies=1, seconds=10.0, why="", stop=lambda: None)
    assert max(stepped.call_s[3:]) < LATE_S


def test_contents_too_large_to_be_shown_at_once_by_a_copy_engine_are_shown_by_the_device():
    """They came piece by piece, and a kernel that waited for them worked on the first while others were on the way."""
    elements = inputs.STAGED_BYTES // 4 + 1
    stage = Stage(lambda x: x[:64] * 2, like=[torch.zeros(64)], shape=(elements,), calls=3)
    stage.engines.queue_write = lambda host, device, size: pytest.fail("shown by a copy engine")
    stage.steps.spared = frozenset({0})
    waited = []
    stage.steps._hardware.wait = lambda: waited.append(1)
    _, done = stage.take()
    assert len(waited) == 3
    (kept,) = stage.steps.seen(done)[done.addresses[0][0]]
    sampled = kept.sampled()
    assert torch.equal(sampled.values, (stage.last()[:64] * 2)[sampled.places])


@pytest.mark.parametrize("copies", [1, 4])
@pytest.mark.parametrize("rows", [2, 60])
def test_each_row_of_an_output_is_read_in_some_calls_however_far_they_lie_apart(rows, copies):
    """Of rows more than 2 GiB apart the first alone was read, and so no other had to be computed."""
    stride = (1 << 29) + (1 << 17)
    leaf = TensorValue(dtype="float32", shape=(rows, 1 << 16), strides=(stride, 1), offset=0)
    chance, read = random.Random(1), set()
    for _ in range(1000):
        for offset, _, pitch, height in device_steps.runs_of(leaf, chance, copies):
            read |= {(offset + row * pitch) // (4 * stride) for row in range(height)}
    assert read == set(range(rows))


def test_what_follows_which_output_is_not_remembered_without_end():
    outputs = [torch.zeros(64) for _ in range(8)]
    chance = random.Random(1)
    stage = Stage(lambda x: torch.mul(x, 2, out=chance.choice(outputs)), like=outputs[:1], calls=200)
    for _ in range(3):
        stage.steps._follows |= {(number,): (number,) for number in range(-device_steps._MOST_FOLLOWERS, 0)}
        stage.take()
        assert len(stage.steps._follows) < 2 * device_steps._MOST_FOLLOWERS


def test_what_outputs_are_written_over_with_is_of_no_generator_that_contents_are_drawn_by():
    """It lies in the candidate's memory: torch's own told the seed that a round's contents were drawn by."""
    held, seen = torch.zeros(64), []

    def model(x):
        seen.append(held.clone())
        return torch.mul(x, 2, out=held)

    for _ in range(2):
        stage = Stage(model, like=[held])
        torch.manual_seed(7)
        stage.take()
    first, second = seen[1], seen[7]
    assert not torch.equal(first.view(torch.uint8), second.view(torch.uint8))


def test_memory_that_an_output_had_in_another_round_is_not_written_over():
    """It may be a weight's by now: the worker of a reference is kept, and its model made anew for each candidate."""
    held, other, of = torch.zeros(64), torch.zeros(64), [0]

    def model(x):
        return torch.mul(x, 2, out=(held, other)[of[0]])

    stage = Stage(model, like=[held])
    stage.take()
    of[0] = 1
    held.fill_(3.0)
    stage.take()
    assert (held == 3.0).all()


def test_small_outputs_that_take_turns_are_written_over_however_many_they_are():
    outputs, called = [torch.full((64,), 7, dtype=torch.uint8) for _ in range(3)], [0]

    def model(x):
        at = outputs[called[0] % 3]
        if called[0] < 3:
            at[32:] = 0
        called[0] += 1
        at[:32] = called[0]
        return at

    stage = Stage(model, like=outputs[:1], calls=24)
    _, done = stage.take()
    (kept,) = stage.steps.seen(done)[done.addresses[0][0]]
    sampled = kept.sampled()
    assert sampled.values[sampled.places >= 32].any()


def test_a_seed_comes_once_contents_are_shown():
    """Before, numbers could be drawn while these came."""
    stage, told = Stage(lambda x: x * 2, like=[torch.zeros(64)]), []
    write = stage.engines.queue_write

    def noted(host, device, size):
        told.append(stage.talk.page[device_steps.SEED])
        write(host, device, size)

    stage.engines.queue_write = noted
    stage.steps.spared = frozenset({0})
    stage.take(own_seeds=[11, 12, 13, 14, 15, 16])
    assert told == [0, 11, 12, 13, 14, 15]


def test_an_output_of_one_byte_is_not_written_over():
    """Halves of it have no bytes, which a driver may refuse."""
    stage = Stage(lambda x: (x.sum() > 0).reshape(1), like=[torch.zeros(1, dtype=torch.bool)])
    sizes, write = [], stage.engines.queue_write

    def noted(host, device, size):
        sizes.append(size)
        write(host, device, size)

    stage.engines.queue_write = noted
    stage.take()
    assert min(sizes) > 1
