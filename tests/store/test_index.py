"""The index is never wrong: whatever was done to a record file, what is read is what stands in it."""

import json
import math
import os
import random
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.schema import Interval, SubmissionRef, Timing
from harness.store import Key, open_run
from harness.store import index as store_index
from harness.store import scan as store_scan
from harness.store.index import index_path, read_index


@pytest.fixture(autouse=True)
def indexes_of_short_files(monkeypatch):
    """Files of any length have an index, and what was written a moment ago is as good as old."""
    monkeypatch.setattr(store_index, "_KEPT_FROM_BYTES", 1)
    monkeypatch.setattr(store_index, "_QUIET_NS", -1)


@pytest.fixture
def run(tmp_path, make_record, manifest):
    """Three records, and the index of them."""
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as opened:
        for name in "abc":
            opened.append(make_record(f"{name}.py"))
    opened = open_run("r", root=tmp_path)
    assert len(opened.index().columns) == 3
    return opened


@pytest.fixture
def scanned(monkeypatch):
    """The stretches that are read from here on."""
    seen = []
    scan = store_index.scan

    def watched(path, start, end):
        seen.append((start, end))
        return scan(path, start, end)

    monkeypatch.setattr(store_index, "scan", watched)
    return seen


def paths_of(run):
    columns = run.index().columns
    return [columns.path[row] for row in range(len(columns))]


def append(run, record):
    with run.record_files[0].open("a") as file:
        file.write(record.model_dump_json() + "\n")


def test_an_index_is_kept_beside_the_file_and_read_instead_of_it(run, scanned):
    assert index_path(run.record_files[0]).is_file()
    assert paths_of(run) == ["a.py", "b.py", "c.py"]
    assert scanned == []


def test_a_kept_index_says_all_that_the_file_says(run):
    kept = run.index().columns.arrays()
    index_path(run.record_files[0]).unlink()
    fresh = run.index().columns.arrays()
    assert kept.keys() == fresh.keys()
    for name, array in fresh.items():
        np.testing.assert_array_equal(kept[name], array, err_msg=name)
        assert kept[name].dtype == array.dtype


def test_of_a_file_that_grew_only_the_new_part_is_read(run, scanned, make_record):
    size = run.record_files[0].stat().st_size
    append(run, make_record("d.py"))
    assert paths_of(run) == ["a.py", "b.py", "c.py", "d.py"]
    assert scanned == [(size, run.record_files[0].stat().st_size)]
    assert [record.submission.path for record in run.records()] == ["a.py", "b.py", "c.py", "d.py"]


def test_of_a_file_that_grew_and_was_changed_before_that_all_is_read(run, scanned, make_record):
    path = run.record_files[0]
    path.write_text(path.read_text().replace('"a.py"', '"x.py"'))
    append(run, make_record("d.py"))
    assert paths_of(run) == ["x.py", "b.py", "c.py", "d.py"]
    assert scanned == [(0, path.stat().st_size)]


def test_a_change_that_keeps_size_and_date_is_seen(run):
    path = run.record_files[0]
    stat = path.stat()
    middle = path.read_text().replace('"b.py"', '"y.py"')
    path.write_text(middle)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert path.stat().st_size == stat.st_size
    assert paths_of(run) == ["a.py", "y.py", "c.py"]


def test_a_file_that_became_shorter_is_read_anew(run):
    path = run.record_files[0]
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:1]))
    assert paths_of(run) == ["a.py"]


def test_a_copied_run_is_not_read_again_for_its_dates(run, scanned):
    path = run.record_files[0]
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)
    assert paths_of(run) == ["a.py", "b.py", "c.py"]
    assert [stretch for stretch in scanned if stretch[0] != stretch[1]] == []


def test_what_was_written_a_moment_ago_is_not_trusted_by_its_date(run, monkeypatch):
    monkeypatch.setattr(store_index, "_QUIET_NS", 2_000_000_000)
    path = run.record_files[0]
    index_path(path).unlink()
    run.index()
    with np.load(index_path(path)) as arrays:
        assert json.loads(arrays["about"].tobytes())["mark"] == []


