import json
import os

import pytest

from harness.errors import StoreError
from harness.schema import Device, SubmissionRef, Wrong
from harness.store import Key, open_run
from harness.store.merge import merge

WRONG = Wrong(reason="values", detail="off", trial="normal")


@pytest.fixture
def make_run(tmp_path, manifest):
    def make(name, *records, attachments=None, shard=(1, 1), **changes):
        theirs = manifest.model_copy(update=changes)
        with open_run(name, root=tmp_path, create=True, manifest=theirs, shard=shard) as run:
            for record in records:
                run.append(record, attachments and {"candidate.py": f"{attachments} {record.submission.path}"})
        return open_run(name, root=tmp_path)

    return make


def told(run):
    return {record.submission.path: record.verdict.kind for record in run.records()}


def test_nothing_is_lost_and_nothing_is_there_twice(tmp_path, make_run, make_record):
    shared = make_record("b.py")
    one = make_run("one", make_record("a.py"), shared, attachments="one")
    two = make_run("two", shared, make_record("c.py"), attachments="two")
    merged = merge([one, two], "all", root=tmp_path)
    run = open_run("all", root=tmp_path)
    assert told(run) == {"a.py": "correct", "b.py": "correct", "c.py": "correct"}
    assert (merged.records, merged.earlier, merged.repeated) == (3, 0, 1)
    assert len((run.folder / "records.jsonl").read_bytes().splitlines()) == 3
    assert [run.attachments(record) for record in run.records()] == [
        {"candidate.py": "one a.py"}, {"candidate.py": "two b.py"}, {"candidate.py": "two c.py"},
    ]  # fmt: skip


def test_merging_is_indifferent_to_the_order_of_the_runs(tmp_path, make_run, make_record):
    one = make_run("one", make_record("a.py", judged_at="2026-02"), make_record("b.py", kind="infrastructure"))
    two = make_run(
        "two", make_record("a.py", judged_at="2026-01", verdict=WRONG), make_record("b.py", judged_at="2025")
    )
    merge([one, two], "there", root=tmp_path)
    merge([two, one], "back", root=tmp_path)
    expected = {"a.py": "correct", "b.py": "correct"}
    assert told(open_run("there", root=tmp_path)) == told(open_run("back", root=tmp_path)) == expected


def test_earlier_attempts_are_kept_and_their_successor_counts(tmp_path, make_run, make_record):
    one = make_run("one", make_record("a.py", kind="infrastructure"), make_record("a.py", verdict=WRONG))
    two = make_run("two", make_record("a.py", judged_at="2027"), attachments="two")
    merged = merge([one, two], "all", root=tmp_path)
    run = open_run("all", root=tmp_path)
    assert (told(run), merged.records, merged.earlier) == ({"a.py": "correct"}, 1, 2)
    assert len(run.index().lines) == 3
    [record] = run.records()
    assert run.attachments(record) == {"candidate.py": "two a.py"}


def test_attachments_of_another_attempt_serve_where_the_one_that_counts_has_none(tmp_path, make_run, make_record):
    one = make_run("one", make_record("a.py"), attachments="one")
    two = make_run("two", make_record("a.py", judged_at="2027"))
    merge([one, two], "all", root=tmp_path)
    run = open_run("all", root=tmp_path)
    assert [run.attachments(record) for record in run.records()] == [{"candidate.py": "one a.py"}]


def test_shards_of_a_run_become_one_file(tmp_path, make_run, make_record):
    make_run("one", make_record("a.py"), shard=(1, 2))
    one = make_run("one", make_record("b.py"), shard=(2, 2))
    merge([one, make_run("two", make_record("c.py"))], "all", root=tmp_path)
    run = open_run("all", root=tmp_path)
    assert [path.name for path in run.record_files] == ["records.jsonl"]
    assert list(told(run)) == ["a.py", "b.py", "c.py"]


