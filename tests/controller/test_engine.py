"""The engine over a session that needs no device: order, cancelling, deadlines, faults, the end."""

import asyncio
import contextlib
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from types import SimpleNamespace
from typing import Any

import pytest

from harness.controller.engine import RANKS, Ask, Engine, LocalEngine, default_builders
from harness.controller.evaluate import Evaluated
from harness.errors import BusyError, DeadlineError, DeviceError, HarnessError, SandboxError
from harness.settings import Settings


class FakeEngine(LocalEngine):
    """Real turns over devices that are none. An ask's submission is a text, and what comes of it is a record of it.

    `gate` is what those that say `hold` wait for on a device, between two phases; `build_gate` is what all wait for
    before it, but for those that say `quick`. `left` are those that a device has let go of.
    """

    def __init__(self, devices: int = 1, **options: Any) -> None:
        self.seats = [SimpleNamespace(device=SimpleNamespace(name=f"fake:{n}")) for n in range(devices)]
        super().__init__(SimpleNamespace(seats=self.seats), **{"builders": 2, **options})  # type: ignore[arg-type]
        self.gate, self.build_gate, self.holding = threading.Event(), threading.Event(), threading.Event()
        self.build_gate.set()
        self.judged: list[str] = []
        self.left: list[str] = []

    def _judge(self, job: Any) -> Evaluated:
        text = job.ask.submission
        try:
            with self._core(job):
                for phase in ("extract", "screen", "build"):
                    job.phase(phase)
                    if "quick" not in text:
                        assert self.build_gate.wait(60)
            with self._seat(job) as seat:
                self.judged.append(text)
                job.phase("check")
                if "hold" in text:
                    self.holding.set()
                    assert self.gate.wait(60)
                job.phase("time")
                if "fault" in text:
                    raise DeviceError(f"a fault of {text}")
                self.left.append(f"{text} on {seat.device.name}")
        except DeadlineError as late:
            if not job.ask.noting:
                raise
            return Evaluated(f"noted: {late}", {}, late)  # type: ignore[arg-type]
        return Evaluated(f"of {text}", {})  # type: ignore[arg-type]


MakeEngine = Callable[..., FakeEngine]


@pytest.fixture
def engines() -> Iterator[MakeEngine]:
    opened: list[FakeEngine] = []

    def make(**options: Any) -> FakeEngine:
        opened.append(FakeEngine(**options))
        return opened[-1]

    yield make
    for one in opened:
        one.gate.set()
        one.build_gate.set()
        one.close()


@pytest.fixture
def engine(engines: MakeEngine) -> FakeEngine:
    return engines(most_queued=400)


def ask(text: str, *, priority: Any = "normal", deadline_s: float | None = None, **more: Any) -> Ask:
    deadline = None if deadline_s is None else time.monotonic() + deadline_s
    return Ask(text, None, Settings(), RANKS[priority], deadline, **more)  # type: ignore[arg-type]


def said(evaluated: Evaluated) -> str:
    return str(evaluated.record)


# Whose turn it is


def test_the_urgent_are_first(engines: MakeEngine) -> None:
    engine = engines(builders=8)
    held = engine.submit(ask("hold"))
    assert engine.holding.wait(30)
    engine.build_gate.clear()
    futures = [engine.submit(ask(f"before {n}")) for n in range(4)]
    futures += [engine.submit(ask(name, priority=name)) for name in ("low", "normal", "high")]
    engine.build_gate.set()
    deadline = time.monotonic() + 30
    while len(engine._seats._waiting) < len(futures) and time.monotonic() < deadline:
        time.sleep(0.01)
    engine.gate.set()
    for future in (held, *futures):
        future.result(30)
    assert engine.judged.index("high") < engine.judged.index("normal") < engine.judged.index("low")


def test_a_device_that_is_asked_for_by_name_is_the_one(engines: MakeEngine) -> None:
    engine = engines(devices=3)
    for number in (2, 0, 1, 1):
        found = engine.evaluate(ask(f"answer {number}", device=f"fake:{number}"))
        assert (found.device, found.device_s > 0) == (f"fake:{number}", True)
    held = engine.submit(ask("hold", device="fake:1"))
    assert engine.holding.wait(30)
    behind = engine.submit(ask("behind it", device="fake:1"))
    assert engine.evaluate(ask("beside it")).device in ("fake:0", "fake:2")
    assert not behind.done()
    engine.gate.set()
    assert (held.result(30).device, behind.result(30).device) == ("fake:1", "fake:1")


def test_all_devices_judge_at_once_one_each(engines: MakeEngine) -> None:
    engine = engines(devices=2)
    futures = [engine.submit(ask(f"hold {n}")) for n in range(6)]
    while len(engine.judged) < 2:
        time.sleep(0.001)
    assert len(engine.judged) == 2
    engine.gate.set()
    assert {future.result(30).device for future in futures} == {"fake:0", "fake:1"}


