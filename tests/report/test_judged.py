import pytest

from harness.errors import InputError
from harness.report.judged import Judged, check_filters
from harness.report.rows import leaderboard
from harness.schema import Device, Failed, Rejected, SandboxReport, Workload, Wrong

WRONG = Wrong(reason="values", detail="off", trial="normal")
FULL = SandboxReport(layers=("mount-namespace", "seccomp", "session"))
BASIC = SandboxReport(layers=("landlock-7", "seccomp", "session"), missing=("mount-namespace: refused",))
NONE = SandboxReport(layers=("session", "environment"))


@pytest.fixture
def judged(make_record):
    records = [
        make_record("level1/1_A", path="a", model="gpt-4", speedup=2.0, sandbox=FULL),
        make_record("level1/2_B", path="b", model="gpt-5", speedup=3.0, sandbox=BASIC),
        make_record("level2/1_C", path="c", model="llama", verdict=WRONG, sandbox=NONE),
        make_record("custom", path="d", model="llama", verdict=Failed(stage="build", reason="compile", detail="d"),
                    device=Device(kind="cpu", name="AMD EPYC"), sandbox=SandboxReport()),
    ]  # fmt: skip
    return Judged.of(records, problems=["level1/1_A", "level1/2_B", "level1/3_D", "level2/1_C", "level2/2_E"])


def paths(judged):
    return [judged.columns.path[row] for row in range(len(judged.columns))]


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        ({}, "abcd"),
        ({"models": ["gpt-4"]}, "a"),
        ({"models": ["gpt-*"]}, "ab"),
        ({"models": ["gpt-4", "llama"]}, "acd"),
        ({"levels": ["1"]}, "ab"),
        ({"levels": ["level2"]}, "c"),
        ({"levels": [""]}, "d"),
        ({"devices": ["cpu"]}, "d"),
        ({"devices": ["h200", "epyc"]}, "abcd"),
        ({"verdicts": ["wrong", "failed"]}, "cd"),
        ({"min_isolation": "basic"}, "abd"),
        ({"min_isolation": "full"}, "ad"),
        ({"models": ["gpt-*"], "levels": ["2"]}, ""),
    ],
)
def test_filters_let_through_any_of_their_values_and_only_what_all_let_through(judged, filters, left):
    assert paths(judged.only(**filters)) == list(left)


def test_what_a_model_left_unanswered_is_of_the_levels_that_it_answers(judged):
    assert judged.unanswered["gpt-4"] == {"level1/2_B", "level1/3_D"}
    assert judged.unanswered["llama"] == {"level2/2_E"}


def test_a_filter_changes_nothing_about_what_else_was_asked(judged):
    [row] = leaderboard({"r": judged.only(models=["llama"], devices=["cuda"])}).rows
    assert (row.problems, row.unanswered, row.correct_rate) == (2, 1, 0.0)
    [row] = leaderboard({"r": judged.only(models=["llama"], levels=["level2"], verdicts=["wrong"])}).rows
    assert (row.unanswered, row.correct_rate, row.fast_p) == (1, None, ())
    assert row.notes[-1].tag == "filtered"


def test_a_level_that_is_filtered_away_is_not_unanswered(judged):
    assert judged.only(levels=["level1"]).unanswered["llama"] == frozenset()


def test_a_model_or_level_that_is_nowhere_is_a_mistake(judged):
    check_filters([judged], models=["gpt-*"], levels=["1"])
    with pytest.raises(InputError, match=r"the model 'gtp-4': there is gpt-4, gpt-5, llama"):
        check_filters([judged], models=["gtp-4"], levels=[])
    with pytest.raises(InputError, match=r"the level '3': there is level1, level2"):
        check_filters([judged], models=[], levels=["3"])


def test_one_that_was_rejected_before_it_ran_needed_no_isolation(make_record):
    screened = make_record(verdict=Rejected(rule="r", detail="d"), sandbox=SandboxReport())
    assert len(Judged.of([screened]).only(min_isolation="full").columns) == 1
    ran = make_record(verdict=Rejected(rule="r", detail="d"), sandbox=BASIC)
    assert len(Judged.of([ran]).only(min_isolation="full").columns) == 0


def test_a_run_that_does_not_say_what_it_asked_leaves_nothing_unanswered(make_record):
    assert Judged.of([make_record(workload=Workload())]).unanswered == {}
