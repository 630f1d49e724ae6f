"""Two stages: many prepared at once, one judged at a time on each device."""

import threading
import time

import pytest

from harness.controller.scheduler import run


def test_every_task_comes_out_once():
    results = list(
        run(range(50), prepare=lambda n: n * 2, devices=["a", "b"], judge=lambda device, n: n + 1, builders=3)
    )
    assert sorted(results) == [2 * n + 1 for n in range(50)]


def test_a_device_is_used_by_one_at_a_time_while_others_are_prepared():
    using, most, preparing, overlap = set(), [], set(), []

    def prepare(task):
        preparing.add(task)
        time.sleep(0.01)
        preparing.discard(task)
        return task

    def judge(device, task):
        assert device not in using
        using.add(device)
        most.append(len(using))
        time.sleep(0.005)
        overlap.append(len(preparing))
        using.discard(device)
        return task

    list(run(range(30), prepare=prepare, devices=["a", "b"], judge=judge, builders=4))
    assert max(most) <= 2
    assert max(overlap) >= 1


@pytest.mark.parametrize("stage", ["prepare", "judge"])
def test_an_exception_of_ours_ends_the_run(stage):
    def fail(*_):
        raise KeyError("ours")

    def passing(*arguments):
        return arguments[-1]

    stages = {"prepare": passing, "judge": passing, stage: fail}
    before = threading.active_count()
    with pytest.raises(KeyError, match="ours"):
        list(run(range(5), devices=["a"], builders=2, **stages))
    assert threading.active_count() == before


def test_closing_the_iterator_ends_the_run():
    seen = []
    before = threading.active_count()
    results = run(range(1000), prepare=seen.append, devices=["a"], judge=lambda d, n: n, builders=1, ahead=2)
    next(results)
    results.close()
    assert threading.active_count() == before
    assert len(seen) < 1000


def test_nothing_to_do_is_done_at_once():
    assert list(run([], prepare=lambda n: n, devices=["a"], judge=lambda d, n: n, builders=1)) == []


def test_tasks_that_come_while_others_are_judged_are_done_too():
    def source():
        for task in range(5):
            yield task
            while len(done) <= task:  # the next one comes of the last one's result
                time.sleep(0.001)
                yield None

    done = []
    for result in run(source(), prepare=lambda n: n, devices=["a", "b"], judge=lambda device, n: n, builders=3):
        done.append(result)
    assert done == [0, 1, 2, 3, 4]


def test_a_source_that_ends_while_its_last_task_is_judged_ends_the_run():
    release = threading.Event()

    def source():
        yield "last"
        release.set()

    def judge(device, task):
        assert release.wait(5)
        time.sleep(0.05)  # the source ends before this does
        return task

    assert list(run(source(), prepare=str, devices=["a"], judge=judge, builders=2)) == ["last"]


def test_a_source_that_raises_ends_the_run():
    def source():
        yield 1
        raise KeyError("source")

    with pytest.raises(KeyError, match="source"):
        list(run(source(), prepare=lambda n: n, devices=["a"], judge=lambda device, n: n, builders=2))


def test_closing_the_iterator_ends_a_run_whose_source_only_waits():
    def source():
        yield 1
        while True:
            time.sleep(0.01)
            yield None

    before = threading.active_count()
    results = run(source(), prepare=lambda n: n, devices=["a"], judge=lambda device, n: n, builders=3)
    assert next(results) == 1
    results.close()
    assert threading.active_count() == before
