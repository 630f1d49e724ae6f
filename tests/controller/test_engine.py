"""The engine of the library over a session that needs no device: order, cancelling, deadlines, faults, the end."""

import contextlib
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from types import SimpleNamespace
from typing import Any

import pytest

from harness.controller import engine as module
from harness.controller.engine import RANKS, Ask, Engine
from harness.controller.turns import Turns
from harness.errors import BusyError, DeadlineError, DeviceError, HarnessError, SandboxError
from harness.settings import Settings


class Bench:
    """A session of one device. `gate` is what those that say `hold` wait for on it, `build_gate` before it."""

    def __init__(self) -> None:
        self.gate, self.build_gate, self.holding = threading.Event(), threading.Event(), threading.Event()
        self.build_gate.set()
        self.judged: list[str] = []
        self.seats = [SimpleNamespace(name="device")]
        self.free = Turns(self.seats)

    def free_seat(self, rank: int, *, time_left: Any) -> Any:
        return self.free.turn(rank, time_left=time_left)

    def examine(self, draft: Any, *, session: Any, on_phase: Any) -> None:
        for phase in ("extract", "screen", "build"):
            on_phase(phase)
            if "early" not in draft.text:
                assert self.build_gate.wait(60)

    def settle(self, draft: Any, *, session: Any, seat: Any, on_phase: Any) -> Any:
        on_phase("check")
        self.judged.append(draft.text)
        if "hold" in draft.text:
            self.holding.set()
            assert self.gate.wait(60)
        if "fault" in draft.text:
            raise DeviceError(f"a fault of {draft.text}")
        return SimpleNamespace(record=f"of {draft.text}")


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    made = Bench()
    monkeypatch.setattr(module, "begin", lambda text, problem, session, settings: SimpleNamespace(text=text))
    monkeypatch.setattr(module, "examine", made.examine)
    monkeypatch.setattr(module, "settle", made.settle)
    monkeypatch.setattr(module, "noted", lambda draft, fault, seat: SimpleNamespace(record=f"noted: {fault}"))
    monkeypatch.setattr(module, "default_builders", lambda devices: 2)
    yield made
    made.gate.set()
    made.build_gate.set()


@pytest.fixture
def engine(bench: Bench) -> Iterator[Engine]:
    made = Engine(bench, most_queued=400)  # type: ignore[arg-type]
    yield made
    bench.gate.set()
    bench.build_gate.set()
    made.close()


def ask(text: str, *, priority: Any = "normal", deadline_s: float | None = None, noting: bool = False) -> Ask:
    deadline = None if deadline_s is None else time.monotonic() + deadline_s
    return Ask(text, None, Settings(), RANKS[priority], deadline, noting)  # type: ignore[arg-type]


def test_the_urgent_are_first(engine: Engine, bench: Bench) -> None:
    held = engine.submit(ask("hold"))
    assert bench.holding.wait(30)
    bench.build_gate.clear()
    futures = [engine.submit(ask(f"before {n}")) for n in range(4)]
    futures += [engine.submit(ask(name, priority=name)) for name in ("low", "normal", "high")]
    bench.build_gate.set()
    bench.gate.set()
    for future in (held, *futures):
        future.result(30)
    assert bench.judged.index("high") < bench.judged.index("normal") < bench.judged.index("low")


def test_what_waits_is_cancelled_at_once_and_what_a_device_has_is_not(engine: Engine, bench: Bench) -> None:
    held = engine.submit(ask("hold"))
    assert bench.holding.wait(30)
    others = [engine.submit(ask(f"other {n}")) for n in range(8)]
    assert not held.cancel()
    assert all(future.cancel() for future in others)
    bench.gate.set()
    assert held.result(30) == "of hold"
    assert engine.drain(30)
    assert bench.judged == ["hold"]
    for future in others:
        with pytest.raises(CancelledError):
            future.result(30)


