import io
import math
import random
from typing import Any

import pytest
from rich.console import Console

from harness.report.judged import Judged
from harness.report.kernelbench import kernelbench
from harness.report.leaderboard import markdown, table
from harness.report.rows import leaderboard
from harness.schema import (
    Baseline,
    Conditions,
    Device,
    Failed,
    Flag,
    Infrastructure,
    Interval,
    Rejected,
    Roofline,
    SandboxReport,
    SubmissionRef,
    Workload,
    Wrong,
)
from harness.schema.record import DIFFERED

EMULATED = Device(kind="cpu-emulated", name="a CPU")
WRONG = Wrong(reason="values", detail="off", trial="normal")


def failed(stage: Any) -> Failed:
    return Failed(stage=stage, reason="exception", detail="no")


def tags(row):
    return [note.tag for note in row.notes]


def fast(row):
    return row.fast(0.0), row.fast(1.0), row.fast(2.0)


def geomean(row):
    return row.geomean and row.geomean.value


# What a row counts


def test_a_row_counts_what_was_judged_what_was_built_and_what_was_right(make_record):
    verdicts = [failed("extract"), failed("screen"), failed("build"), failed("load"), failed("run"), failed("time"),
                WRONG, Rejected(rule="r", detail="d")]  # fmt: skip
    records = [make_record(path=f"{n}", verdict=verdict) for n, verdict in enumerate(verdicts)]
    records += [make_record(path="slow", speedup=0.5), make_record(path="fast", speedup=3.0)]
    [row] = leaderboard({"r": records}).rows
    assert (row.submissions, row.compiled, row.correct, row.rejected, row.timed) == (10, 7, 2, 1, 2)
    assert (row.compile_rate, row.correct_rate) == (0.7, 0.2)
    assert fast(row) == (0.2, 0.1, 0.1)
    assert geomean(row) == pytest.approx(math.sqrt(1.5))


def test_every_problem_weighs_the_same_however_often_it_was_answered(make_record):
    records = [make_record("level1/1_A", path=str(n), speedup=3.0) for n in range(8)]
    records += [make_record("level1/2_B", path="b", speedup=1.5), make_record("level1/2_B", path="c", verdict=WRONG)]
    [row] = leaderboard({"r": records}).rows
    assert fast(row) == (0.75, 0.75, 0.5)
    assert geomean(row) == pytest.approx(math.sqrt(3.0 * 1.5))
    assert row.median.value == pytest.approx(2.25)


def test_fast_p_is_said_for_any_p_and_is_strict(make_record):
    records = [make_record(f"level1/{n}_P", path=str(n), speedup=speedup) for n, speedup in enumerate((1.0, 1.5, 4.0))]
    [row] = leaderboard({"r": records}, ps=[1.5, 0.5]).rows
    assert [(each.p, round(each.value, 3)) for each in row.fast_p] == [
        (0.0, 1.0), (0.5, 1.0), (1.0, 0.667), (1.5, 0.333), (2.0, 0.333),
    ]  # fmt: skip


def test_a_speed_up_of_a_wrong_answer_counts_for_nothing(make_record):
    [row] = leaderboard({"r": [make_record(speedup=9.0, verdict=WRONG)]}).rows
    assert fast(row) == (0.0, 0.0, 0.0)
    assert (row.geomean, row.timed, row.best) == (None, 0, ())


def test_a_fault_of_ours_scores_nobody(make_record):
    lost = make_record("level1/2_Other", path="lost", verdict=Infrastructure(detail="the device was lost"))
    [row] = leaderboard({"r": [lost, make_record(speedup=2.5)]}).rows
    assert (row.submissions, row.unjudged, row.problems, fast(row)) == (1, 1, 1, (1.0, 1.0, 1.0))
    assert tags(row) == ["1 unjudged"]


def test_a_row_where_nothing_was_judged_says_nothing(make_record):
    [row] = leaderboard({"r": [make_record(verdict=Infrastructure(detail="lost"))]}).rows
    assert (row.submissions, row.correct_rate, fast(row)) == (0, None, (None, None, None))


