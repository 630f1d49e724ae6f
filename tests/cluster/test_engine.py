"""The engine of a cluster: every submission has one outcome, whatever becomes of nodes."""

import threading
import time
from concurrent.futures import CancelledError

import pytest
from fake_cluster import FakeCluster, device, soon, told

from harness.cluster.engine import FAULTS_IN_A_ROW, TRIES, ClusterEngine
from harness.cluster.members import Patience
from harness.cluster.messages import Fault, GivenUp
from harness.controller.engine import Ask
from harness.errors import (
    BusyError,
    DeadlineError,
    DeviceError,
    InputError,
    MachineError,
    ProblemError,
    SandboxError,
)
from harness.settings import Settings

QUICK = Patience(placed=60, opened=60, alone=60, pause=(0.01, 0.05), look=0.01)
HASTY = Patience(placed=0.2, opened=0.2, alone=0.2, pause=(0.01, 0.05), look=0.01)


@pytest.fixture
def ask(problem, submission):
    def make(number=0, **more):
        return Ask(submission(f"text {number}", path=f"{number}"), problem(), Settings(), **more)

    return make


@pytest.fixture
def opened():
    """Engines over a fake cluster, closed in the end with whatever is held there let go."""
    engines = []

    def make(cluster, *, patience=QUICK, **more):
        engine = ClusterEngine(cluster, "cpu", Settings(), patience=patience, **more)
        engines.append((engine, cluster))
        return engine

    yield make
    for engine, cluster in engines:
        cluster.answers = cluster.answers or (lambda actor, asked: GivenUp())
        engine.stop()
        for actor in cluster.started:
            for number in list(actor.asked):
                actor.tell(number, GivenUp())
        engine.close()
        assert cluster.is_closed.is_set()
        assert all(actor.is_ended for actor in cluster.started)


def says(evaluated):
    return getattr(evaluated.record.verdict, "detail", "")


def at_once(actor, asked):
    return told(asked)


def test_each_gets_its_own_verdict_and_the_device_that_it_had(opened, ask):
    engine = opened(FakeCluster("a", "b", answers=at_once))
    futures = [engine.submit(ask(number)) for number in range(50)]
    assert [says(future.result(60)) for future in futures] == [f"it says text {number}" for number in range(50)]
    assert {future.result().device for future in futures} <= {"a cpu", "b cpu"}
    assert engine.drain(60)


def test_a_stream_keeps_all_nodes_busy_and_no_more_in_flight_than_they_have_room_for(opened, ask):
    cluster = FakeCluster("a", "b", width=3)
    engine = opened(cluster)
    assert engine.width == 2 * 4
    results = []
    thread = threading.Thread(target=lambda: results.extend(engine.stream((n, ask(n)) for n in range(60))))
    thread.start()
    while len(results) < 60:
        soon(lambda: len(results) == 60 or all(actor.asked for actor in cluster.started) or results)
        for actor in cluster.started:
            assert len(actor.asked) <= 4
            for number in list(actor.asked)[:1]:
                actor.tell(number)
    thread.join(60)
    assert sorted(key for key, _ in results) == list(range(60))
    assert {host for host, _ in cluster.sent} == {"a", "b"}
    assert len(cluster.sent) == 60


def test_what_was_in_flight_at_an_actor_that_dies_is_judged_again_and_nothing_else(opened, ask):
    cluster = FakeCluster("a", width=2)
    engine = opened(cluster)
    futures = [engine.submit(ask(number)) for number in range(6)]
    first = cluster.actor("a")
    soon(lambda: len(first.asked) == 3)
    cluster.answers = at_once
    first.die()
    assert [says(future.result(60)) for future in futures] == [f"it says text {number}" for number in range(6)]
    assert [path for _, path in cluster.sent] == ["0", "1", "2", "0", "1", "2", "3", "4", "5"]
    assert first.is_ended
    assert len(cluster.started) == 2


def test_a_submission_whose_node_died_three_times_is_no_verdict_and_those_that_waited_are_judged(opened, ask):
    cluster = FakeCluster("a", width=1)
    engine = opened(cluster)
    noted, raised = engine.submit(ask(0, noting=True)), engine.submit(ask(1))
    waited = engine.submit(ask(2))
    for death in range(TRIES):
        soon(lambda death=death: len(cluster.started) == death + 1 and len(cluster.actor("a").asked) == 2)
        if death == TRIES - 1:
            cluster.answers = at_once
        cluster.actor("a").die("it ran out of memory")
    evaluated = noted.result(60)
    assert evaluated.record.verdict.kind == "infrastructure"
    assert evaluated.record.submission.path == "0"
    assert type(evaluated.fault) is MachineError
    assert "3 times its node was lost, the last a: it ran out of memory" in str(evaluated.fault)
    with pytest.raises(MachineError, match="3 times its node was lost"):
        raised.result(60)
    assert says(waited.result(60)) == "it says text 2"


