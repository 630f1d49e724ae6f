"""Tasks of a batch: what is asked, in which shard, with which numbers, and what faults in a row lead to."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future

import pytest

from harness.catalog import open_catalog
from harness.controller.batch import (
    FAULTS_IN_A_ROW,
    Task,
    check_settings,
    judged,
    run_batch,
    settings_for,
    tasks_for,
    without_strangers,
)
from harness.controller.engine import Ask, Engine
from harness.controller.evaluate import Evaluated
from harness.errors import InputError, MachineError, ProblemError, ToolchainError
from harness.schema import Correct, Device, Environment, Infrastructure, ProblemRef, Record, Verdict
from harness.settings import Settings
from harness.store import Key, Manifest, open_run

MANIFEST = Manifest(created="2026-01-01T00:00:00+00:00", harness="0", settings={}, problems_sha256="", device="cpu")


@pytest.fixture
def catalog(tmp_path, problem):
    (tmp_path / "level1").mkdir()
    (tmp_path / "level1/19_ReLU.py").write_text(problem().source)
    (tmp_path / "level1/20_Rows.py").write_text(problem("rows = 4\n", shape="rows").source)
    return open_catalog(tmp_path)


def test_every_submission_meets_its_problem(catalog, submission):
    asked = [submission("", path="a", problem="19_ReLU"), submission("", path="b", problem="level_1_problem_20")]
    tasks = tasks_for(asked, catalog)
    assert [(task.submission.path, task.problem.title) for task in tasks] == [
        ("a", "level1/19_ReLU"),
        ("b", "level1/20_Rows"),
    ]


@pytest.mark.parametrize("of", [1, 2, 3, 7, 20])
def test_the_shards_together_are_everything_once(catalog, submission, of):
    asked = [submission("", path=f"{number}", problem="19_ReLU") for number in range(7)]
    shards = [tasks_for(asked, catalog, shard=(part, of)) for part in range(1, of + 1)]
    assert sorted(task.submission.path for shard in shards for task in shard) == [f"{number}" for number in range(7)]
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


def test_every_shard_says_what_is_wrong_with_any_submission(catalog, submission):
    asked = [submission("", path="a", problem="19_ReLU"), submission("", path="b", problem="absent")]
    with pytest.raises(ProblemError, match="There is no problem 'absent'"):
        tasks_for(asked, catalog, shard=(1, 2))


@pytest.mark.parametrize("spelling", ["{folder}/theirs.py", "./theirs.py", "theirs.py", "~/theirs.py"])
def test_what_lies_among_answers_has_no_file_run_as_a_problem(catalog, submission, spelling, tmp_path, monkeypatch):
    (tmp_path / "theirs.py").write_text(catalog.named("19_ReLU").source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    name = spelling.format(folder=tmp_path)
    asked = [submission("", path="a", problem="19_ReLU"), submission("", path="b", problem=name)]
    with pytest.raises(ProblemError, match=r"b: There is no"):
        tasks_for(asked, catalog)
    known, strangers = without_strangers(asked, catalog)
    assert [each.path for each in known] == ["a"]
    assert [each.path for each in strangers] == ["b"]


def test_a_name_that_tells_no_problem_comes_with_the_names_that_do(catalog, submission):
    with pytest.raises(ProblemError, match=r"a\.txt: its name tells no problem; name it like level_1_problem_19"):
        tasks_for([submission("", path="a.txt")], catalog)


def test_two_that_a_run_could_not_tell_apart_are_refused(catalog, submission):
    asked = [submission("", path="a", problem=name) for name in ("19_ReLU", "level1/19_ReLU")]
    with pytest.raises(InputError, match="a answers level1/19_ReLU twice"):
        tasks_for(asked, catalog)


@pytest.mark.parametrize("path", ["gpt/a.py", "\udcff.py"])
def test_a_task_is_found_by_the_key_of_its_record(catalog, submission, path):
    (task,) = tasks_for([submission("", path="b", problem="19_ReLU", sample=3, model="gpt")], catalog)
    task = Task(task.submission.model_copy(update={"path": path}), task.problem)
    assert task.key == Key.of(record_of(task, Infrastructure(detail="")))


def record_of(task: Task, verdict: Verdict) -> Record:
    return Record(
        problem=ProblemRef(set=task.problem.set, name=task.problem.name, sha256=task.problem.sha256),
        submission=task.submission.ref(),
        device=Device(kind="cpu", name="a CPU"),
        verdict=verdict,
        environment=Environment(harness="0", python="3", torch="2"),
        judged_at="2026-01-01T00:00:00+00:00",
    )


def test_a_number_reaches_the_problems_that_have_it(catalog):
    settings = Settings(workload={"dim": 8, "rows": 2}, timeout_s=7)
    assert settings_for(catalog.find("19_ReLU"), settings).workload == {"dim": 8}
    assert settings_for(catalog.find("20_Rows"), settings).workload == {"rows": 2}
    assert settings_for(catalog.find("20_Rows"), settings).timeout_s == 7
    check_settings(catalog.problems(), settings)


def test_a_number_that_no_problem_has_is_refused_with_those_that_there_are(catalog):
    with pytest.raises(InputError, match="'width': --set knows batch_size, dim, rows"):
        check_settings(catalog.problems(), Settings(workload={"width": 3}))
    with pytest.raises(InputError, match="must be a whole number"):
        check_settings(catalog.problems(), Settings(workload={"rows": 1.5}))


# Faults in a row


MOST_ASKED = 30


class ScriptedEngine(Engine):
    """Judges one at a time, at once: each meets the fault that `meets(path, time)` tells, the first time's being 1."""

    devices = ()
    is_lost = False

    def __init__(self, meets: Callable[[str, int], bool]) -> None:
        super().__init__(width=1, most_queued=1)
        self._meets = meets
        self.asked = Counter[str]()

    def _enter(self, ask: Ask, *, bounded: bool) -> "Future[Evaluated]":
        self.asked[path := ask.submission.path] += 1
        assert self.asked[path] <= MOST_ASKED, "it would be asked for ever"
        fault = ToolchainError(f"no compiler for {path}") if self._meets(path, self.asked[path]) else None
        verdict = Infrastructure(detail=str(fault)) if fault else Correct(trials=1)
        future: Future[Evaluated] = Future()
        future.set_result(Evaluated(record_of(Task(ask.submission, ask.problem), verdict), {}, fault))
        return future

    def drain(self, seconds: float | None = None) -> bool:
        return True

    def stop(self) -> None:
        pass

    def close(self) -> None:
        pass


