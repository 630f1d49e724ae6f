import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.report.entry import Entry
from harness.report.metrics import fast_p, geometric_mean
from harness.report.rows import leaderboard
from harness.schema import (
    Device,
    Failed,
    Flag,
    Infrastructure,
    Interval,
    Rejected,
    SandboxReport,
    Workload,
    Wrong,
)

EMULATED = Device(kind="cpu-emulated", name="a CPU")
WRONG = Wrong(reason="values", detail="off", trial="normal")


def failed(stage: Any) -> Failed:
    return Failed(stage=stage, reason="exception", detail="no")


def tags(row):
    return [note.tag for note in row.notes]


# The formulas


def test_fast_p_is_strict_and_divides_by_all_that_was_asked():
    speedups = [0.5, 1.0, 1.5, 2.0, 3.0]
    assert fast_p(speedups, asked=10, p=0) == 0.5
    assert fast_p(speedups, asked=10, p=1) == 0.3
    assert fast_p(speedups, asked=10, p=2) == 0.1


def test_the_geometric_mean_cancels_twice_and_half_as_fast():
    assert geometric_mean([2.0, 0.5]) == pytest.approx(1.0)
    assert geometric_mean([5.37, 1.03, 1.01, 0.63, 0.62]) == pytest.approx(1.1688883)
    assert geometric_mean([]) is None


@given(st.lists(st.floats(1e-3, 1e3), min_size=1))
def test_the_geometric_mean_lies_between_the_extremes(values):
    mean = geometric_mean(values)
    assert mean is not None
    assert min(values) * (1 - 1e-9) <= mean <= max(values) * (1 + 1e-9)


# What a row counts


def test_a_row_counts_what_was_judged_what_was_built_and_what_was_right(make_record):
    verdicts = [failed("extract"), failed("screen"), failed("build"), failed("load"), failed("run"), failed("time"),
                WRONG, Rejected(rule="r", detail="d")]  # fmt: skip
    records = [make_record(path=f"{n}", verdict=verdict) for n, verdict in enumerate(verdicts)]
    records += [make_record(path="slow", speedup=0.5), make_record(path="fast", speedup=3.0)]
    [row] = leaderboard({"r": records}).rows
    assert (row.submissions, row.compiled, row.correct, row.rejected, row.timed) == (10, 7, 2, 1, 2)
    assert (row.fast_0, row.fast_1, row.fast_2) == (0.2, 0.1, 0.1)
    assert row.geomean_speedup == pytest.approx(math.sqrt(1.5))


def test_a_speed_up_of_a_wrong_answer_counts_for_nothing(make_record):
    [row] = leaderboard({"r": [make_record(speedup=9.0, verdict=WRONG)]}).rows
    assert (row.fast_0, row.fast_1, row.geomean_speedup, row.timed, row.best) == (0.0, 0.0, None, 0, ())


def test_a_fault_of_ours_scores_nobody(make_record):
    lost = make_record(path="lost", verdict=Infrastructure(detail="the device was lost"))
    [row] = leaderboard({"r": [lost, make_record(speedup=2.0)]}).rows
    assert (row.submissions, row.unjudged, row.fast_0, row.fast_1) == (1, 1, 1.0, 1.0)
    assert tags(row) == ["1 unjudged"]


def test_a_row_where_nothing_was_judged_says_nothing(make_record):
    [row] = leaderboard({"r": [make_record(verdict=Infrastructure(detail="lost"))]}).rows
    assert (row.submissions, row.fast_0, row.fast_1, row.fast_2) == (0, None, None, None)


def test_what_is_correct_but_not_timed_counts_for_fast_0_and_is_noted(make_record):
    [row] = leaderboard({"r": [make_record(path="a"), make_record(path="b", speedup=3.0)]}).rows
    assert (row.fast_0, row.fast_1) == (1.0, 0.5)
    assert tags(row) == ["1 untimed"]


def test_a_row_with_no_time_at_all_claims_no_speed(make_record):
    [row] = leaderboard({"r": [make_record()]}).rows
    assert (row.fast_0, row.fast_1, row.fast_2, row.geomean_speedup) == (1.0, None, None, None)


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 0.0, -1.0])
def test_a_speed_up_that_is_no_positive_number_is_no_speed_up(make_record, value):
    record = make_record(speedup=2.0)
    broken = record.timing.model_copy(update={"speedup": Interval(value=value, low=value, high=value)})
    [row] = leaderboard({"r": [record.model_copy(update={"timing": broken})]}).rows
    assert (row.correct, row.timed, row.geomean_speedup) == (1, 0, None)


# What is kept apart, and said


def test_models_runs_devices_and_precisions_have_rows_of_their_own(make_record):
    records = [
        make_record(),
        make_record(model="llama"),
        make_record(device=Device(kind="cuda", name="NVIDIA A100")),
        make_record(device=Device(kind="cpu", name="NVIDIA H200")),
        make_record(workload=Workload(precision="bf16")),
    ]
    assert len(leaderboard({"one": records, "two": records[:1]}).rows) == 6


def test_an_emulated_row_has_no_speed_even_where_a_record_claims_one(make_record):
    [row] = leaderboard({"r": [make_record(speedup=50.0, device=EMULATED)]}).rows
    assert (row.correct, row.timed, row.fast_1, row.geomean_speedup) == (1, 0, None, None)
    assert row.best[0].speedup is None
    assert row.notes[0].text == "CUDA emulated on the CPU: correctness only, no speed-ups"


