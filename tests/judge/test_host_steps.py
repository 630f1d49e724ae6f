"""Calls on a host that come one by one: both ends of it in two threads of one process."""

import gc
import os
import threading
import time
from types import SimpleNamespace

import pytest
import torch

from harness.judge import host_steps
from harness.judge.failure import LaidOutAnew, SubjectFailed
from harness.judge.host_steps import HostSteps
from harness.judge.output_layouts import OutputLayouts
from harness.transport.memory import HostArena, PlacesReader
from harness.transport.steps_page import ADDRESSES, ANSWERED, MOST_TENSORS, OVER, PLAIN, SHOWN, TENSORS, WORDS, text_in
from harness.transport.values import TensorValue, packed_plain
from harness.transport.worker_messages import Attending, Done
from harness.worker import serve

LATE_S = 0.02


class Talk:
    """The other end, in a thread once calls are announced."""

    pid = os.getpid()

    def __init__(self, answer):
        self.answer, self.raised, self.arenas, self.nap_s = answer, [], [], 1e-5

    def attach_words(self, size):
        arena = HostArena(size)
        self.arenas.append(arena)
        return len(self.arenas) - 1, arena.words()

    def ask(self, request, kind, **_):
        def run():
            try:
                self.done = self.answer(self.arenas[request.page].words(), request.seed)
            except Exception as error:  # noqa: BLE001
                self.raised.append(error)

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()
        return Attending()

    def attend(self, deadline, seconds, why):
        time.sleep(self.nap_s)  # lets the other thread run
        if self.raised or time.monotonic() > deadline:
            raise SubjectFailed("exception", str(*self.raised) or f"timeout: {why}")
        return deadline

    def last_step(self, *, seconds, stop):
        self.thread.join(seconds)
        stop()
        return self.done


@pytest.fixture(autouse=True)
def collect():
    yield
    gc.enable()


def layout_of(output):
    shape, strides = tuple(output.shape), tuple(output.stride())
    return TensorValue(dtype=str(output.dtype).removeprefix("torch."), shape=shape, strides=strides, offset=0)


def steps_of(model, inputs, *, outputs, plain=lambda slots: None, answer=None):
    """Those of a worker of this model, whose outputs were described as these lie before."""
    server = serve.Server(channel=None)
    server._model, server._inputs = model, [[x] for x in inputs]
    talk = Talk(answer or server._call_at_sight)
    layouts = OutputLayouts()
    for output in outputs:
        layouts.newest = tuple(map(layout_of, output))
        layouts._layouts[layouts.newest] = layouts.newest
    steps = HostSteps(talk, talk, inputs=SimpleNamespace(plain_of=plain), layouts=layouts)
    return steps, talk


def take(steps, slots, *, seed=5, own=False, seconds=5.0):
    steps.expect(slots, seed=None if own else seed, empty=False, seconds=seconds, why="")
    for slot in slots:
        steps.step(slot, seed=seed + slot, seconds=seconds, why="")
    return steps.end(seconds=seconds, stop=lambda: None)


def elements(kept):
    return kept.data.reshape(-1).view(getattr(torch, kept.layout.dtype))


@pytest.mark.parametrize("size", [1, 10, 100_000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bool, torch.float16])
def test_elements_of_each_output_are_read_once_it_is_answered(size, dtype):
    inputs = [torch.randn(size).to(dtype) for _ in range(4)]
    held = []
    steps, _ = steps_of(lambda x: held.append(x.clone()) or held[-1], inputs, outputs=[[inputs[0]]])
    done = take(steps, [2, 0, 3, 1])
    assert done.addresses == ((held[-1].data_ptr(),),)
    places = []
    for call, slot in enumerate((2, 0, 3, 1)):
        ((kept,),) = steps.seen_of(call)
        assert len(kept.places) == min(size, host_steps._PLACES)
        assert torch.equal(elements(kept), inputs[slot][kept.places])
        places.append(tuple(kept.places.tolist()))
    assert (len(set(places)) == 4) == (size == 100_000)  # whose pages tell what was read of the call before