@pytest.mark.parametrize(
    "change",
    [
        {"device": Device(kind="cpu", name="another CPU")},
        {"submission": SubmissionRef(path="a.py", sha256="9" * 64, model="gpt")},
    ],
)
def test_one_verdict_never_hides_another_on_something_else(tmp_path, make_run, make_record, change):
    one, two = make_run("one", make_record("a.py")), make_run("two", make_record("a.py", **change))
    with pytest.raises(StoreError, match=r"a\.py for level1/19_ReLU is another text, device or precision in one than"):
        merge([one, two], "all", root=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


def test_a_fault_of_ours_elsewhere_hides_nothing(tmp_path, make_run, make_record):
    lost = make_record("a.py", kind="infrastructure", device=Device(kind="cpu", name="another CPU"))
    merge([make_run("one", make_record("a.py")), make_run("two", lost)], "all", root=tmp_path)
    assert told(open_run("all", root=tmp_path)) == {"a.py": "correct"}


def test_the_new_run_promises_only_what_all_promise(tmp_path, make_run, make_record):
    one = make_run("one", make_record("a.py"), settings={"trials": 3, "timing_s": 2.0}, problems=("x/1", "x/2"))
    two = make_run("two", make_record("b.py"), settings={"trials": 3, "timing_s": 1.0}, problems=("x/2", "x/3"))
    merged = merge([one, two], "all", root=tmp_path)
    manifest = open_run("all", root=tmp_path).manifest
    assert (manifest.settings, manifest.problems, manifest.device) == ({"trials": 3}, ("x/1", "x/2", "x/3"), "cpu")
    assert merged.differing == ("timing_s",)


def test_a_merged_run_is_resumed_like_any_other(tmp_path, make_run, make_record, manifest):
    merge([make_run("one", make_record("a.py")), make_run("two", make_record("b.py"))], "all", root=tmp_path)
    with open_run("all", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(make_record("c.py"))
        assert set(run.done()) == {Key("level1/19_ReLU", f"{name}.py", 0, "gpt") for name in "abc"}


def test_an_existing_run_is_not_merged_over(tmp_path, make_run, make_record):
    one, two = make_run("one", make_record("a.py")), make_run("two", make_record("b.py"))
    with pytest.raises(StoreError, match="two is there already"):
        merge([one, two], "two", root=tmp_path)
    assert told(two) == {"b.py": "correct"}


def test_what_models_answered_comes_along(tmp_path, make_run, make_record):
    runs = [make_run(name, make_record(f"{name}.py")) for name in ("one", "two")]
    for run in runs:
        answer = run.folder / "generations" / run.name / "level1" / "sample_0.txt"
        answer.parent.mkdir(parents=True)
        answer.write_text(run.name)
    merge(runs, "all", root=tmp_path)
    assert (tmp_path / "all/generations/two/level1/sample_0.txt").read_text() == "two"
    (runs[1].folder / "generations" / "one" / "level1").mkdir(parents=True)
    (runs[1].folder / "generations" / "one" / "level1" / "sample_0.txt").write_text("otherwise")
    with pytest.raises(StoreError, match=r"sample_0\.txt differs"):
        merge(runs, "again", root=tmp_path)
    assert not (tmp_path / "again").exists()


def test_lines_are_copied_to_the_letter(tmp_path, make_run, make_record):
    one, two = make_run("one", make_record("a.py")), make_run("two", make_record("b.py"))
    before = b"".join(run.record_files[0].read_bytes() for run in (one, two))
    merge([one, two], "all", root=tmp_path)
    assert (tmp_path / "all" / "records.jsonl").read_bytes() == before


def _planted(run_folder, secret):
    """A run as somebody else might hand it on, and where its links lead."""
    (secret / "key").write_text("secret")
    for folder in (run_folder / "artifacts").iterdir():
        (folder / "build.log").symlink_to(secret / "key")
        (folder / "endless.log").symlink_to("/dev/zero")
        os.mkfifo(folder / "pipe.log")
        (folder / "folder.log").mkdir()
    (run_folder / "generations").mkdir()
    (run_folder / "generations" / "answer.txt").symlink_to(secret / "key")


def test_links_and_pipes_in_a_run_of_others_bring_nothing_along(tmp_path, make_run, make_record):
    (tmp_path / "private").mkdir()
    run = make_run("a", make_record("a.py"), attachments="mine")
    _planted(run.folder, tmp_path / "private")
    opened = open_run("a", root=tmp_path)
    (record,) = opened.records()
    assert set(opened.attachments(record)) == {"candidate.py"}
    merged = merge([opened], "both", root=tmp_path)
    files = [path for path in merged.folder.rglob("*") if path.is_file()]
    assert all("secret" not in path.read_text() for path in files)
    assert {path.name for path in files} == {"records.jsonl", "manifest.json", "candidate.py"}


@pytest.mark.parametrize("link", ["artifacts", "artifacts/slug"])
def test_nor_does_a_folder_of_attachments_that_is_a_link(tmp_path, make_run, make_record, link):
    run = make_run("a", make_record("a.py"), attachments="mine")
    (folder,) = (run.folder / "artifacts").iterdir()
    folder = folder if link.endswith("slug") else folder.parent
    folder.rename(tmp_path / "private")
    folder.symlink_to(tmp_path / "private")
    opened = open_run("a", root=tmp_path)
    (record,) = opened.records()
    assert opened.attachments(record) == {}
    merged = merge([opened], "both", root=tmp_path)
    assert not [path for path in merged.folder.rglob("*") if path.name == "candidate.py"]


@pytest.mark.parametrize("change", [{"verdict": {"kind": "splendid"}}, {"phases_s": "none"}, {"unknown": 1}])
def test_a_line_that_is_a_record_in_part_hides_no_whole_one(tmp_path, make_run, make_record, change):
    one = make_run("one", make_record("a.py"))
    two = make_run("two", make_record("a.py", judged_at="2027"))
    path = two.folder / "records.jsonl"
    path.write_text(json.dumps(json.loads(path.read_text()) | change) + "\n")
    with pytest.raises(StoreError, match=r"two/records\.jsonl:1 is not a record"):
        merge([one, two], "all", root=tmp_path)
    assert not (tmp_path / "all").exists()