def test_a_node_that_comes_later_is_used(opened, ask):
    cluster = FakeCluster("a", width=1)
    news = []
    engine = opened(cluster, on_news=lambda line, judging: news.append(line))
    futures = [engine.submit(ask(number)) for number in range(8)]
    soon(lambda: cluster.actor("a").asked)
    cluster.join("late")
    soon(lambda: len(cluster.started) == 2 and cluster.actor("late").asked)
    cluster.answers = at_once
    for actor in list(cluster.started):
        for number in list(actor.asked):
            actor.tell(number)
    assert [says(future.result(60)) for future in futures] == [f"it says text {number}" for number in range(8)]
    assert "late judges on 1 x a fake device" in news
    assert engine.description == "2 nodes, 2 x a fake device"


def test_a_node_that_leaves_is_done_without(opened, ask):
    cluster = FakeCluster("a", "b", width=2)
    news = []
    engine = opened(cluster, on_news=lambda line, judging: news.append(line))
    futures = [engine.submit(ask(number)) for number in range(6)]
    soon(lambda: sum(len(actor.asked) for actor in cluster.started) == 6)
    cluster.answers = at_once
    cluster.leave("b")
    soon(lambda: any(line.startswith("lost b: it left the cluster; 3 in flight") for line in news))
    for number in list(cluster.actor("a").asked):
        cluster.actor("a").tell(number)
    assert [says(future.result(60)) for future in futures] == [f"it says text {number}" for number in range(6)]
    assert engine.description == "1 node, 1 x a fake device"


def test_without_any_node_for_too_long_everything_is_told_and_the_engine_is_lost(opened, ask):
    cluster = FakeCluster("a")
    engine = opened(cluster, patience=HASTY)
    future = engine.submit(ask(noting=True))
    soon(lambda: cluster.actor("a").asked)
    cluster.leave("a")
    with pytest.raises(MachineError, match="no node has judged for 0 s: a: it left the cluster"):
        future.result(60)
    assert engine.is_lost
    with pytest.raises(MachineError, match="it left the cluster"):
        engine.submit(ask())


def test_faults_of_the_machine_in_a_row_have_a_node_started_anew(opened, ask):
    full = Fault(kind="MachineError", detail="the disk is full")
    cluster = FakeCluster("a", width=1, answers=lambda actor, asked: told(asked, fault=full))
    news = []
    engine = opened(cluster, on_news=lambda line, judging: news.append(line))
    for number in range(FAULTS_IN_A_ROW):
        assert str(engine.evaluate(ask(number, noting=True)).fault) == "the disk is full"
    soon(lambda: len(cluster.started) == 2)
    assert any("faults of the machine's, the last: the disk is full" in line for line in news)
    cluster.answers = at_once
    assert says(engine.evaluate(ask(9))) == "it says text 9"


def test_a_verdict_between_faults_leaves_a_node_as_it_is(opened, ask):
    full = Fault(kind="MachineError", detail="the disk is full")
    cluster = FakeCluster(
        "a", answers=lambda actor, asked: told(asked, fault=full if asked.submission.path != "1" else None)
    )
    engine = opened(cluster)
    for number in (0, 2, 1, 3, 4):
        engine.evaluate(ask(number, noting=True))
    assert len(cluster.started) == 1


def test_a_node_whose_judge_cannot_be_started_gives_its_work_to_another_session(opened, ask):
    broken = Fault(kind="DeviceError", detail="the judge cannot be started")
    cluster = FakeCluster("a", answers=lambda actor, asked: broken if actor is cluster.started[0] else told(asked))
    engine = opened(cluster)
    assert says(engine.evaluate(ask(noting=True))) == "it says text 0"
    assert len(cluster.started) == 2


def test_what_an_engine_raises_there_is_raised_here(opened, ask):
    cluster = FakeCluster("a", answers=lambda actor, asked: Fault(kind="ProblemError", detail="it has no Model"))
    with pytest.raises(ProblemError, match="it has no Model"):
        opened(cluster).evaluate(ask())


def test_a_deadline_that_is_over_before_there_is_room_is_told(opened, ask):
    cluster = FakeCluster("a", width=1)
    engine = opened(cluster)
    for number in range(2):
        engine.submit(ask(number))
    soon(lambda: len(cluster.actor("a").asked) == 2)
    late = engine.submit(ask(2, deadline=time.monotonic() + 0.01))
    noted = engine.submit(ask(3, deadline=time.monotonic() + 0.01, noting=True))
    with pytest.raises(DeadlineError):
        late.result(60)
    assert noted.result(60).record.verdict.kind == "infrastructure"
    assert type(noted.result().fault) is DeadlineError


