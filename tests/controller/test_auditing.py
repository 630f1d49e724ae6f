"""Stock's word on verdicts that were told: when it is asked for, and what comes of it."""

import threading
from types import SimpleNamespace

import pytest

from harness.backends import BACKENDS
from harness.catalog import open_catalog
from harness.controller import batch
from harness.controller import evaluate as page
from harness.controller.batch import Task, judged, run_batch
from harness.controller.confirming import confirm_firsts, settings_of, unconfirmed_firsts
from harness.controller.engine import LocalEngine
from harness.controller.preparation import Preparation
from harness.controller.session import DeviceChoice
from harness.errors import DeviceError, InputError, MachineError
from harness.judge.jobs import Judgement, Seated
from harness.schema import BuildSummary, Correct, Environment, Failed, Interval, Timing, Workload, Wrong
from harness.schema.build import FAST_TOOLCHAINS
from harness.schema.record import DIFFERED
from harness.settings import Settings
from harness.store import Manifest, open_run

SOURCE = """import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x
# {}, cuda load_inline"""
FAST, STOCK = (
    Preparation((BuildSummary(name="f", toolchain=name, cached=False, seconds=1, cpu_seconds=1),), (), "", None)
    for name in ("slim", "stock")
)
CORRECT = Judgement(verdict=Correct(trials=9), workload=Workload())
WRONG = Judgement(verdict=Wrong(reason="values", detail="off", trial="nominal"), workload=Workload())


def failed(reason: str) -> Preparation:
    return Preparation((), (), "", Failed(stage="build", reason=reason, detail="no"))


def timed(ratio: float) -> Judgement:
    speedup = Interval(value=ratio, low=ratio, high=ratio)
    timing = Timing(
        candidate_ms=1, reference_ms=ratio, speedup=speedup, conclusion="faster", rounds=9, calls_per_round=1
    )
    return CORRECT.model_copy(update={"timing": timing})


class Seat:
    """A judge that says of each source what it is told to; sources of stock's builds come with their toolchain."""

    device = DeviceChoice("cpu", None)
    told = Seated(environment=Environment(harness="0", python="3", torch="2"), device_name="a CPU")

    def __init__(self, says) -> None:
        self._says = says

    def start(self):
        return self.told

    def judge(self, job, *, build, on_phase):
        del build, on_phase
        says = self._says(job.source, job.settings.toolchain)
        if isinstance(says, Exception):
            raise says
        return says


@pytest.fixture
def engine(monkeypatch):
    """An engine of one builder, whose builds and judge are functions of source and toolchain; everybody is drawn.

    Its `settings` are those that a batch on it is to have.
    """
    opened = []

    def make(says=lambda source, toolchain: CORRECT, built=lambda source: STOCK, audit="sample"):
        monkeypatch.setattr(page, "ONE_IN", 1)
        fast = {"auto": lambda source: FAST, "stock": built}
        monkeypatch.setattr(
            page, "prepare", lambda candidate, *_, settings, **__: fast[settings.toolchain](candidate.source)
        )
        settings = Settings(audit=audit)
        seats = [Seat(says)]
        session = SimpleNamespace(settings=settings, backend=BACKENDS["cuda"], seats=seats, zygote=None, build=None)
        opened.append(LocalEngine(session, builders=1))
        opened[-1].settings, opened[-1].seat = settings, session.seats[0]
        return opened[-1]

    yield make
    for one in opened:
        one.close()


@pytest.fixture
def tasks(submission, problem):
    def make(count: int = 1) -> list[Task]:
        asked = (submission(SOURCE.format(n), path=f"{n}.py", sample=n) for n in range(count))
        return [Task(each, problem()) for each in asked]

    return make


@pytest.fixture
def run(tmp_path):
    manifest = Manifest(created="2026", harness="0", settings=Settings().model_dump(mode="json"))
    with open_run(tmp_path / "r", create=True, manifest=manifest) as opened:
        yield opened


def told(evaluated):
    return evaluated.record.submission.path, evaluated.told, evaluated.record.confirmed


def judged_on(engine, tasks):
    return judged(tasks, engine=engine, settings=engine.settings)


def test_the_fast_toolchains_are_all_but_the_last_of_every_kind():
    assert {name for backend in BACKENDS.values() for name in backend.toolchains[:-1]} == FAST_TOOLCHAINS


def test_a_sample_is_told_before_stock_is_asked_and_keeps_nobody_waiting(engine, tasks):
    all_are_told = threading.Event()

    def built(source):
        assert all_are_told.wait(60)
        return STOCK

    seen = []
    for _, evaluated in judged_on(engine(built=built), tasks(5)):
        seen.append(told(evaluated))
        if len(seen) == 5:
            all_are_told.set()
    assert seen[:5] == [(f"{n}.py", False, "none") for n in range(5)]
    assert sorted(seen[5:]) == [(f"{n}.py", True, "stock") for n in range(5)]


def test_where_all_are_asked_about_nothing_is_told_before(engine, tasks):
    seen = [told(evaluated) for _, evaluated in judged_on(engine(audit="all"), tasks(2))]
    assert seen == [("0.py", False, "stock"), ("1.py", False, "stock")]


def test_a_sample_is_built_on_idle_cores_and_what_is_waited_for_is_not(engine, tasks, monkeypatch):
    idle = []
    examine = page._examine
    monkeypatch.setattr(page, "_examine", lambda draft, *a, **k: (idle.append(draft.idle), examine(draft, *a, **k)))
    list(judged_on(engine(), tasks()))
    assert idle == [False, True]
    list(judged_on(engine(audit="all"), tasks()))
    assert idle == [False, True, False, False]


