"""The engine over a bench that needs no device: what becomes of a job, and what outlives the server."""

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_cluster import soon
from serving import FakeBench, MakeEngine, ask, ended, record

from harness.controller.engine import Ask
from harness.controller.evaluate import Evaluated
from harness.errors import DeviceError, InputError, MachineError, ProblemError
from harness.schema import Infrastructure
from harness.serve.asked import Asked, AskedSettings, NeedsToken
from harness.serve.engine import Busy, Unavailable
from harness.serve.jobs import Job, Jobs, Shared
from harness.settings import Settings
from harness.store import open_run

# Verdicts


def test_a_verdict_belongs_to_its_submission_and_lies_in_the_run(engines: MakeEngine, tmp_path: Path) -> None:
    with engines() as engine:
        ids = {number: ask(engine, f"answer {number}") for number in range(20)}
        found = {number: ended(engine, id) for number, id in ids.items()}
    assert all(json.loads(job.summary)["detail"] == f"it says answer {n}" for n, job in found.items())
    kept = list(open_run(tmp_path / "state/run").records())
    assert {record.submission.path for record in kept} == set(ids.values())


def test_the_same_request_is_the_same_job_and_is_judged_once(engines: MakeEngine, bench: FakeBench) -> None:
    with engines() as engine:
        first = ask(engine, "hold it")
        assert [ask(engine, "hold it") for _ in range(8)] == [first] * 8
        bench.gate.set()
        ended(engine, first)
        assert ask(engine, "hold it") == first
    assert bench.judged == ["hold it"]


def test_whatever_decides_a_verdict_makes_another_id(engines: MakeEngine, bench: FakeBench) -> None:
    with engines() as engine:
        half = AskedSettings(precision="fp16")
        ids = {ask(engine, "a"), ask(engine, "b"), ask(engine, "a", settings=half)}
        bench.model = "another device"
    with engines() as engine:
        ids.add(ask(engine, "a"))
    with engines(settings=Settings(timing_s=0.5)) as engine:
        ids.add(ask(engine, "a"))
    assert len(ids) == 5


def test_a_fresh_verdict_is_judged_anew_and_the_last_record_counts(
    engines: MakeEngine, bench: FakeBench, tmp_path: Path
) -> None:
    with engines() as engine:
        id = ask(engine, "answer")
        ended(engine, id)
        assert ask(engine, "answer", fresh=True) == id
        ended(engine, id)
    assert bench.judged == ["answer", "answer"]
    assert len((tmp_path / "state/run/records.jsonl").read_text().splitlines()) == 2
    assert len(list(open_run(tmp_path / "state/run").records())) == 1


# Equal candidates


