"""A worker as the judge's subject: what is asked of it, and when."""

import ctypes
import mmap
import os
import time
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from hosts import Host

from harness.judge import attached_inputs, output_layouts, output_memory
from harness.judge.deadlines import Deadlines
from harness.judge.failure import LaidOutAnew, SubjectFailed
from harness.judge.inputs import InputSets
from harness.judge.snapshot import Allocation, Mapping
from harness.judge.worker_subject import WorkerSubject
from harness.sandbox import Used
from harness.transport.memory import CopiedArena, HostArena
from harness.transport.values import TensorValue
from harness.transport.worker_messages import (
    Attach,
    Attached,
    Constructed,
    Described,
    Detach,
    Done,
    Prepared,
    Released,
    Traced,
)


class Freezer:
    """Says that it holds a worker until that is resumed."""

    def __init__(self, log):
        self.log, self.holds, self.strayed = log, False, False
        self.used_ns, self.waited_ns, self.processes, self.newest = 0, 0, {1}, "7"

    def stop(self):
        self.holds = True

    def halt(self):
        self.holds = True

    def settle(self): ...

    def used(self):
        return Used(dict.fromkeys(self.processes, self.used_ns), self.waited_ns, self.newest)

    def ran(self):
        return self.strayed

    def resume(self):
        self.holds = False
        self.log.append("resumed")


class Talk:
    """Answers what an honest worker would."""

    pid, could_be_read = 1, True

    def __init__(self):
        self.log, self.base = [], 4096
        self.held = Freezer(self.log)

    def freezer(self):
        return self.held

    def ask(self, request, kind, **_):
        self.log.append(type(request).__name__)
        if isinstance(request, Detach):
            return Released()
        return Attached(base=self.base) if isinstance(request, Attach) else Prepared()


@pytest.fixture
def subject():
    return WorkerSubject(Talk(), hardware=Host(), init_arguments=[], call_s=1.0, memory_bytes=1 << 20)


def test_it_is_woken_before_it_is_asked_to_attach(subject):
    """Where memory is tight it was stopped when it gave its own back, and would not answer."""
    sets = InputSets([torch.zeros(4)], 1, HostArena)
    subject.freeze()
    subject.attach(sets)
    sets.close()
    assert subject._talk.log == ["resumed", "Attach", "Prepare"]


def test_a_stop_is_looked_at_once_whether_it_was_asked_about_before_or_not(subject):
    subject.freeze()
    assert subject.rests()
    subject._talk.held.strayed = True
    subject.wake()  # nothing looks again
    subject.freeze()
    assert not subject.rests()


def test_one_that_runs_while_it_is_stopped_has_failed_after_few_times(subject):
    subject._talk.held.strayed = True

    def stop_often():
        for _ in range(10):
            subject.freeze()
            subject.wake()

    with pytest.raises(SubjectFailed, match="ran while it was stopped"):
        stop_often()


def test_a_round_has_the_deadline_of_its_candidate_and_the_first_after_construction_more(subject):
    asked = []

    def ask_round(request, *, seconds, why, **_):
        asked.append((seconds, why))
        return Done(addresses=((),) * len(request.slots), plain=(0,) * len(request.slots))

    subject._talk.ask_round = ask_round
    subject._deadlines = Deadlines(60.0, 1e-3, False, on_device=True)
    for _ in range(2):
        subject.round([0], seed=1)
    subject._was_called = False
    subject._deadlines = None
    subject.round([0], seed=1)
    assert [seconds for seconds, _ in asked] == [4.0, 2.0, 1.0]
    assert asked[1][1] == "100 times the reference's 1 ms for a call, at least 2 s"


def test_plain_values_come_with_go_once_any_was_drawn_anew(subject):
    asked = []

    def ask_round(request, **_):
        asked.append(request.plain)
        return Done(addresses=((),) * len(request.slots), plain=(0,) * len(request.slots))

    subject._talk.ask_round = ask_round
    sets = InputSets([torch.zeros(4), 3], 2, HostArena)
    subject.attach(sets)
    subject.round([0, 1], seed=1)
    sets.write(1, [torch.ones(4), 7])
    subject.round([1, 0], seed=1)
    sets.close()
    assert asked == [None, "[[7], [3]]"]


