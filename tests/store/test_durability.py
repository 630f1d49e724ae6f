"""What holds when the disk is full, when others write too, and when the process is killed."""

import errno
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from harness.errors import MachineError, StoreError
from harness.store import files as store_files
from harness.store import open_run, write_atomically

PRELUDE = """
import sys
from pathlib import Path
from harness.schema import Correct, Device, Environment, ProblemRef, Record, SubmissionRef
from harness.store import Key, Manifest, open_run

def record(n, **changes):
    fields = dict(
        problem=ProblemRef(set="level1", name="19_ReLU", sha256="0" * 64),
        submission=SubmissionRef(path=f"{n}.py", sha256="1" * 64), device=Device(kind="cpu", name="x" * 5000),
        verdict=Correct(trials=3), environment=Environment(harness="0.1.0", python="3.12", torch="2.13.0"),
        judged_at="2026",
    )
    return Record(**(fields | changes))

manifest = Manifest(created="2026", harness="0.1.0")
run = lambda: open_run(Path(sys.argv[1]), create=True, manifest=manifest)
"""


def python(body: str, folder: Path, **options) -> subprocess.Popen:
    command = [sys.executable, "-c", PRELUDE + textwrap.dedent(body), str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)


def test_a_full_disk_is_the_machines_fault_and_leaves_no_half_record(tmp_path, make_record, manifest, monkeypatch):
    write = os.write
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(make_record("a.py"))

        def nearly_full(descriptor, content):
            if len(content) < 300:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return write(descriptor, content[:200])

        with monkeypatch.context() as patch:
            patch.setattr(store_files.os, "write", nearly_full)
            with pytest.raises(MachineError, match=r"disk that holds .*records\.jsonl is full .* free some space"):
                run.append(make_record("b.py"))
        assert [record.submission.path for record in run.records()] == ["a.py"]
        assert (tmp_path / "r" / "records.jsonl").read_bytes().count(b"\n") == 1
        run.append(make_record("b.py"))
    assert [record.submission.path for record in open_run("r", root=tmp_path).records()] == ["a.py", "b.py"]


def test_a_write_that_the_kernel_cuts_short_is_taken_back(tmp_path, manifest):
    """The kernel itself writes half a record here: a file may not grow past 17,000 bytes."""
    body = """
    import resource
    from harness.errors import MachineError
    resource.setrlimit(resource.RLIMIT_FSIZE, (17_000, 17_000))
    with run() as opened:
        for n in range(10):
            try:
                opened.append(record(n))
            except MachineError as error:
                print(n, "is full" in str(error), opened.record_files[0].stat().st_size)
                break
    """
    child = python(body, tmp_path / "r")
    output, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    content = (tmp_path / "r" / "records.jsonl").read_bytes()
    assert output.split() == ["2", "True", str(len(content))]
    assert content.endswith(b"\n")
    assert len(list(open_run(tmp_path / "r").records())) == 2


def test_a_failed_fsync_takes_the_record_back(tmp_path, make_record, manifest, monkeypatch):
    def broken(descriptor):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        with monkeypatch.context() as patch:
            patch.setattr(store_files.os, "fsync", broken)
            with pytest.raises(MachineError, match="could not be written"):
                run.append(make_record("a.py"))
        assert list(run.records()) == []


def test_an_interrupt_in_the_middle_of_a_write_takes_the_record_back(tmp_path, make_record, manifest, monkeypatch):
    write = os.write

    def interrupted(descriptor, content):
        write(descriptor, content[:100])
        raise KeyboardInterrupt

    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        run.append(make_record("a.py"))
        with monkeypatch.context() as patch:
            patch.setattr(store_files.os, "write", interrupted)
            with pytest.raises(KeyboardInterrupt):
                run.append(make_record("b.py"))
    assert (tmp_path / "r" / "records.jsonl").read_bytes().count(b"\n") == 1
    assert (tmp_path / "r" / "records.jsonl").read_bytes().endswith(b"\n")


def test_two_processes_cannot_write_one_shard_and_the_second_is_told_who(tmp_path, manifest, monkeypatch):
    monkeypatch.setattr(store_files, "_LOCK_PATIENCE_S", 0.1)
    child = python(
        "with run():\n    print('ready', flush=True)\n    sys.stdin.read()", tmp_path / "r", stdin=subprocess.PIPE
    )
    try:
        assert child.stdout.readline() == "ready\n"
        with pytest.raises(
            StoreError, match=rf"another process \(process {child.pid} on .*\) is writing .*records\.jsonl"
        ):
            open_run(tmp_path / "r", create=True, manifest=manifest)
        open_run(tmp_path / "r", create=True, manifest=manifest, shard=(1, 2)).close()
        assert list(open_run(tmp_path / "r").records()) == []
    finally:
        child.communicate("", timeout=30)
    open_run(tmp_path / "r", create=True, manifest=manifest).close()
    assert not [path.name for path in (tmp_path / "r").iterdir() if path.name.startswith(".")]