class TakingOver:
    """Has a bench tell what it is asked with, and take over verdicts where it may."""

    def __init__(self, bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
        self.known: list[tuple[str, object]] = []
        self._judge = bench._judge
        monkeypatch.setattr(bench, "_judge", self)

    def __call__(self, asked: Ask) -> Evaluated:
        self.known.append((asked.submission.text, asked.reuses))
        evaluated = self._judge(asked)
        if asked.reuses is None:
            return evaluated
        return replace(evaluated, record=evaluated.record.model_copy(update={"reused": "an equal one"}))


def reused(job: Job) -> str:
    return str(json.loads(str(job.record))["reused"])


def test_verdicts_are_taken_over_from_one_set_of_processes_unless_a_fresh_one_is_asked(
    engines: MakeEngine, bench: FakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    taking = TakingOver(bench, monkeypatch)
    with engines() as engine:
        for text, fresh in (("a", False), ("b", False), ("c", True), ("a", True)):
            assert reused(ended(engine, ask(engine, text, fresh=fresh))) == ("" if fresh else "an equal one")
        held = ask(engine, "hold")
        assert bench.holding.wait(30)
        left = ask(engine, "fresh and left to the next server", fresh=True)
        engine.stop()
        bench.gate.set()
    with engines() as engine:
        assert reused(ended(engine, left)) == ""
        assert reused(ended(engine, ask(engine, "d"))) == "an equal one"
        assert ended(engine, held).state == "done"
    known = [one for _, one in taking.known]
    assert known[0] is known[1] is not None
    assert known[2] is known[3] is None
    assert known[-1] is not known[0]


def test_a_fresh_verdict_that_is_asked_for_while_one_is_taken_over_is_judged(
    engines: MakeEngine, bench: FakeBench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    taking = TakingOver(bench, monkeypatch)
    with engines() as engine:
        id = ask(engine, "hold")
        assert bench.holding.wait(30)
        assert engine.accept(Asked(submission="hold", problem="19_ReLU", fresh=True), trusted=False) == (id, "attached")
        bench.gate.set()
        assert reused(ended(engine, id)) == ""
    assert [one is None for _, one in taking.known] == [False, True]
    (counting,) = open_run(tmp_path / "state/run").records()
    assert counting.reused == ""


def test_a_record_that_was_taken_over_when_the_server_was_killed_is_no_fresh_verdict(
    engines: MakeEngine, bench: FakeBench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    TakingOver(bench, monkeypatch)
    with engines() as engine:
        ids = {fresh: ask(engine, f"answer {fresh}") for fresh in (False, True)}
        found = {fresh: ended(engine, id) for fresh, id in ids.items()}
    jobs = Jobs(tmp_path / "state/jobs.sqlite")  # as they were before they knew of their records
    jobs._change("update jobs set state='running', record=null, summary=null")
    fresh = Asked.model_validate_json(found[True].asked).model_copy(update={"fresh": True})
    jobs._change("update jobs set asked=? where id=?", fresh.model_dump_json(), ids[True])
    jobs.close()
    with engines() as engine:
        assert (engine.jobs.look(ids[False]).record, reused(found[False])) == (found[False].record, "an equal one")
        assert reused(ended(engine, ids[True])) == ""
    assert bench.judged == ["answer False", "answer True", "answer True"]


# Faults


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("machine", "the judge died"),
        ("sickens", "the zygote is gone"),
        ("problem", "the reference raises"),
        ("swapped", "another submission"),
    ],
)
def test_a_fault_is_never_a_verdict(engines: MakeEngine, tmp_path: Path, text: str, reason: str) -> None:
    with engines() as engine:
        job = ended(engine, ask(engine, text))
        assert (job.state, job.record, job.summary) == ("fault", None, None)
        assert reason in str(job.reason)
        assert json.loads(ended(engine, ask(engine, "after it")).summary)["kind"] == "failed"
    assert len(list(open_run(tmp_path / "state/run").records())) == 1


@pytest.mark.parametrize("text", ["machine once", "zygote once", "explode"])
def test_what_meets_a_fault_of_the_machines_once_is_judged_all_the_same(
    engines: MakeEngine, bench: FakeBench, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr("harness.serve.engine.REOPEN_S", (0.01, 0.01))
    with engines() as engine:
        assert ended(engine, ask(engine, text)).state == "done"
        assert bench.opened == (2 if "explode" in text else 1)


def test_a_record_that_the_disk_does_not_take_is_no_verdict_yet(
    engines: MakeEngine, bench: FakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.serve.engine.REOPEN_S", (0.01, 0.01))
    with engines() as engine:
        append, full = engine.run.append, [MachineError("the disk is full")]

        def refusing(*record: Any) -> None:
            if full:
                raise full.pop()
            append(*record)

        monkeypatch.setattr(engine.run, "append", refusing)
        assert ended(engine, ask(engine, "answer")).state == "done"
    assert bench.judged == ["answer", "answer"]


@pytest.mark.parametrize("text", ["compiler", "zygote"])
def test_a_fault_that_ours_does_not_meet_is_the_submission_s_own(
    engines: MakeEngine, bench: FakeBench, text: str
) -> None:
    with engines() as engine:
        job = ended(engine, ask(engine, text))
        verdict = json.loads(str(job.record))["verdict"]
        assert (job.state, verdict["kind"], verdict["reason"]) == ("done", "failed", "protocol")
        assert "not with a submission of ours" in verdict["detail"]
        assert json.loads(str(job.summary))["correct"] is False
        after = ended(engine, ask(engine, "after it"))
        assert (after.state, bench.opened) == ("done", 1)
    assert bench.judged[-4:] == [text, "ours", text, "after it"]
    assert bench.judged.count(text) == 4


@pytest.mark.parametrize(("text", "asked"), [("compiler twice", 3), ("compiler thrice", 5)])
def test_a_suspect_that_is_judged_when_it_is_alone_has_its_verdict(
    engines: MakeEngine, bench: FakeBench, text: str, asked: int
) -> None:
    with engines() as engine:
        job = ended(engine, ask(engine, text))
        assert (job.state, json.loads(str(job.summary))["detail"]) == ("done", f"it says {text}")
    assert len(bench.judged) == asked


def test_a_fault_that_ours_meets_too_is_the_machine_s(
    engines: MakeEngine, bench: FakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = bench._judge
    fault = MachineError("the disk is full")

    def full(prepared: Any) -> Evaluated:
        evaluated = judge(prepared)
        return Evaluated(record(prepared, Infrastructure(detail=str(fault))), {}, fault) if full_disk else evaluated

    full_disk = True
    monkeypatch.setattr(bench, "_judge", full)
    with engines() as engine:
        job = ended(engine, ask(engine, "answer"))
        assert (job.state, job.reason, job.record) == ("fault", "the disk is full", None)
        full_disk = False
        assert ended(engine, ask(engine, "answer")).state == "done"


def test_a_suspect_and_ours_are_judged_with_no_other_beside_them(
    engines: MakeEngine, bench: FakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside: list[int] = []
    judge = bench._judge

    def counted(prepared: Any) -> Evaluated:
        if bench.judged.count("compiler") >= 2:
            beside.append(bench._now)
        return judge(prepared)

    monkeypatch.setattr(bench, "_judge", counted)
    with engines() as engine:
        ids = [ask(engine, text) for text in ("compiler", *(f"answer {number}" for number in range(30)))]
        assert {ended(engine, id).state for id in ids} == {"done"}
    first = bench.judged.index("ours")
    assert bench.judged[first - 1 : first + 2] == ["compiler", "ours", "compiler"]
    assert beside[:3] == [1, 1, 1]


@pytest.mark.parametrize("wish", ["drain", "cancel"])
def test_a_suspect_is_not_judged_again_where_the_server_drains_or_nobody_wants_it(
    engines: MakeEngine, bench: FakeBench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wish: str
) -> None:
    judge = bench._judge

    def holding_ours(prepared: Any) -> Evaluated:
        evaluated = judge(prepared)
        if bench.judged[-1] == "ours":
            bench.holding.set()
            assert bench.gate.wait(60)
        return evaluated

    monkeypatch.setattr(bench, "_judge", holding_ours)
    with engines() as engine:
        id = ask(engine, "compiler")
        assert bench.holding.wait(30)
        if wish == "drain":
            engine.stop()
        else:
            engine.cancel(id)
        bench.gate.set()
        assert wish == "drain" or ended(engine, id).state == "cancelled"
    job = Jobs(tmp_path / "state/jobs.sqlite").look(id)
    assert job is not None
    assert job.state == ("queued" if wish == "drain" else "cancelled")
    assert bench.judged == ["compiler"] * 3 + ["ours"]


def test_many_faults_in_a_row_start_everything_anew_where_ours_meets_one_too(
    engines: MakeEngine, bench: FakeBench
) -> None:
    with engines() as engine:
        for number in range(3):
            ended(engine, ask(engine, f"machine {number}"))
        assert ended(engine, ask(engine, "after it")).state == "done"
        assert "ours" in bench.judged
        assert bench.opened == 1
        ask(engine, "sickens once")
        assert ended(engine, ask(engine, "after that")).state == "done"
        assert bench.opened > 1


def test_a_fault_is_tried_anew_when_it_is_asked_for_again(engines: MakeEngine, bench: FakeBench) -> None:
    with engines() as engine:
        id = ask(engine, "problem")
        assert ended(engine, id).state == "fault"
        assert ask(engine, "problem") == id
        ended(engine, id)
    assert bench.judged == ["problem", "problem"]


def test_an_engine_that_cannot_start_says_why(engines: MakeEngine, bench: FakeBench) -> None:
    bench.broken = DeviceError("there is no GPU")
    with pytest.raises(MachineError, match="there is no GPU"), engines():
        pass


def test_while_it_cannot_judge_nothing_new_is_taken(
    engines: MakeEngine, bench: FakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.serve.engine.REOPEN_S", (0.01, 0.01))
    with engines() as engine:
        done = ask(engine, "answer")
        ended(engine, done)
        bench.broken = DeviceError("the GPU fell off")
        id = ask(engine, "explode")
        while "fell off" not in str(engine.fault):
            threading.Event().wait(0.01)
        with pytest.raises(Unavailable, match="the GPU fell off"):
            ask(engine, "new")
        assert ask(engine, "answer") == done
        bench.broken = None
        assert ended(engine, id).state == "done"


# Deadlines, cancelling, back-pressure


def test_what_is_over_its_deadline_is_not_begun(engines: MakeEngine, bench: FakeBench) -> None:
    with engines() as engine:
        bench.build_gate.clear()
        late = ask(engine, "late", deadline_s=0.05)
        later = [ask(engine, f"later {n}", deadline_s=0.05) for n in range(4)]
        threading.Event().wait(0.1)
        bench.build_gate.set()
        assert {ended(engine, id).state for id in (late, *later)} == {"expired"}
    assert bench.judged == []


def test_what_expired_leaves_no_text_behind_and_is_judged_where_it_is_asked_for_again(
    engines: MakeEngine, bench: FakeBench
) -> None:
    with engines() as engine:
        bench.build_gate.clear()
        texts = [f"answer {n} {'x' * 100_000}" for n in range(4)]
        late = [ask(engine, text, deadline_s=0.05) for text in texts]
        threading.Event().wait(0.1)
        bench.build_gate.set()
        assert {ended(engine, id).state for id in late} == {"expired"}
        assert [engine.jobs.look(id).asked for id in late] == [""] * 4
        assert [ask(engine, text) for text in texts] == late
        assert {ended(engine, id).state for id in late} == {"done"}


def test_a_job_whose_text_is_gone_is_not_begun(engines: MakeEngine, bench: FakeBench) -> None:
    """It ended between two looks at it, and what it was is written anew where it is asked for again."""
    with engines() as engine:
        id = ask(engine, "answer")
        job = ended(engine, id)
        assert engine._work_still_wanted(job) is not None
        assert engine._work_still_wanted(replace(job, asked="")) is None


def test_another_asker_may_lengthen_a_deadline(engines: MakeEngine, bench: FakeBench) -> None:
    with engines() as engine:
        bench.build_gate.clear()
        id = ask(engine, "late", deadline_s=0.05)
        ask(engine, "late")
        threading.Event().wait(0.1)
        bench.build_gate.set()
        assert ended(engine, id).state == "done"


def test_nor_is_it_too_late_for_that_when_the_job_is_about_to_expire(
    engines: MakeEngine, bench: FakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engines() as engine:
        expire = engine.jobs.expire

        def expire_late(id: str, reason: str) -> bool:
            ask(engine, "late")
            return expire(id, reason)

        monkeypatch.setattr(engine.jobs, "expire", expire_late)
        bench.build_gate.clear()
        id = ask(engine, "late", deadline_s=0.05)
        threading.Event().wait(0.1)
        bench.build_gate.set()
        assert ended(engine, id).state == "done"


def test_what_waits_is_cancelled_at_once_and_so_is_what_runs_as_far_as_its_callers_see(
    engines: MakeEngine, bench: FakeBench
) -> None:
    with engines() as engine:
        held = ask(engine, "hold")
        assert bench.holding.wait(30)
        others = [ask(engine, f"answer {n}") for n in range(8)]
        for id in (*others, held):
            engine.cancel(id)
            assert engine.jobs.look(id).state == "cancelled"
        bench.gate.set()
        assert ended(engine, ask(engine, "answer 3")).state == "done"
    assert bench.judged == ["hold", "answer 3"]


def test_what_another_asks_for_while_it_is_cancelled_is_judged(engines: MakeEngine, bench: FakeBench) -> None:
    with engines() as engine:
        held = ask(engine, "hold")
        assert bench.holding.wait(30)
        engine.cancel(held)
        assert ask(engine, "hold") == held
        with pytest.raises(Shared):
            engine.cancel(held)
        bench.gate.set()
        assert ended(engine, held).state == "done"


def test_a_full_queue_refuses_and_says_when_to_come_back(engines: MakeEngine, bench: FakeBench) -> None:
    with engines(most_queued=3) as engine:
        held = ask(engine, "hold")
        assert bench.holding.wait(30)
        accepted = [held]
        refused = []
        for number in range(30):
            try:
                accepted.append(ask(engine, f"answer {number}"))
            except Busy as busy:
                refused.append(busy.retry_after_s)
        assert len(refused) > 15
        assert all(1 <= seconds <= 60 for seconds in refused)
        assert ask(engine, "hold") == held
        bench.gate.set()
        assert {ended(engine, id).state for id in accepted} == {"done"}


def test_the_urgent_are_first(engines: MakeEngine, bench: FakeBench) -> None:
    bench.builders = 1  # several may overtake each other
    with engines() as engine:
        ask(engine, "hold")
        assert bench.holding.wait(30)
        bench.build_gate.clear()
        ids = [ask(engine, f"early {n}") for n in range(6)]
        low = ask(engine, "low", priority="low")
        ids += [ask(engine, "normal"), ask(engine, "high", priority="high"), low]
        bench.gate.set()
        bench.build_gate.set()
        for id in ids:
            ended(engine, id)
    assert bench.judged.index("high") < bench.judged.index("normal") < bench.judged.index("low")


# What a stranger may not ask


def test_a_problem_is_kept_once_however_many_names_it_goes_by(engines: MakeEngine) -> None:
    with engines() as engine:
        names = [f"{' ' * number}{name}" for number in range(100) for name in ("19", "19_ReLU", "level1/19_ReLU.py")]
        assert len({id(engine.named(name)) for name in names}) == 1
        for number in range(100):
            with pytest.raises(ProblemError):
                engine.named(f"none {number}")
        assert engine._named.cache_info().currsize == len(names)


def test_a_stranger_names_no_path_and_brings_no_source(engines: MakeEngine, problems: Path) -> None:
    path = problems / "level1/19_ReLU.py"
    with engines() as engine:
        padded, counted = " " * 100_000 + "19_ReLU", f"level_{'1' * 5000}_problem_1"
        for name in (str(path), f"./{path.name}", "~/x.py", "../level1/19_ReLU", "/etc/passwd", padded, counted):
            with pytest.raises(ProblemError, match="there is no problem"):
                ask(engine, "a", problem=name, trusted=True)
        with pytest.raises(NeedsToken, match="only taken with a token"):
            ask(engine, "a", problem=path.read_text())
        with pytest.raises(NeedsToken):
            ask(engine, "a", settings=AskedSettings(workload={"batch_size": 1 << 40}))
        assert ended(engine, ask(engine, "a", problem=path.read_text(), trusted=True)).state == "done"
        with pytest.raises(InputError, match="sets no number named 'width'"):
            ask(engine, "a", settings=AskedSettings(workload={"width": 2}), trusted=True)
        with pytest.raises(InputError, match="is no flag that can reject"):
            ask(engine, "a", settings=AskedSettings(reject=("nonsense",)))


# What outlives the server


def test_draining_finishes_what_a_device_has_and_leaves_the_rest_queued(engines: MakeEngine, bench: FakeBench) -> None:
    with engines() as engine:
        held = ask(engine, "hold")
        assert bench.holding.wait(30)
        others = [ask(engine, f"answer {n}") for n in range(6)]
        engine.stop()
        with pytest.raises(Unavailable, match="draining"):
            ask(engine, "new")
        assert not engine.drained(0)
        bench.gate.set()
        assert engine.drained(60)
        assert engine.jobs.look(held).state == "done"
        assert {engine.jobs.look(id).state for id in others} == {"queued"}
    assert bench.judged == ["hold"]
    with engines() as engine:
        assert {ended(engine, id).state for id in others} == {"done"}
        assert ask(engine, "hold") == held
    assert sorted(bench.judged) == ["answer 0", "answer 1", "answer 2", "answer 3", "answer 4", "answer 5", "hold"]


def test_nothing_is_begun_once_it_was_told_to_stop_however_late_its_thread_hears_of_it(
    engines: MakeEngine, bench: FakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engines() as engine:
        held = ask(engine, "hold")
        assert bench.holding.wait(30)
        judging, next_news = engine._judging, engine._next_news
        is_deaf, hears = threading.Event(), threading.Event()

        def late() -> Any:
            is_deaf.set()
            assert hears.wait(60)
            return next_news()

        others = [ask(engine, f"answer {n}") for n in range(6)]
        soon(lambda: len(engine._begun) >= 2)
        monkeypatch.setattr(engine, "_next_news", late)
        others.append(ask(engine, "answer 6"))  # which its thread hears of, and nothing after
        assert is_deaf.wait(30)
        engine.stop()
        bench.gate.set()
        assert judging is not None
        assert judging.drain(60)  # the device was free all the while
        assert bench.judged == ["hold"]
        hears.set()
        assert engine.drained(60)
        assert engine.jobs.look(held).state == "done"
        assert {engine.jobs.look(id).state for id in others} == {"queued"}


def left_running(state: Path, id: str, *, record: str | None = None) -> None:
    """As a server leaves it that is killed: the job runs, and knows no record, or an earlier one."""
    jobs = Jobs(state / "jobs.sqlite")
    jobs._database.execute("update jobs set state='running', record=?, summary=null where id=?", (record, id))
    jobs.close()


def test_a_record_that_was_kept_before_a_kill_is_found_and_not_judged_again(
    engines: MakeEngine, bench: FakeBench, tmp_path: Path
) -> None:
    with engines() as engine:
        id = ask(engine, "answer")
        ended(engine, id)
    left_running(tmp_path / "state", id)
    with engines() as engine:
        job = engine.jobs.look(id)
        assert (job.state, json.loads(job.summary)["detail"]) == ("done", "it says answer")
    assert bench.judged == ["answer"]


def test_a_fresh_verdict_that_a_kill_prevented_is_not_the_one_before(
    engines: MakeEngine, bench: FakeBench, tmp_path: Path
) -> None:
    with engines() as engine:
        id = ask(engine, "answer")
        before = ended(engine, id).record
    left_running(tmp_path / "state", id, record=before)
    with engines() as engine:
        assert ended(engine, id).state == "done"
    assert bench.judged == ["answer", "answer"]


def test_what_was_queued_on_another_machine_is_a_fault_and_no_verdict(
    engines: MakeEngine, bench: FakeBench, tmp_path: Path
) -> None:
    with engines() as engine:
        id = ask(engine, "answer")
        ended(engine, id)
    left_running(tmp_path / "state", id)
    (tmp_path / "state/run/records.jsonl").write_text("")
    bench.model = "another device"
    with engines() as engine:
        job = ended(engine, id)
        assert (job.state, job.reason) == ("fault", "what decides its verdict has changed since: ask again")


def test_jobs_that_ended_are_forgotten_after_a_time_and_their_records_are_kept(
    engines: MakeEngine, bench: FakeBench, tmp_path: Path
) -> None:
    with engines(keep_s=0.5) as engine:
        id = ask(engine, "answer")
        engine.jobs.name_task("a task", id, "asks")
        ended(engine, id)
        held = ask(engine, "hold")
        while engine.jobs.look(id) is not None:
            threading.Event().wait(0.02)
        assert engine.jobs.named_task("a task") is None
        assert engine.jobs.look(held).is_open
        bench.gate.set()
        assert ask(engine, "answer") == id
    kept = {record.submission.path for record in open_run(tmp_path / "state/run").records()}
    assert id in kept


def test_only_one_server_writes_a_state(engines: MakeEngine) -> None:
    with engines(), pytest.raises(InputError), engines():
        pass