def test_what_is_cancelled_is_let_go_of_here_and_there(opened, ask):
    cluster = FakeCluster("a", width=1)
    engine = opened(cluster)
    futures = [engine.submit(ask(number)) for number in range(3)]
    actor = cluster.actor("a")
    soon(lambda: len(actor.asked) == 2)
    assert futures[2].cancel()
    assert futures[0].cancel()
    soon(lambda: actor.given_up == [0])
    actor.tell(1)
    assert says(futures[1].result(60)) == "it says text 1"
    assert engine.drain(60)
    assert [path for _, path in cluster.sent] == ["0", "1"]


def test_what_was_cancelled_in_flight_is_not_judged_again_when_its_node_dies(opened, ask):
    cluster = FakeCluster("a", width=1)
    engine = opened(cluster)
    cluster.actor("a").give_up = lambda number: None  # the message is lost with the node
    futures = [engine.submit(ask(number)) for number in range(2)]
    first = cluster.actor("a")
    soon(lambda: len(first.asked) == 2)
    cluster.answers = at_once
    assert futures[0].cancel()
    first.die()
    assert says(futures[1].result(60)) == "it says text 1"
    assert engine.drain(60)
    assert [path for _, path in cluster.sent] == ["0", "1", "1"]


def test_a_full_queue_is_said(opened, ask):
    cluster = FakeCluster("a", width=1)
    engine = opened(cluster, most_queued=2)
    for number in range(2):
        engine.submit(ask(number))
    soon(lambda: len(cluster.actor("a").asked) == 2)
    for number in range(2, 4):
        engine.submit(ask(number))
    with pytest.raises(BusyError):
        engine.submit(ask(4))


def test_the_most_urgent_that_waits_is_next(opened, ask):
    cluster = FakeCluster("a", width=1)
    engine = opened(cluster)
    for number in range(2):
        engine.submit(ask(number))
    soon(lambda: len(cluster.actor("a").asked) == 2)
    futures = [engine.submit(ask(number, rank=rank)) for number, rank in ((2, 2), (3, 1), (4, 0))]
    soon(lambda: len(engine._lines[False]) == 3)
    cluster.answers = at_once
    for number in list(cluster.actor("a").asked):
        cluster.actor("a").tell(number)
    for future in futures:
        future.result(60)
    assert [path for _, path in cluster.sent][2:] == ["4", "3", "2"]


def test_what_is_asked_of_one_device_goes_to_its_node(opened, ask):
    cluster = FakeCluster("a", "b", answers=at_once)
    engine = opened(cluster)
    names = [each.name for each in engine.devices]
    assert sorted(names) == ["a cpu", "b cpu"]
    for name in names * 3:
        assert engine.evaluate(ask(device=name)).device == name
    with pytest.raises(DeviceError, match="c cpu has left the cluster"):
        engine.evaluate(ask(device="c cpu"))


def test_what_waits_for_a_device_that_leaves_is_told(opened, ask):
    cluster = FakeCluster("a", "b", width=1)
    engine = opened(cluster)
    futures = [engine.submit(ask(number, device="b cpu")) for number in range(3)]
    soon(lambda: len(cluster.actor("b").asked) == 2)
    cluster.leave("b")
    for future in futures:
        with pytest.raises(DeviceError, match="b cpu has left the cluster"):
            future.result(60)


def test_what_is_built_on_idle_cores_takes_no_room_from_others(opened, ask):
    cluster = FakeCluster("a", width=4)
    engine = opened(cluster)
    idle = [engine.submit(ask(number, idle=True)) for number in range(5)]
    actor = cluster.actor("a")
    soon(lambda: len(actor.asked) == 2)  # one for each four that are prepared at once, and one more
    others = [engine.submit(ask(number)) for number in range(10, 15)]
    soon(lambda: sum(not asked.idle for asked in actor.asked.values()) == 5)
    cluster.answers = at_once
    for number in list(actor.asked):
        actor.tell(number)
    for future in (*idle, *others):
        future.result(60)


def test_stopping_cancels_what_no_node_has_and_closing_waits_for_the_rest(opened, ask):
    cluster = FakeCluster("a", width=1)
    engine = opened(cluster)
    futures = [engine.submit(ask(number)) for number in range(4)]
    actor = cluster.actor("a")
    soon(lambda: len(actor.asked) == 2)
    engine.stop()
    soon(lambda: actor.is_stopped)
    for future in futures[2:]:
        with pytest.raises(CancelledError):
            future.result(60)
    closing = threading.Thread(target=engine.close)
    closing.start()
    actor.tell(0)
    assert not cluster.is_closed.is_set()
    actor.tell(1, GivenUp())
    closing.join(60)
    assert cluster.is_closed.is_set()
    assert says(futures[0].result()) == "it says text 0"
    assert futures[1].cancelled()
    with pytest.raises(SandboxError, match="this was closed"):
        engine.submit(ask())


