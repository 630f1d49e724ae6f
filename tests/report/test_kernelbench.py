"""KernelBench's files out of our records, read the way its own analysis reads them."""

import json
import math
import statistics
import weakref
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernelbench_analysis import Analysis

from harness.errors import InputError
from harness.report import kernelbench as kernelbench_module
from harness.report.kernelbench import Export, kernelbench
from harness.schema import (
    Baseline,
    Correct,
    Device,
    Failed,
    Flag,
    Infrastructure,
    Interval,
    Record,
    Rejected,
    SandboxReport,
    Timing,
    Workload,
    Wrong,
)
from harness.store import open_run

ROOT = Path(__file__).parents[2]
WRONG = Wrong(reason="values", detail="output: 3 of 4 elements differ", trial="signed")
EMULATED = Device(kind="cpu-emulated", name="Some CPU")


def timed(candidate_ms: float, reference_ms: float, **more: object) -> Timing:
    ratio = reference_ms / candidate_ms
    return Timing(
        candidate_ms=candidate_ms,
        reference_ms=reference_ms,
        speedup=Interval(value=ratio, low=ratio, high=ratio),
        conclusion="faster",
        rounds=2,
        calls_per_round=1,
        candidate_samples_ms=(candidate_ms * 0.9, candidate_ms * 1.1),
        reference_samples_ms=(reference_ms * 0.5, reference_ms * 1.5),
        **more,
    )


def names_of(records: list[Record]) -> dict[int, str]:
    """The checkout's files of the level that the records are of."""
    return {int(record.problem.name.split("_")[0]): f"{record.problem.name}.py" for record in records}


def analysed(records: list[Record]) -> Analysis:
    export = kernelbench({"r": records})
    (level,) = export.levels
    return Analysis(export.files, level, names_of(records))


# The shapes


def results_of(*records: Record) -> list[dict]:
    export = kernelbench({"r": records})
    (content,) = (text for path, text in export.files.items() if path.endswith("eval_results.json"))
    (samples,) = json.loads(content).values()
    return samples


def test_a_correct_answer_has_the_shape_that_kernelbench_writes(make_record):
    record = make_record(timing=timed(0.12345, 0.98765), verdict=Correct(trials=16))
    assert kernelbench({"my run": [record]}).files.keys() == {
        "runs/my-run-gpt-level1/eval_results.json",
        "results/timing/my-run-gpt-level1/baseline_time_torch.json",
    }
    assert results_of(record) == [
        {
            "sample_id": 0,
            "compiled": True,
            "correctness": True,
            "metadata": {
                "hardware": "NVIDIA H200",
                "device": "cuda:0",
                "correctness_trials": "(16 / 16)",
                "verdict": "correct",
            },
            "runtime": 0.123,
            "runtime_stats": {
                "mean": 0.123, "std": 0.0123, "min": 0.111, "max": 0.136, "num_trials": 2,
                "hardware": "NVIDIA H200", "device": "cuda:0",
            },
        }
    ]  # fmt: skip


def test_the_reference_has_the_shape_that_kernelbench_writes(make_record):
    export = kernelbench({"r": [make_record(timing=timed(0.1, 123.456))]})
    assert json.loads(export.files["results/timing/r-gpt-level1/baseline_time_torch.json"]) == {
        "level1": {
            "19_ReLU.py": {
                "mean": 123.0, "std": 61.7, "min": 61.7, "max": 185.0, "num_trials": 2,
                "hardware": "NVIDIA H200", "device": "cuda:0",
            }
        }
    }  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "compiled", "told"),
    [
        (WRONG, True, {"correctness_issue": "output: 3 of 4 elements differ", "correctness_issue_name": "values"}),
        (
            Rejected(rule="clock", detail="changed it"),
            True,
            {"correctness_issue": "rejected, clock: changed it", "correctness_issue_name": "rejected"},
        ),
        (
            Failed(stage="run", reason="exception", detail="ValueError: no", log="Traceback"),
            True,
            {
                "runtime_error": "ValueError: no",
                "runtime_error_name": "exception",
                "runtime_error_traceback": "Traceback",
            },
        ),
        (
            Failed(stage="build", reason="compile", detail="line 3: no such type"),
            False,
            {"compilation_error": "line 3: no such type", "compilation_error_name": "compile"},
        ),
        (
            Failed(stage="extract", reason="empty", detail="no code"),
            False,
            {"compilation_error": "no code", "compilation_error_name": "empty"},
        ),
        (
            Failed(stage="load", reason="missing", detail="no ModelNew"),
            False,
            {"compilation_error": "no ModelNew", "compilation_error_name": "missing"},
        ),
    ],
)
def test_what_is_not_correct_says_why_in_kernelbenchs_keys(make_record, verdict, compiled, told):
    (result,) = results_of(make_record(verdict=verdict))
    assert (result["compiled"], result["correctness"]) == (compiled, False)
    assert (result["runtime"], result["runtime_stats"]) == (-1.0, {})
    assert {key: result["metadata"][key] for key in told} == told