@pytest.mark.parametrize("gapped", [True, False])
def test_outputs_are_read_in_each_way_in_which_they_were_described(gapped):
    inputs = [torch.randn(40, 50) for _ in range(3)]
    as_rows, padded = torch.empty(40, 50), torch.empty(40, 64)[:, :50]
    held = []

    def model(x):
        held.append(torch.empty(40, 64)[:, :50].copy_(x) if gapped else x.clone())
        return held[-1]

    steps, _ = steps_of(model, inputs, outputs=[[as_rows], [padded]])
    take(steps, [0, 1, 2])
    for call, x in enumerate(inputs):
        found = [kept for (kept,) in steps.seen_of(call)]
        right = [torch.equal(elements(kept), x.reshape(-1)[kept.places]) for kept in found]
        assert [tuple(kept.layout.strides) for kept in found] == [(64, 1), (50, 1)]
        assert right == [gapped, not gapped]


@pytest.mark.parametrize("newest", [True, False])
def test_a_layout_that_leads_to_where_nothing_is_mapped_hides_no_other(newest):
    """One that had described rows far apart, and returns them side by side now, is honest."""
    size = 1 << 20
    apart, as_rows = torch.empty(size, 1 << 20, device="meta")[:, 0], torch.empty(size)
    two_apart = torch.empty(size, 2)[:, 0]
    inputs = [torch.randn(size) for _ in range(2)]
    held = []
    outputs = [[two_apart], [apart], [as_rows]] if newest else [[as_rows], [two_apart], [apart]]
    steps, _ = steps_of(lambda x: held.append(x.clone()) or held[-1], inputs, outputs=outputs)
    take(steps, [0, 1])
    for call, x in enumerate(inputs):
        right = [kept for (kept,) in steps.seen_of(call) if kept.layout.strides == (1,)]
        assert len(right) == 1
        assert torch.equal(elements(right[0]), x[right[0].places])
        assert not any(kept.layout.strides == (1 << 20,) for (kept,) in steps.seen_of(call))


def test_of_several_tensors_each_is_read_where_it_lies():
    inputs = [torch.randn(50, 3) for _ in range(3)]
    held = []

    def model(x):
        held.append([x.t().contiguous().t(), x.sum(1).double(), torch.empty(0)])
        return held[-1]

    steps, _ = steps_of(model, inputs, outputs=[model(inputs[0])])
    take(steps, [0, 1, 2])
    for call, x in enumerate(inputs):
        ((first, second, empty),) = steps.seen_of(call)
        assert torch.equal(elements(first), x.reshape(-1)[first.places])
        assert torch.equal(elements(second), x.sum(1).double()[second.places])
        assert not len(empty.places)


def test_tensors_of_any_width_are_read_beside_each_other():
    """Rows of bytes lie at odd places, at which torch shows nothing wider: an honest candidate ended the judge."""
    dtypes = (torch.bool, torch.complex128, torch.float32, torch.int64, torch.float16, torch.complex64, torch.uint8)
    inputs = [torch.randn(3) for _ in range(4)]
    held = []

    def model(x):
        held.append([(1 + x).to(dtype) for dtype in dtypes])
        return held[-1]

    steps, _ = steps_of(model, inputs, outputs=[model(inputs[0])])
    take(steps, [0, 1, 2, 3])
    for call, x in enumerate(inputs):
        (found,) = steps.seen_of(call)
        for kept, dtype in zip(found, dtypes, strict=True):
            assert torch.equal(kept.sampled().values, (1 + x).to(dtype)[kept.places])


def test_a_call_is_over_once_it_was_read(monkeypatch):
    """A candidate can make that take longer, and go on with its work meanwhile."""
    real = PlacesReader.read
    monkeypatch.setattr(PlacesReader, "read", lambda *given: time.sleep(LATE_S) or real(*given))
    steps, _ = steps_of(lambda x: x, [torch.zeros(4)], outputs=[[torch.zeros(4)]])
    steps.expect([0], seed=1, empty=False, seconds=5.0, why="")
    started = time.monotonic()
    assert steps.step(0, seed=1, seconds=5.0, why="") - started >= LATE_S
    steps.end(seconds=5.0, stop=lambda: None)


