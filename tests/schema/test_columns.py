from itertools import pairwise

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.schema import (
    Baseline,
    Conditions,
    Correct,
    Device,
    Environment,
    Failed,
    Flag,
    Interval,
    ProblemRef,
    Record,
    Rejected,
    Roofline,
    SandboxReport,
    SubmissionRef,
    Timing,
    Workload,
)
from harness.schema.columns import Coded, Columns, ColumnsBuilder, Texts
from harness.schema.head import Head, read_head

INTERVAL = Interval(value=2.0, low=1.5, high=float("inf"))
FURTHER = Baseline(name="compile", reference_ms=1.0, speedup=INTERVAL, conclusion="same")


def record(path, **changes):
    fields = {
        "problem": ProblemRef(set="level1", name="19_ReLU", sha256="0" * 64),
        "submission": SubmissionRef(path=path, sha256="ab" * 32, model="gpt", sample=3),
        "device": Device(kind="cuda", name="NVIDIA H200"),
        "verdict": Correct(trials=3),
        "environment": Environment(harness="0.1.0", python="3.12", torch="2.13.0"),
        "judged_at": "2026",
    }
    return Record(**(fields | changes))


@pytest.fixture
def records():
    conditions = Conditions(
        samples=1, sm_mhz=1, sm_mhz_lowest=1, sm_mhz_highest=1, memory_mhz=1, temperature_c=1, power_w=1, disturbed=True
    )
    timing = Timing(
        candidate_ms=1.0, reference_ms=2.0, speedup=INTERVAL, conclusion="faster", rounds=1, calls_per_round=1,
        baselines=(FURTHER,), conditions=conditions,
    )  # fmt: skip
    roofline = Roofline(
        bytes_read=1, bytes_written=1, flops=1, bandwidth_gb_s=1, matrix_tflops=1, floor_ms=1, write_floor_ms=1,
        fraction=0.25,
    )  # fmt: skip
    warn, info = (Flag(rule="r", severity=severity, detail="d") for severity in ("warn", "info"))
    tokens = SubmissionRef(path="b", sha256="00" * 32, turn=1, prompt_tokens=5, completion_tokens=7)
    return [
        record("a", timing=timing, roofline=roofline, flags=(info, warn), sandbox=SandboxReport(layers=("x",))),
        record("b", submission=tokens, audit=(warn,), flags=(info,), verdict=Rejected(rule="clock", detail="d")),
        record(
            "c é 中",
            problem=ProblemRef(set="", name="mine", sha256="0" * 64, workload=Workload(reduced=True, precision="bf16")),
            verdict=Failed(stage="build", reason="compile", detail="d"),
            timing=timing.model_copy(update={"baselines": ()}),
        ),
    ]


def told(column):
    return [column[row] for row in range(len(column.codes))]


def equal(one, two):
    for name, array in one.arrays().items():
        np.testing.assert_array_equal(array, two.arrays()[name], err_msg=name)


def test_the_columns_say_what_the_records_say(records):
    columns = Columns.of(records)
    assert len(columns) == 3
    assert told(columns.problem) == ["level1/19_ReLU", "level1/19_ReLU", "mine"]
    assert told(columns.path) == ["a", "b", "c é 中"]
    assert told(columns.reason) == ["", "clock", "compile"]
    assert told(columns.stage) == ["", "", "build"]
    assert told(columns.isolation) == ['[["x"], []]', "[[], []]", "[[], []]"]
    assert columns.reduced.tolist() == [False, False, True]
    assert columns.flagged.tolist() == [True, False, False]
    assert columns.audited.tolist() == [False, True, False]
    assert columns.disturbed.tolist() == [True, False, True]
    assert (columns.turn.tolist(), columns.sample.tolist()) == ([-1, 1, -1], [3, 0, 3])
    assert (columns.prompt_tokens.tolist(), columns.completion_tokens.tolist()) == ([-1, 5, -1], [-1, 7, -1])
    assert columns.roofline[0] == 0.25
    assert np.isnan(columns.roofline[1:]).all()
    assert columns.sha256[0].tobytes().hex() == "ab" * 32