def test_what_is_idle_takes_no_turn_of_others(engine: FakeEngine) -> None:
    engine.build_gate.clear()
    idle = [engine.submit(ask(f"idle {n}", idle=True)) for n in range(20)]
    assert said(engine.evaluate(ask("quick"))) == "of quick"
    assert not any(future.done() for future in idle)
    engine.build_gate.set()
    assert [said(future.result(30)) for future in idle] == [f"of idle {n}" for n in range(20)]


def test_phases_are_told_once_each_and_the_wait_for_a_device_too(engine: FakeEngine) -> None:
    phases: list[str] = []
    engine.evaluate(ask("answer", on_phase=phases.append))
    assert phases == ["extract", "screen", "build", "", "check", "time"]


# Cancelling and deadlines


def test_what_waits_is_cancelled_at_once(engine: FakeEngine) -> None:
    held = engine.submit(ask("hold"))
    assert engine.holding.wait(30)
    others = [engine.submit(ask(f"other {n}")) for n in range(8)]
    assert all(future.cancel() for future in others)
    assert wait(others, timeout=30).not_done == set()
    engine.gate.set()
    assert said(held.result(30)) == "of hold"
    assert engine.drain(30)
    assert engine.judged == ["hold"]
    for future in others:
        with pytest.raises(CancelledError):
            future.result(0)


def test_what_runs_is_cancelled_between_its_phases_and_the_device_takes_the_next(engine: FakeEngine) -> None:
    held = engine.submit(ask("hold"))
    assert engine.holding.wait(30)
    assert held.cancel()
    assert wait([held], timeout=30).done == {held}
    assert not engine.drain(0)  # it is still in its phase
    following = engine.submit(ask("after it"))
    engine.gate.set()
    assert said(following.result(30)) == "of after it"
    assert engine.drain(30)
    assert engine.left == ["after it on fake:0"]


def test_a_deadline_is_kept_wherever_a_submission_is(engine: FakeEngine) -> None:
    held = engine.submit(ask("hold"))
    assert engine.holding.wait(30)
    late = [engine.submit(ask(text, deadline_s=0.1)) for text in ("quick", "late", "later", "latest")]
    noted = engine.submit(ask("noted", deadline_s=0.1, noting=True))
    for future in late:
        with pytest.raises(DeadlineError, match="deadline was over"):
            future.result(30)
    assert said(noted.result(30)).startswith("noted: the deadline")
    with pytest.raises(DeadlineError):
        engine.evaluate(ask("in this thread", deadline_s=0.05))
    engine.gate.set()
    assert said(held.result(30)) == "of hold"
    assert engine.judged == ["hold"]


def test_a_deadline_is_kept_though_every_thread_is_busy(engine: FakeEngine) -> None:
    engine.build_gate.clear()
    busy = [engine.submit(ask(f"busy {n}")) for n in range(engine._line.threads._max_workers)]
    while engine._waiting:
        time.sleep(0.001)
    later = engine.submit(ask("later", deadline_s=3600))
    late = [engine.submit(ask(f"late {n}", deadline_s=0.2 - n / 1000)) for n in range(20)]
    noted = engine.submit(ask("noted", deadline_s=0.1, noting=True))
    for future in late:
        with pytest.raises(DeadlineError, match="deadline was over"):
            future.result(30)
    assert said(noted.result(30)).startswith("noted: the deadline")
    assert not any(future.done() for future in (*busy, later))
    engine.build_gate.set()
    assert [said(future.result(30)) for future in busy] == [f"of busy {n}" for n in range(len(busy))]
    assert said(later.result(30)) == "of later"
    assert not any("late " in text for text in engine.judged)


def test_nothing_is_kept_of_what_was_judged_before_its_deadline(engine: FakeEngine) -> None:
    for number in range(500):
        assert said(engine.evaluate(ask(f"answer {number}", deadline_s=3600))) == f"of answer {number}"
    assert len(engine._deadlines) < 100


def test_a_deadline_that_passes_on_a_device_ends_it_at_its_next_phase(engine: FakeEngine) -> None:
    held = engine.submit(ask("hold", deadline_s=3600))
    assert engine.holding.wait(30)
    (job,) = engine._open
    object.__setattr__(job.ask, "deadline", time.monotonic() - 1)
    engine.gate.set()
    with pytest.raises(DeadlineError):
        held.result(30)
    assert engine.left == []


