"""The numbers of a problem: found without running it, replaced without touching anything else."""

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.catalog import apply_settings, numeric_settings
from harness.errors import InputError, ProblemError
from harness.schema import Problem

SOURCE = """\
import torch

batch_size = 128  # the batch
dim = 1024 * 16
height = width = 14
rows, (cols, depth) = 2, (3, 4)
eps: float = 1e-5
negative = -1
big = (
    1024
    * 2
)
shape = (dim,)
half = dim // 2
flag = True
name = 'dim = 3'
grown = 1
grown += 1


def get_inputs():
    dim = 7
    return [torch.rand(batch_size, dim)]
"""


def problem(source: str = SOURCE) -> Problem:
    return Problem(set="", name="mine", sha256=hashlib.sha256(source.encode()).hexdigest(), source=source)


def run(source: str) -> dict[str, Any]:
    scope: dict[str, Any] = {}
    exec(source.replace("import torch", ""), scope)
    return scope


def test_the_numbers_of_a_module_are_found_in_order() -> None:
    assert numeric_settings(problem()) == {
        "batch_size": 128, "dim": 16384, "height": 14, "width": 14, "rows": 2, "cols": 3, "depth": 4, "eps": 1e-5,
        "negative": -1, "big": 2048,
    }  # fmt: skip


def test_what_follows_from_a_number_follows() -> None:
    source, workload = apply_settings(problem(), {"dim": 64})
    scope = run(source)
    assert (scope["dim"], scope["shape"], scope["half"], scope["batch_size"]) == (64, (64,), 32, 128)
    assert scope["name"] == "dim = 3"
    assert (workload.settings, workload.original, workload.reduced) == ({"dim": 64}, {"dim": 16384}, False)


def test_only_the_number_changes_in_the_text() -> None:
    source, _ = apply_settings(problem(), {"batch_size": 2})
    assert source == SOURCE.replace("batch_size = 128  # the batch", "batch_size = 2  # the batch")
    assert apply_settings(problem(), {})[0] == SOURCE


def test_lines_keep_their_numbers_where_a_value_took_several() -> None:
    source, _ = apply_settings(problem(), {"big": 5, "depth": 6, "rows": 7})
    assert source.count("\n") == SOURCE.count("\n")
    assert source.splitlines()[-1] == SOURCE.splitlines()[-1]
    scope = run(source)
    assert (scope["big"], scope["depth"], scope["rows"], scope["cols"]) == (5, 6, 7, 3)


@pytest.mark.parametrize(
    "source",
    [
        "big = 1024 * \\\n  2\nlast = 1\n", "big = 1024 * \\\n  2", "big, last = 1024 * \\\n  2, 1\n",
        "ä, big = 'é', 4; last = 1\n", "big = 0x10; last = 1\n", "big = 1_000\n", "big = 1\nbig = 2\n",
        "big = 2 ** 10\n", "big = 1 << 4\n", "big = (3)\n", "big = 7 // 2 % 5 + +1 - 2\n", "x = 'a\fb'\nbig = 3\n",
        "x = '\u2028'\nbig = 3\n",
    ],
)  # fmt: skip
def test_every_spelling_of_a_number_is_replaced(source: str) -> None:
    before = numeric_settings(problem(source))
    assert before["big"] == run(source)["big"]
    changed, _ = apply_settings(problem(source), {"big": 9})
    assert run(changed)["big"] == 9
    assert numeric_settings(problem(changed)) == before | {"big": 9}


@pytest.mark.parametrize(
    "source",
    [
        "n = 9 ** 9 ** 9\n", "n = 1 << 10 ** 9\n", "n = 1 / 0\n", "n = (-8) ** 0.5\n", "n = 1 << -1\n",
        "n = 1 if a else 2\n",
        "n = int(3)\n", "n = 3j\n", "n = not 1\n", "n = ~1\n", "n: int\n", "def f(): n = 1\n", "n, m = pair\n",
        "n, *m = 1, 2\n", "a.n = 1\n", "n = a = 1 if b else 2\n", "n = 10.0 ** 64 ** 2\n", "n = 1e400\n",
        f"n = 0x{'F' * 5000}\n", "n = (10 ** 64) ** 64\n",
    ],
)  # fmt: skip
def test_what_is_no_plain_number_is_no_setting(source: str) -> None:
    assert "n" not in numeric_settings(problem(source))


def test_an_unknown_name_lists_the_ones_there_are() -> None:
    with pytest.raises(InputError, match=r"mine sets no number named 'batch'; it sets batch_size=128, dim=16384"):
        apply_settings(problem(), {"batch": 2})
    with pytest.raises(InputError, match="it sets none"):
        apply_settings(problem("x = 'a'\n"), {"batch": 2})


def test_a_fraction_for_a_whole_number_is_refused_and_a_whole_float_is_not() -> None:
    with pytest.raises(InputError, match=r"dim=2\.5 must be a whole number"):
        apply_settings(problem(), {"dim": 2.5})
    assert apply_settings(problem(), {"dim": 2.0})[1].settings == {"dim": 2}
    assert "eps: float = 1.0\n" in apply_settings(problem(), {"eps": 1})[0]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 10**400, -(10**400)])
def test_a_number_that_python_cannot_write_is_refused(value: float) -> None:
    with pytest.raises(InputError, match="not a finite number"):
        apply_settings(problem(), {"eps": value})


def test_a_power_of_powers_is_no_setting_and_is_never_worked_out() -> None:
    power = "9" + "**64)" * 20
    assert numeric_settings(problem(f"x = 3\nhuge = {'(' * 20}{power}\n")) == {"x": 3}


def test_names_that_share_one_number_are_set_alike() -> None:
    scope = run(apply_settings(problem(), {"height": 3, "width": 3})[0])
    assert (scope["height"], scope["width"]) == (3, 3)
    with pytest.raises(InputError, match="gives height and width the same number"):
        apply_settings(problem(), {"height": 3, "width": 4})


def test_setting_one_of_two_names_sets_both_and_the_workload_says_so() -> None:
    source, workload = apply_settings(problem(), {"height": 3})
    assert run(source)["width"] == 3
    assert workload.settings == {"height": 3, "width": 3}
    assert workload.original == {"height": 14, "width": 14}


def test_a_source_that_is_not_python_is_an_error_of_the_problem() -> None:
    for source in ("n = (", "n = 1\0", "n = " + "-" * 100_000 + "1"):
        with pytest.raises(ProblemError):
            numeric_settings(problem(source))


@given(st.dictionaries(st.sampled_from(["batch_size", "dim", "negative", "rows", "depth", "big"]), st.integers()))
def test_what_was_set_is_what_the_module_holds(wanted: dict[str, int]) -> None:
    source, workload = apply_settings(problem(), wanted)
    scope = run(source)
    assert {name: scope[name] for name in wanted} == wanted == workload.settings
    assert workload.original == {name: numeric_settings(problem())[name] for name in wanted}