def test_what_is_correct_but_not_timed_counts_for_fast_0_and_is_noted(make_record):
    [row] = leaderboard({"r": [make_record(path="a"), make_record(path="b", speedup=3.0)]}).rows
    assert fast(row) == (1.0, 0.5, 0.5)
    assert tags(row) == ["1 untimed"]


def test_a_row_with_no_time_at_all_claims_no_speed(make_record):
    [row] = leaderboard({"r": [make_record()]}).rows
    assert (fast(row), row.geomean) == ((1.0, None, None), None)


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 0.0, -1.0])
def test_a_speed_up_that_is_no_positive_number_is_no_speed_up(make_record, value):
    record = make_record(speedup=2.0)
    broken = record.timing.model_copy(update={"speedup": Interval(value=value, low=value, high=value)})
    [row] = leaderboard({"r": [record.model_copy(update={"timing": broken})]}).rows
    assert (row.correct, row.timed, row.geomean) == (1, 0, None)


def test_failures_are_counted_by_where_and_why_the_most_frequent_first(make_record):
    verdicts = [WRONG, failed("build"), failed("build"), Rejected(rule="clock", detail="d"), None]
    records = [make_record(path=str(n), **({"verdict": each} if each else {})) for n, each in enumerate(verdicts)]
    [row] = leaderboard({"r": records}).rows
    assert [(each.verdict, each.stage, each.reason, each.count) for each in row.failures] == [
        ("failed", "build", "exception", 2), ("rejected", "", "clock", 1), ("wrong", "", "values", 1),
    ]  # fmt: skip


def test_tokens_are_summed_over_those_that_say_them(make_record):
    def asked(path, tokens, **changes):
        ref = SubmissionRef(path=path, sha256="1" * 64, model="gpt", prompt_tokens=tokens, completion_tokens=tokens)
        return make_record(submission=ref, **changes)

    records = [asked("a", 100), asked("b", 200, verdict=WRONG), asked("c", None), asked("d", 300)]
    [row] = leaderboard({"r": records}).rows
    assert (row.tokens.submissions, row.tokens.prompt, row.tokens.per_correct) == (3, 600, 600.0)
    assert leaderboard({"r": [asked("c", None)]}).rows[0].tokens is None


def test_of_several_answers_it_is_said_what_the_best_of_k_is_worth(make_record):
    records = [
        make_record(path=str(n), speedup=speedup) if speedup else make_record(path=str(n), verdict=WRONG)
        for n, speedup in enumerate((None, 0.5, None, None, 4.0))
    ]
    [row] = leaderboard({"r": records}).rows
    at_1, *_, at_5 = row.at_k
    assert (at_1.passes, at_1.fast_1, at_5.passes, at_5.fast_1) == (0.4, 0.2, 1.0, 1.0)
    assert [each.k for each in row.at_k] == [1, 2, 3, 4, 5]
    assert at_5.speedup == pytest.approx(4.0)


def test_one_answer_a_problem_is_no_choice_of_k(make_record):
    assert leaderboard({"r": [make_record(speedup=2.0)]}).rows[0].at_k == ()


def test_the_turns_of_a_conversation_are_one_answer_and_the_best_turn_counts(make_record):
    def turn(number, sample, **changes):
        ref = SubmissionRef(path=f"{sample}-{number}", sha256="1" * 64, sample=sample, turn=number, model="gpt")
        return make_record(submission=ref, **changes)

    records = [turn(0, 0, verdict=WRONG), turn(1, 0, speedup=2.5), turn(2, 0, speedup=0.5), turn(0, 1, verdict=WRONG)]
    [row] = leaderboard({"r": records}).rows
    assert (row.submissions, row.correct, fast(row), row.conversations) == (4, 2, (0.5, 0.5, 0.5), True)
    assert tags(row) == ["turns"]
    assert [(each.verdict, each.speedup) for each in row.best[0].path] == [("wrong", None), ("correct", 2.5)]


