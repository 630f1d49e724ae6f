"""The corpus of benchmarks/agreement.py, and what the script tells of verdicts."""

import importlib
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def agreement() -> Any:
    """The script as a module. It imports its neighbours by their bare names, as every script of benchmarks/ does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield importlib.import_module("agreement")
    for name in ("agreement", "judge"):
        sys.modules.pop(name, None)


def row(kernel: str, kind: str, *, expected: str = "correct", sha256: str = "a", **others: str) -> dict[str, Any]:
    said = {"reason": "", "detail": "", "flags": [], "device": "cpu-emulated", "seconds": 1.0, **others}
    return {"kernel": kernel, "expected": expected, "kind": kind, "sha256": sha256, **said}


def by_name(*rows: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["kernel"]: one for one in rows}


def test_every_kernel_names_a_verdict_and_has_a_problem(agreement: Any) -> None:
    kernels = agreement.read_kernels()
    counts = Counter(kernel.expected for kernel in kernels)
    assert len(kernels) - counts["race"] >= 150
    assert counts["correct"] > len(kernels) / 3
    assert counts["wrong"] + counts["failed"] > len(kernels) / 3
    assert {kernel.problem for kernel in kernels} == set((agreement.FOLDER / "problems").glob("*.py"))


def test_the_first_line_of_a_docstring_is_the_verdict(agreement: Any) -> None:
    assert agreement.expected_of('"""wrong: the maximum starts at 0.\n\nMore.\n"""\n') == "wrong"
    assert agreement.expected_of('"""race: no barrier."""\n') == "race"


@pytest.mark.parametrize("text", ["", "x = 1\n", '"""A kernel."""\n', '"""slow: it is."""\n', '"""wrong:"""\n'])
def test_a_kernel_that_names_no_verdict_is_refused(agreement: Any, text: str) -> None:
    with pytest.raises(ValueError, match="first line of a kernel"):
        agreement.expected_of(text)


def test_a_kernel_without_a_problem_is_refused(agreement: Any, tmp_path: Path) -> None:
    (tmp_path / "kernels" / "relu").mkdir(parents=True)
    (tmp_path / "kernels" / "relu" / "plain.py").write_text('"""correct: plain."""\n')
    with pytest.raises(ValueError, match="no problem relu"):
        agreement.read_kernels(tmp_path)


def test_verdicts_agree_where_their_kinds_are_equal(agreement: Any) -> None:
    first = by_name(row("a/1", "correct"), row("a/2", "wrong", expected="wrong", reason="values"))
    second = by_name(row("a/1", "correct"), row("a/2", "wrong", expected="wrong", reason="non-finite"))
    found = agreement.compared(first, second)
    assert (found.both, found.agree, found.share, found.differences) == (2, 2, 1.0, ())


def test_a_difference_is_told_with_both_details(agreement: Any) -> None:
    first = by_name(row("a/1", "correct"), row("a/2", "failed", reason="not-emulated", detail="too slow"))
    second = by_name(row("a/1", "correct"), row("a/2", "correct", device="cuda"))
    found = agreement.compared(first, second)
    assert (found.both, found.agree) == (2, 1)
    said = "\n".join(agreement.comparison_lines(found))
    assert "1 of 2 agree (50.0%)" in said
    assert "cpu-emulated: failed/not-emulated too slow" in said
    assert "cuda: correct" in said


def test_races_are_counted_apart_and_their_differences_shown(agreement: Any) -> None:
    first = by_name(row("a/1", "correct"), row("a/2", "wrong", expected="race"))
    second = by_name(row("a/1", "correct"), row("a/2", "correct", expected="race"))
    found = agreement.compared(first, second)
    assert (found.both, found.agree, found.races, len(found.differences)) == (1, 1, 1, 1)
    assert "a/2: race (apart)" in list(agreement.comparison_lines(found))


def test_what_only_one_file_has_or_has_of_another_text_is_named_and_not_counted(agreement: Any) -> None:
    first = by_name(row("a/1", "correct"), row("a/2", "correct"), row("a/3", "correct"))
    second = by_name(row("a/1", "correct"), row("a/2", "wrong", sha256="b"), row("a/4", "correct"))
    found = agreement.compared(first, second)
    assert (found.both, found.agree) == (1, 1)
    assert found.stale == ("a/2", "a/3", "a/4")


def test_a_row_of_a_changed_kernel_is_judged_again_and_so_is_a_fault_of_ours(agreement: Any, tmp_path: Path) -> None:
    one, two, three = agreement.read_kernels()[:3]
    rows = by_name(
        row(one.name, "correct", sha256=one.sha256),
        row(two.name, "correct", sha256="of an older text"),
        row(three.name, "infrastructure", sha256=three.sha256),
    )
    (tmp_path / "rows.json").write_text(json.dumps({"rows": rows}))
    assert list(agreement.Results(tmp_path / "rows.json", [one, two, three]).rows) == [one.name]


def test_a_summary_names_what_did_not_get_its_verdict(agreement: Any) -> None:
    rows = by_name(row("a/1", "correct"), row("a/2", "correct", expected="wrong"), row("a/3", "wrong", expected="race"))
    said = list(agreement.summary(rows))
    assert "1 of 1 that are correct are called correct" in said
    assert "0 of 1 that are wrong are called wrong" in said
    assert "  a/2: not wrong: correct" in said
    assert agreement.unexpected(rows) == [rows["a/2"]]