@pytest.mark.parametrize(
    "breaking",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-100]),
        lambda path: path.write_bytes(path.read_bytes().replace(b"a.pyb.py", b"a.pyX.py")),
        lambda path: path.write_bytes(b"PK\x03\x04 garbage"),
        lambda path: np.savez(path.open("wb"), about=np.frombuffer(b'{"version": 1}', np.uint8)),
        lambda path: np.savez(path.open("wb"), about=np.frombuffer(b"{", np.uint8)),
        lambda path: np.savez(path.open("wb"), about=np.array([object()], dtype=object)),
    ],
    ids=["empty", "torn", "flipped", "garbage", "of-little", "of-nothing", "pickled"],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_broken_index_is_made_anew(run, breaking):
    breaking(index_path(run.record_files[0]))
    assert paths_of(run) == ["a.py", "b.py", "c.py"]
    assert paths_of(run) == ["a.py", "b.py", "c.py"]


def _rewritten(path, save=np.savez, **changes):
    with np.load(path) as arrays:
        loaded = {name: arrays[name] for name in arrays.files}
    with path.open("wb") as file:
        save(file, **(loaded | {name: change(loaded[name]) for name, change in changes.items()}))


@pytest.mark.parametrize(
    "forging",
    [
        lambda path: _rewritten(path, place=lambda place: place + (1 << 40)),
        lambda path: _rewritten(path, place=lambda place: -place - 1),
        lambda path: _rewritten(path, place=lambda place: place[:-1]),
        lambda path: _rewritten(path, model=lambda codes: codes + 7),
        lambda path: _rewritten(path, model=lambda codes: codes.astype("U3")),
        lambda path: _rewritten(path, **{"path.ends": lambda ends: ends + 1000}),
        lambda path: _rewritten(path, timed=lambda timed: timed + 9),
        lambda path: _rewritten(path, np.savez_compressed, **{"path.letters": lambda old: np.zeros(1 << 24, np.uint8)}),
    ],
    ids=["beyond", "before", "fewer", "codes", "kinds", "texts", "timed", "packed"],
)
def test_an_index_of_others_that_was_never_written_by_us_is_made_anew(run, forging):
    path = index_path(run.record_files[0])
    forging(path)
    assert paths_of(run) == ["a.py", "b.py", "c.py"]
    assert [record.submission.path for record in run.records()] == ["a.py", "b.py", "c.py"]


def test_a_pipe_in_the_place_of_an_index_keeps_nobody_waiting(run):
    path = index_path(run.record_files[0])
    path.unlink()
    os.mkfifo(path)
    assert paths_of(run) == ["a.py", "b.py", "c.py"]


def test_an_index_of_another_version_is_made_anew(run, monkeypatch, scanned):
    monkeypatch.setattr(store_index, "_VERSION", 99)
    assert paths_of(run) == ["a.py", "b.py", "c.py"]
    assert len(scanned) == 1


def test_where_no_index_can_be_written_the_file_is_read(run, monkeypatch):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    index_path(run.record_files[0]).unlink()
    monkeypatch.setattr(store_index.tempfile, "mkstemp", full)
    assert paths_of(run) == ["a.py", "b.py", "c.py"]
    assert not index_path(run.record_files[0]).exists()


def test_a_bad_line_after_what_is_indexed_is_named_by_its_number_and_stays_so_in_the_index(run, make_record):
    with run.record_files[0].open("a") as file:
        file.write("{not json\n")
    append(run, make_record("d.py"))
    for _ in range(2):  # the second time from the index that is kept
        assert paths_of(run) == ["a.py", "b.py", "c.py", "d.py"]
        assert [place.rpartition("/")[2] for place in run.left_out] == ["records.jsonl:4"]


def test_a_short_file_has_no_index(tmp_path, make_record, manifest, monkeypatch):
    monkeypatch.setattr(store_index, "_KEPT_FROM_BYTES", 8 << 20)
    with open_run("short", root=tmp_path, create=True, manifest=manifest) as opened:
        opened.append(make_record("a.py"))
    assert paths_of(opened) == ["a.py"]
    assert sorted(path.name for path in opened.folder.iterdir()) == ["manifest.json", "records.jsonl"]


