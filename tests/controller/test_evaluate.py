"""What a record is put together from, however far its submission came."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from harness.backends import BACKENDS
from harness.controller import evaluate as page
from harness.controller.evaluate import begin, evaluate, examine, settle, settle_or_record
from harness.controller.preparation import Preparation
from harness.controller.reuse import Reuse
from harness.controller.session import DeviceChoice, JudgeLost
from harness.errors import (
    DeadlineError,
    DeviceError,
    GivenUpError,
    MachineError,
    ProblemError,
    SandboxError,
    ToolchainError,
)
from harness.judge.jobs import Judgement, Seated
from harness.schema import (
    BuildSummary,
    Correct,
    Environment,
    Failed,
    Interval,
    SandboxReport,
    Timing,
    Workload,
)
from harness.schema.build import Artifact, BuildFailure, BuildRequest
from harness.schema.flag import Flag
from harness.schema.record import UNCONFIRMED, Profile, Roofline
from harness.settings import Settings

PYTORCH = (
    "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"
)
CUDA = PYTORCH + 'SOURCE = """__global__ void f() {}"""\n# from torch.utils.cpp_extension import load_inline, cuda\n'
TRITON = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(x): pass\n\n\n" + PYTORCH
BUILT = BuildSummary(name="f", toolchain="slim", cached=False, seconds=2.0, cpu_seconds=3.0, notes=("a note",))
TILELANG = "import tilelang\nimport tilelang.language as T\n" + PYTORCH
ARTIFACT = Artifact(
    key="k",
    path="/nowhere",
    sha256="0" * 64,
    module="f",
    toolchain="slim",
    cached=False,
    seconds=1,
    cpu_seconds=1,
    log="a warning",
)
PREPARED = Preparation(builds=(BUILT,), notes=("a note",), build_log="warning: x", failure=None)
TIMING = Timing(
    candidate_ms=1.0,
    reference_ms=2.0,
    speedup=Interval(value=2.0, low=1.9, high=2.1),
    conclusion="faster",
    rounds=10,
    calls_per_round=4,
)
JUDGEMENT = Judgement(
    verdict=Correct(trials=9),
    timing=TIMING,
    workload=Workload(settings={"dim": 8}, original={"dim": 32}, precision="bf16"),
    sandbox=SandboxReport(layers=("landlock",), missing=("pid-namespace",)),
    substitutions=("x.cuda()",),
    phases_s={"load": 0.5, "check": 1.0, "time": 2.0},
    clocks={"sm": 1980.0},
    worker_log="hello",
)


class FakeSeat:
    """Answers in turn; an exception is raised."""

    device = DeviceChoice("cuda:1", "1")

    def __init__(self, *answers) -> None:
        self._answers = list(answers)
        self.jobs = []
        self.wanted: list[BuildRequest] = []  # what the candidate builds while it is judged

    def start(self):
        return Seated(environment=Environment(harness="0", python="3", torch="2"), device_name="a CPU")

    def judge(self, job, *, build, on_phase):
        self.jobs.append(job)
        for request in self.wanted:
            build(request)
        on_phase("check")
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def session(monkeypatch):
    """A session whose preparation and judge say what they are told to."""

    def make(*answers, prepared=PREPARED, gpu: bool = False, settings: Settings | None = None):
        monkeypatch.setattr(page, "prepare", lambda *_, **__: prepared)
        seat = FakeSeat(*answers)
        return SimpleNamespace(
            settings=settings or Settings(),
            backend=BACKENDS["cuda" if gpu else "cpu"],
            seats=[seat],
            zygote=SimpleNamespace(lives_on=lambda seconds: True),
            build=None,
        )

    return make


def test_a_record_holds_what_every_stage_found(session, submission, problem):
    phases = []
    asked = submission(PYTORCH, path="gpt/a.py", sample=2, model="gpt")
    evaluated = evaluate(asked, problem(), session=session(JUDGEMENT), on_phase=phases.append)
    record = evaluated.record
    assert phases == ["extract", "screen", "build", "check"]
    assert list(record.phases_s) == ["extract", "screen", "build", "load", "check", "time"]
    assert (record.problem.set, record.problem.name, record.problem.sha256) == (
        "level1",
        "19_ReLU",
        problem().sha256,
    )
    assert record.problem.workload == JUDGEMENT.workload
    assert (record.submission.path, record.submission.sample, record.submission.model) == ("gpt/a.py", 2, "gpt")
    assert record.submission.sha256 == asked.sha256
    assert record.submission.extraction.kind == "python"
    assert record.candidate.languages == ("pytorch",)
    assert (record.device.kind, record.device.name, record.device.gpu) == ("cpu", "a CPU", "1")
    assert (record.verdict, record.timing) == (JUDGEMENT.verdict, TIMING)
    assert record.builds == (BUILT,)
    assert record.sandbox == JUDGEMENT.sandbox
    assert record.environment.clocks == {"sm": 1980.0}
    assert [flag.rule for flag in record.flags]
    assert evaluated.attachments == {
        "submission.txt": PYTORCH,
        "candidate.py": PYTORCH,
        "build.log": "warning: x",
        "worker.log": "hello",
    }


def test_a_record_holds_all_that_the_judge_said(session, submission, problem):
    roofline = Roofline(
        bytes_read=4, bytes_written=4, flops=1, bandwidth_gb_s=1.0, matrix_tflops=1.0, floor_ms=1.0, write_floor_ms=0.5,
        fraction=0.5,
    )  # fmt: skip
    flags = (Flag(rule="launch-bound", severity="info", detail="short"),)
    audit = (Flag(rule="zeros-pass", severity="warn", detail="zeros"),)
    profile = Profile(device_ms=1.0, custom_kernel_share=0.5)
    said = JUDGEMENT.model_copy(
        update={"roofline": roofline, "flags": flags, "audit": audit, "profile": profile, "substitutions": ()}
    )
    settings = Settings(tolerance="kernelbench", audit="none")
    record = evaluate(submission(PYTORCH), problem(), session=session(said, settings=settings)).record
    assert (record.roofline, record.audit, record.profile) == (roofline, audit, profile)
    assert record.flags[-1:] == flags
    assert record.tolerance == "kernelbench"
    assert record.verdict == said.verdict


@pytest.mark.parametrize(
    ("text", "gpu", "kind"),
    [
        (PYTORCH, False, "cpu"),
        (PYTORCH + "# as good as with cuda\n", False, "cpu"),
        (PYTORCH + "device = 'cuda'\n", False, "cpu-emulated"),
        (CUDA, False, "cpu-emulated"),
        (PYTORCH, True, "cuda"),
        (CUDA, True, "cuda"),
    ],
)
def test_cuda_is_emulated_where_there_is_no_gpu_and_nothing_else_is(session, submission, problem, text, gpu, kind):
    prepared = session(JUDGEMENT, gpu=gpu)
    record = evaluate(submission(text), problem(), session=prepared).record
    assert record.device.kind == kind
    assert prepared.seats[0].jobs[0].kind == kind


def test_substitutions_are_those_of_sources_and_of_python_and_only_of_emulation(session, submission, problem):
    emulated = evaluate(submission(CUDA), problem(), session=session(JUDGEMENT)).record
    assert emulated.substitutions == ("a note", "x.cuda()")
    assert evaluate(submission(PYTORCH), problem(), session=session(JUDGEMENT)).record.substitutions == ()


def test_nothing_found_ends_before_anything_is_started(session, submission, problem):
    record = evaluate(submission("I cannot.", path="a.txt"), problem(), session=session()).record
    assert (record.verdict.stage, record.verdict.reason) == ("extract", "empty")
    assert record.candidate is None
    assert record.timing is None
    assert list(record.phases_s) == ["extract"]


def test_the_policy_of_extraction_is_the_settings(session, submission, problem):
    text = f"```python\n{PYTORCH}```\n```python\n{PYTORCH}# again\n```\n"
    strict = session(settings=Settings(extract="strict"))
    record = evaluate(submission(text, path="a.md"), problem(), session=strict).record
    assert (record.verdict.stage, record.verdict.reason) == ("extract", "ambiguous")
    first = evaluate(
        submission(text, path="a.md"), problem(), session=session(JUDGEMENT, settings=Settings(extract="first"))
    )
    assert "again" not in first.attachments["candidate.py"]


@pytest.mark.parametrize(
    ("source", "title"),
    [(TILELANG, "TileLang"), ("from cutlass import cute\n" + PYTORCH, "CuTe DSL")],
)
def test_what_needs_a_gpu_is_unsupported_without_one_and_never_wrong(session, submission, problem, source, title):
    record = evaluate(submission(source), problem(), session=session()).record
    assert (record.verdict.stage, record.verdict.reason) == ("build", "unsupported")
    assert record.verdict.detail.startswith(f"{title} kernels need a GPU")
    on_gpu = session(JUDGEMENT, gpu=True)
    assert evaluate(submission(source), problem(), session=on_gpu).record.verdict.kind == "correct"


def test_triton_without_a_gpu_is_emulated_where_it_is_installed_and_else_says_how(
    session, submission, problem, monkeypatch
):
    monkeypatch.setattr(page, "find_spec", lambda name: None)
    record = evaluate(submission(TRITON), problem(), session=session()).record
    assert (record.verdict.stage, record.verdict.reason) == ("build", "not-emulated")
    assert record.verdict.detail.endswith("which is not installed: pip install 'kernel-harness[triton]'")
    on_gpu = session(JUDGEMENT, gpu=True)
    assert evaluate(submission(TRITON), problem(), session=on_gpu).record.verdict.kind == "correct"
    monkeypatch.setattr(page, "find_spec", lambda name: name)
    judged = session(JUDGEMENT)
    assert evaluate(submission(TRITON), problem(), session=judged).record.verdict.kind == "correct"
    assert judged.seats[0].jobs[0].kind == "cpu-emulated"


@pytest.mark.parametrize(
    ("source", "told"), [(PYTORCH, False), (TILELANG, True), ("import some_dsl\n" + PYTORCH, None)]
)
def test_a_judge_is_told_whether_the_source_has_kernels_of_its_own(session, submission, problem, source, told):
    on_gpu = session(JUDGEMENT, gpu=True)
    evaluate(submission(source), problem(), session=on_gpu)
    assert on_gpu.seats[0].jobs[0].writes_kernels is told


def test_what_a_candidate_builds_once_it_is_judged_is_in_its_record_once(session, submission, problem):
    def build(kind, request, candidate, **how):
        if request.name == "refused":
            return BuildFailure(reason="compile", detail="no", log="no", toolchain="slim")
        return ARTIFACT.model_copy(update={"key": request.name, "cached": judged.seats[0].wanted.index(request) > 0})

    judged = session(JUDGEMENT)
    judged.build = build
    judged.seats[0].wanted = [BuildRequest(name=name) for name in ("late", "late", "refused", "later")]
    evaluated = evaluate(submission(PYTORCH), problem(), session=judged)
    told = [(one.name, one.toolchain, one.cached) for one in evaluated.record.builds]
    assert told == [("f", "slim", False), ("late", "slim", False), ("later", "slim", True)]
    assert evaluated.attachments["build.log"] == "warning: x\na warning\nno\na warning"


def test_a_failed_build_never_reaches_a_device_and_its_log_is_kept(session, submission, problem):
    failure = Failed(stage="build", reason="compile", detail="a.cu:1: error", log="a.cu:1: error: no")
    prepared = Preparation(builds=(), notes=(), build_log="", failure=failure)
    refused = session(prepared=prepared, settings=Settings(precision="bf16"))
    evaluated = evaluate(submission(CUDA), problem(), session=refused)
    assert evaluated.record.verdict == failure
    assert evaluated.record.problem.workload == Workload(precision="bf16")
    assert evaluated.attachments["failure.log"] == failure.log
    assert refused.seats[0].jobs == []


# Faults


def settled(draft, session):
    return settle_or_record(draft, session=session, seat=session.seats[0])


def drafted(submission, problem, session):
    draft = begin(submission, problem, session=session)
    examine(draft, session=session, on_phase=lambda name: None)
    return draft


def test_a_judge_that_is_lost_is_asked_once_more(session, submission, problem):
    one = session(JudgeLost("the judge died"), JUDGEMENT)
    assert settled(drafted(submission(PYTORCH), problem(), one), one).record.verdict.kind == "correct"
    assert len(one.seats[0].jobs) == 2


@pytest.mark.parametrize("fault", [JudgeLost("the judge died"), DeviceError("no memory"), ProblemError("it raised")])
def test_a_fault_is_an_infrastructure_record_with_all_that_is_known(session, submission, problem, fault):
    one = session(fault, fault, fault)
    evaluated = settled(drafted(submission(PYTORCH), problem(), one), one)
    assert evaluated.record.verdict.kind == "infrastructure"
    assert evaluated.record.verdict.detail == str(fault)
    assert evaluated.record.candidate is not None
    assert evaluated.record.builds == (BUILT,)
    assert evaluated.fault is fault


def test_a_candidate_whose_judge_died_twice_has_failed_where_the_reference_in_its_place_is_judged(
    session, submission, problem
):
    lost = JudgeLost("the judge died")
    one = session(lost, lost, JUDGEMENT)
    evaluated = settled(drafted(submission(PYTORCH), problem(), one), one)
    assert (evaluated.record.verdict.kind, evaluated.record.verdict.reason) == ("failed", "protocol")
    assert evaluated.fault is None
    control = one.seats[0].jobs[2]
    assert control.source.endswith("ModelNew = Model\n")
    assert control.settings.timing_s == 0


SHORT = JUDGEMENT.model_copy(
    update={"verdict": Failed(stage="run", reason="device-memory", detail="out of memory"), "timing": None}
)


@pytest.mark.parametrize(("reference", "kind"), [(JUDGEMENT, "failed"), (SHORT, "infrastructure")])
def test_who_lacks_device_memory_has_failed_where_the_reference_in_its_place_has_enough(
    session, submission, problem, reference, kind
):
    one = session(SHORT, reference)
    evaluated = settled(drafted(submission(PYTORCH), problem(), one), one)
    assert evaluated.record.verdict.kind == kind
    assert (kind == "infrastructure") == isinstance(evaluated.fault, DeviceError)
    assert one.seats[0].jobs[1].source.endswith("ModelNew = Model\n")


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (RecursionError("too deep"), "failed"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), "failed"),
        (OSError(24, "Too many open files"), "infrastructure"),
        (MemoryError(), "infrastructure"),
    ],
)
def test_what_nobody_foresaw_of_a_text_is_its_own_failure_and_what_the_machine_lacks_is_not(
    session, submission, problem, monkeypatch, error, verdict
):
    one = session(JUDGEMENT)

    def strange(*_, **__):
        raise error

    monkeypatch.setattr(page, "screen", strange)
    draft = begin(submission(PYTORCH), problem(), session=one)
    if verdict == "failed":
        examine(draft, session=one, on_phase=lambda name: None)
        assert settled(draft, one).record.verdict.reason == "protocol"
    else:
        with pytest.raises(MachineError, match="could not be examined"):
            examine(draft, session=one, on_phase=lambda name: None)


@pytest.mark.parametrize("reason", ["crash", "protocol"])
def test_a_worker_that_died_with_the_process_it_was_forked_from_has_not_crashed(session, submission, problem, reason):
    died = Failed(stage="run", reason=reason, detail="the worker died of signal 9")
    asked = submission(PYTORCH), problem()
    on_device = session(Judgement(verdict=died), Judgement(verdict=died))
    assert evaluate(*asked, session=on_device).record.verdict == died
    before_it = session(JUDGEMENT, prepared=Preparation(builds=(), notes=(), build_log="", failure=died))
    assert evaluate(*asked, session=before_it).record.verdict == died
    for one in (on_device, before_it):
        one.zygote = SimpleNamespace(lives_on=lambda seconds: False)
        with pytest.raises(SandboxError, match="the prepared process died"):
            evaluate(*asked, session=one)


def test_a_single_evaluation_raises_its_fault(session, submission, problem):
    with pytest.raises(ProblemError, match="it raised"):
        evaluate(submission(PYTORCH), problem(), session=session(ProblemError("it raised")))


def test_a_draft_that_met_a_fault_never_reaches_a_device(session, submission, problem):
    one = session()
    draft = begin(submission(PYTORCH), problem(), session=one)
    draft.fault = ToolchainError("No C++ compiler was found.")
    assert settled(draft, one).record.verdict.detail == "No C++ compiler was found."
    with pytest.raises(ToolchainError):
        settle(draft, session=one, seat=one.seats[0], on_phase=lambda name: None)
    assert one.seats[0].jobs == []


def test_a_drafts_own_settings_are_the_jobs(session, submission, problem):
    one = session(JUDGEMENT, settings=Settings(workload={"dim": 8, "rows": 2}))
    draft = begin(submission(PYTORCH), problem(), session=one, settings=Settings(workload={"dim": 8}))
    examine(draft, session=one, on_phase=lambda name: None)
    settled(draft, one)
    assert one.seats[0].jobs[0].settings.workload == {"dim": 8}


STOCK = Preparation(builds=(BUILT.model_copy(update={"toolchain": "stock"}),), notes=(), build_log="", failure=None)
REFUSED = Failed(stage="build", reason="compile", detail="stock's header says no")


@pytest.fixture
def both_ways(monkeypatch, session):
    """A session of `audit` all, whose builds by stock come to `stock`."""

    def make(*answers, stock=STOCK, fast=PREPARED, audit="all"):
        made = session(*answers, settings=Settings(audit=audit))
        chosen = {"auto": fast, "stock": stock}
        monkeypatch.setattr(page, "prepare", lambda *_, settings, **__: chosen[settings.toolchain])
        return made

    return make


def test_a_verdict_that_stock_agrees_with_is_confirmed_and_stays_as_it_was(both_ways, submission, problem):
    again = JUDGEMENT.model_copy(update={"timing": None})
    record = evaluate(submission(CUDA), problem(), session=both_ways(JUDGEMENT, again)).record
    assert (record.confirmed, record.timing, record.builds) == ("stock", TIMING, (BUILT,))
    assert record.phases_s["confirm"] > 0
    assert not [flag for flag in record.flags if flag.rule == "fast-build-differed"]


def test_where_stock_disagrees_its_verdict_stands_and_the_record_says_so(both_ways, submission, problem):
    refused = Preparation(builds=(), notes=(), build_log="", failure=REFUSED)
    record = evaluate(submission(CUDA), problem(), session=both_ways(JUDGEMENT, stock=refused)).record
    assert (record.verdict, record.confirmed, record.timing) == (REFUSED, "stock", None)
    (flag,) = [flag for flag in record.flags if flag.rule == "fast-build-differed"]
    assert flag.detail == "built fast it was correct; built by stock it is failed (compile), which stands"


ENDED = Failed(stage="build", reason="timeout", detail="the compiler was stopped after 60 s")


def ended(reason="timeout"):
    failure = ENDED.model_copy(update={"reason": reason})
    return Preparation(builds=(), notes=(), build_log="", failure=failure)


@pytest.mark.parametrize("reason", ["timeout", "out-of-memory"])
def test_where_stock_s_build_of_a_sample_comes_to_no_end_the_verdict_stays_and_a_flag_says_so(
    both_ways, submission, problem, monkeypatch, reason
):
    monkeypatch.setattr(page, "ONE_IN", 1)
    session = both_ways(JUDGEMENT, stock=ended(reason), audit="sample")
    record = evaluate(submission(CUDA), problem(), session=session).record
    assert (record.verdict, record.confirmed, record.timing) == (JUDGEMENT.verdict, "none", TIMING)
    (flag,) = [flag for flag in record.flags if flag.rule == UNCONFIRMED]
    assert (flag.severity, flag.detail) == ("info", f"stock gave no word: stock's build came to no end: {ENDED.detail}")


def test_a_build_by_stock_that_ends_for_want_of_time_on_the_device_s_worker_says_nothing_of_a_sample_either(
    both_ways, submission, problem, monkeypatch
):
    monkeypatch.setattr(page, "ONE_IN", 1)
    session = both_ways(JUDGEMENT, JUDGEMENT.model_copy(update={"verdict": ENDED}), audit="sample")
    record = evaluate(submission(CUDA), problem(), session=session).record
    assert (record.verdict, record.confirmed) == (JUDGEMENT.verdict, "none")


def test_a_machine_that_fails_stock_s_half_of_a_sample_leaves_the_verdict_and_says_so(
    both_ways, submission, problem, monkeypatch
):
    monkeypatch.setattr(page, "ONE_IN", 1)
    record = evaluate(
        submission(CUDA), problem(), session=both_ways(JUDGEMENT, DeviceError("lost"), audit="sample")
    ).record
    assert (record.verdict, record.confirmed) == (JUDGEMENT.verdict, "none")
    assert [flag.detail for flag in record.flags if flag.rule == UNCONFIRMED] == ["stock gave no word: lost"]


def test_where_all_are_asked_about_a_build_by_stock_that_comes_to_no_end_is_the_verdict(both_ways, submission, problem):
    record = evaluate(submission(CUDA), problem(), session=both_ways(JUDGEMENT, stock=ended())).record
    assert (record.verdict, record.confirmed) == (ENDED, "stock")
    with pytest.raises(DeviceError):  # nothing is told before stock's word
        evaluate(submission(CUDA), problem(), session=both_ways(JUDGEMENT, DeviceError("lost")))


def test_an_import_that_fails_over_a_fast_build_is_asked_of_stock_too(both_ways, submission, problem):
    failed = Failed(stage="load", reason="exception", detail="ImportError")
    fast = Preparation(builds=(BUILT,), notes=(), build_log="", failure=failed)
    record = evaluate(submission(CUDA), problem(), session=both_ways(JUDGEMENT, fast=fast)).record
    assert (record.verdict, record.confirmed) == (JUDGEMENT.verdict, "stock")


@pytest.mark.parametrize(
    ("text", "fast", "audit"),
    [(CUDA, PREPARED, "none"), (PYTORCH, Preparation((), (), "", None), "all")],
    ids=["nobody's", "builds nothing"],
)
def test_what_builds_nothing_and_what_is_not_asked_about_is_judged_once(
    both_ways, submission, problem, text, fast, audit
):
    record = evaluate(submission(text), problem(), session=both_ways(JUDGEMENT, fast=fast, audit=audit)).record
    assert (record.confirmed, "confirm" in record.phases_s) == ("none", False)


@pytest.mark.parametrize("later", [False, True])
def test_a_source_that_hides_that_it_builds_is_asked_about_once_it_has_built(both_ways, submission, problem, later):
    nothing = Preparation()
    made = both_ways(JUDGEMENT, JUDGEMENT, fast=nothing, stock=nothing)
    made.seats[0].wanted = [BuildRequest(name="late")]
    made.build = lambda *_, choice, **how: ARTIFACT.model_copy(
        update={"toolchain": "slim" if choice == "auto" else "stock"}
    )
    evaluated = evaluate(submission(PYTORCH), problem(), session=made, later=later)
    assert evaluated.unconfirmed is later
    assert evaluated.record.confirmed == ("none" if later else "stock")
    assert len(made.seats[0].jobs) == (1 if later else 2)


def test_what_stock_built_may_build_more_once_it_runs_and_is_asked_about(both_ways, submission, problem):
    record = evaluate(submission(CUDA), problem(), session=both_ways(JUDGEMENT, JUDGEMENT, fast=STOCK)).record
    assert record.confirmed == "stock"


def test_of_a_sample_one_in_so_many_is_drawn(monkeypatch):
    monkeypatch.setattr(page, "ONE_IN", 4)
    drawn = sum(page.drawn("sample") for _ in range(2000))
    assert 350 < drawn < 650
    assert page.drawn("all")
    assert not page.drawn("none")


def judged_with(reuse, text, *, session, submission, problem, path):
    return evaluate(submission(text, path=path), problem(), session=session, reuses=reuse)


def test_an_equal_candidate_takes_the_verdict_over_and_says_whose_it_is(session, submission, problem):
    reuse, one = Reuse(), session(JUDGEMENT)
    told = {"session": one, "submission": submission, "problem": problem}
    first = judged_with(reuse, PYTORCH, path="a.py", **told).record
    answer = f"Here it is:\n```python\n{PYTORCH}```\n"
    second = judged_with(reuse, answer, path="b.py", **told)
    assert (first.reused, second.record.reused) == ("", "a.py")
    assert len(one.seats[0].jobs) == 1
    assert (second.record.verdict, second.record.timing) == (first.verdict, first.timing)
    assert second.record.submission.path == "b.py"
    assert second.record.submission.sha256 != first.submission.sha256
    assert [(build.cached, build.cpu_seconds) for build in second.record.builds] == [(True, 0)]
    assert "check" not in second.record.phases_s
    assert second.attachments["submission.txt"] == answer


def test_one_change_is_judged_for_itself(session, submission, problem):
    reuse, one = Reuse(), session(JUDGEMENT, JUDGEMENT)
    told = {"session": one, "submission": submission, "problem": problem}
    judged_with(reuse, PYTORCH, path="a.py", **told)
    second = judged_with(reuse, PYTORCH.replace("relu(x)", "relu(-x)"), path="b.py", **told)
    assert second.record.reused == ""
    assert len(one.seats[0].jobs) == 2


def test_a_fault_is_nobody_elses_verdict(session, submission, problem):
    reuse, one = Reuse(), session(DeviceError("no memory"), JUDGEMENT)
    told = {"session": one, "submission": submission, "problem": problem}
    with pytest.raises(DeviceError):
        judged_with(reuse, PYTORCH, path="a.py", **told)
    assert judged_with(reuse, PYTORCH, path="b.py", **told).record.reused == ""


def test_two_answers_of_one_name_are_told_apart_by_their_text(session, submission, problem):
    told = {"session": session(JUDGEMENT), "submission": submission, "problem": problem}
    reuse = Reuse()
    first = judged_with(reuse, PYTORCH, path="text", **told).record
    second = judged_with(reuse, f"Here it is:\n```python\n{PYTORCH}```\n", path="text", **told).record
    assert (first.reused, second.reused) == ("", first.submission.sha256)


def test_a_text_that_no_key_can_be_made_of_has_failed_and_ends_nothing(session, submission, problem, monkeypatch):
    def unreadable(*asked):
        raise UnicodeEncodeError("utf-8", "\udc80", 0, 1, "surrogates not allowed")

    monkeypatch.setattr(page, "key_of", unreadable)
    verdict = judged_with(
        Reuse(), PYTORCH, path="a.py", session=session(), submission=submission, problem=problem
    ).record.verdict
    assert (verdict.kind, verdict.stage, verdict.reason) == ("failed", "load", "protocol")


def test_who_waits_for_an_equal_candidate_has_neither_a_core_nor_a_device(session, submission, problem):
    reuse, one = Reuse(), session(JUDGEMENT)
    judging, go_on, waiting = threading.Event(), threading.Event(), threading.Event()
    judge = one.seats[0].judge

    def held(job, **named):
        judging.set()
        assert go_on.wait(60)
        return judge(job, **named)

    def on_phase(name):
        if name == "waiting for an equal candidate":
            waiting.set()

    def none_for_it():
        raise AssertionError("it takes what it does not need")
        yield

    one.seats[0].judge = held
    asked = {"session": one, "reuses": reuse}
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(evaluate, submission(PYTORCH, path="a.py"), problem(), **asked)
        assert judging.wait(60)
        needless = contextmanager(none_for_it)
        second = pool.submit(
            evaluate,
            submission(PYTORCH, path="b.py"),
            problem(),
            core=needless(),
            seat=needless(),
            on_phase=on_phase,
            **asked,
        )
        assert waiting.wait(60)
        go_on.set()
        assert second.result(60).record.reused == "a.py"
        assert first.result(60).record.reused == ""


@pytest.mark.parametrize(
    "end", [GivenUpError("cancelled"), DeadlineError("late"), DeviceError("lost"), KeyError("ours")]
)
def test_however_the_first_ends_without_a_verdict_the_next_one_is_judged(session, submission, problem, end):
    reuse, one = Reuse(), session(JUDGEMENT)

    def on_phase(name):
        if name == "check":
            raise end

    with pytest.raises(type(end)):
        evaluate(submission(PYTORCH, path="a.py"), problem(), session=one, reuses=reuse, on_phase=on_phase)
    second = session(JUDGEMENT)
    assert judged_with(
        reuse, PYTORCH, path="b.py", session=second, submission=submission, problem=problem
    ).record.correct