def test_reduced_flagged_and_unisolated_results_are_counted_in_the_notes(make_record):
    warned = (Flag(rule="r", severity="warn", detail="d"), Flag(rule="s", severity="reject", detail="d"))
    records = [
        make_record(path="a", speedup=1.0, flags=warned, sandbox=SandboxReport()),
        make_record(path="b", speedup=1.0, workload=Workload(settings={"n": 1}, original={"n": 2}, reduced=True)),
        make_record(
            path="c", speedup=1.0, sandbox=SandboxReport(layers=("seccomp",), missing=("namespaces", "cgroup"))
        ),
    ]
    [row] = leaderboard({"r": records}).rows
    assert [note.text for note in row.notes] == [
        "reduced size in 1 of 3", "no isolation in 1 of 3", "isolation without cgroup, namespaces", "1 of 3 flagged",
    ]  # fmt: skip
    assert row.flagged == 1


def test_a_mere_remark_is_no_flag(make_record):
    [row] = leaderboard({"r": [make_record(speedup=1.0, flags=(Flag(rule="r", severity="info", detail="d"),))]}).rows
    assert (row.flagged, row.notes) == (0, ())


@pytest.mark.parametrize("verdict", [failed("extract"), failed("build"), Rejected(rule="r", detail="screened")])
def test_what_never_ran_needed_no_isolation(make_record, verdict):
    [row] = leaderboard({"r": [make_record(verdict=verdict, sandbox=SandboxReport())]}).rows
    assert "unisolated" not in tags(row)


# Order


def test_rows_are_ranked_by_fast_1_then_speed_then_correctness_and_untimed_rows_come_last(make_record):
    records = [
        make_record(model="emulated", device=EMULATED),
        make_record(model="slow", speedup=0.5),
        make_record(model="fast", speedup=1.5),
        make_record(model="faster", speedup=2.5),
        make_record(model="wrong", verdict=WRONG),
    ]
    assert [row.model for row in leaderboard({"r": records}).rows] == ["faster", "fast", "slow", "wrong", "emulated"]


def test_the_order_of_the_records_changes_nothing(make_record):
    records = [
        make_record(f"level1/{problem}_P", model=model, path=f"{problem}", sample=sample, speedup=1.0 + sample % 2)
        for problem in range(3) for model in "ab" for sample in range(4)
    ]  # fmt: skip
    expected = leaderboard({"r": records})
    for seed in range(5):
        shuffled = random.Random(seed).sample(records, len(records))
        assert leaderboard({"r": shuffled}) == expected


# Best of a problem


def test_the_best_answer_to_a_problem_is_the_fastest_correct_one(make_record):
    records = [
        make_record(path="slow", speedup=1.1), make_record(path="untimed"), make_record(path="fast", speedup=2.2),
        make_record(path="wrong", speedup=9.9, verdict=WRONG), make_record("level1/2_Other", path="x", verdict=WRONG),
    ]  # fmt: skip
    board = leaderboard({"r": records})
    assert [(best.problem, best.submission) for best in board.rows[0].best] == [("level1/19_ReLU", "fast")]
    assert board.rows[0].problems == 2
    [other, relu] = board.problems
    assert (relu.problem, relu.best.submission, relu.rank, relu.solved, relu.asked) == (
        "level1/19_ReLU",
        "fast",
        1,
        1,
        1,
    )
    assert (other.problem, other.best, other.rank, other.solved, other.asked) == ("level1/2_Other", None, None, 0, 1)


def test_the_best_over_all_rows_names_the_rank_that_holds_it(make_record):
    records = [
        make_record("level1/1_A", model="m", speedup=5.0), make_record("level1/1_B", model="m", speedup=1.5),
        make_record("level1/1_A", model="n", speedup=6.0), make_record("level1/1_B", model="n", speedup=0.5),
    ]  # fmt: skip
    board = leaderboard({"r": records})
    assert [row.model for row in board.rows] == ["m", "n"]
    assert [(each.problem, each.rank, each.solved) for each in board.problems] == [
        ("level1/1_A", 2, 2),
        ("level1/1_B", 1, 2),
    ]


def test_speed_ups_on_different_devices_do_not_compete(make_record):
    cpu = Device(kind="cpu", name="a CPU")
    board = leaderboard(
        {"r": [make_record(speedup=1.2), make_record(speedup=80.0, device=cpu), make_record(device=EMULATED)]}
    )
    assert [(each.device, each.asked) for each in board.problems] == [("cpu", 1), ("cpu-emulated", 1), ("cuda", 1)]


def test_problems_are_sorted_by_number(make_record):
    titles = ["level1/100_Z", "level1/9_A", "level2/1_A", "custom", "level1/19_B"]
    board = leaderboard({"r": [make_record(title) for title in titles]})
    assert [each.problem for each in board.problems] == [
        "custom", "level1/9_A", "level1/19_B", "level1/100_Z", "level2/1_A",
    ]  # fmt: skip


def test_an_entry_ranks_as_its_record_does(make_record):
    records = [
        make_record(path="a", speedup=2.0, flags=(Flag(rule="r", severity="warn", detail="d"),)),
        make_record(path="b", verdict=failed("build")),
        make_record(path="c", verdict=failed("run"), sandbox=SandboxReport(layers=("x",), missing=("y",))),
        make_record(path="d", device=EMULATED, workload=Workload(reduced=True, precision="fp16")),
    ]
    entries = [Entry.model_validate_json(record.model_dump_json()) for record in records]
    assert leaderboard({"r": entries}) == leaderboard({"r": records})


def test_no_records_make_an_empty_board():
    board = leaderboard({"r": []})
    assert (board.rows, board.problems) == ((), ())
