"""The table of jobs: one row a judgement, one state a row, whoever asks."""

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.serve.jobs import Jobs, NameTaken, QueueFull, Shared, Taken


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    made = Jobs(tmp_path / "jobs.sqlite")
    yield made
    made.close()


def accept(jobs: Jobs, id: str, **more: Any) -> Taken:
    usual: dict[str, Any] = {"rank": 1, "deadline_s": None, "fresh": False, "most": 1000, "asked": "{}"}
    return jobs.accept(id, sha256="0" * 64, tag="", **{**usual, **more})


def test_however_many_ask_at_once_there_is_one_job_and_one_claim(jobs: Jobs) -> None:
    with ThreadPoolExecutor(16) as threads:
        taken = list(threads.map(lambda n: accept(jobs, f"j{n % 10}"), range(200)))
        claimed = list(threads.map(lambda n: jobs.claim(), range(40)))
    assert taken.count("queued") == 10
    assert sorted(job.id for job in claimed if job is not None) == sorted(f"j{n}" for n in range(10))


def test_claims_go_by_priority_and_then_by_age(jobs: Jobs) -> None:
    for id, rank in (("a", 2), ("b", 1), ("c", 0), ("d", 1)):
        accept(jobs, id, rank=rank)
    accept(jobs, "a", rank=0)
    assert [job.id for _ in range(4) if (job := jobs.claim())] == ["a", "c", "b", "d"]
    assert jobs.claim() is None


@pytest.mark.parametrize("state", ["done", "fault", "expired", "cancelled"])
def test_what_is_queued_anew_is_behind_all_that_wait(jobs: Jobs, state: Any) -> None:
    accept(jobs, "again")
    jobs.claim()
    if state == "done":
        jobs.finish("again", record="{}", summary="{}")
    else:
        jobs.end("again", state, "it is so")
    for id in ("b", "c"):
        accept(jobs, id)
    assert accept(jobs, "again", fresh=True) == "queued"
    assert [job.id for _ in range(3) if (job := jobs.claim())] == ["b", "c", "again"]


def test_what_goes_back_into_the_queue_without_an_end_keeps_its_place(jobs: Jobs) -> None:
    for id in ("a", "b"):
        accept(jobs, id)
    jobs.claim()
    jobs.give_back("a")
    assert [job.id for _ in range(2) if (job := jobs.claim())] == ["a", "b"]


def test_the_queue_is_bounded_and_what_attaches_needs_no_room(jobs: Jobs) -> None:
    assert [accept(jobs, id, most=2) for id in "ab"] == ["queued", "queued"]
    with pytest.raises(QueueFull):
        accept(jobs, "c", most=2)
    assert accept(jobs, "a", most=2) == "attached"
    jobs.claim()
    assert accept(jobs, "c", most=2) == "queued"


def test_a_deadline_is_lengthened_and_never_shortened(jobs: Jobs) -> None:
    accept(jobs, "a", deadline_s=100)
    before = jobs.look("a")
    accept(jobs, "a", deadline_s=1)
    assert jobs.look("a") == replace(before, askers=2)
    accept(jobs, "a")
    assert jobs.look("a").deadline is None


@pytest.mark.parametrize("state", ["fault", "expired", "cancelled"])
def test_what_ended_without_a_verdict_is_queued_anew_by_being_asked_for(jobs: Jobs, state: Any) -> None:
    accept(jobs, "a")
    jobs.claim()
    jobs.end("a", state, "it is so")
    assert (jobs.look("a").state, jobs.look("a").reason) == (state, "it is so")
    assert accept(jobs, "a") == "queued"
    job = jobs.look("a")
    assert (job.state, job.reason, job.tries) == ("queued", None, 0)


@pytest.mark.parametrize("how", ["expired", "cancelled in the queue", "cancelled as it runs"])
def test_of_what_nothing_was_judged_no_text_is_kept_until_it_is_asked_for_again(jobs: Jobs, how: str) -> None:
    """Nothing bounds how many there are: their texts would fill the disk."""
    text = json.dumps("x" * 100_000)
    accept(jobs, "a", asked=text)
    if how != "cancelled in the queue":
        assert jobs.claim().asked == text
    if how == "expired":
        jobs.end("a", "expired", "its deadline was over before its turn")
    else:
        jobs.cancel("a")
        jobs.end_unwanted("a")
    assert (jobs.look("a").state, jobs.look("a").asked) == (how.split()[0], "")
    assert accept(jobs, "a", asked=text) == "queued"
    assert jobs.look("a").asked == text


@pytest.mark.parametrize("state", ["done", "fault"])
def test_what_was_judged_keeps_what_was_asked(jobs: Jobs, state: Any) -> None:
    accept(jobs, "a", asked="[]")
    jobs.claim()
    jobs.finish("a", record="{}", summary="{}") if state == "done" else jobs.end("a", state, "it is so")
    assert jobs.look("a").asked == "[]"