def test_a_full_queue_refuses_and_one_that_is_cancelled_makes_room(engine: FakeEngine) -> None:
    engine.build_gate.clear()
    futures: list[Future[Evaluated]] = []
    while len(engine._waiting) < 400:
        futures.append(engine.submit(ask(f"answer {len(futures)}")))
    while len(futures) < 400 + engine._line.threads._max_workers:  # they have taken some by now, or will
        with contextlib.suppress(BusyError):
            futures.append(engine.submit(ask(f"answer {len(futures)}")))
    with pytest.raises(BusyError, match="400 submissions wait already"):
        engine.submit(ask("one more"))
    assert futures[-1].cancel()
    futures[-1] = engine.submit(ask(f"answer {len(futures) - 1}"))
    with pytest.raises(BusyError):
        engine.submit(ask("one more"))
    engine.build_gate.set()
    assert [said(future.result(60)) for future in futures] == [f"of answer {n}" for n in range(len(futures))]


def test_whoever_waits_for_its_own_is_never_refused(engines: MakeEngine) -> None:
    engine = engines(most_queued=0)
    with pytest.raises(BusyError):
        engine.submit(ask("answer"))
    assert said(engine.evaluate(ask("answer"))) == "of answer"
    assert [number for number, _ in engine.stream([(3, ask("answer"))])] == [3]


def test_a_fault_is_raised_where_it_is_asked_and_the_next_is_judged(engine: FakeEngine) -> None:
    with pytest.raises(DeviceError, match="a fault of fault"):
        engine.submit(ask("fault")).result(30)
    with pytest.raises(DeviceError):
        engine.evaluate(ask("fault"))
    assert said(engine.evaluate(ask("after it"))) == "of after it"


# Streams


def test_what_a_stream_is_given_comes_out_once_under_its_key(engines: MakeEngine) -> None:
    engine = engines(devices=2)
    found = {key: said(one) for key, one in engine.stream((n, ask(f"answer {n}")) for n in range(200))}
    assert found == {n: f"of answer {n}" for n in range(200)}
    assert list(engine.stream([])) == []


def test_a_source_is_asked_as_there_is_need_and_may_have_none_at_the_moment(engine: FakeEngine) -> None:
    done: list[int] = []

    def source() -> Iterator[tuple[int, Ask] | None]:
        yield None
        for number in range(5):
            yield number, ask(f"answer {number}")
            while number not in done:  # the next one comes of the last one's result
                yield None

    for number, _ in engine.stream(source()):
        done.append(number)
    assert done == [0, 1, 2, 3, 4]


def test_idle_ones_leave_a_stream_its_room(engine: FakeEngine) -> None:
    engine.build_gate.clear()
    asks = [(n, ask(f"idle {n}", idle=True)) for n in range(50)] + [(n, ask(f"quick {n}")) for n in range(50, 60)]
    order = []
    for number, _ in engine.stream(asks):
        order.append(number)
        if number == 59:
            engine.build_gate.set()
    assert sorted(order[:10]) == list(range(50, 60))
    assert sorted(order[10:]) == list(range(50))


@pytest.mark.parametrize("how", ["a source that raises", "a fault"])
def test_an_exception_ends_a_stream_and_cancels_the_rest(engine: FakeEngine, how: str) -> None:
    def source() -> Iterator[tuple[int, Ask]]:
        yield 0, ask("hold")
        assert engine.holding.wait(30)
        yield 1, ask("behind it")
        if how == "a fault":
            engine.gate.set()
            yield 2, ask("fault", priority="high")
            yield from ((n, ask(f"more {n}")) for n in range(3, 1000))
        raise KeyError("source")

    with pytest.raises(DeviceError if how == "a fault" else KeyError):
        for _ in engine.stream(source()):
            pass
    engine.gate.set()
    assert engine.drain(30)
    assert len(engine.judged) < 20


def test_a_stream_that_is_left_early_is_cancelled(engine: FakeEngine) -> None:
    taken = []

    def asks() -> Iterator[tuple[int, Ask]]:
        for number in range(1000):
            taken.append(number)
            yield number, ask(f"answer {number}")

    stream = engine.stream(asks())
    number, evaluated = next(stream)
    assert said(evaluated) == f"of answer {number}"
    stream.close()  # type: ignore[attr-defined]
    assert engine.drain(30)
    assert len(engine.judged) <= len(taken) < 20


# The end


def test_stopping_leaves_devices_what_they_have_and_nothing_is_begun_after_it(engine: FakeEngine) -> None:
    held = engine.submit(ask("hold"))
    assert engine.holding.wait(30)
    others = [engine.submit(ask(f"other {n}")) for n in range(8)]
    engine.stop()
    assert all(future.cancelled() for future in others)
    assert not held.done()
    with pytest.raises(SandboxError, match="closed while it was asked"):
        engine.submit(ask("new"))
    engine.gate.set()  # the device is free from now on
    assert said(held.result(30)) == "of hold"
    engine.close()
    assert engine.judged == ["hold"]