def test_a_deadline_is_kept_in_the_queue_between_phases_and_before_a_device(engine: Engine, bench: Bench) -> None:
    held = engine.submit(ask("hold"))
    assert bench.holding.wait(30)
    late = [engine.submit(ask(text, deadline_s=0.1)) for text in ("early bird", "late", "later", "latest")]
    noted = engine.submit(ask("noted", deadline_s=0.1, noting=True))
    for future in late:
        with pytest.raises(DeadlineError, match="deadline was over"):
            future.result(30)
    assert str(noted.result(30)).startswith("noted: the deadline")
    with pytest.raises(DeadlineError):
        engine.evaluate(ask("in this thread", deadline_s=0.05))
    bench.gate.set()
    assert held.result(30) == "of hold"
    assert bench.judged == ["hold"]


def test_a_full_queue_refuses(engine: Engine, bench: Bench) -> None:
    bench.build_gate.clear()
    futures = []
    while len(engine._queue) < 400:
        futures.append(engine.submit(ask(f"answer {len(futures)}")))
    with pytest.raises(BusyError, match="400 submissions wait already"):
        engine.submit(ask("one more"))
    bench.build_gate.set()
    assert [future.result(60) for future in futures] == [f"of answer {n}" for n in range(len(futures))]


def test_a_fault_is_raised_or_noted_as_it_is_asked(engine: Engine) -> None:
    with pytest.raises(DeviceError, match="a fault of fault"):
        engine.submit(ask("fault")).result(30)
    with pytest.raises(DeviceError):
        engine.evaluate(ask("fault"))
    assert engine.submit(ask("fault", noting=True)).result(30) == "noted: a fault of fault"
    assert engine.evaluate(ask("after it")) == "of after it"


def test_a_stream_that_is_left_early_is_cancelled(engine: Engine, bench: Bench) -> None:
    taken = []

    def asks() -> Iterator[Ask]:
        for number in range(1000):
            taken.append(number)
            yield ask(f"answer {number}")

    stream = engine.stream(asks())
    place, record = next(stream)
    assert record == f"of answer {place}"
    stream.close()  # type: ignore[attr-defined]
    assert engine.drain(30)
    assert len(bench.judged) <= len(taken) < 20


def test_closing_cancels_what_no_device_has_begun_and_waits_for_the_rest(engine: Engine, bench: Bench) -> None:
    held = engine.submit(ask("hold"))
    assert bench.holding.wait(30)
    others = [engine.submit(ask(f"other {n}")) for n in range(8)]
    threading.Timer(0.2, bench.gate.set).start()
    engine.close()
    assert held.result(0) == "of hold"
    assert all(future.cancelled() for future in others)
    assert bench.judged == ["hold"]


def test_what_is_asked_after_the_end_is_refused_as_a_fault_of_the_machines(engine: Engine) -> None:
    engine.close()
    with pytest.raises(SandboxError, match="closed while it was asked"):
        engine.submit(ask("late"))
    assert engine.drain(0)


def test_of_many_callers_who_cancel_and_come_too_late_each_gets_its_own(engine: Engine, bench: Bench) -> None:
    chance, futures = random.Random(2), {}
    guard = threading.Lock()

    def caller(numbers: range) -> None:
        for number in numbers:
            deadline_s = chance.choice([None, None, 0.001, 5])
            with contextlib.suppress(BusyError):
                future: Future[Any] = engine.submit(ask(f"answer {number}", deadline_s=deadline_s))
                if chance.random() < 0.3:
                    threading.Event().wait(chance.uniform(0, 0.002))
                    future.cancel()
                with guard:
                    futures[number] = future

    threads = [threading.Thread(target=caller, args=(range(n, 2000, 16),)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert engine.drain(60)
    found = {}
    for number, future in futures.items():
        with contextlib.suppress(CancelledError, HarnessError):
            found[number] = future.result(0)
    assert len(found) > 100
    assert found == {number: f"of answer {number}" for number in found}
    assert len(bench.judged) == len(found)
    assert engine._queue == []
    assert bench.free._waiting == []