def test_a_best_answer_that_is_a_first_one_has_no_path(make_record):
    records = [make_record(speedup=2.5), make_record(path="b", verdict=WRONG)]
    [row] = leaderboard({"r": records}).rows
    assert row.best[0].path == ()


def test_problems_that_the_run_asked_and_nobody_answered_count_as_not_solved(make_record):
    asked = ["level1/19_ReLU", "level1/20_Other", "level1/21_More", "level2/1_Elsewhere"]
    records = [make_record(speedup=2.5), make_record(path="b", model="llama", verdict=WRONG)]
    rows = leaderboard({"r": Judged.of(records, problems=asked)}).rows
    assert [(row.model, row.problems, row.unanswered) for row in rows] == [("gpt", 3, 2), ("llama", 3, 2)]
    assert fast(rows[0]) == (pytest.approx(1 / 3),) * 3
    assert rows[0].notes[0].text == "2 of 3 problems have no submission and count as not solved"


def test_a_problem_that_was_answered_elsewhere_in_the_run_is_not_unanswered(make_record):
    records = [make_record(speedup=2.0), make_record("level1/20_Other", device=EMULATED)]
    rows = leaderboard({"r": Judged.of(records, problems=["level1/19_ReLU", "level1/20_Other"])}).rows
    assert [(row.problems, row.unanswered) for row in rows] == [(1, 0), (1, 0)]


def test_levels_have_figures_of_their_own_where_there_are_several(make_record):
    records = [make_record("level1/1_A", speedup=2.5), make_record("level2/1_B", verdict=WRONG)]
    [row] = leaderboard({"r": Judged.of(records, problems=["level2/1_B", "level2/2_C"])}).rows
    assert [(each.set, each.problems, each.unanswered, each.fast(1.0)) for each in row.levels] == [
        ("level1", 1, 0, 1.0), ("level2", 2, 1, 0.0),
    ]  # fmt: skip
    assert leaderboard({"r": records[:1]}).rows[0].levels == ()


def test_the_roofline_is_the_median_fraction_of_the_correct(make_record):
    def roofline(fraction):
        return Roofline(
            bytes_read=1, bytes_written=1, flops=1, bandwidth_gb_s=1.0, matrix_tflops=1.0, floor_ms=1.0,
            write_floor_ms=1.0, fraction=fraction,
        )  # fmt: skip

    records = [make_record(path=str(n), speedup=1.0, roofline=roofline(n / 10)) for n in range(1, 8)]
    records += [make_record(path="wrong", verdict=WRONG, roofline=roofline(0.99)), make_record(path="none")]
    [row] = leaderboard({"r": records}).rows
    assert (row.roofline.value, row.roofline.over) == (0.4, 7)
    assert row.roofline.low < 0.4 < row.roofline.high


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
    assert (row.correct, row.timed, row.fast(1.0), row.geomean) == (1, 0, None, None)
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
        "reduced size in 1 of 3", "no isolation in 1 of 3", "isolation without namespaces", "1 of 3 flagged",
        "counting no answer that there is a doubt about: fast_0 0.33 instead of 1.00",
    ]  # fmt: skip
    assert (row.flagged, row.reduced, row.unisolated) == (1, 1, 1)


def test_what_there_is_a_doubt_about_is_counted_apart(make_record):
    doubt = (Flag(rule="r", severity="warn", detail="d"),)
    conditions = Conditions(
        samples=1, sm_mhz=1, sm_mhz_lowest=1, sm_mhz_highest=1, memory_mhz=1, temperature_c=1, power_w=1, disturbed=True
    )
    disturbed = make_record(path="e", speedup=3.0)
    records = [
        make_record(path="a", speedup=3.0),
        make_record(path="b", speedup=3.0, flags=doubt),
        make_record(path="c", speedup=3.0, audit=doubt),
        make_record(path="d", speedup=3.0, sandbox=SandboxReport(layers=("session", "environment"))),
        disturbed.model_copy(update={"timing": disturbed.timing.model_copy(update={"conditions": conditions})}),
    ]
    [row] = leaderboard({"r": records}).rows
    assert (row.flagged, row.audited, row.unisolated, row.disturbed) == (1, 1, 1, 1)
    assert [(each.p, each.value, each.sure) for each in row.fast_p] == [
        (0.0, 1.0, 0.4),
        (1.0, 1.0, 0.2),
        (2.0, 1.0, 0.2),
    ]