def tasks_named(paths: str, submission, problem) -> list[Task]:
    return [Task(submission("", path=f"{path}{number}"), problem()) for number, path in enumerate(paths)]


@pytest.mark.parametrize(
    ("met", "controls"),
    [
        ("x" * (FAULTS_IN_A_ROW - 1) + "." + "x" * (FAULTS_IN_A_ROW - 1), 0),
        ("x" * (FAULTS_IN_A_ROW - 1), 0),
        ("x" * FAULTS_IN_A_ROW, 1),
        ("x" * FAULTS_IN_A_ROW + "." + "x" * FAULTS_IN_A_ROW, 2),
    ],
)
def test_ours_is_judged_after_so_many_faults_with_no_verdict_between_them(submission, problem, met, controls):
    engine = ScriptedEngine(lambda path, time: path.startswith("x"))
    found = list(judged(tasks_named(met, submission, problem), engine=engine, settings=Settings()))
    assert [task.submission.path[0] for task, _ in found] == list(met)
    assert engine.asked["control.py"] == controls


@pytest.mark.parametrize(
    ("again", "ends"),
    [
        ("x" * (FAULTS_IN_A_ROW - 1) + "." + "x" * (FAULTS_IN_A_ROW - 1), False),
        ("x" * FAULTS_IN_A_ROW, True),
    ],
)
def test_so_many_that_meet_a_fault_alone_too_end_the_batch_where_no_verdict_is_between_them(
    submission, problem, tmp_path, again, ends
):
    """`again` tells what becomes of each when it is tried alone; ours is judged in the first round, and then not."""

    def meets(path: str, time: int) -> bool:
        alone = max(engine.asked[task.submission.path] for task in tasks) > 1
        return alone if path == "control.py" else time == 1 or path.startswith("x")

    engine = ScriptedEngine(meets)
    tasks = tasks_named(again, submission, problem)
    run = open_run(str(tmp_path / "run"), create=True, manifest=MANIFEST)
    judging = run_batch(tasks, run=run, engine=engine, settings=Settings())
    if ends:
        with pytest.raises(MachineError, match=f"{FAULTS_IN_A_ROW} submissions in a row could not be judged"):
            list(judging)
    else:
        kinds = {"x": "infrastructure", ".": "correct"}
        assert [record.verdict.kind for record in judging] == [kinds[one] for one in again]