def test_one_that_may_not_write_has_the_run_ask_nothing_more(tmp_path, manifest, monkeypatch):
    monkeypatch.setattr(store_files, "_LOCK_PATIENCE_S", 0.1)
    more = manifest.model_copy(update={"problems": ("level2/1_Never_Asked",)})
    with open_run(tmp_path / "r", create=True, manifest=manifest), pytest.raises(StoreError, match="is writing"):
        open_run(tmp_path / "r", create=True, manifest=more)
    assert open_run(tmp_path / "r").manifest.problems == manifest.problems


def test_a_writer_that_leaves_at_once_is_waited_for(tmp_path, manifest):
    first = open_run(tmp_path / "r", create=True, manifest=manifest)
    timer = threading.Timer(0.3, first.close)
    timer.start()
    started = time.monotonic()
    open_run(tmp_path / "r", create=True, manifest=manifest).close()
    assert time.monotonic() - started >= 0.25
    timer.join()


def test_threads_append_without_mixing_their_lines(tmp_path, make_record, manifest):
    with open_run("r", root=tmp_path, create=True, manifest=manifest) as run:
        threads = [
            threading.Thread(target=lambda part=part: [run.append(make_record(f"{part}-{n}.py")) for n in range(10)])
            for part in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(open_run("r", root=tmp_path).done()) == 40


def test_shards_that_start_at_the_same_moment_agree_on_one_manifest(tmp_path):
    body = """
    part = int(sys.argv[2])
    mine = Manifest(created=str(part), harness="0", problems=(f"problem {part}",))
    print("ready", flush=True)
    input()
    with open_run(Path(sys.argv[1]), create=True, manifest=mine, shard=(part, 4)) as opened:
        opened.add_folder(Path(f"folder {part}"))
        opened.append(record(part))
        print(opened.manifest.created)
    """
    children = [
        subprocess.Popen(
            [sys.executable, "-c", PRELUDE + textwrap.dedent(body), str(tmp_path / "r"), str(part)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for part in range(1, 5)
    ]
    assert {child.stdout.readline() for child in children} == {"ready\n"}
    for child in children:
        child.stdin.write("\n")
        child.stdin.flush()
    created = {child.communicate(timeout=60)[0] for child in children}
    run = open_run(tmp_path / "r")
    assert created == {run.manifest.created + "\n"}
    assert (len(run.done()), len(run.folders())) == (4, 4)
    assert set(run.manifest.problems) == {f"problem {part}" for part in range(1, 5)}


def test_kill_9_at_any_moment_loses_no_acknowledged_record_and_repeats_none(tmp_path):
    """Ten times a child goes on from where the last one was killed, and says of each record that it is stored."""
    body = """
    with run() as opened:
        done = opened.done()
        for n in range(100_000):
            if Key.of(record(n)) not in done:
                opened.append(record(n), {"candidate.py": "x" * 3000})
                print(n, flush=True)
    """
    chance = random.Random(7)
    acknowledged: list[int] = []
    for _ in range(10):
        child = python(body, tmp_path / "r")
        acknowledged.append(int(child.stdout.readline()))  # it has started: now any moment will do
        time.sleep(chance.uniform(0, 0.05))
        child.send_signal(signal.SIGKILL)
        acknowledged += [int(line) for line in child.communicate(timeout=60)[0].splitlines()]
    run = open_run(tmp_path / "r")
    stored = [int(record.submission.path.removesuffix(".py")) for record in run.records()]
    lines = (tmp_path / "r" / "records.jsonl").read_bytes().splitlines()
    assert len(acknowledged) == len(set(acknowledged))
    assert set(acknowledged) <= set(stored)
    assert stored == list(range(len(stored)))
    assert len(lines) - len(stored) in (0, 1)  # one line more where the last child died within a write
    assert all((run.artifacts(record) / "candidate.py").stat().st_size == 3000 for record in run.records())


def test_an_atomic_write_leaves_the_old_file_when_it_fails(tmp_path, monkeypatch):
    path = tmp_path / "board.csv"
    path.write_text("old")

    def broken(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(store_files.os, "fsync", broken)
    with pytest.raises(MachineError, match="is full"):
        write_atomically(path, b"new")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("board.csv", "old")]


def test_writing_into_a_folder_that_is_not_there_is_an_input_error(tmp_path):
    with pytest.raises(StoreError, match="may not be written"):
        write_atomically(tmp_path / "no" / "board.csv", b"")