@pytest.mark.parametrize(("last", "raises"), [(False, False), (True, False), (False, True)])
def test_calls_one_by_one_end_with_the_last_and_where_outputs_are_others(subject, last, raises):
    """A worker that still waits for a call would not hear what it is asked next."""
    ended = []

    def step(slot, **_):
        if raises:
            raise LaidOutAnew("another number of outputs")
        return 1.5

    def end(**_):
        ended.append(True)
        return Done(addresses=((),), plain=(0,))

    subject._host_steps.step, subject._host_steps.end = step, end
    with pytest.raises(LaidOutAnew) if raises else nullcontext():
        assert subject.step(0, seed=1, last=last) == 1.5
    assert bool(ended) == (last or raises)


def test_where_contents_are_copied_by_a_message_calls_come_as_rounds(subject):
    subject._talk.ask_round = lambda request, **_: Done(addresses=((),), plain=(0,))
    sets = InputSets([torch.zeros(4)], 1, partial(CopiedArena, device="cpu"))
    subject.attach(sets)
    subject._talk.log.clear()
    subject.expect_steps([0], seed=1)
    subject.step(0, seed=1)
    sets.close()
    assert subject._talk.log == ["Take"]


def test_making_the_model_has_a_deadline_of_its_own(subject):
    asked = []

    def ask(request, kind, *, seconds, why):
        asked.append((seconds, why))
        return Constructed(parameters=())

    subject._talk.ask = ask
    subject.construct(1)
    subject._deadlines = Deadlines(60.0, 1e-3, False, on_device=True, construct_s=1e-3)
    subject.construct(1)
    assert [seconds for seconds, _ in asked] == [1.0, 12.0]
    assert "of constructing the reference" in asked[1][1]


@pytest.mark.parametrize(("used_ns", "most_s"), [(10**12, 1.0), (1_000, 1e-6), (0, 0.0)])
def test_work_besides_a_round_is_neither_waiting_for_a_core_nor_threads_that_spin(subject, used_ns, most_s):
    subject.freeze()
    subject.wake()
    time.sleep(1e-3)
    subject._talk.held.used_ns = used_ns
    subject.freeze()
    assert (0 < subject.aside_s() <= most_s) if used_ns else subject.aside_s() == 0.0
    assert subject.aside_s() == 0.0


@pytest.mark.parametrize("waited", [True, False])
@pytest.mark.parametrize("ended", ["one that it started", "one that it had"])
def test_where_a_process_may_have_ended_all_is_work_besides_a_round_but_waiting_for_a_core(subject, ended, waited):
    subject._talk.held.processes |= {2}
    subject.freeze()
    subject.wake()
    time.sleep(1e-3)
    if ended == "one that it had":
        subject._talk.held.processes = {1}
    else:
        subject._talk.held.newest = "8"
    subject._talk.held.waited_ns = 10**12 if waited else 0
    subject.freeze()
    assert subject.aside_s() == 0.0 if waited else subject.aside_s() >= 1e-3


def test_a_round_says_how_much_of_it_was_work(subject):
    def ask_round(request, *, stop, **_):
        subject._talk.held.used_ns = 1_000
        stop()
        return Done(addresses=((),), plain=(0,))

    subject._talk.ask_round = ask_round
    subject.freeze()
    subject.wake()
    assert subject.round([0], seed=1, hold=True).worked_s == 1e-6


def test_a_round_is_nothing_besides_it(subject):
    subject._talk.ask_round = lambda request, **_: Done(addresses=((),), plain=(0,))
    subject.freeze()
    subject.wake()
    subject.round([0], seed=1)
    subject._talk.held.used_ns = 10**12
    subject.freeze()
    assert subject.aside_s() == 0.0


class Apart(Host):
    """Stands for a device whose memory is its own: says when it is busy, and takes `queued_s` for what was queued."""

    apart, queued_s, held_s = True, 0.0, 0.0

    def __init__(self, log):
        self.log = log

    def hold(self, seconds):
        self.log.append("hold")
        self.held_s = seconds

    def touch(self):
        self.log.append("touch")
        time.sleep(self.queued_s)

    def wait(self):
        self.log.append("wait")
        time.sleep(self.queued_s + self.held_s)