def test_what_kernelbench_has_no_word_for_is_noted(make_record):
    (result,) = results_of(
        make_record(
            device=EMULATED,
            workload=Workload(settings={"batch_size": 2}, original={"batch_size": 64}, reduced=True),
            flags=(
                Flag(rule="no-kernel", severity="warn", detail="defines none"),
                Flag(rule="clock", severity="info", detail="reads it"),
            ),
            sandbox=SandboxReport(),
            timing=timed(1, 2),
        )
    )
    assert result["metadata"]["hardware"] == "Some CPU (CUDA emulated)"
    assert result["metadata"]["notes"] == [
        "flagged, no-kernel: defines none",
        "judged at a reduced size: {'batch_size': 2}",
        "ran without isolation",
    ]
    assert result["runtime"] == -1.0


def test_samples_stand_in_order_and_all_of_them(make_record):
    found = results_of(*(make_record(sample=sample, path=f"{sample}") for sample in (2, 0, 11)))
    assert [result["sample_id"] for result in found] == [0, 2, 11]


def test_compiled_references_have_files_of_their_own(make_record):
    compiled = Baseline(
        name="compile",
        reference_ms=0.5,
        speedup=Interval(value=5, low=5, high=5),
        conclusion="faster",
        reference_samples_ms=(0.5,),
    )
    records = [
        make_record("level1/19_ReLU", timing=timed(0.1, 1.0, baselines=(compiled,))),
        make_record("level1/20_Other", timing=timed(0.1, 1.0), path="b"),
    ]
    files = kernelbench({"r": records}).files
    times = json.loads(files["results/timing/r-gpt-level1/baseline_time_torch_compile_inductor_default.json"])
    assert {name: stats["mean"] for name, stats in times["level1"].items()} == {"19_ReLU.py": 0.5, "20_Other.py": 0.0}


def test_the_files_are_json_with_an_indent_of_four(make_record):
    compiled = Baseline(name="compile", reference_ms=0.5, speedup=Interval(value=5, low=5, high=5), conclusion="faster")
    reduced = Workload(settings={"batch_size": 2}, original={"batch_size": 64}, reduced=True)
    records = [
        make_record("level1/3_Matmul", timing=timed(0.3, 1e-5, baselines=(compiled,)), workload=reduced),
        make_record("level1/19_ReLU", verdict=Wrong(reason="values", detail='é "\n\u2028, []{}', trial="signed")),
        make_record("level1/20_Other", path="b", sample=4, verdict=WRONG),
        make_record("level1/20_Other", path="c", sample=0, verdict=Infrastructure(detail="lost")),
    ]
    for content in kernelbench({"r": records}).files.values():
        assert content == json.dumps(json.loads(content), indent=4) + "\n"


@given(st.lists(st.floats(1e-4, 1e4), min_size=1, max_size=60))
def test_the_deviation_is_that_of_the_statistics_module(samples):
    spread = statistics.pstdev(samples)
    assert kernelbench_module._deviation(samples) == pytest.approx(spread, rel=1e-9, abs=1e-200)
    assert kernelbench_module._deviation([samples[0]] * len(samples)) == 0.0


def test_records_go_by_and_are_not_gathered(make_record):
    """A million of them would need 16 GB."""
    gone = []

    def records():
        for sample in range(20):
            record = make_record(sample=sample, path=f"{sample}", timing=timed(1.0, 2.0))
            gone.append(weakref.ref(record))
            yield record
            del record
            assert sum(each() is not None for each in gone) <= 1

    assert len(json.loads(kernelbench({"r": records()}).files["runs/r-gpt-level1/eval_results.json"])["19"]) == 20


# What the analysis makes of them


def test_the_analysis_comes_to_what_was_measured(make_record):
    records = [
        make_record("level1/100_Last", timing=timed(1.0, 4.0)),
        make_record("level1/19_ReLU", timing=timed(2.0, 1.0)),
        make_record("level1/3_Matmul", verdict=WRONG),
        make_record("level1/20_Other", verdict=Failed(stage="build", reason="compile", detail="no")),
    ]
    found = analysed(records)
    assert (found.total, found.compiled, found.correct) == (4, 3, 2)
    assert found.speedups == [0.5, 4.0]
    assert [found.fast(p) for p in (0.0, 0.5, 1.0, 4.0)] == [0.5, 0.25, 0.25, 0.0]
    assert found.geomean == pytest.approx(math.sqrt(2))


