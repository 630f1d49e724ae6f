"""Equal candidates are judged once: who finds out, who waits, and what is never taken over."""

import threading
from dataclasses import dataclass

import pytest

from harness.controller.reuse import MOST, Reuse, key_of
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
    thread = threading.Thread(target=lambda: found.append(reuse.ask("k", second, waits.set)))
    thread.start()
    assert waits.wait(60)
    assert not found
    reuse.tell("k", first, "wrong")
    thread.join(60)
    assert found == ["wrong"]


def test_a_first_that_found_nothing_or_is_gone_leaves_it_to_the_second() -> None:
    reuse: Reuse[str] = Reuse()
    first, second, third = Owner(), Owner(), Owner()
    reuse.ask("k", first)
    reuse.tell("k", first, None)
    assert reuse.ask("k", second) is None
    del second
    assert reuse.ask("k", third) is None


def test_one_that_may_wait_no_longer_says_so() -> None:
    reuse: Reuse[str] = Reuse()
    first, second = Owner(), Owner()
    reuse.ask("k", first)

    def over() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        reuse.ask("k", second, over)


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


def test_an_owner_that_left_without_a_word_leaves_the_question_to_the_next_though_it_lives_on():
    reuse, first, second = Reuse(), Owner(), Owner()
    assert reuse.ask("key", first) is None
    reuse.leave("key", first)
    assert reuse.ask("key", second) is None  # and does not wait for what `first` may still say
    reuse.tell("key", second, "found")
    reuse.leave("key", second)
    assert reuse.ask("key", Owner()) == "found"