def test_a_disagreement_takes_the_place_of_the_record_that_was_kept(engine, tasks, run):
    one = engine(lambda source, toolchain: CORRECT if toolchain == "auto" else WRONG)
    heard = []
    kept = list(run_batch(tasks(), run=run, engine=one, settings=one.settings, on_audit=heard.append))
    assert [record.verdict.kind for record in kept] == ["correct"]
    (record,) = run.records()
    assert (record.verdict.kind, record.confirmed) == ("wrong", "stock")
    assert DIFFERED in [flag.rule for flag in record.flags]
    assert [each.record for each in heard] == [record]
    assert len(run.index().lines) == 2


@pytest.mark.parametrize(
    ("says", "built", "why"),
    [
        (lambda _, toolchain: CORRECT if toolchain == "auto" else DeviceError("lost"), lambda _: STOCK, "lost"),
        (lambda *_: CORRECT, lambda _: failed("timeout"), "came to no end"),
    ],
    ids=["a device that is lost", "no time for stock's build"],
)
def test_where_stock_cannot_be_asked_the_verdict_stays_and_that_is_said(engine, tasks, run, says, built, why):
    heard = []
    one = engine(says, built)
    assert len(list(run_batch(tasks(), run=run, engine=one, settings=one.settings, on_audit=heard.append))) == 1
    (record,) = run.records()
    assert (record.verdict.kind, record.confirmed) == ("correct", "none")
    assert why in str(heard[0].fault)


def test_faults_of_stock_do_not_end_a_batch(engine, tasks, run, monkeypatch):
    monkeypatch.setattr(batch, "FAULTS_IN_A_ROW", 2)
    one = engine(built=lambda source: failed("out-of-memory"))
    assert len(list(run_batch(tasks(4), run=run, engine=one, settings=one.settings))) == 4


def test_what_stock_refused_already_is_not_asked_of_it_again(engine, tasks, monkeypatch):
    one = engine()
    monkeypatch.setattr(page, "prepare", lambda *_, **__: failed("compile"))
    assert [told(evaluated) for _, evaluated in judged(tasks(), engine=one, settings=one.settings)] == [
        ("0.py", False, "none")
    ]


def test_leaving_early_forgets_what_was_to_be_asked(engine, tasks):
    going = judged_on(engine(), tasks(3))
    next(going)
    going.close()


# What ranks first


@pytest.fixture
def catalog(tmp_path, problem):
    (tmp_path / "level1").mkdir()
    (tmp_path / "level1/19_ReLU.py").write_text(problem().source)
    return open_catalog(tmp_path)


def test_what_ranks_first_is_confirmed_and_so_is_what_takes_the_place_of_one_that_is_not(engine, tasks, run, catalog):
    ratios = {0: 3.0, 1: 2.0, 2: 1.0}

    def says(source, toolchain):
        number = int(source[source.index("# ") + 2])
        return WRONG if number == 0 and toolchain == "stock" else timed(ratios[number])

    one = engine(says, audit="none")
    list(run_batch(tasks(3), run=run, engine=one, settings=one.settings))
    assert [record.submission.path for record in unconfirmed_firsts(run)] == ["0.py"]
    found = [told(each) for each in confirm_firsts(run, engine=one, catalog=catalog)]
    assert found == [("0.py", True, "stock"), ("1.py", True, "stock")]
    kinds = {record.submission.path: (record.verdict.kind, record.confirmed) for record in run.records()}
    assert kinds == {"0.py": ("wrong", "stock"), "1.py": ("correct", "stock"), "2.py": ("correct", "none")}
    assert unconfirmed_firsts(run) == []


@pytest.mark.parametrize("what", ["the problem", "the text", "the device"])
def test_what_is_no_longer_as_it_was_cannot_be_confirmed_and_that_is_said(engine, tasks, run, catalog, tmp_path, what):
    one = engine(audit="none")
    (record,) = run_batch(tasks(), run=run, engine=one, settings=one.settings)
    if what == "the problem":
        (tmp_path / "level1/19_ReLU.py").write_text("# other\n" + catalog.find("19_ReLU").source)
        catalog = open_catalog(tmp_path)
    elif what == "the text":
        (run.artifacts(record) / "submission.txt").write_text("cut")
    else:
        one.seat.told = one.seat.told.model_copy(update={"device_name": "another"})
    (evaluated,) = confirm_firsts(run, engine=one, catalog=catalog)
    assert evaluated.fault is not None
    assert not isinstance(evaluated.fault, MachineError)
    assert [each.confirmed for each in run.records()] == ["none"]


def test_a_run_with_settings_that_nobody_knows_is_refused(tmp_path):
    manifest = Manifest(created="2026", harness="9", settings={"phase_of_the_moon": 3})
    with open_run(tmp_path / "r", create=True, manifest=manifest) as run, pytest.raises(InputError, match="run r was"):
        settings_of(run)


@pytest.mark.parametrize(
    ("said", "had"), [("none", "auto"), ("basic", "auto"), ("basic-or-more", "basic-or-more"), ("full", "full")]
)
def test_no_run_of_others_has_its_candidates_run_with_less_isolation_than_there_is(tmp_path, said, had):
    manifest = Manifest(created="2026", harness="9", settings={"isolation": said})
    with open_run(tmp_path / "r", create=True, manifest=manifest) as run:
        assert settings_of(run).isolation == had