@pytest.fixture
def on_device(subject, monkeypatch):
    """The subject, as of a device, with one output of 64 bytes that is mapped in the judge: `memory`."""
    log = subject._talk.log
    there = WorkerSubject(subject._talk, hardware=Apart(log), init_arguments=[], call_s=1.0, memory_bytes=1 << 20)
    monkeypatch.setattr(there._opened, "_driver", SimpleNamespace(close_ipc=lambda address: None))
    there.memory = torch.zeros(64, dtype=torch.uint8)
    allocation = Allocation(4096, 64, "ab", there.memory)
    there._opened._opened["ab"] = allocation
    there._opened._in_order.append(allocation)
    there._done = Done(addresses=((4096,),), extents=((64,),), plain=(0,), device_ms=1.0)
    return there


def test_on_a_device_outputs_are_overwritten_once_the_worker_is_awake_behind_what_keeps_the_device_busy(on_device):
    """What it queues between rounds, or once it was told that one begins, comes too early, or falls into the round."""
    on_device.freeze()
    on_device.spoil()
    on_device.release()
    on_device.freeze()
    assert not on_device.memory.any()
    on_device._talk.log.clear()
    on_device.wake()
    assert on_device._talk.log == ["resumed", "Attend", "hold", "wait"]
    assert on_device.memory.all()


@pytest.mark.parametrize("meanwhile", ["construct", "take_weights", "trace", "attach"])
def test_nothing_is_overwritten_that_other_code_of_the_worker_may_keep_something_in(on_device, meanwhile):
    answers = {
        "Construct": Constructed(parameters=()),
        "Trace": Traced(us=1.0, kernels=()),
        "Attach": Attached(base=4096),
    }
    on_device._talk.ask = lambda request, *_, **__: answers.get(type(request).__name__)
    on_device.spoil()
    sets = InputSets([torch.zeros(4)], 1, HostArena)
    {
        "construct": lambda: on_device.construct(1),
        "take_weights": lambda: on_device.take_weights({}),
        "trace": lambda: on_device.trace([0]),
        "attach": lambda: on_device.attach(sets),
    }[meanwhile]()
    sets.close()
    on_device.wake()
    assert not on_device.memory.any()


@pytest.mark.parametrize("when", ["wake", "release", "freeze", "outputs"])
@pytest.mark.parametrize("where", ["host", "device"])
def test_on_a_device_what_the_judge_waits_for_besides_rounds_is_work(on_device, when, where, monkeypatch):
    def ask(request, kind, **_):
        time.sleep(5e-3 if where == "host" else 0.0)
        return Described(outputs=()) if kind is Described else None

    on_device._talk.ask = ask
    monkeypatch.setattr(on_device._reader, "read", lambda *_: [])
    monkeypatch.setattr(on_device._layouts, "learn", lambda *_: None)
    monkeypatch.setattr(on_device._inputs, "locate", lambda: None)
    on_device._hardware.queued_s = 5e-3 if where == "device" else 0.0
    on_device._held.stop()
    on_device.aside_s()
    {
        "wake": on_device.wake,
        "release": on_device.release,
        "freeze": on_device.freeze,
        "outputs": lambda: on_device.outputs([0]),
    }[when]()
    counts = (when, where) not in {("freeze", "host"), ("release", "device")}
    assert (on_device.aside_s() >= 5e-3) == counts
    assert on_device.aside_s() == 0.0


@pytest.mark.parametrize("apart", [False, True])
def test_what_the_judge_takes_to_overwrite_ranges_that_do_not_touch_is_no_work_of_the_worker(on_device, apart):
    """The device is held until all of them were started, so that nothing of the worker comes between."""
    step = 2 if apart else 1
    on_device.memory = torch.zeros(4096, dtype=torch.uint8)
    on_device._opened._opened["ab"] = on_device._opened._in_order[0] = Allocation(4096, 4096, "ab", on_device.memory)
    addresses = tuple((4096 + call * step,) for call in range(2000))
    on_device._done = Done(addresses=addresses, extents=((1,),) * 2000, plain=(0,) * 2000, device_ms=1.0)
    on_device.spoil()
    on_device.wake()
    assert on_device.memory[: 2000 * step : step].all()
    assert bool(on_device.memory[1 : 2000 * step : step].any()) != apart
    assert on_device._hardware.held_s == pytest.approx(300e-6 + (2000 if apart else 1) * 8e-6)


def test_a_worker_that_was_stopped_is_stopped_again_once_it_described_its_outputs(on_device, monkeypatch):
    on_device._talk.ask = lambda request, *_, **__: Described(outputs=())
    monkeypatch.setattr(on_device._reader, "read", lambda *_: [])
    monkeypatch.setattr(on_device._layouts, "learn", lambda *_: None)
    monkeypatch.setattr(on_device._inputs, "locate", lambda: None)
    on_device.freeze()
    on_device.outputs([0])
    assert on_device._held.holds