def test_a_last_line_without_its_newline_counts_where_it_is_whole_and_is_not_kept(run, make_record):
    path = run.record_files[0]
    with path.open("a") as file:
        file.write(make_record("d.py").model_dump_json())
    assert paths_of(run) == paths_of(run) == ["a.py", "b.py", "c.py", "d.py"]
    assert [record.submission.path for record in run.records()] == ["a.py", "b.py", "c.py", "d.py"]
    path.write_bytes(path.read_bytes()[:-20])
    assert paths_of(run) == ["a.py", "b.py", "c.py"]


def test_shards_have_an_index_each(run, make_record, manifest):
    with open_run(run.folder, create=True, manifest=manifest, shard=(1, 2)) as shard:
        shard.append(make_record("b.py", judged_at="2027"))
        shard.append(make_record("d.py"))
    columns = run.index().columns
    assert [(columns.path[row], columns.judged_at[row][:4]) for row in range(4)] == [
        ("a.py", "2026"), ("b.py", "2027"), ("c.py", "2026"), ("d.py", "2026"),
    ]  # fmt: skip
    assert [record.judged_at[:4] for record in run.index().records()] == ["2026", "2027", "2026", "2026"]
    assert len(list(run.folder.glob(".*.index"))) == 2


def test_the_records_of_a_selection_are_read_in_its_order(run):
    index = run.index()
    chosen = index.columns.take(np.array([2, 0]))
    assert [record.submission.path for record in index.records(chosen)] == ["c.py", "a.py"]


# Reading by several processes


def test_a_long_file_is_read_by_several_processes_to_the_same_effect(run, monkeypatch, make_record):
    path = run.record_files[0]
    for number in range(20):
        append(run, make_record(f"{number}.py", kind="infrastructure" if number % 7 == 0 else "correct"))
    alone = store_scan.scan(path, 0, path.stat().st_size)
    monkeypatch.setattr(store_scan, "_BYTES_A_PROCESS", 4000)
    monkeypatch.setattr(store_scan.os, "sched_getaffinity", lambda pid: range(3))
    assert len(store_scan._cuts(path, 0, path.stat().st_size)) == 4
    together = store_scan.scan(path, 0, path.stat().st_size)
    assert [together.columns.path[row] for row in range(23)] == [alone.columns.path[row] for row in range(23)]
    np.testing.assert_array_equal(together.place, alone.place)
    verdicts = [[part.columns.verdict[row] for row in range(23)] for part in (together, alone)]
    assert verdicts[0] == verdicts[1]


def test_a_bad_line_in_another_process_is_left_out_too(run, monkeypatch, make_record):
    path = run.record_files[0]
    for number in range(10):
        append(run, make_record(f"{number}.py"))
    with path.open("a") as file:
        file.write('{"schema_version": 1}\n')
    monkeypatch.setattr(store_scan, "_BYTES_A_PROCESS", 2000)
    monkeypatch.setattr(store_scan.os, "sched_getaffinity", lambda pid: range(2))
    assert len(run.index().lines) == 13
    assert [place.rpartition("/")[2] for place in run.left_out] == ["records.jsonl:14"]


# What msgspec does not take, pydantic may


def test_a_number_that_is_not_finite_is_read(run, make_record):
    """JSON has none: a record writes it as text."""
    endless = Interval(value=2.0, low=1.5, high=math.inf)
    timing = Timing(
        candidate_ms=1.0, reference_ms=2.0, speedup=endless, conclusion="faster", rounds=1, calls_per_round=1
    )
    append(run, make_record("d.py", timing=timing))
    append(run, make_record("e.py"))
    columns = run.index().columns
    assert columns.speedups("eager")[3].tolist() == [2.0, 1.5, math.inf]
    assert paths_of(run) == ["a.py", "b.py", "c.py", "d.py", "e.py"]


