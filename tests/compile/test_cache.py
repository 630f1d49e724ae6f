"""The artifact cache: what is put comes back, unless it was damaged, and old things go first."""

import errno
import multiprocessing
import os
import stat
import time
from pathlib import Path

import pytest
from cached import put, put_many

from harness.cache_folder import cache_folder
from harness.compile.cache import ArtifactCache
from harness.errors import InputError, MachineError
from harness.schema import Artifact, BuildFailure


def age(artifact: Artifact, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(Path(artifact.path).parent / "used", (then, then))


def test_what_is_put_comes_back_marked_as_cached_and_free_of_cost(cache: ArtifactCache) -> None:
    kept = put(cache, "ab12", b"code")
    found = cache.get("ab12")
    assert found == kept.model_copy(update={"cached": True, "seconds": 0.0, "cpu_seconds": 0.0})
    assert Path(found.path).read_bytes() == b"code"


def test_a_failure_is_kept_as_well(cache: ArtifactCache) -> None:
    failure = BuildFailure(reason="compile", detail="no", log="no", toolchain="stock")
    cache.put("f1", failure)
    assert cache.get("f1") == failure


def test_a_key_that_was_never_put_is_a_miss(cache: ArtifactCache) -> None:
    assert cache.get("00ff") is None


def test_a_changed_byte_makes_an_entry_a_miss_and_removes_it(cache: ArtifactCache) -> None:
    module = Path(put(cache, "ab", b"code").path)
    module.chmod(0o644)
    module.write_bytes(b"cod3")
    assert cache.get("ab") is None
    assert not module.exists()


def test_a_torn_description_makes_an_entry_a_miss(cache: ArtifactCache) -> None:
    entry = Path(put(cache, "ab", b"code").path).with_name("entry.json")
    entry.chmod(0o644)
    entry.write_text('{"outcome": {"key"')
    assert cache.get("ab") is None
    put(cache, "ab", b"again")
    assert cache.get("ab") is not None


def test_entries_are_read_only(cache: ArtifactCache) -> None:
    module = Path(put(cache, "ab", b"code").path)
    assert stat.S_IMODE(module.stat().st_mode) == 0o444
    assert stat.S_IMODE(module.parent.stat().st_mode) == 0o555


def test_the_least_recently_used_entries_go_first(tmp_path: Path) -> None:
    cache = ArtifactCache(tmp_path, limit_bytes=5000)
    old, recent = put(cache, "aa", b"x" * 2000), put(cache, "bb", b"y" * 2000)
    age(old, 7200)
    age(recent, 3600)
    put(cache, "cc", b"z" * 2000)
    assert cache.get("aa") is None
    assert cache.get("bb") is not None
    assert cache.get("cc") is not None


def test_an_entry_that_was_used_a_moment_ago_stays_whatever_the_limit(tmp_path: Path) -> None:
    cache = ArtifactCache(tmp_path, limit_bytes=10)
    put(cache, "aa", b"x" * 2000)
    put(cache, "bb", b"y" * 2000)
    assert cache.get("aa") is not None


def test_a_hit_counts_as_a_use(cache: ArtifactCache) -> None:
    kept = put(cache, "aa", b"x")
    age(kept, 7200)
    cache.get("aa")
    assert time.time() - (Path(kept.path).parent / "used").stat().st_mtime < 60


def publish(cache: ArtifactCache, name: str, size: int, *, unused_s: float) -> Path:
    with cache.work_folder() as work:
        (work / "libslim.o").write_bytes(b"x" * size)
        folder = cache.publish_tool(work, name)
    then = time.time() - unused_s
    os.utime(folder / "used", (then, then))
    return folder


def test_tools_count_and_those_of_other_torches_go_before_any_artifact(tmp_path: Path) -> None:
    older = ArtifactCache(tmp_path)
    oldest = publish(older, "slim-oldest", 2000, unused_s=9000)
    old = publish(older, "slim-old", 2000, unused_s=8000)
    cache = ArtifactCache(tmp_path, limit_bytes=9000)
    mine = publish(cache, "slim-mine", 2000, unused_s=9999)
    age(put(cache, "aa", b"x" * 2000), 9999)
    put(cache, "bb", b"y" * 2000)
    assert cache.summary().tools == 2
    assert not oldest.exists()
    assert old.exists()
    assert mine.exists()
    assert cache.get("aa") is not None


def test_a_tool_that_another_process_used_a_moment_ago_stays(tmp_path: Path) -> None:
    other = publish(ArtifactCache(tmp_path), "slim-other", 2000, unused_s=5)
    cache = ArtifactCache(tmp_path, limit_bytes=10)
    put(cache, "aa", b"x")
    assert other.exists()


def test_what_was_used_a_while_ago_goes_once_there_is_twice_as_much_as_there_may_be(tmp_path: Path) -> None:
    cache = ArtifactCache(tmp_path, limit_bytes=9000)
    for number, name in enumerate(("aa", "bb", "cc")):
        age(put(cache, name, b"x" * 5000), 120 - number)
    assert cache.summary().artifacts == 3
    put(cache, "dd", b"x" * 5000)
    assert [name for name in ("aa", "bb", "cc", "dd") if cache.get(name) is not None] == ["bb", "cc", "dd"]


def test_how_full_it_is_gets_looked_at_the_first_time_and_then_once_a_part_of_the_limit_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, looks = ArtifactCache(tmp_path, limit_bytes=1 << 20), []
    monkeypatch.setattr(cache, "_evict", lambda: looks.append(len(list(tmp_path.glob("artifacts/??/*")))))
    for number in range(5):
        put(cache, f"{number}a", b"x" * 6000)
    assert looks == [1, 4]


def test_the_tool_in_use_is_never_evicted(tmp_path: Path) -> None:
    cache = ArtifactCache(tmp_path, limit_bytes=10)
    mine = publish(cache, "slim-mine", 2000, unused_s=99999)
    put(cache, "aa", b"x")
    assert mine.exists()


def test_processes_that_share_a_cache_build_each_key_once(tmp_path: Path) -> None:
    workers = [multiprocessing.get_context("spawn").Process(target=put_many, args=(str(tmp_path), n)) for n in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert len(list(tmp_path.glob("built-*"))) == 10
    assert all(ArtifactCache(tmp_path).get(f"{number:02d}") is not None for number in range(10))


def test_a_tool_is_given_back_until_a_file_of_it_is_lost_or_changed(cache: ArtifactCache) -> None:
    folder = publish(cache, "slim", 2000, unused_s=0)
    assert cache.tool("slim") == folder
    (folder / "libslim.o").write_bytes(b"y" * 2000)
    assert cache.tool("slim") is None
    assert publish(cache, "slim", 2000, unused_s=0) == folder
    assert cache.tool("slim") == folder
    folder.chmod(0o755)
    (folder / "libslim.o").unlink()
    assert cache.tool("slim") is None


def test_a_cache_that_was_moved_gives_what_is_in_it_from_its_new_place(cache: ArtifactCache, tmp_path: Path) -> None:
    put(cache, "ab", b"code")
    publish(cache, "slim", 2000, unused_s=0)
    cache.root.rename(tmp_path / "moved")
    moved = ArtifactCache(tmp_path / "moved")
    found = moved.get("ab")
    assert isinstance(found, Artifact)
    assert Path(found.path).read_bytes() == b"code"
    assert Path(found.path).is_relative_to(tmp_path / "moved")
    assert moved.tool("slim") == tmp_path / "moved" / "tools" / "slim"
    assert cache.get("ab") is None
    assert cache.tool("slim") is None


def test_a_cache_that_may_only_be_read_gives_what_is_in_it(
    cache: ArtifactCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(cache, "ab", b"code")
    publish(cache, "slim", 2000, unused_s=0)

    def refuse(path: Path, *args: object, **kwargs: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(Path, "touch", refuse)
    assert cache.get("ab") is not None
    assert cache.tool("slim") is not None


def test_clearing_removes_everything_and_says_how_much(cache: ArtifactCache) -> None:
    put(cache, "ab", b"x" * 5000)
    assert cache.summary().artifacts == 1
    assert cache.clear() >= 5000
    assert cache.summary().artifacts == 0
    assert cache.get("ab") is None


def test_no_work_folder_is_left_behind(cache: ArtifactCache) -> None:
    def fail_half_way() -> None:
        with cache.work_folder() as work:
            (work / "a").mkdir()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert list((cache.root / "work").iterdir()) == []


def test_a_cache_that_cannot_be_written_is_a_fault_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineError, match="XDG_CACHE_HOME"), ArtifactCache(tmp_path / "file" / "cache").work_folder():
        pass


def test_the_cache_lies_under_xdg_cache_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "kernel-harness"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "kernel-harness"


def test_a_user_without_a_home_is_told_to_name_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    with pytest.raises(InputError, match="set XDG_CACHE_HOME"):
        cache_folder()
