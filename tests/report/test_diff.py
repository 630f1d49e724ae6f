import io
import random

import pytest
from rich.console import Console

from harness.report.diff import Side, diff, diff_text
from harness.schema import Baseline, Device, Infrastructure, Interval, Timing, Wrong
from harness.schema.columns import Columns

WRONG = Wrong(reason="values", detail="off", trial="normal")
EMULATED = Device(kind="cpu-emulated", name="a CPU")


def side(*records):
    def read(chosen):
        return [records[row] for row in chosen.row.tolist()]

    return Side(Columns.of(records), read)


@pytest.fixture
def timed(make_record):
    def make(speedup, *, spread=0.001, problem="level1/19_ReLU", seed=0, **changes):
        generator = random.Random(seed)
        samples = [generator.gauss(1.0, spread) for _ in range(30)]
        timing = Timing(
            candidate_ms=1.0,
            reference_ms=speedup,
            speedup=Interval(value=speedup, low=speedup * 0.99, high=speedup * 1.01),
            conclusion="faster",
            rounds=30,
            calls_per_round=1,
            candidate_samples_ms=tuple(samples),
            reference_samples_ms=tuple(speedup * each for each in reversed(samples)),
        )
        return make_record(problem, timing=timing, **changes)

    return make


def outcomes(found):
    return {each.problem: each.outcome for each in found.changes}


@pytest.mark.parametrize(
    ("after", "spread", "outcome"),
    [
        (2.5, 0.001, "faster"),
        (1.6, 0.001, "slower"),
        (2.002, 0.001, "same"),
        (2.02, 0.05, "ambiguous"),
        (2.01, 0.006, "ambiguous"),
    ],
)
def test_a_speed_up_is_won_or_lost_only_where_the_interval_says_so(timed, after, spread, outcome):
    found = diff(side(timed(2.0, spread=spread)), side(timed(after, spread=spread, seed=1)))
    [change] = found.changes
    assert change.outcome == outcome
    assert change.ratio.low <= change.ratio.value <= change.ratio.high
    assert change.ratio.value == pytest.approx(after / 2.0, rel=0.05)


def test_verdicts_that_changed_are_won_and_lost(timed, make_record):
    before = side(
        timed(2.0, problem="level1/1_A"), make_record("level1/2_B", verdict=WRONG),
        make_record("level1/3_C", verdict=WRONG), make_record("level1/4_D"), timed(1.0, problem="level1/5_E"),
    )  # fmt: skip
    after = side(
        make_record("level1/1_A", verdict=WRONG), timed(2.0, problem="level1/2_B"),
        make_record("level1/3_C", verdict=WRONG), make_record("level1/4_D", verdict=Infrastructure(detail="lost")),
        make_record("level1/6_F"),
    )  # fmt: skip
    found = diff(before, after)
    assert outcomes(found) == {
        "level1/1_A": "became wrong", "level1/2_B": "became right", "level1/3_C": "unsolved",
        "level1/4_D": "not judged", "level1/5_E": "only before", "level1/6_F": "only after",
    }  # fmt: skip
    assert found.changes[0].before_speedup.value == 2.0
    assert found.changes[0].after == "wrong values"


def test_the_best_answer_of_each_run_counts(timed, make_record):
    before = side(make_record(path="a", verdict=WRONG), timed(1.5, path="b"), timed(3.0, path="c"))
    after = side(timed(3.0, path="x", seed=3), timed(0.1, path="y"))
    assert [each.outcome for each in diff(before, after).changes] == ["same"]


def test_models_in_both_runs_are_compared_with_themselves(timed, make_record):
    before = side(timed(2.0, model="a"), timed(8.0, model="b"), timed(2.0, model="c"))
    after = side(timed(1.0, model="b"), timed(4.0, model="a"), make_record(model="d"))
    found = diff(before, after)
    assert [(each.model, each.outcome) for each in found.changes] == [("b", "slower"), ("a", "faster")]
    assert found.models == ("c", "d")