@pytest.mark.parametrize(
    "change",
    [
        lambda line: line.replace(b'"python":"3.', b'"python":"\xff.'),
        lambda line: line.replace(b'"layers":[]', b'"layers":[3]'),
        lambda line: line.replace(b'"sha256":"1', b'"sha256":"x'),
        lambda line: line.replace(b'"kind":"cpu"', b'"kind":"a GPU"'),
        lambda line: line.replace(b'"schema_version":1', b'"schema_version":0'),
        lambda line: line[:-2] + b"\n",
        lambda line: b"\n",
    ],
    ids=["no-text", "sandbox", "sha256", "device", "version", "cut", "empty"],
)
def test_of_many_lines_the_bad_one_is_left_out_and_the_others_stand_where_they_stand(run, make_record, change):
    line = make_record("d.py").model_dump_json().encode() + b"\n"
    assert change(line) != line
    with run.record_files[0].open("ab") as file:
        file.write(change(line) + line.replace(b"d.py", b"e.py"))
    assert paths_of(run) == ["a.py", "b.py", "c.py", "e.py"]
    assert [place.rpartition("/")[2] for place in run.left_out] == ["records.jsonl:4"]


# Whatever happens to the file


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6))
def test_after_any_changes_the_index_says_what_a_fresh_reading_says(tmp_path_factory, make_record, manifest, seed):
    generator = random.Random(seed)
    root = tmp_path_factory.mktemp("changes")
    open_run("r", root=root, create=True, manifest=manifest).close()
    run = open_run("r", root=root)
    path = run.folder / "records.jsonl"
    path.write_bytes(b"")
    for _ in range(8):
        lines = path.read_bytes().splitlines(keepends=True)
        match generator.choice(["append", "append", "drop", "edit", "swap", "tear"]):
            case "append":
                name = f"{generator.randrange(4)}.py"
                record = make_record(name, kind=generator.choice(["correct", "infrastructure"]))
                lines.append(record.model_dump_json().encode() + b"\n")
            case "drop" if lines:
                lines.pop(generator.randrange(len(lines)))
            case "edit" if lines:
                place = generator.randrange(len(lines))
                lines[place] = lines[place].replace(b'.py"', b'.Py"')
            case "swap":
                generator.shuffle(lines)
            case "tear" if lines and lines[-1].endswith(b"\n"):
                lines[-1] = lines[-1][:-30]
        if lines and not lines[-1].endswith(b"\n") and generator.random() < 0.7:
            lines.pop()
        path.write_bytes(b"".join(lines))
        if any(not line.endswith(b"\n") for line in lines[:-1]):
            return  # two lines grew together: a run that no reading accepts
        kept = list(run.records())
        done = run.done()
        index_path(path).unlink(missing_ok=True)
        assert kept == list(run.records())
        assert done == run.done()


def test_a_million_keys_are_told_apart_without_python_looking_at_each(tmp_path, make_record):
    """Not timed: but a loop over the lines would show."""
    path = tmp_path / "records.jsonl"
    line = make_record("0000000.py").model_dump_json() + "\n"
    path.write_text("".join(line.replace("0000000", f"{number % 15000:07}") for number in range(20_000)))
    columns = read_index([path]).columns
    assert len(columns) == 15_000
    assert columns.row[:3].tolist() == [15_000, 15_001, 15_002]


def test_done_knows_what_was_judged_and_of_which_text(run, make_record):
    ref = SubmissionRef(path="a.py", sha256="2" * 64, model="gpt")
    append(run, make_record(submission=ref))
    assert run.done()[Key("level1/19_ReLU", "a.py", 0, "gpt")] == "2" * 64
    assert len(run.done()) == 3


def test_the_index_is_read_while_another_process_appends(tmp_path, make_record, manifest):
    open_run("r", root=tmp_path, create=True, manifest=manifest).close()
    run = open_run("r", root=tmp_path)
    line = make_record("NAME.py").model_dump_json()
    path = run.folder / "records.jsonl"
    body = f"""
import time
line = {line!r}
with open({str(path)!r}, "a", buffering=1) as file:
    for number in range(300):
        file.write(line.replace("NAME", str(number)) + "\\n")
        time.sleep(0.001)
"""
    child = subprocess.Popen([sys.executable, "-c", body])
    seen = [0]
    while child.poll() is None:
        if path.exists():
            names = paths_of(run)
            assert names == [f"{number}.py" for number in range(len(names))]
            seen.append(len(names))
        time.sleep(0.01)
    assert child.returncode == 0
    assert seen == sorted(seen)
    assert len(paths_of(run)) == 300
