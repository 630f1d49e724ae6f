"""A node's process, on an event loop as an actor has one."""

import asyncio
import os
import threading
from concurrent.futures import Future
from contextlib import contextmanager

import pytest
from fake_cluster import ENVIRONMENT, told

import harness
from harness.cluster.messages import Asked, Fault, GivenUp, Opened, Opening
from harness.cluster.node import NodeProcess, share
from harness.controller.engine import Ask, DeviceFacts
from harness.errors import DeviceError, ProblemError
from harness.settings import Settings

OPENING = Opening(device="cpu", settings=Settings())


class HeldEngine:
    """An engine whose futures a test ends."""

    width = 3
    is_lost = False
    devices = (DeviceFacts("cpu", "a fake device", ENVIRONMENT),)

    def __init__(self):
        self.futures: list[Future] = []
        self.asks: list[Ask] = []
        self.stopped = threading.Event()
        self.refuses = None

    def submit(self, ask):
        if self.refuses is not None:
            raise self.refuses
        self.asks.append(ask)
        self.futures.append(Future())
        return self.futures[-1]

    def stop(self):
        self.stopped.set()

    @contextmanager
    def open(self, opening):
        self.thread = threading.current_thread()
        self.cores = os.sched_getaffinity(0)
        yield self


@pytest.fixture
def asked(problem, submission):
    return Asked.of(7, Ask(submission("text"), problem(), Settings()), device=None)


def test_it_opens_in_a_thread_of_its_own_and_says_what_it_judges_on():
    engine = HeldEngine()
    process = NodeProcess(engine.open)
    opened = asyncio.run(process.open(OPENING))
    assert isinstance(opened, Opened)
    assert (opened.width, [seen.model for seen in opened.devices]) == (3, ["a fake device"])
    assert engine.thread is not threading.current_thread()
    assert engine.thread.is_alive()
    assert asyncio.run(process.version()) == harness.__version__


def test_its_session_has_a_share_of_the_cores_and_no_other_thread_loses_any():
    engine, before = HeldEngine(), os.sched_getaffinity(0)
    asyncio.run(NodeProcess(engine.open).open(OPENING.model_copy(update={"part": (0, 2)})))
    assert engine.cores == share(before, 0, 2)
    assert os.sched_getaffinity(0) == before


def test_what_keeps_a_session_from_opening_is_an_answer():
    @contextmanager
    def opens(opening):
        raise DeviceError("there is no GPU")
        yield

    assert asyncio.run(NodeProcess(opens).open(OPENING)) == Fault(kind="DeviceError", detail="there is no GPU")


def judged(engine, asked, ends):
    """What comes of `asked`, where `ends` does something once it is under way."""
    process = NodeProcess(engine.open)

    async def all_of_it():
        await process.open(OPENING)
        judging = asyncio.ensure_future(process.judge(asked))
        await asyncio.sleep(0)
        await ends(process)
        return await judging

    return asyncio.run(all_of_it())


def test_a_verdict_is_told(asked):
    engine, verdict = HeldEngine(), told(asked)

    async def ends(process):
        engine.futures[0].set_result(verdict.evaluated())

    assert judged(engine, asked, ends) == verdict
    assert engine.asks[0].submission == asked.submission


def test_what_the_engine_raises_is_a_fault(asked):
    engine = HeldEngine()

    async def ends(process):
        engine.futures[0].set_exception(ProblemError("no Model"))

    assert judged(engine, asked, ends) == Fault(kind="ProblemError", detail="no Model")


@pytest.mark.parametrize("lost", [True, False])
def test_a_fault_of_a_session_that_is_lost_is_no_record_of_a_submission(asked, lost):
    engine = HeldEngine()
    fault = Fault(kind="SandboxError", detail="the prepared process is gone")
    verdict = told(asked, fault=fault)

    async def ends(process):
        engine.is_lost = lost
        engine.futures[0].set_result(verdict.evaluated())

    assert judged(engine, asked, ends) == (fault if lost else verdict)


def test_what_the_engine_does_not_take_is_a_fault(asked):
    engine = HeldEngine()
    engine.refuses = DeviceError("closed")

    async def ends(process):
        pass

    assert judged(engine, asked, ends) == Fault(kind="DeviceError", detail="closed")


def test_what_is_given_up_says_so(asked):
    engine = HeldEngine()

    async def ends(process):
        await process.give_up(7)
        await process.give_up(8)  # which has ended, or never was

    assert judged(engine, asked, ends) == GivenUp()
    assert engine.futures[0].cancelled()


def test_stopping_stops_its_engine():
    engine = HeldEngine()
    process = NodeProcess(engine.open)
    asyncio.run(process.stop())  # before there is one
    asyncio.run(process.open(OPENING))
    asyncio.run(process.stop())
    assert engine.stopped.is_set()


@pytest.mark.parametrize(("cores", "of"), [(8, 1), (8, 2), (9, 4), (3, 3)])
def test_shares_are_all_cores_once(cores, of):
    shares = [share(set(range(cores)), part, of) for part in range(of)]
    assert sorted(core for one in shares for core in one) == list(range(cores))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_where_there_are_fewer_cores_than_nodes_each_has_all():
    assert share({0, 1}, 2, 3) == {0, 1}
