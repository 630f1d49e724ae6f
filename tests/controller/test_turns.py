"""Turns: the most urgent first, then the one that came first; who gives up is let go of at once."""

import threading
import time
from collections.abc import Callable

import pytest

from harness.controller.turns import Turns


def waiting(turns: Turns[str], rank: int, then: Callable[[str], None]) -> threading.Thread:
    """A thread that waits for its turn; returns when it does wait."""
    before = len(turns._waiting)

    def body() -> None:
        with turns.turn(rank) as thing:
            then(thing)

    thread = threading.Thread(target=body)
    thread.start()
    while len(turns._waiting) == before:
        time.sleep(0.001)
    return thread


def test_the_most_urgent_is_next_and_then_the_one_that_came_first() -> None:
    turns, order = Turns(["device"]), []
    with turns.turn():
        threads = [
            waiting(turns, rank, lambda thing, name=name: order.append(name))  # type: ignore[misc]
            for name, rank in (("low", 2), ("first", 1), ("second", 1), ("high", 0))
        ]
    for thread in threads:
        thread.join()
    assert order == ["high", "first", "second", "low"]


def test_each_thing_is_had_by_one_thread_at_a_time() -> None:
    turns, using = Turns(["a", "b"]), set()

    def body() -> None:
        for _ in range(50):
            with turns.turn() as thing:
                assert thing not in using
                using.add(thing)
                time.sleep(0.0002)
                using.discard(thing)

    threads = [threading.Thread(target=body) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(turns._free) == ["a", "b"]


def test_who_gives_up_is_let_go_of_and_the_next_has_its_turn() -> None:
    turns, gone, ended, order = Turns(["device"]), threading.Event(), threading.Event(), []

    def time_left() -> float | None:
        if gone.is_set():
            raise TimeoutError
        return None

    def body() -> None:
        with pytest.raises(TimeoutError), turns.turn(0, time_left=time_left):
            order.append("gone")
        ended.set()

    with turns.turn():
        threading.Thread(target=body).start()
        after = waiting(turns, 1, lambda thing: order.append("after"))
        gone.set()
        turns.look()
        assert ended.wait(30)
    after.join()
    assert order == ["after"]


def test_a_deadline_ends_the_wait() -> None:
    turns, end = Turns(["device"]), time.monotonic() + 0.05

    def time_left() -> float | None:
        if time.monotonic() >= end:
            raise TimeoutError
        return end - time.monotonic()

    with turns.turn():
        raised = []

        def body() -> None:
            with pytest.raises(TimeoutError) as found, turns.turn(time_left=time_left):
                pass
            raised.append(found.value)

        thread = threading.Thread(target=body)
        thread.start()
        thread.join(30)
    assert len(raised) == 1


def test_few_are_had_that_were_handed_out_a_moment_ago() -> None:
    turns, begun = Turns(range(8), young=2, young_s=0.3), []
    enough = threading.Event()

    def body() -> None:
        with turns.turn():
            begun.append(time.monotonic())
            enough.wait(30)

    threads = [threading.Thread(target=body) for _ in range(5)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    while len(begun) < 5 and time.monotonic() < started + 30:
        time.sleep(0.01)
    enough.set()
    for thread in threads:
        thread.join()
    waited = sorted(when - started for when in begun)
    assert [seconds >= 0.3 for seconds in waited] == [False, False, True, True, True]
    assert waited[4] >= 0.6


def test_none_is_forgotten_where_several_make_room_at_the_same_moment() -> None:
    """Those that wait look at the same time, and find that it is another's turn: they look again once that is old."""
    for _ in range(60):
        turns, enough = Turns(range(8), young=2, young_s=0.01), threading.Event()
        begun = threading.Semaphore(0)

        def body(
            turns: Turns[int] = turns, enough: threading.Event = enough, begun: threading.Semaphore = begun
        ) -> None:
            with turns.turn():
                begun.release()
                enough.wait(30)

        threads = [threading.Thread(target=body) for _ in range(6)]
        for thread in threads:
            thread.start()
        all_began = all(begun.acquire(timeout=5) for _ in threads)
        enough.set()
        for thread in threads:
            thread.join()
        assert all_began


def test_what_is_given_back_soon_makes_room_at_once() -> None:
    turns, order = Turns(range(8), young=1, young_s=1e6), []
    with turns.turn():
        thread = waiting(turns, 1, order.append)  # type: ignore[arg-type]
        assert not order
    thread.join()
    assert len(order) == 1


def test_who_has_waited_too_long_is_told_so_beside_young_ones() -> None:
    turns = Turns(range(8), young=1, young_s=1e6)

    def time_left() -> float:
        if time.monotonic() > until:
            raise TimeoutError
        return 0.05

    with turns.turn():
        until = time.monotonic() + 0.1
        with pytest.raises(TimeoutError), turns.turn(time_left=time_left):
            pass