def held(subject, outputs, sets):
    """The subject, stopped after a round of this process that had these outputs."""
    subject._talk.pid = os.getpid()
    subject._talk.base = sets.arena.bytes().data_ptr()
    subject.attach(sets)
    addresses = tuple(tuple(leaf.data_ptr() for leaf in call) for call in outputs)
    subject._done = Done(addresses, extents=tuple(tuple(leaf.nbytes for leaf in call) for call in outputs))
    subject.freeze()
    return subject


@pytest.fixture
def sets():
    made = InputSets([torch.ones(4)], 2, HostArena)
    yield made
    made.close()


def test_what_outputs_of_all_calls_lay_in_holds_nothing_of_them_any_more(subject, sets):
    outputs = [[torch.zeros(100), torch.zeros(7)] for _ in range(3)]
    held(subject, outputs, sets).spoil()
    assert all(leaf.isnan().all() or (leaf.abs() > 1e30).all() for call in outputs for leaf in call)
    assert subject._held.holds


def test_what_may_be_handed_out_again_is_left_and_so_are_inputs(subject, sets):
    table, output, given = torch.zeros(7), torch.zeros(100), sets.arguments(1)[0]
    given.fill_(3.0)
    subject.spare(frozenset({1}))
    held(subject, [[output, table], [given, table]], sets).spoil()
    assert not (output == 0).any()
    assert not table.any()
    assert bool((given == 3.0).all())


@pytest.mark.parametrize(
    ("views", "spared", "shared"),
    [
        ([slice(0, 8), slice(16, 24)], (), False),
        ([slice(0, 8), slice(8, 16)], (), False),
        ([slice(0, 8), slice(4, 12)], (), True),
        ([slice(0, 8), slice(0, 8)], (), True),
        ([slice(0, 8), slice(0, 8)], (0,), False),
    ],
)
def test_outputs_of_two_calls_that_share_memory_are_told(subject, sets, views, spared, shared):
    memory, (given,) = torch.zeros(24), sets.arguments(0)
    subject.spare(frozenset(spared))
    assert held(subject, [[memory[part], given] for part in views], sets).shares_outputs() is shared


def test_outputs_of_one_call_may_share_memory(subject, sets):
    memory = torch.zeros(24)
    assert not held(subject, [[memory, memory[4:]], [torch.zeros(4), torch.zeros(4)]], sets).shares_outputs()


def test_outputs_of_two_calls_that_are_one_buffer_by_two_mappings_share_memory(subject, sets):
    file = os.memfd_create("buffer")
    os.ftruncate(file, mmap.PAGESIZE)
    outputs = [[torch.frombuffer(mmap.mmap(file, mmap.PAGESIZE), dtype=torch.float32)] for _ in range(2)]
    os.close(file)
    assert held(subject, outputs, sets).shares_outputs()


def test_many_outputs_beside_many_mappings_of_the_inputs_take_little_time(subject, sets, monkeypatch):
    output = torch.zeros(100)
    known = [Mapping(at, at + 8, 0) for at in range(8, 480_000, 8)]
    monkeypatch.setattr(attached_inputs, "mappings_of", lambda pid, descriptor: known)
    address, many = output.data_ptr(), 100_000
    held(subject, [[output]], sets)._done = Done(((address,) * many,), extents=((4,) * many,))
    started = time.process_time()
    assert not subject.shares_outputs()
    assert time.process_time() - started < 5


def test_another_number_of_outputs_than_was_described_is_a_failure(subject, sets):
    held(subject, [[torch.zeros(4)], [torch.zeros(4), torch.zeros(4)]], sets)
    subject._layouts.newest = (TensorValue(dtype="float32", shape=(4,), strides=(1,), offset=0),)
    with pytest.raises(SubjectFailed, match="another number of outputs"):
        subject.spoil()


@pytest.mark.parametrize("extent", [1 << 21, 1 << 61])
def test_an_output_larger_than_memory_is_a_failure_before_a_byte_is_written(subject, sets, extent):
    output = torch.zeros(100)
    held(subject, [[output]], sets)._done = Done(((output.data_ptr(),),), extents=((extent,),))
    with pytest.raises(SubjectFailed, match="larger than all the memory"):
        subject.spoil()
    assert not output.any()


