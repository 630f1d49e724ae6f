"""Emulated CUDA is judged at a reduced batch, never silently and never against the user's word."""

import pytest

from harness.errors import InputError, ProblemError
from harness.judge.workload_sizes import BATCH, CPU_ELEMENTS, EMULATED_ELEMENTS, original_sizes, sized


def test_without_emulation_nothing_is_reduced(problem):
    asked = problem()
    assert sized(asked, {}, emulated=False)[0] == asked.source
    assert not sized(asked, {}, emulated=False)[1].reduced


def test_the_batch_is_reduced_to_what_an_emulated_kernel_gets_through(problem):
    source, workload = sized(problem(), {}, emulated=True)
    assert workload.reduced
    assert workload.settings == {BATCH: EMULATED_ELEMENTS // 1024}
    assert workload.original == {BATCH: 4096}
    assert f"batch_size = {EMULATED_ELEMENTS // 1024}\n" in source


def test_a_small_workload_stays_as_it_is(problem):
    source, workload = sized(problem("batch_size = 256\ndim = 1024\n"), {}, emulated=True)
    assert "batch_size = 256\n" in source
    assert not workload.reduced
    assert workload.settings == {}


def test_no_fewer_than_two_rows_are_left(problem):
    _, workload = sized(problem("batch_size = 64\ndim = 1 << 20\n"), {}, emulated=True)
    assert workload.settings == {BATCH: 2}
    _, workload = sized(problem("batch_size = 2\ndim = 1 << 20\n"), {}, emulated=True)
    assert not workload.reduced


def test_a_batch_that_the_user_set_is_left_alone(problem):
    _, workload = sized(problem(), {BATCH: 4096}, emulated=True)
    assert workload.settings == {BATCH: 4096}
    assert not workload.reduced


def test_another_number_that_the_user_set_counts_in_the_reduction(problem):
    _, workload = sized(problem(), {"dim": 4096}, emulated=True)
    assert workload.settings == {"dim": 4096, BATCH: EMULATED_ELEMENTS // 4096}
    assert workload.original == {"dim": 1024, BATCH: 4096}
    assert workload.reduced


def test_a_problem_without_a_batch_is_run_at_its_size(problem):
    _, workload = sized(problem("rows = 4096\ndim = 1024\n", shape="rows, dim"), {}, emulated=True)
    assert not workload.reduced


def test_nothing_is_allocated_to_find_the_size(problem):
    _, workload = sized(problem("batch_size = 1 << 20\ndim = 1 << 20\n"), {}, emulated=True)  # 4 TB in float32
    assert workload.settings == {BATCH: 2}


def test_an_unknown_name_is_refused_with_the_known_ones(problem):
    with pytest.raises(InputError, match="no number named 'width'; it sets batch_size=4096, dim=1024"):
        sized(problem(), {"width": 3}, emulated=True)


def test_inputs_that_cannot_be_drawn_are_the_problems_fault(problem):
    with pytest.raises(ProblemError, match=r"level1/19_ReLU: get_inputs\(\) raised NameError"):
        sized(problem(shape="unknown"), {}, emulated=True)


def test_what_is_too_large_for_a_cpu_is_reduced_there_too_and_nowhere_else(problem):
    large = problem("batch_size = 4096\ndim = 393216\n")
    source, workload = sized(large, {}, emulated=False, on_cpu=True)
    assert workload.reduced
    assert workload.settings[BATCH] * 393216 <= CPU_ELEMENTS
    assert f"batch_size = {workload.settings[BATCH]}" in source
    assert not sized(large, {}, emulated=False)[1].reduced
    assert not sized(large, {BATCH: 4096}, emulated=False, on_cpu=True)[1].reduced
    assert not sized(problem("batch_size = 64\ndim = 1024\n"), {}, emulated=False, on_cpu=True)[1].reduced


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("h = torch.zeros(4096, 8)", True),
        ("h = x.new_zeros(40960)", False),
        ("h = 1.4096", False),
        ("B4096 = 1", False),
    ],
)
def test_a_candidate_that_names_the_original_batch_may_be_tried_at_it(problem, text, named):
    asked = problem()
    _, workload = sized(asked, {}, emulated=True)
    sizes = original_sizes(asked, {}, workload, text, emulated=True)
    assert sizes == ({BATCH: 4096} if named else None)


def test_what_is_far_too_large_is_not_tried_at_its_original_size(problem):
    asked = problem("batch_size = 4096\ndim = 1 << 20\n")
    _, workload = sized(asked, {}, emulated=True)
    assert original_sizes(asked, {}, workload, "4096", emulated=True) is None


def test_what_was_not_reduced_is_not_tried_again(problem):
    asked = problem()
    _, workload = sized(asked, {BATCH: 4096}, emulated=True)
    assert original_sizes(asked, {BATCH: 4096}, workload, "4096", emulated=True) is None
