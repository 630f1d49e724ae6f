"""Which of those that wait a node takes next."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cluster.placement import Placement, Waiting, home

NODES = ("a", "b", "c", "d")


def waiting(number, *, problem="p", source=None, rank=1, only=None):
    return Waiting(number, rank, problem, source or f"source {number}", number, only)


def placement(*nodes, waits=()):
    made = Placement()
    made.set_nodes(nodes)
    for one in waits:
        made.put(one)
    return made


def taken(made, node):
    return list(iter(lambda: made.take(node), None))


def problem_of(node, nodes=NODES):
    return next(f"{number}" for number in range(1000) if home(f"{number}", nodes) == node)


def test_a_node_takes_what_answers_its_problem_before_what_is_older():
    own, other = problem_of("a"), problem_of("b")
    made = placement(*NODES, waits=[waiting(0, problem=other, source=other), waiting(1, problem=own)])
    assert taken(made, "a") == [1, 0]


def test_a_node_without_problems_of_its_own_takes_its_sources_and_then_the_oldest():
    other, mine, theirs = problem_of("b"), problem_of("a"), problem_of("c")
    made = placement(*NODES, waits=[waiting(0, problem=other, source=theirs), waiting(1, problem=other, source=mine)])
    assert taken(made, "a") == [1, 0]


def test_what_is_more_urgent_goes_before_what_is_at_home():
    own, other = problem_of("a"), problem_of("b")
    made = placement(*NODES, waits=[waiting(0, problem=own, rank=1), waiting(1, problem=other, source=other, rank=0)])
    assert taken(made, "a") == [1, 0]


def test_what_was_asked_of_one_node_goes_to_no_other():
    made = placement(*NODES, waits=[waiting(0, only="b"), waiting(1)])
    assert taken(made, "a") == [1]
    assert taken(made, "b") == [0]


def test_what_no_longer_waits_is_not_given():
    made = placement("a", waits=[waiting(0), waiting(1)])
    assert made.drop(0) == 0
    assert made.drop(0) is None
    assert taken(made, "a") == [1]
    assert len(made) == 0


def test_what_was_put_back_has_its_old_place():
    made = placement("a", waits=[waiting(0), waiting(1), waiting(2)])
    first = made.take("a")
    made.put(waiting(first))
    assert taken(made, "a") == [0, 1, 2]


def test_what_waited_for_a_node_that_left_is_judged_by_the_others():
    made = placement("a", "b", waits=[waiting(number, problem=f"{number}") for number in range(20)])
    made.set_nodes(["b"])
    assert taken(made, "a") != []  # it is for the engine to ask no node that left
    made = placement("a", "b", waits=[waiting(number, problem=f"{number}") for number in range(20)])
    made.set_nodes(["b"])
    assert taken(made, "b") == list(range(20))


def test_what_waits_before_there_is_a_node_is_found_once_there_is():
    made = Placement()
    made.put(waiting(0))
    made.set_nodes(["a"])
    assert taken(made, "a") == [0]


@pytest.mark.parametrize("key", ["level1/19_ReLU", "\udcff"])
def test_a_home_is_one_of_the_nodes_and_the_same_in_any_order(key):
    assert home(key, NODES) == home(key, NODES[::-1]) in NODES


def test_where_a_node_leaves_only_what_was_its_own_moves():
    keys = [f"problem {number}" for number in range(400)]
    before = {key: home(key, NODES) for key in keys}
    after = {key: home(key, NODES[:3]) for key in keys}
    assert {before[key] for key in keys if before[key] != after[key]} == {"d"}
    assert min(Counter(before.values()).values()) > 50  # of 100 each


@given(st.lists(st.tuples(st.sampled_from("pqrs"), st.integers(0, 2), st.sampled_from([None, *NODES])), max_size=60))
def test_all_that_waits_is_given_once_and_never_before_what_is_more_urgent_for_that_node(asked):
    waits = {
        number: waiting(number, problem=problem, rank=rank, only=only)
        for number, (problem, rank, only) in enumerate(asked)
    }
    made = placement(*NODES, waits=waits.values())
    left = dict(waits)
    turn = 0
    while left:
        node = NODES[turn % len(NODES)]
        turn += 1
        may = [one for one in left.values() if one.only in (None, node)]
        number = made.take(node)
        assert (number is None) == (not may)
        if number is not None:
            assert left.pop(number).rank == min(one.rank for one in may)


def test_lines_do_not_keep_what_was_taken_elsewhere():
    made = placement(*NODES)
    other = problem_of("b")
    for number in range(20_000):
        made.put(waiting(number, problem=other, source="s"))
        assert made.take("a") == number
    assert sum(map(len, made._lines.values())) < 5000