def test_speed_ups_are_told_apart_by_what_they_are_over(records):
    columns = Columns.of(records)
    eager, compiled = columns.speedups("eager"), columns.speedups("compile")
    assert eager[[0, 2]].tolist() == [[2.0, 1.5, float("inf")]] * 2
    assert np.isnan(eager[1]).all()
    assert np.isnan(compiled[1:]).all()
    assert compiled[0, 0] == 2.0
    assert np.isnan(columns.speedups("compile-max-autotune")).all()


def test_the_json_of_a_record_has_the_same_columns_as_the_record(records):
    read = [each.model_copy(update={"timing": None}) for each in records]  # its infinite bound is none of JSON's
    builder = ColumnsBuilder()
    builder.add([read_head(each.model_dump_json().encode()) for each in read])
    equal(builder.build(), Columns.of(read))


def test_a_selection_keeps_each_speed_up_with_its_record(records):
    taken = Columns.of(records).take(np.array([2, 0]))
    assert told(taken.path) == ["c é 中", "a"]
    assert taken.row.tolist() == [2, 0]
    assert np.isnan(taken.speedups("compile")[0, 0])
    assert taken.speedups("compile")[1, 0] == 2.0
    assert told(Columns.of(records).take(np.array([False, True, False])).path) == ["b"]


@given(st.lists(st.integers(0, 3), max_size=3))
def test_joined_parts_are_the_whole(cuts):
    records = [record(f"{number % 3}", timing=None) for number in range(4)]
    bounds = [0, *sorted(cuts), 4]
    parts = [Columns.of(records[start:end]) for start, end in pairwise(bounds)]
    joined, whole = Columns.joined(parts), Columns.of(records)
    assert told(joined.path) == told(whole.path)
    assert joined.row.tolist() == [0, 1, 2, 3]


def test_joined_parts_keep_their_speed_ups(records):
    joined = Columns.joined([Columns.of(records), Columns.of([]), Columns.of(records)])
    assert joined.speedups("compile")[:, 0].tolist()[3] == 2.0
    assert np.isfinite(joined.speedups("eager")[:, 0]).tolist() == [True, False, True] * 2
    equal(joined.take(np.arange(6)), joined)


def test_arrays_read_back(records):
    columns = Columns.of(records)
    equal(Columns.from_arrays(columns.arrays()), columns)
    with pytest.raises(KeyError):
        Columns.from_arrays({})


def test_heads_may_come_one_by_one_or_at_once(records):
    builder = ColumnsBuilder()
    builder.add(())
    for each in records:
        builder.add((Head.of(each),))
    equal(builder.build(), Columns.of(records))


def test_heads_whose_sandbox_is_none_are_refused_together(records):
    builder = ColumnsBuilder()
    good = Head.of(records[0])
    with pytest.raises(ValueError, match="Expected"):
        builder.add((good, msgspec.structs.replace(good, sandbox=msgspec.Raw(b'{"layers": 3}'))))
    assert len(builder.build()) == 0


@given(st.lists(st.text()))
def test_texts_read_back(strings):
    strings = [text.encode("utf-8", "backslashreplace").decode() for text in strings]
    texts = Texts.of(strings)
    assert list(texts) == strings
    assert [texts[place] for place in range(len(texts))] == strings
    assert texts[:2] == strings[:2]
    with pytest.raises(IndexError):
        texts[len(strings)]


def test_a_text_that_no_record_has_is_no_code():
    coded = Coded(Texts.of(["a", "b"]), np.array([1, 0, 1], np.int32))
    assert (coded.code("b"), coded.code("c"), told(coded)) == (1, -1, ["b", "a", "b"])