def test_outputs_that_are_larger_together_than_memory_are_a_failure_before_a_byte_is_written(subject, sets):
    room = torch.zeros(1 << 19)
    extents = tuple((1 << 19,) for _ in range(3))
    addresses = tuple((room.data_ptr() + call * (1 << 19) + call,) for call in range(3))
    held(subject, [], sets)._done = Done(addresses, extents=extents)
    with pytest.raises(SubjectFailed, match="larger together"):
        subject.spoil()
    assert not room.any()


def test_where_inputs_of_a_device_lay_before_says_nothing_of_an_output():
    arena = SimpleNamespace(kind="cuda", size=1024, descriptor=lambda: os.open(os.devnull, os.O_RDONLY))
    hardware = SimpleNamespace(device=torch.device("cuda"), apart=True, ipc=lambda: None, wait=lambda: None)
    subject = WorkerSubject(Talk(), hardware=hardware, init_arguments=[], call_s=1.0, memory_bytes=1 << 20)
    for base in (1 << 20, 1 << 30):
        subject._talk.base = base
        subject.attach(SimpleNamespace(arena=arena, values=(), show_all=lambda: None))
    across = ((1 << 20) - 8,), (16,)
    subject._done = Done((across[0],), extents=(across[1],))
    subject.spoil()
    subject._done = Done((((1 << 30) - 8,),), extents=((16,),))
    with pytest.raises(SubjectFailed, match="partly in an input"):
        subject.spoil()
    subject.detach()
    subject._done = Done((((1 << 30) - 8,),), extents=((16,),))
    subject.spoil()


@pytest.fixture
def spread(subject, sets):
    """A subject whose outputs were described as rows far apart, and the memory that they lie in."""
    room = torch.zeros(4, 4096)
    rows = room[:, :8]

    def described(call, strides):
        leaf = TensorValue(dtype="float32", shape=(4, 8), strides=strides, offset=rows.data_ptr(), device="cpu")
        subject._talk.ask = lambda request, kind, **_: Described(outputs=(leaf,), handles=(), copies=())
        subject.survey([call])

    extent = (3 * 4096 + 8) * 4
    held(subject, [], sets)._done = Done(((rows.data_ptr(),),) * 2, plain=(0, 0), extents=((extent,),) * 2)
    described(0, (4096, 1))
    subject.freeze()
    return subject, room, described


def test_what_lies_between_rows_that_are_far_apart_is_not_overwritten(spread):
    subject, room, described = spread
    subject.spoil()
    assert not (room[:, :8] == 0).any()
    assert not room[:, 8:].any()
    described(1, (4096, 1))


def test_outputs_that_lie_otherwise_than_they_were_overwritten_are_a_failure(spread):
    subject, _, described = spread
    subject.spoil()
    with pytest.raises(SubjectFailed, match="lie otherwise"):
        described(1, (4089, 4))


def test_outputs_of_more_parts_than_may_be_are_overwritten_with_all_between(spread, monkeypatch):
    subject, room, described = spread
    for module in (output_layouts, output_memory):
        monkeypatch.setattr(module, "MOST_PARTS", 3)
    subject.spoil()
    assert not (room[:3] == 0).any()
    described(1, (4096, 1))


def test_an_output_that_cannot_be_written_to_is_a_failure(subject, sets):
    page = torch.frombuffer(mmap.mmap(-1, mmap.PAGESIZE), dtype=torch.uint8)
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(page.data_ptr()), mmap.PAGESIZE, mmap.PROT_READ) == 0
    with pytest.raises(SubjectFailed, match="cannot be written to"):
        held(subject, [[page]], sets).spoil()


@pytest.mark.parametrize(("loops", "apart", "told"), [(True, True, 0.25), (True, False, 0.0), (False, True, 0.0)])
def test_how_long_a_loop_takes_is_asked_of_references_on_a_device_and_believed_of_nobody_else(loops, apart, told):
    talk, asked = Talk(), []

    def ask(request, kind, **_):
        asked.append(request.loops)
        return Released(loop_s=0.25)

    talk.ask = ask
    hardware = Host()
    hardware.apart = apart
    one = WorkerSubject(talk, hardware=hardware, init_arguments=[], call_s=1.0, memory_bytes=1 << 20, loops=loops)
    one.release()
    assert asked == [loops and apart]
    assert one.loop_s() == told
    if told:  # and it is no work of its own
        assert one.aside_s() == 0.0