def test_what_was_asked_for_once_is_cancelled_in_the_queue_and_as_it_runs(jobs: Jobs) -> None:
    accept(jobs, "a")
    assert jobs.cancel("a") == "cancelled"
    accept(jobs, "b")
    jobs.claim()
    assert jobs.cancel("b") == "running"
    assert jobs.cancel("b") == "running"
    assert jobs.end_unwanted("b")
    assert [jobs.look(id).state for id in "ab"] == ["cancelled", "cancelled"]
    assert [jobs.cancel(id) for id in "abc"] == ["cancelled", "cancelled", None]


@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("state", ["open", "cancelled", "fault", "expired"])
def test_what_was_asked_for_again_is_cancelled_by_none_of_its_askers(jobs: Jobs, state: Any, running: bool) -> None:
    """Nothing tells one caller from another, nor whose the cancelling is that comes late."""
    accept(jobs, "a")
    if state != "open":
        jobs.claim()
        jobs.end("a", state, "it is so")
    if running and state == "open":
        jobs.claim()
    accept(jobs, "a")
    if running and state != "open":
        jobs.claim()
    for _ in range(2):
        with pytest.raises(Shared):
            jobs.cancel("a")
    assert (jobs.look("a").is_open, jobs.end_unwanted("a")) == (True, False)


def test_what_is_asked_for_after_it_was_cancelled_as_it_ran_goes_on(jobs: Jobs) -> None:
    accept(jobs, "a")
    jobs.claim()
    assert jobs.cancel("a") == "running"
    assert accept(jobs, "a") == "attached"
    assert not jobs.end_unwanted("a")
    with pytest.raises(Shared):
        jobs.cancel("a")


def test_callers_that_ask_and_cancel_at_once_never_lose_one_that_another_wants(jobs: Jobs) -> None:
    def ask(number: int) -> None:
        accept(jobs, f"j{number % 20}")

    def cancel(number: int) -> None:
        with contextlib.suppress(Shared):
            jobs.cancel(f"j{number % 20}")

    for number in range(20):
        ask(number)
    while jobs.claim() is not None:
        pass
    with ThreadPoolExecutor(16) as threads:
        waits = [threads.submit(does, number) for number in range(20) for does in (cancel, ask, cancel)]
        for done in waits:
            done.result()
    assert [jobs.end_unwanted(f"j{number}") for number in range(20)] == [False] * 20


def test_a_table_of_an_older_server_is_opened(jobs: Jobs, tmp_path: Path) -> None:
    accept(jobs, "a")
    jobs._database.execute("alter table jobs drop column askers")
    jobs.name_task("task", "a", "one text")
    jobs._database.execute("alter table tasks drop column asks")
    again = Jobs(tmp_path / "jobs.sqlite")
    assert again.look("a").askers == 1
    assert accept(again, "a") == "attached"
    again.name_task("task", "a", "one text")
    with pytest.raises(NameTaken):
        again.name_task("task", "a", "another text")
    again.close()


def test_a_callers_name_stands_for_one_text_whatever_its_id(jobs: Jobs) -> None:
    accept(jobs, "a")
    accept(jobs, "b")
    jobs.name_task("task", "a", "one text")
    with pytest.raises(NameTaken):
        jobs.name_task("task", "b", "another text")
    with pytest.raises(NameTaken):
        jobs.require_name("task", "another text")
    assert jobs.named_task("task") == "a"
    jobs.name_task("task", "b", "one text")  # the same, after an upgrade
    assert jobs.named_task("task") == "b"


def test_all_of_it_is_there_when_it_is_opened_again(jobs: Jobs, tmp_path: Path) -> None:
    for id in "abc":
        accept(jobs, id)
    jobs.claim()
    jobs.finish("a", record="{}", summary="{}")
    jobs.claim()
    jobs.name_task("task", "a", "")
    again = Jobs(tmp_path / "jobs.sqlite")
    assert [again.look(id).state for id in "abc"] == ["done", "running", "queued"]
    assert [job.id for job in again.running()] == ["b"]
    assert (again.named_task("task"), again.named_task("none")) == ("a", None)
    assert (again.count("queued"), again.oldest_s() > 0) == (1, True)
    again.close()


def test_a_change_that_fails_is_none(jobs: Jobs) -> None:
    accept(jobs, "a")
    jobs._database.execute("create trigger refuse after update on jobs begin select raise(abort, 'no'); end")
    with pytest.raises(sqlite3.IntegrityError):
        jobs.finish("a", record="{}", summary="{}")
    assert jobs.look("a").state == "queued"