def test_runs_without_a_model_in_common_are_compared_by_their_best(timed):
    found = diff(side(timed(2.0, model="a")), side(timed(4.0, model="b"), timed(3.0, model="c")))
    assert [(each.model, each.outcome) for each in found.changes] == [("", "faster")]
    assert found.changes[0].ratio.value == pytest.approx(2.0)


def test_nothing_is_said_about_time_under_emulation_or_without_samples(timed, make_record):
    assert outcomes(diff(side(timed(2.0, device=EMULATED)), side(timed(9.0, device=EMULATED)))) == {
        "level1/19_ReLU": "not timed"
    }
    assert outcomes(diff(side(make_record()), side(timed(9.0)))) == {"level1/19_ReLU": "not timed"}


def test_speed_ups_over_different_references_are_never_compared(timed):
    record = timed(2.0)
    compiled = record.model_copy(update={"timing": record.timing.model_copy(update={"baseline": "compile"})})
    assert outcomes(diff(side(record), side(compiled))) == {"level1/19_ReLU": "not timed"}
    further = Baseline(
        name="compile", reference_ms=1.0, speedup=Interval(value=1.0, low=0.9, high=1.1), conclusion="same",
        reference_samples_ms=tuple([1.0] * 30),
    )  # fmt: skip
    both = record.model_copy(update={"timing": record.timing.model_copy(update={"baselines": (further,)})})
    [change] = diff(side(both), side(compiled)).changes
    assert (change.outcome, round(change.ratio.value, 2)) == ("faster", 2.0)


def test_all_ratios_together_have_a_mean_and_an_interval_over_problems(timed):
    before = side(*(timed(1.0, problem=f"level1/{n}_P", seed=n) for n in range(8)))
    after = side(*(timed(2.0 if n % 2 else 1.0, problem=f"level1/{n}_P", seed=n) for n in range(8)))
    overall = diff(before, after).overall
    assert overall.value == pytest.approx(2.0**0.5, rel=0.01)
    assert overall.low < 1.3 < 1.5 < overall.high


def drawn(found, width):
    console = Console(file=io.StringIO(), width=width, markup=False, emoji=False)
    console.print(diff_text(found, names=("before", "after")))
    return console.file.getvalue()


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_fits_and_says_what_changed_and_counts_what_did_not(timed, make_record, width):
    title = "level2/81_Gemm_Swish_Divide_Clamp_Tanh_Clamp"
    before = side(timed(2.0, problem=title), timed(1.0), make_record("level1/3_C", verdict=WRONG))
    after = side(timed(4.0, problem=title), timed(1.0), make_record("level1/3_C", verdict=WRONG))
    text = drawn(diff(before, after), width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    assert "1 won, 0 lost, 1 same, 1 unsolved (1 faster)" in text
    assert "2.00x" in text
    assert "19_ReLU" not in text


def test_devices_that_differ_are_said_to_differ(timed):
    found = diff(side(timed(1.0)), side(timed(1.0, device=Device(kind="cuda", name="A100\x1b[31m"))))
    text = drawn(found, 120)
    assert "not the same device (NVIDIA H200; A100\\x1b[31m)" in text
    assert "\x1b" not in text


def test_whether_b_is_better_is_told_by_a_paired_test_and_else_said_not_to_be(timed, make_record):
    problems = [f"level1/{n}_A" for n in range(8)]
    slow = side(*(timed(1.0, problem=each, seed=n) for n, each in enumerate(problems)))
    quick = side(*(timed(1.5, problem=each, seed=n) for n, each in enumerate(problems)))
    found = diff(slow, quick)
    assert found.speed.better == "B"
    assert found.speed.p == 2 / 2**8
    assert found.solved.better is None
    assert "Is B better than A? solved: cannot be told (p = 1, 8 problems); speed-up: B is better" in drawn(found, 200)
    few = diff(side(timed(1.0)), side(timed(1.5)))
    assert few.speed.better is None