@pytest.mark.parametrize(("ways", "counts"), [(1, False), (2, True)])
def test_reading_by_other_layouts_that_takes_long_is_the_calls_own(monkeypatch, ways, counts):
    """Whoever changes what is mapped of its memory keeps it from being read meanwhile."""
    real, readers = PlacesReader.read, []

    def read(self, row, addresses):
        if len(addresses) and self not in readers:
            readers.append(self)
            time.sleep(LATE_S if len(readers) > 1 else 0.0)
        return real(self, row, addresses)

    monkeypatch.setattr(PlacesReader, "read", read)
    outputs = [[torch.empty(4, 2)[:, 0]], [torch.zeros(4)]][-ways:]
    steps, _ = steps_of(lambda x: x, [torch.zeros(4)], outputs=outputs)
    steps.expect([0], seed=1, empty=False, seconds=5.0, why="")
    started = time.monotonic()
    assert (steps.step(0, seed=1, seconds=5.0, why="") - started >= LATE_S / 2) == counts
    steps.end(seconds=5.0, stop=lambda: None)


def test_a_layout_of_another_shape_or_dtype_is_no_way_to_read_an_output():
    outputs = [[torch.empty(8)], [torch.empty(4, dtype=torch.float64)], [torch.empty(4, 2)[:, 0]], [torch.zeros(4)]]
    steps, _ = steps_of(lambda x: x, [torch.zeros(4)], outputs=outputs)
    take(steps, [0])
    assert [tuple(kept.layout.strides) for (kept,) in steps.seen_of(0)] == [(1,), (2,)]


def test_other_ways_to_read_an_output_are_read_in_an_order_of_chance_once_the_newest_was():
    """Memory that a strange way leads to takes its time: what is read of the right one lies among that."""
    ways = [[torch.empty(100_000, width)[:, 0]] for width in (2, 3, 4, 1)]
    steps, _ = steps_of(lambda x: x, [torch.zeros(100_000)], outputs=ways)
    firsts = set()
    for _ in range(40):
        take(steps, [0])
        assert [len(one._begins) for one in (steps._newest, steps._others)] == [1, 3]
        firsts.add(next(way for way in range(3) if 0 in steps._others._begins[way]))
    assert firsts == {0, 1, 2}


def test_many_tensors_are_read_by_more_than_one_question():
    outputs = [torch.randn(2000) for _ in range(1000)]
    steps, _ = steps_of(lambda x: outputs, [torch.zeros(1)], outputs=[outputs])
    take(steps, [0])
    (found,) = steps.seen_of(0)
    assert len(found) == 1000
    assert all(torch.equal(elements(kept), output[kept.places]) for kept, output in zip(found, outputs, strict=True))


def test_of_more_tensors_than_are_told_nothing_is_read():
    outputs = [torch.randn(1) for _ in range(MOST_TENSORS + 1)]
    steps, _ = steps_of(lambda x: outputs, [torch.zeros(1)], outputs=[outputs])
    done = take(steps, [0])
    assert len(done.addresses[0]) == MOST_TENSORS + 1
    assert steps.seen_of(0) == []


@pytest.mark.parametrize("early", [True, False])
def test_what_is_written_after_the_answer_is_not_what_is_verified(early):
    output = torch.zeros(1000)

    def answer(words, seed):
        while words[SHOWN] == 0:
            pass
        output.fill_(0.0 if early else 1.0)
        words[TENSORS], words[ADDRESSES] = 1, output.data_ptr()
        words[ANSWERED] = 1
        time.sleep(LATE_S)
        output.fill_(1.0)
        while words[SHOWN] != OVER:
            pass
        return Done(((output.data_ptr(),),), None, (0,), ((output.nbytes,),))

    steps, _ = steps_of(None, [], outputs=[[output]], answer=answer)
    take(steps, [0])
    ((kept,),) = steps.seen_of(0)
    assert set(elements(kept).tolist()) == {0.0 if early else 1.0}


def test_an_output_where_nothing_is_mapped_could_not_be_read():
    def answer(words, seed):
        for number in (1, 2):
            while words[SHOWN] >> 32 != number:
                pass
            words[TENSORS], words[ADDRESSES] = 1, (1 << 64) - 8
            words[ANSWERED] = number
        while words[SHOWN] != OVER:
            pass
        return Done((((1 << 64) - 8,),), None, (0,), ((8,),))

    steps, _ = steps_of(None, [], outputs=[[torch.zeros(1000)]], answer=answer)
    take(steps, [0, 1])
    assert steps.seen_of(0) == steps.seen_of(1) == []


