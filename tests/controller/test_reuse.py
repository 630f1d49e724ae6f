"""Equal candidates are judged once: who finds out, who waits, and what is never taken over."""

import threading
from dataclasses import dataclass

import pytest

from harness.controller.reuse import MOST, MOST_BYTES, Reuse, key_of
from harness.schema import Candidate, Problem
from harness.settings import Settings


@dataclass(eq=False)
class Owner:
    """Something that may be gone, as a draft may."""


def test_the_second_takes_over_what_the_first_found() -> None:
    reuse: Reuse[str] = Reuse()
    first, second = Owner(), Owner()
    assert reuse.ask("k", first) is None
    reuse.tell("k", first, "correct")
    assert reuse.ask("k", second) == "correct"
    assert reuse.ask("other", second) is None


def test_the_second_waits_while_the_first_is_in_flight() -> None:
    reuse: Reuse[str] = Reuse()
    first, second = Owner(), Owner()
    reuse.ask("k", first)
    waits, found = threading.Event(), []
    thread = threading.Thread(target=lambda: found.append(reuse.ask("k", second, on_wait=waits.set)))
    thread.start()
    assert waits.wait(60)
    assert not found
    reuse.tell("k", first, "wrong")
    thread.join(60)
    assert found == ["wrong"]


def test_a_first_that_found_nothing_leaves_it_to_the_second() -> None:
    reuse: Reuse[str] = Reuse()
    first, second, third = Owner(), Owner(), Owner()
    reuse.ask("k", first)
    reuse.tell("k", first, None)
    assert reuse.ask("k", second) is None
    reuse.tell("k", second, "found")
    assert reuse.ask("k", third) == "found"


def test_of_many_that_wait_for_one_that_found_nothing_one_is_next_and_the_others_wait_for_it() -> None:
    reuse: Reuse[str] = Reuse()
    first, found, asked = Owner(), [], threading.Barrier(9)
    reuse.ask("k", first)

    def one(number: int) -> None:
        owner = Owner()
        asked.wait(60)
        known = reuse.ask("k", owner)
        found.append(known)
        if known is None:
            reuse.tell("k", owner, f"of {number}")

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    asked.wait(60)
    reuse.tell("k", first, None)
    for thread in threads:
        thread.join(60)
    assert found.count(None) == 1
    assert len(set(found)) == 2
    assert len(found) == 8


def test_what_is_urgent_waits_for_nothing_that_is_not() -> None:
    reuse: Reuse[str] = Reuse()
    low, normal, other, high = Owner(), Owner(), Owner(), Owner()
    assert reuse.ask("k", low, rank=2) is None
    assert reuse.ask("k", high, rank=0) is None
    with pytest.raises(TimeoutError):
        reuse.ask("k", normal, rank=1, on_wait=over)
    reuse.tell("k", low, "of low")  # the key was taken from it
    with pytest.raises(TimeoutError):
        reuse.ask("k", other, rank=1, on_wait=over)
    reuse.tell("k", high, "of high")
    assert reuse.ask("k", normal, rank=1) == "of high"


def over() -> None:
    raise TimeoutError


def test_one_that_may_wait_no_longer_says_so() -> None:
    reuse: Reuse[str] = Reuse()
    first, second = Owner(), Owner()
    reuse.ask("k", first)
    with pytest.raises(TimeoutError):
        reuse.ask("k", second, on_wait=over)


def test_nobody_but_the_owner_tells() -> None:
    reuse: Reuse[str] = Reuse()
    first, second = Owner(), Owner()
    reuse.ask("k", first)
    reuse.tell("k", second, "correct")
    reuse.tell("k", first, "wrong")
    assert reuse.ask("k", second) == "wrong"


def test_the_oldest_are_forgotten() -> None:
    reuse: Reuse[str] = Reuse()
    owner = Owner()
    for number in range(MOST + 1):
        reuse.ask(str(number), owner)
        reuse.tell(str(number), owner, "correct")
    assert reuse.ask("0", Owner()) is None
    assert reuse.ask(str(MOST), Owner()) == "correct"


def test_what_is_remembered_has_an_end_in_bytes_too() -> None:
    reuse: Reuse[str] = Reuse()
    owner, waiting = Owner(), Owner()
    reuse.ask("under way", waiting)
    for number in range(5):
        reuse.ask(str(number), owner)
        reuse.tell(str(number), owner, "correct", size=MOST_BYTES // 3)
    assert [reuse.ask(str(number), Owner()) for number in range(5)] == [None, None, "correct", "correct", "correct"]
    reuse.tell("under way", waiting, "huge", size=2 * MOST_BYTES)
    assert reuse.ask("under way", Owner()) is None


def test_keys_are_equal_only_where_all_that_decides_is() -> None:
    candidate = Candidate(source="class ModelNew: pass", sha256="0" * 64, languages=("pytorch",))
    problem = Problem(set="level1", name="19_ReLU", source="class Model: pass", sha256="1" * 64)
    settings = Settings()
    keys = {
        key_of(candidate, problem, settings, "cuda"),
        key_of(candidate, problem, settings, "cpu"),
        key_of(candidate, problem, settings.model_copy(update={"timing_s": 1.0}), "cuda"),
        key_of(candidate, problem.model_copy(update={"source": "class Model: 1"}), settings, "cuda"),
        key_of(candidate.model_copy(update={"source": "class ModelNew: pass "}), problem, settings, "cuda"),
    }
    assert len(keys) == 5
    assert key_of(candidate, problem, Settings(), "cuda") in keys