def test_what_was_timed_quickly_is_said_on_its_row_and_beside_its_place(make_record):
    record = make_record(speedup=1.2)
    quick = record.model_copy(update={"timing": record.timing.model_copy(update={"mode": "quick"})})
    board = leaderboard({"r": [quick, make_record("level1/20_Other", speedup=2.5)]})
    assert "1 quick" in tags(board.rows[0])
    assert [(each.problem, each.best.quick) for each in board.problems] == [
        ("level1/19_ReLU", True),
        ("level1/20_Other", False),
    ]


def test_rows_are_apart_by_what_they_were_timed_against(make_record):
    record = make_record(speedup=3.0)
    further = Baseline(
        name="compile", reference_ms=1.0, speedup=Interval(value=0.8, low=0.7, high=0.9), conclusion="slower"
    )
    both = record.model_copy(update={"timing": record.timing.model_copy(update={"baselines": (further,)})})
    records = [both, make_record("level1/20_Other", speedup=2.5)]
    eager, compiled = leaderboard({"r": records}).rows
    assert (eager.baseline, fast(eager), tags(eager)) == ("eager", (1.0, 1.0, 1.0), [])
    assert (compiled.baseline, compiled.timed, fast(compiled)) == ("compile", 1, (1.0, 0.0, 0.0))
    assert tags(compiled) == ["vs compile", "1 untimed"]
    best = {each.baseline: each.best.speedup.value for each in leaderboard({"r": [both]}).problems}
    assert best == {"compile": 0.8, "eager": 3.0}


def test_a_mere_remark_is_no_flag(make_record):
    [row] = leaderboard({"r": [make_record(speedup=1.0, flags=(Flag(rule="r", severity="info", detail="d"),))]}).rows
    assert (row.flagged, row.notes) == (0, ())


@pytest.mark.parametrize("verdict", [failed("extract"), failed("build"), Rejected(rule="r", detail="screened")])
def test_what_never_ran_needed_no_isolation(make_record, verdict):
    [row] = leaderboard({"r": [make_record(verdict=verdict, sandbox=SandboxReport())]}).rows
    assert "unisolated" not in tags(row)


# Order


def test_rows_are_ranked_by_fast_1_then_speed_then_correctness_and_those_with_nothing_correct_come_last(make_record):
    records = [
        make_record(model="emulated", device=EMULATED),
        make_record(model="slow", speedup=0.5),
        make_record(model="fast", speedup=1.5),
        make_record(model="faster", speedup=2.5),
        make_record(model="wrong", verdict=WRONG),
    ]
    assert [row.model for row in leaderboard({"r": records}).rows] == ["faster", "fast", "slow", "emulated", "wrong"]


def test_a_row_with_nothing_correct_keeps_its_figures_and_is_behind_every_row_with_something_correct(make_record):
    """Where nothing was timed, as without a GPU, a fast_1 of 0 said no less than none."""
    records = [
        make_record(model="a-wrong", verdict=WRONG),
        make_record(model="b-emulated-wrong", device=EMULATED, verdict=WRONG),
        make_record(model="z-correct"),
        make_record(model="z-emulated", device=EMULATED),
    ]
    rows = leaderboard({"r": records}).rows
    assert [row.model for row in rows] == ["z-correct", "z-emulated", "a-wrong", "b-emulated-wrong"]
    assert [fast(row) for row in rows] == [(1.0, None, None), (1.0, None, None), (0.0, 0.0, 0.0), (0.0, None, None)]


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