@pytest.mark.parametrize("count", [0, 2, 1 << 63])
def test_another_number_of_outputs_is_told(count):
    def answer(words, seed):
        while words[SHOWN] == 0:
            pass
        words[TENSORS] = count
        words[ANSWERED] = 1

    steps, _ = steps_of(None, [], outputs=[[torch.zeros(10)]], answer=answer)
    steps.expect([0], seed=1, empty=False, seconds=5.0, why="")
    with pytest.raises(LaidOutAnew, match="another number"):
        steps.step(0, seed=1, seconds=5.0, why="")


@pytest.mark.parametrize(("address", "plain"), [(8, 0), (0, 1), (0, 0)])
def test_the_last_output_is_the_one_that_the_call_was_answered_with(address, plain):
    output = torch.zeros(10)

    def answer(words, seed):
        while words[SHOWN] == 0:
            pass
        words[TENSORS], words[ADDRESSES], words[PLAIN] = 1, output.data_ptr(), 7
        words[ANSWERED] = 1
        while words[SHOWN] != OVER:
            pass
        return Done(((output.data_ptr() + address,),), None, (7 + plain,), ((8,),))

    steps, _ = steps_of(None, [], outputs=[[output]], answer=answer)
    if not address and not plain:
        take(steps, [0])
        return
    with pytest.raises(SubjectFailed, match="another output than it had answered"):
        take(steps, [0])


@pytest.mark.parametrize("own", [True, False])
def test_each_call_is_seeded(own):
    drawn = []
    inputs = [torch.zeros(1)] * 3
    steps, _ = steps_of(lambda x: drawn.append(float(torch.rand(()))) or x, inputs, outputs=[inputs[:1]])
    take(steps, [0, 1, 2], seed=40, own=own)
    seeds = [40, 41, 42] if own else [40, 40, 40]
    assert drawn == [float(torch.rand((), generator=torch.Generator().manual_seed(seed))) for seed in seeds]


@pytest.mark.parametrize("length", [1, 100_000])
def test_numbers_come_with_the_call_that_they_are_of_and_are_not_there_before(length):
    seen, ahead = [], []
    numbers = {0: "a" * length, 1: "b" * length, 2: "c" * length}
    steps, talk = steps_of(
        None, [], outputs=[[torch.zeros(1)]], plain=lambda slots: packed_plain([[numbers[slot]] for slot in slots])
    )
    server = serve.Server(channel=None)

    def model(x, text):
        seen.append(text)
        words = talk.arenas[-1].words()
        ahead.append(bytes(text_in(words)[:]).count(b"c") if len(seen) < 3 else 0)
        return x

    server._model, server._inputs = model, [[torch.zeros(1), ""] for _ in range(3)]
    talk.answer = server._call_at_sight
    take(steps, [1, 0, 2])
    assert seen == [numbers[1], numbers[0], numbers[2]]
    assert ahead == [0, 0, 0]


def test_a_call_that_does_not_end_is_late_and_is_waited_for_asleep(monkeypatch):
    naps = []
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda seconds: naps.append(seconds) or time.sleep(seconds))
    monkeypatch.setattr(host_steps, "time", clock)
    steps, talk = steps_of(None, [], outputs=[[torch.zeros(1)]], answer=lambda words, seed: time.sleep(10 * LATE_S))
    steps.expect([0], seed=1, empty=False, seconds=1.0, why="")
    with pytest.raises(SubjectFailed, match="timeout: so long"):
        steps.step(0, seed=1, seconds=5 * LATE_S, why="so long")
    talk.thread.join()
    assert naps
    assert max(naps) <= 0.03 * 5 * LATE_S  # who answers meanwhile is noticed that much later


def test_what_a_call_raises_is_told():
    steps, _ = steps_of(lambda x: 1 / 0, [torch.zeros(1)], outputs=[[torch.zeros(1)]])
    with pytest.raises(SubjectFailed, match="division"):
        take(steps, [0])


def test_the_page_has_room_for_all_words_and_is_attached_once():
    steps, talk = steps_of(lambda x: x, [torch.zeros(1)] * 2, outputs=[[torch.zeros(1)]])
    for _ in range(2):
        take(steps, [0, 1])
    assert len(talk.arenas) == 1
    assert len(talk.arenas[0].words()) >= WORDS
    steps.close()
    assert not talk.raised
