"""The worker's loop: what it does around a call so that calls cost the same in every process."""

import gc
import platform
import subprocess
import sys
import threading
import time
import weakref
from types import SimpleNamespace

import pytest
import torch

from harness.transport import Channel
from harness.transport.memory import HostArena
from harness.transport.steps_page import (
    ADDRESSES,
    ANSWERED,
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
from harness.transport.values import packed_plain
from harness.transport.worker_messages import (
    ANSWER,
    Attending,
    Describe,
    Done,
    Go,
    Raised,
    Release,
    Released,
    Steps,
)
from harness.worker import serve
from harness.worker.serve import Server


def test_no_collection_runs_while_calls_are_timed():
    enabled = []

    def model(x):
        enabled.append(gc.isenabled())
        return x + 1

    server = Server(channel=None)
    server._model, server._inputs = model, [[torch.zeros(4)]]
    try:
        server._go(Go(slots=(0, 0), seed=1))
        assert not gc.isenabled()  # the answer has yet to be sent, with the clock running
        server._release(Release())
        assert gc.isenabled()
    finally:
        gc.enable()
    assert enabled == [False, False]


_FAULTS = """
import resource, torch
from harness.worker.serve import _keep_freed_memory
torch.set_num_threads(1)
_keep_freed_memory()

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    held = [torch.ones(1 << 18) for _ in range(64)]
    del held
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
print(sum(faults() for _ in range(5)))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's malloc is told to keep what is freed")
def test_outputs_of_a_round_lie_in_pages_that_are_there_already():
    done = subprocess.run([sys.executable, "-c", _FAULTS], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 15_000  # of 82,000: 64 outputs of 256 pages, five times


@pytest.fixture
def stepping():
    """A worker of a model, at whose other end calls come one by one; asks, and gives the answer back."""
    channel, theirs = Channel.pair()
    server = Server(Channel(theirs))
    serving = threading.Thread(target=server.run)
    arena = HostArena(8 * (WORDS + 8))
    server._arenas[0] = arena

    def start(model, inputs):
        server._model, server._inputs = model, inputs
        serving.start()

        def ask(request):
            channel.send(request)
            return channel.receive(ANSWER)

        return ask, Page(channel, arena.words())

    yield start
    arena.words()[SHOWN] = OVER  # whatever it still waits for
    channel.close()
    serving.join()
    theirs.close()
    gc.enable()


class Page:
    """The judge's side of the words."""

    def __init__(self, channel, words):
        self.channel, self.words, self.number = channel, words, 0

    def call(self, slot, plain=b"", seed=0):
        """Have it called; the words from which addresses follow, and these. What it raises ends that."""
        text_in(self.words)[: len(plain)] = plain
        self.words[TEXT_BYTES], self.words[SEED] = len(plain), seed
        self.number += 1
        self.words[SHOWN] = shown(self.number, slot)
        while self.words[ANSWERED] != self.number:
            if not self.channel.is_quiet():
                return self.channel.receive(ANSWER)
        return tuple(self.words[ADDRESSES : ADDRESSES + self.words[TENSORS]])

    def end(self):
        self.words[SHOWN] = OVER
        self.number, done = 0, Done.unpacked(self.channel.receive_text().text, 1)
        self.words[SHOWN] = self.words[ANSWERED] = 0
        return done


def test_how_long_a_loop_takes_is_told_where_it_is_asked(stepping):
    ask, _ = stepping(lambda x: x + 1, [[torch.zeros(4)]])
    assert ask(Release(loops=True)).loop_s > 0
    assert ask(Release()).loop_s == 0.0


def test_calls_come_one_by_one_and_the_outputs_of_the_last_are_described(stepping):
    ask, page = stepping(lambda x: x + 1, [[torch.zeros(4)], [torch.ones(5)]])
    assert ask(Steps(seed=1, page=0)) == Attending()
    page.call(0)
    (address,) = page.call(1)
    done = page.end()
    assert (done.addresses, done.extents, done.plain) == (((address,),), ((20,),), (0,))
    (described,) = ask(Describe(calls=(0,))).outputs
    assert (described.offset, described.shape) == (address, (5,))
    assert ask(Release()) == Released()
    assert ask(Steps(seed=1, page=0)) == Attending()
    page.call(0)
    assert page.end().extents == ((16,),)


@pytest.mark.parametrize("kind", [tuple, list])
def test_of_tensors_in_a_row_the_ends_are_those_of_each(kind):
    tensors = [torch.zeros(3, 4), torch.zeros(8)[::2], torch.zeros(0), torch.ones((), dtype=torch.bool)]
    each = [serve._end_of(tensor) for tensor in tensors]
    in_a_row = serve._end_of(kind(tensors))
    addresses, extents, _ = zip(*each, strict=True)
    assert in_a_row == (sum(addresses, ()), sum(extents, ()), 0)
    beside_a_number = serve._end_of(kind([*tensors, 1]))
    assert beside_a_number[:2] == in_a_row[:2]
    assert serve._end_of(kind(tensors))[2] == serve._end_of({"a": tensors[0]})[2] != beside_a_number[2]


def test_of_empty_calls_the_model_is_called_for_the_first_alone_and_its_output_answers_all(stepping):
    called = []
    ask, page = stepping(lambda x: called.append(1) or x + 1, [[torch.zeros(4)], [torch.ones(4)]])
    ask(Steps(seed=1, page=0, empty=True))
    answers = [page.call(slot) for slot in (0, 1, 0, 1)]
    done = page.end()
    assert called == [1]
    assert [*answers, done.addresses[0]] == [answers[0]] * 5
    ask(Release())
    ask(Steps(seed=1, page=0))
    page.call(0)
    page.call(1)
    page.end()
    assert called == [1] * 3


def test_numbers_among_outputs_are_told_with_the_answer(stepping):
    ask, page = stepping(lambda x: (x, float(x.sum())), [[torch.zeros(4)], [torch.ones(4)]])
    ask(Steps(seed=1, page=0))
    told = [(page.call(slot), page.words[PLAIN])[1] for slot in (0, 1, 0)]
    assert told[0] == told[2] != told[1]
    assert page.end().plain == (told[2],)


@pytest.mark.parametrize("own", [True, False])
def test_each_call_that_comes_alone_is_seeded_and_without_gradients(stepping, own):
    drawn = []

    def model(x):
        drawn.append((float(torch.rand(())), torch.is_grad_enabled(), gc.isenabled()))
        return x

    ask, page = stepping(model, [[torch.zeros(4)]])
    ask(Steps(seed=None if own else 7, page=0))
    for seed in (1, 2, 3):
        page.call(0, seed=seed)
    page.end()
    seeds = [1, 2, 3] if own else [7, 7, 7]
    expected = [float(torch.rand((), generator=torch.Generator().manual_seed(seed))) for seed in seeds]
    assert drawn == [(number, False, False) for number in expected]


def test_the_output_of_a_call_is_let_go_before_the_next_call(stepping):
    alive = []

    class Output(list):
        pass

    def model(x):
        alive.append(sum(one() is not None for one in made))
        output = Output()
        made.append(weakref.ref(output))
        return output

    made = []
    ask, page = stepping(model, [[torch.zeros(4)]])
    ask(Steps(seed=7, page=0))
    for _ in range(3):
        page.call(0)
    page.end()
    assert alive == [0, 0, 0]


def test_plain_values_come_with_the_call_that_they_are_of(stepping):
    seen = []

    def model(x, number):
        seen.append(number)
        return x

    ask, page = stepping(model, [[torch.zeros(4), 1]])
    ask(Steps(seed=7, page=0))
    page.call(0)
    page.call(0, packed_plain([[2]]).encode())
    page.call(0)
    page.end()
    assert seen == [1, 2, 2]


def test_what_a_call_raises_is_told_and_ends_the_others(stepping):
    ask, page = stepping(lambda x: 1 / 0, [[torch.zeros(4)]])
    ask(Steps(seed=7, page=0))
    raised = page.call(0)
    assert isinstance(raised, Raised)
    assert (raised.during, raised.type) == ("call", "ZeroDivisionError")
    assert ask(Release()) == Released()


def test_a_worker_that_waits_long_for_a_call_leaves_its_core_to_others(stepping, monkeypatch):
    napped = threading.Event()
    monkeypatch.setattr(serve, "time", SimpleNamespace(sleep=lambda seconds: napped.set() or time.sleep(seconds)))
    ask, page = stepping(lambda x: x, [[torch.zeros(4)]])
    ask(Steps(seed=7, page=0))
    page.call(0)
    assert napped.wait(20)
    page.call(0)
    page.end()