def test_no_records_make_an_empty_board():
    board = leaderboard({"r": []})
    assert (board.rows, board.problems) == ((), ())


# Stock's word


def test_a_fast_build_that_ranks_first_is_marked_until_stock_has_confirmed_it(make_record):
    first, second = make_record(path="a", speedup=3.0, confirmed="none"), make_record(path="b", speedup=2.0)
    board = leaderboard({"r": [first, second]})
    assert tags(board.rows[0]) == ["1 unconfirmed"]
    assert "harness runs confirm r asks it" in board.rows[0].notes[0].text
    assert [each.best.confirmed for each in board.problems] == [False]
    assert "unconfirmed by stock" in drawn(board)
    assert ", unconfirmed |" in markdown(board)


def test_what_stock_built_and_what_does_not_rank_first_needs_no_word_of_stocks(make_record):
    stock = make_record(path="a", speedup=3.0, confirmed="none", builds=())
    fast = make_record(path="b", speedup=2.0, confirmed="none")
    board = leaderboard({"r": [stock, fast]})
    assert tags(board.rows[0]) == []
    assert [each.best.confirmed for each in board.problems] == [True]


def test_a_verdict_that_stock_turned_over_is_counted_and_noted(make_record):
    flag = Flag(rule=DIFFERED, severity="warn", detail="d")
    [row] = leaderboard({"r": [make_record(speedup=1.0), make_record(path="b", verdict=WRONG, flags=(flag,))]}).rows
    assert row.differed == 1
    assert "1 differed" in tags(row)


def drawn(board):
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(table(board))
    return console.export_text()


# What shares are of, and how sure they are


def test_only_answered_problems_count_where_that_is_asked_for(make_record):
    problems = ["level1/1_A", "level1/2_B", "level1/3_C", "level1/4_D"]
    records = [make_record("level1/1_A", speedup=2.0), make_record("level1/2_B", verdict=WRONG)]
    judged = Judged.of(records, problems=problems)
    [whole] = leaderboard({"r": judged}).rows
    [part] = leaderboard({"r": judged.only(only_answered=True)}).rows
    assert (whole.problems, whole.unanswered, whole.correct_rate, whole.only_answered) == (4, 2, 0.25, False)
    assert (part.problems, part.unanswered, part.correct_rate, part.only_answered) == (2, 0, 0.5, True)


@pytest.mark.parametrize(
    ("answers", "ks"),
    [(1, []), (2, [1, 2]), (12, [*range(1, 11), 12]), (60, [*range(1, 11), 20, 50, 60])],
)
def test_every_k_is_said_that_the_answers_allow(make_record, answers, ks):
    records = [make_record(path=str(n), sample=n, verdict=WRONG) for n in range(answers)]
    [row] = leaderboard({"r": records}).rows
    assert [each.k for each in row.at_k] == ks


def test_answers_that_were_never_built_count_in_the_row_of_the_models_others(make_record):
    cpu = Device(kind="cpu", name="a CPU")
    records = [make_record(path=str(n), verdict=WRONG, device=EMULATED) for n in range(2)]
    records += [make_record("level1/2_B", path="empty", verdict=failed("extract"), device=cpu)]
    [row] = leaderboard({"r": records}).rows
    assert (row.device, row.submissions, row.problems) == ("cpu-emulated", 3, 2)
    kept = make_record("level1/3_C", path="c++", speedup=2.0, device=cpu)
    rows = leaderboard({"r": [*records, kept]}).rows
    assert {(each.device, each.notes[-1].tag) for each in rows} == {
        ("cpu", "3 elsewhere"),
        ("cpu-emulated", "1 elsewhere"),
    }
    other = [each.model_copy(update={"device": Device(kind="cpu", name="another")}) for each in records[-1:]]
    assert len(leaderboard({"r": [*records[:2], *other]}).rows) == 2


