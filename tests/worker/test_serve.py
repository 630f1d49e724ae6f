"""The worker's loop: what it does around a call so that calls cost the same in every process."""

import gc
import platform
import subprocess
import sys
import threading
import weakref

import pytest
import torch

from harness.transport import Channel, Frame
from harness.transport.channel import parsed
from harness.transport.values import packed_plain
from harness.transport.worker_messages import (
    ANSWER,
    DONE,
    Attending,
    Describe,
    Done,
    Go,
    Raised,
    Release,
    Released,
    Step,
    Steps,
)
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

    def start(model, inputs):
        server._model, server._inputs = model, inputs
        serving.start()
        return lambda request: _asked(channel, request)

    yield start
    channel.close()
    serving.join()
    theirs.close()
    gc.enable()


def _asked(channel, request):
    if not isinstance(request, Step):
        channel.send(request)
        return channel.receive(ANSWER)
    channel.send_text(request.packed())
    text = channel.receive_text().text
    return Done.unpacked(text, 1) if text.startswith(DONE) else parsed(Frame(text, ()), ANSWER)


def test_how_long_a_loop_takes_is_told_where_it_is_asked(stepping):
    ask = stepping(lambda x: x + 1, [[torch.zeros(4)]])
    assert ask(Release(loops=True)).loop_s > 0
    assert ask(Release()).loop_s == 0.0


def test_calls_come_one_by_one_and_the_outputs_of_the_last_are_described(stepping):
    ask = stepping(lambda x: x + 1, [[torch.zeros(4)], [torch.ones(5)]])
    assert ask(Steps(seed=1)) == Attending()
    ask(Step(0))
    done = ask(Step(1))
    assert done.extents == ((20,),)
    (described,) = ask(Describe(calls=(0,))).outputs
    assert (described.offset, described.shape) == (done.addresses[0][0], (5,))
    assert ask(Release()) == Released()
    assert ask(Steps(seed=1)) == Attending()
    assert ask(Step(0)).extents == ((16,),)


def test_each_call_that_comes_alone_is_seeded_alike_and_without_gradients(stepping):
    drawn = []

    def model(x):
        drawn.append((float(torch.rand(())), torch.is_grad_enabled(), gc.isenabled()))
        return x

    ask = stepping(model, [[torch.zeros(4)]])
    ask(Steps(seed=7))
    for _ in range(3):
        ask(Step(0))
    assert {*drawn} == {(float(torch.rand((), generator=torch.Generator().manual_seed(7))), False, False)}


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
    ask = stepping(model, [[torch.zeros(4)]])
    ask(Steps(seed=7))
    for _ in range(3):
        ask(Step(0))
    assert alive == [0, 0, 0]


def test_plain_values_come_with_the_call_that_they_are_of(stepping):
    seen = []

    def model(x, number):
        seen.append(number)
        return x

    ask = stepping(model, [[torch.zeros(4), 1]])
    ask(Steps(seed=7))
    ask(Step(0))
    ask(Step(0, packed_plain([[2]])))
    ask(Step(0))
    assert seen == [1, 2, 2]


def test_what_a_call_raises_is_told_and_ends_the_others(stepping):
    ask = stepping(lambda x: 1 / 0, [[torch.zeros(4)]])
    ask(Steps(seed=7))
    raised = ask(Step(0))
    assert isinstance(raised, Raised)
    assert (raised.during, raised.type) == ("call", "ZeroDivisionError")
    assert ask(Release()) == Released()