def test_one_that_is_about_to_get_a_device_when_it_stops_does_not(engine: FakeEngine) -> None:
    """The device is handed over before `stop` and begun after it."""
    handed_over, stopped = threading.Event(), threading.Event()
    taken = engine._seats._taken

    def slow(*asked: Any) -> Any:
        seat = taken(*asked)
        handed_over.set()
        assert stopped.wait(60)
        return seat

    engine._seats._taken = slow  # type: ignore[method-assign]
    future = engine.submit(ask("answer"))
    assert handed_over.wait(30)
    engine.stop()
    stopped.set()
    engine.close()
    assert future.cancelled()
    assert engine.judged == []


def test_closing_waits_for_what_a_device_has(engine: FakeEngine) -> None:
    held = engine.submit(ask("hold"))
    assert engine.holding.wait(30)
    closing = threading.Thread(target=engine.close)
    closing.start()
    while not engine._stopped:
        time.sleep(0.001)
    assert closing.is_alive()
    engine.gate.set()
    closing.join(30)
    assert not closing.is_alive()
    assert said(held.result(0)) == "of hold"


def test_whoever_waits_while_it_is_closed_has_a_fault_of_the_machines(engine: FakeEngine) -> None:
    engine.submit(ask("hold"))
    assert engine.holding.wait(30)
    raised: list[BaseException] = []

    def waiting() -> None:
        try:
            engine.evaluate(ask("behind it"))
        except SandboxError as error:
            raised.append(error)

    thread = threading.Thread(target=waiting)
    thread.start()
    while len(engine._open) < 2:
        time.sleep(0.001)
    engine.stop()
    thread.join(30)
    assert "closed while it was asked" in str(raised[0])
    assert engine.drain(0) is False


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_has_one_clear_error_and_ends_nothing(engine: FakeEngine) -> None:
    held = engine.submit(ask("hold"))
    assert engine.holding.wait(30)
    asking: list[Callable[[Engine], object]] = [
        lambda engine: engine.submit(ask("a")),
        lambda engine: engine.evaluate(ask("a")),
        lambda engine: list(engine.stream([(0, ask("a"))])),
        lambda engine: engine.drain(),
    ]
    pid = os.fork()
    if not pid:
        refused = 0
        for one in asking:
            with contextlib.suppress(BaseException):
                try:
                    one(engine)
                except SandboxError as error:
                    refused += "cannot be used in a fork" in str(error)
        with contextlib.suppress(BaseException):
            engine.stop()
            engine.close()
            refused += 1
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == len(asking) + 1
    engine.gate.set()
    assert said(held.result(30)) == "of hold"


def test_of_many_callers_who_cancel_and_come_too_late_each_gets_its_own(engine: FakeEngine) -> None:
    """64 threads and 64 tasks of an event loop ask for what names itself, in no order."""
    chance, guard = random.Random(2), threading.Lock()
    found: dict[int, str] = {}
    given_up: set[int] = set()

    def submitted(number: int) -> "Future[Evaluated]":
        deadline_s = chance.choice([None, None, 0.001, 60])
        priority = chance.choice(list(RANKS))
        return engine.submit(ask(f"answer {number}", priority=priority, deadline_s=deadline_s))

    def keep(number: int, outcome: str | None) -> None:
        with guard:
            if outcome is None:
                given_up.add(number)
            else:
                found[number] = outcome

    def in_a_thread(numbers: range) -> None:
        for number in numbers:
            future = submitted(number)
            if chance.random() < 0.3:
                wait([future], timeout=chance.uniform(0, 0.002), return_when=FIRST_COMPLETED)
                future.cancel()
            try:
                keep(number, said(future.result(60)))
            except (CancelledError, HarnessError):
                keep(number, None)

    async def in_a_task(numbers: range) -> None:
        for number in numbers:
            patience_s = chance.choice([None, None, 0.001, 0.01])
            try:
                keep(number, said(await asyncio.wait_for(asyncio.wrap_future(submitted(number)), patience_s)))
            except (TimeoutError, HarnessError):
                keep(number, None)

    async def tasks() -> None:
        await asyncio.gather(*(in_a_task(range(n, 1000, 64)) for n in range(64)))

    threads = [threading.Thread(target=in_a_thread, args=(range(1000 + n, 2000, 64),)) for n in range(64)]
    for thread in threads:
        thread.start()
    asyncio.run(tasks())
    for thread in threads:
        thread.join()
    assert engine.drain(60)
    assert found.keys() | given_up == set(range(2000))
    assert found == {number: f"of answer {number}" for number in found}
    assert len(found) > 100
    assert engine._open == engine._waiting == set()
    assert engine._seats._waiting == engine._cores._waiting == []


def test_a_core_is_left_to_each_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(16)))
    assert default_builders(4) == 12
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0})
    assert default_builders(8) == 1