@pytest.mark.parametrize("samples", [1, 2])
def test_without_a_gpu_no_answer_leaves_the_row_of_the_others_by_what_it_names(make_record, samples):
    """Where an answer names CUDA it is emulated: those that a model is not sure of must count all the same."""
    cpu = Device(kind="cpu", name="a CPU")

    def records(model, unsure):
        right = [
            make_record(f"level1/{n}_A", path=f"{model}{n}", model=model, speedup=2.0, device=cpu) for n in range(4)
        ]
        titles = [f"level1/{n}_A" for n in (range(4, 8) if samples == 1 else range(4))]
        return right + [
            make_record(title, path=f"{model}{title}", model=model, sample=samples - 1, verdict=WRONG, device=unsure)
            for title in titles
        ]

    rows = leaderboard({"r": [*records("honest", cpu), *records("chooses", EMULATED)]}).rows
    figures = {(row.model, row.device): (row.problems, row.correct_rate, row.fast(1.0)) for row in rows}
    assert figures["chooses", "cpu"] == figures["honest", "cpu"]
    assert figures["chooses", "cpu-emulated"][1] == 0.0
    all_of_it = Judged.of([*records("honest", cpu), *records("chooses", EMULATED)])
    asked = leaderboard({"r": all_of_it.only(devices=["cpu"])}).rows
    assert [row.device for row in asked] == ["cpu", "cpu"]
    assert {row.model: (row.problems, row.correct_rate, row.fast(1.0)) for row in asked} == {
        model: figures[model, "cpu"] for model in ("honest", "chooses")
    }
    assert [row.device for row in leaderboard({"r": all_of_it.only(devices=["cpu-emulated"])}).rows] == ["cpu-emulated"]


def test_a_share_has_its_spread_and_a_certain_one_too(make_record):
    [row] = leaderboard({"r": [make_record(f"level1/{n}_A", speedup=2.0) for n in range(6)]}).rows
    assert row.correct_rate == 1.0
    assert row.correct_spread is not None
    assert row.correct_spread.standard_error == 0.0
    assert 0.5 < row.correct_spread.low < row.correct_spread.high == 1.0


def test_rows_that_follow_each_other_are_compared_problem_by_problem(make_record):
    records = []
    for n in range(12):
        records.append(make_record(f"level1/{n}_A", path="a", model="a", speedup=2.0 + n / 10))
        better = {"speedup": 1.0 + n / 10} if n % 2 else {"verdict": WRONG}
        records.append(make_record(f"level1/{n}_A", path="b", model="b", **better))
    found = {each.figure: each for each in leaderboard({"r": records}).comparisons}
    assert found["correct"].better == 1
    assert (found["correct"].first_value, found["correct"].second_value) == (1.0, 0.5)
    assert found["correct"].p == pytest.approx(2 / 2**6)
    assert found["speed-up"].problems == 6


def test_a_difference_that_chance_would_give_cannot_be_told(make_record):
    records = [make_record(f"level1/{n}_A", path=model, model=model, speedup=2.0) for n in range(4) for model in "ab"]
    records[0] = make_record("level1/0_A", path="a", model="a", verdict=WRONG)
    assert [each.better for each in leaderboard({"r": records}).comparisons] == [None, None, None]


def test_rows_on_different_devices_are_not_compared(make_record):
    records = [make_record(path="a", model="a"), make_record(path="b", model="b", device=EMULATED)]
    assert leaderboard({"r": records}).comparisons == ()


def test_names_with_more_digits_than_a_number_may_have_are_ranked_and_exported(make_record):
    digits = "9" * 5000
    records = [make_record(f"level{digits}/{digits}_x", path="a", speedup=2.0), make_record(path="b", speedup=3.0)]
    board = leaderboard({"r": records})
    assert {each.problem for each in board.problems} == {f"level{digits}/{digits}_x", "level1/19_ReLU"}
    assert kernelbench({"r": records}).left_out