def test_what_a_node_had_not_begun_when_it_was_stopped_has_no_record_of_a_fault(opened, ask):
    cluster = FakeCluster("a")
    engine = opened(cluster)
    future = engine.submit(ask(noting=True))
    actor = cluster.actor("a")
    soon(lambda: actor.asked)
    engine.stop()
    actor.tell(0, GivenUp())
    with pytest.raises(CancelledError):
        future.result(60)


def test_nodes_that_differ_are_one_clear_error(opened):
    cluster = FakeCluster("a", "b", "c")
    cluster.sorts = {"b": device(torch="2.11"), "c": device(driver="570", model="another device")}
    with pytest.raises(InputError) as caught:
        ClusterEngine(cluster, "cpu", Settings(), patience=QUICK)
    assert str(caught.value) == (
        "the nodes of a run have to be alike, and these differ: b: torch is 2.11 there and 2.13 on a. "
        "c: the driver is 570 there and 580 on a; the device is another device there and a fake device on a"
    )
    assert cluster.is_closed.is_set()
    assert all(actor.is_ended for actor in cluster.started)


def test_a_node_with_another_harness_is_said_before_it_is_asked_anything(opened):
    cluster = FakeCluster("a", "b")
    cluster.versions = {"b": "0.0.1"}
    with pytest.raises(InputError, match=r"b: the harness is 0\.0\.1 there and"):
        ClusterEngine(cluster, "cpu", Settings(), patience=QUICK)
    assert cluster.actor("b").opening is None


def test_a_node_that_comes_later_and_differs_is_said_and_not_used(opened, ask):
    cluster = FakeCluster("a", width=1, answers=at_once)
    cluster.sorts = {"b": device(torch="2.11")}
    news = []
    engine = opened(cluster, on_news=lambda line, judging: news.append(line))
    cluster.join("b")
    soon(lambda: any("it is not like the others: torch is 2.11 there and 2.13 on a" in line for line in news))
    for number in range(10):
        engine.evaluate(ask(number))
    assert {host for host, _ in cluster.sent} == {"a"}
    assert len(cluster.started) == 2


def test_a_process_that_cannot_be_placed_is_said_within_a_deadline():
    cluster = FakeCluster("a")
    cluster.full = {"a"}
    with pytest.raises(MachineError, match=r"a: no process could be placed on it within 0 s: all its 4 core\(s\)"):
        ClusterEngine(cluster, "cpu", Settings(), patience=HASTY)
    assert cluster.actor("a").is_ended


def test_where_one_node_is_taken_the_others_judge(opened, ask):
    cluster = FakeCluster("a", "b", answers=at_once)
    cluster.full = {"b"}
    news = []
    engine = opened(cluster, patience=HASTY, on_news=lambda line, judging: news.append(line))
    assert engine.evaluate(ask()).device == "a cpu"
    assert any("without b: no process could be placed" in line for line in news)
    cluster.full = set()
    soon(lambda: engine.description.startswith("2 nodes"))


def test_a_session_that_cannot_be_opened_says_why():
    cluster = FakeCluster("a")
    cluster.broken = {"a": Fault(kind="SandboxError", detail="full isolation is wanted")}
    with pytest.raises(MachineError, match="no node of the cluster can judge: a: full isolation is wanted"):
        ClusterEngine(cluster, "cpu", Settings(), patience=QUICK)


def test_a_cluster_without_nodes_is_said_within_a_deadline():
    with pytest.raises(MachineError, match="no node of the cluster has a core"):
        ClusterEngine(FakeCluster(), "cpu", Settings(), patience=HASTY)


def test_two_nodes_of_one_machine_have_names_and_shares_of_its_cores(opened):
    cluster = FakeCluster("a")
    cluster.there = {key: cluster.there["a"].__class__(f"id-{key}", "a", 4, 0) for key in ("first", "second")}
    engine = opened(cluster)
    assert sorted(each.name for each in engine.devices) == ["a cpu", "a-2 cpu"]
    assert sorted(actor.opening.part for actor in cluster.started) == [(0, 2), (1, 2)]


def test_a_cluster_that_can_no_longer_be_asked_ends_everything(opened, ask, monkeypatch):
    cluster = FakeCluster("a")
    engine = opened(cluster)
    future = engine.submit(ask())
    soon(lambda: cluster.actor("a").asked)

    def gone():
        raise ConnectionError("the head is gone")

    monkeypatch.setattr(cluster, "nodes", gone)
    with pytest.raises(MachineError, match="the cluster cannot be asked any more: ConnectionError: the head is gone"):
        future.result(60)
    assert engine.is_lost