@pytest.mark.parametrize("numbers", [(19,), (19, 20), (19, 27), (1, 2, 3), (5, 7, 19)])
def test_the_command_names_exactly_the_problems_that_were_asked(make_record, numbers):
    records = [make_record(f"level2/{number}_X", timing=timed(1.0, 2.0)) for number in numbers]
    assert analysed(records).speedups == [2.0] * len(numbers)


def test_a_sample_that_has_no_verdict_keeps_its_place(make_record):
    """The analysis adds missing results at the end, where they would be compared with another problem's reference."""
    records = [
        make_record("level1/1_First", verdict=Infrastructure(detail="the device was lost")),
        make_record("level1/2_Second", sample=3, timing=timed(1.0, 8.0)),
        make_record("level1/3_Third", timing=timed(1.0, 2.0)),
    ]
    found = analysed(records)
    assert found.speedups == [2.0]
    (level,) = kernelbench({"r": records}).levels
    assert (level.unjudged, level.untimed) == (2, 0)
    content = json.loads(kernelbench({"r": records}).files["runs/r-gpt-level1/eval_results.json"])
    assert content["1"][0]["metadata"] == {"other_error": "not judged: the device was lost"}
    assert [result["sample_id"] for result in content["2"]] == [0, 3]


def test_a_correct_answer_without_a_time_is_never_a_speed_up(make_record):
    records = [make_record("level1/1_A", device=EMULATED), make_record("level1/2_B", timing=timed(1.0, 2.0))]
    assert analysed(records).speedups == [0.0, 2.0]
    (level,) = kernelbench({"r": records}).levels
    assert level.untimed == 1


def test_where_nothing_was_timed_there_is_nothing_to_analyse_and_no_baseline(make_record):
    export = kernelbench({"r": [make_record(device=EMULATED)]})
    assert list(export.files) == ["runs/r-gpt-level1/eval_results.json"]
    assert (export.levels[0].baselines, export.levels[0].command) == ((), "")


def test_the_reference_is_that_of_sample_0(make_record):
    records = [
        make_record(sample=1, path="b", timing=timed(1.0, 4.0)),
        make_record(sample=0, path="a", timing=timed(1.0, 3.0)),
    ]
    assert analysed(records).speedups == [3.0]


# What goes where


def test_models_runs_and_levels_have_files_of_their_own(make_record):
    records = [
        make_record(problem, model=model, path=f"{model}/{problem}")
        for problem in ("level1/1_A", "level2/1_A")
        for model in ("", "lab/gpt 5")
    ]
    export: Export = kernelbench({"r": records, "s": records[:1]})
    assert [level.name for level in export.levels] == [
        "r-level1", "r-level2", "r-lab-gpt-5-level1", "r-lab-gpt-5-level2", "s-level1",
    ]  # fmt: skip


def test_problems_without_a_number_are_left_out_and_named(make_record):
    export = kernelbench({"r": [make_record("mine/softmax"), make_record("level1/1_A"), make_record("level1/gelu")]})
    assert export.left_out == ("mine/softmax", "level1/gelu")
    assert [level.problems for level in export.levels] == [(1,)]
    with pytest.raises(InputError, match="by level and number, as in level1/19_ReLU: there are none"):
        kernelbench({"r": [make_record("softmax")]})


def test_two_answers_in_one_place_are_refused(make_record):
    with pytest.raises(InputError, match=r"answered twice as sample 0, by a\.py and by b\.py"):
        kernelbench({"r": [make_record(path="a.py"), make_record(path="b.py")]})
    with pytest.raises(InputError, match="would both be named r-a-b-level1"):
        kernelbench({"r": [make_record(model="a b"), make_record(model="a/b")]})


def test_the_shipped_run_is_exported_and_analysed():
    run = open_run(ROOT / "runs/h200-documents")
    records = list(run.records())
    export = kernelbench({run.name: records})
    for level in export.levels:
        names = names_of([record for record in records if record.problem.set == f"level{level.level}"])
        found = Analysis(export.files, level, names)
        ours = {
            record.problem.name: record.timing.speedup
            for record in records
            if record.timing and record.problem.set == f"level{level.level}" and record.submission.sample == 0
        }
        assert len(found.speedups) == len(ours)
        # A ratio of means at three digits against our median of ratios.
        assert sorted(found.speedups) == pytest.approx(sorted(each.value for each in ours.values()), rel=0.05)
