"""What compilers leave is hostile: whatever lies where the shared object should, a build ends, in a failure of its own.

A compiler that was made to run the candidate's commands is played by a function, once by a shell in the sandbox.
"""

import contextlib
import errno
import os
import random
import socket
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import harness.compile.builder as builder_module
from harness.compile import ArtifactCache, Builder
from harness.compile.compiler import CompilerRun
from harness.compile.output import MODULE_BYTES, BadOutput, take_output
from harness.compile.recipe import Plan
from harness.compile.toolchain import Toolchain
from harness.errors import MachineError
from harness.schema import Artifact, BuildFailure, BuildRequest

FUZZED = 500
SECRET = b"what no candidate may see"


def a_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path.name)
    os.chdir(here)


def sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


def leavings(secret: Path) -> dict[str, Callable[[Path], Any]]:
    """What may lie where the shared object should: name -> how it gets there."""
    return {
        "nothing": lambda path: None,
        "a link to a secret": lambda path: path.symlink_to(secret),
        "a link to a link": lambda path: ((path.parent / "l").symlink_to(secret), path.symlink_to("l")),
        "a link to itself": lambda path: path.symlink_to(path.name),
        "a link to nowhere": lambda path: path.symlink_to("nowhere"),
        "a link to zeros": lambda path: path.symlink_to("/dev/zero"),
        "a link to a descriptor": lambda path: path.symlink_to("/proc/self/fd/0"),
        "a hard link": lambda path: os.link(secret, path),
        "a pipe": lambda path: os.mkfifo(path),
        "a folder": lambda path: path.mkdir(),
        "a full folder": lambda path: (path.mkdir(), (path / "x").write_bytes(b"x")),
        "a socket": a_socket,
        "a sparse giant": lambda path: sparse(path, MODULE_BYTES + 1),
        "a sparse giant of 8 TB": lambda path: sparse(path, 1 << 43),
        "another name": lambda path: (path.parent / "other.so").write_bytes(b"x"),
    }


NAMES = sorted(leavings(Path()))


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_bytes(SECRET)
    file.chmod(0o600)
    return file


@pytest.fixture
def built_by(monkeypatch: pytest.MonkeyPatch, cache: ArtifactCache) -> Callable[..., Artifact | BuildFailure]:
    """`built_by(link, request)`: a build whose compilers are played by `link`, a function of the folder it works in."""
    plan = Plan(files={"a.cpp": ""}, compile=(("cc", "a.cpp"),), link=("ld",), output="module.so")
    toolchain = Toolchain("played", lambda request, around: plan, 1)
    monkeypatch.setattr(builder_module, "toolchains_for", lambda target, choice: (toolchain,))
    builder = Builder(cache=cache, target="cpu")

    def built_by(link: Callable[[Path], Any], name: str = "m") -> Artifact | BuildFailure:
        def played(argv: tuple[str, ...], *, cwd: Path, **_: Any) -> CompilerRun:
            said = link(cwd) if argv == ("ld",) else None
            return said if isinstance(said, CompilerRun) else CompilerRun(0, "", 0.0, 0.0, timed_out=False)

        monkeypatch.setattr(builder_module, "run_compiler", played)
        return builder.build(BuildRequest(name=name, cpp_sources=(name,)), deadline_s=20)

    return built_by


@pytest.mark.parametrize("name", NAMES)
def test_only_a_plain_file_is_taken(name: str, tmp_path: Path, secret: Path) -> None:
    (tmp_path / "work").mkdir()
    with contextlib.suppress(OSError):  # a file system that has no such sizes leaves nothing
        leavings(secret)[name](tmp_path / "work" / "module.so")
    with pytest.raises(BadOutput, match="the linker left"):
        take_output(tmp_path / "work" / "module.so", tmp_path / "taken.so")
    assert not (tmp_path / "taken.so").exists()


def test_a_plain_file_is_copied_as_it_is_and_hashed_as_it_was_copied(tmp_path: Path) -> None:
    import hashlib

    content = os.urandom((3 << 20) + 7)
    (tmp_path / "module.so").write_bytes(content)
    assert take_output(tmp_path / "module.so", tmp_path / "taken.so") == hashlib.sha256(content).hexdigest()
    assert (tmp_path / "taken.so").read_bytes() == content


def test_a_machine_without_descriptors_is_nobodys_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(OSError, match="Too many"):
        take_output(tmp_path / "module.so", tmp_path / "taken.so")


def test_five_hundred_fuzzed_outputs_are_failures_of_the_compiler_and_honest_builds_among_them_stand(
    built_by: Callable[..., Artifact | BuildFailure], cache: ArtifactCache, tmp_path: Path, secret: Path
) -> None:
    descriptors = len(os.listdir("/proc/self/fd"))
    for seed in range(FUZZED):
        chance = random.Random(seed)
        name = chance.choice((*NAMES, "honest"))

        def link(work: Path, chance: random.Random = chance, name: str = name) -> None:
            for other in chance.sample(NAMES, chance.randrange(3)):  # and litter beside it
                with contextlib.suppress(OSError):
                    leavings(secret)[other](work / f"litter-{other.replace(' ', '-')}")
            if name == "honest":
                (work / "module.so").write_bytes(b"honest")
            else:
                with contextlib.suppress(OSError):
                    leavings(secret)[name](work / "module.so")
            for file in work.iterdir():
                if chance.random() < 0.2 and not file.is_symlink():
                    file.chmod(chance.choice((0, 0o200, 0o444, 0o777)))

        outcome = built_by(link, f"m{seed}")
        if name == "honest":
            assert isinstance(outcome, Artifact)
            assert Path(outcome.path).read_bytes() == b"honest"
        else:
            assert isinstance(outcome, BuildFailure), name
            assert outcome.reason == "compile"
            assert "the linker left" in outcome.detail
    assert len(os.listdir("/proc/self/fd")) == descriptors
    kept = (path for path in cache.root.rglob("*") if path.is_file() and not path.is_symlink())
    assert not any(SECRET in path.read_bytes() for path in kept)
    assert not list((cache.root / "work").iterdir())


def test_a_shell_in_the_place_of_the_linker_gets_no_file_of_ours(
    monkeypatch: pytest.MonkeyPatch, cache: ArtifactCache, secret: Path
) -> None:
    zeros = "ln -s /dev/zero module.so"
    for script in (f"ln -s {secret} module.so", "mkfifo module.so", "mkdir module.so", zeros, "true"):
        plan = Plan(files={}, compile=(), link=("/bin/sh", "-c", script), output="module.so")
        toolchain = Toolchain("shell", lambda request, around, plan=plan: plan, 1)  # type: ignore[misc]
        monkeypatch.setattr(builder_module, "toolchains_for", lambda target, choice, toolchain=toolchain: (toolchain,))
        outcome = Builder(cache=cache, target="cpu").build(BuildRequest(name="m", cpp_sources=(script,)), deadline_s=20)
        assert isinstance(outcome, BuildFailure), script
        assert outcome.reason == "compile"


# ---- faults of the machine ----


def failed(output: str = "", status: int = 1, peak_bytes: int = 0) -> CompilerRun:
    return CompilerRun(status, output, 0.0, 0.0, timed_out=False, peak_bytes=peak_bytes)


def test_a_compiler_that_the_kernel_killed_is_tried_again_alone(
    built_by: Callable[..., Artifact | BuildFailure], monkeypatch: pytest.MonkeyPatch
) -> None:
    kills = iter(range(10))
    monkeypatch.setattr(builder_module, "kernel_oom_kills", lambda: next(kills))
    tries: list[Path] = []

    def link(work: Path) -> CompilerRun | None:
        tries.append(work)
        if len(tries) == 1:
            return failed("collect2: fatal error: ld terminated with signal 9 [Killed]")
        (work / "module.so").write_bytes(b"honest")
        return None

    assert isinstance(built_by(link), Artifact)
    first, second = tries
    assert first != second
    assert first.name == second.name  # or a source could tell which run it is, by __has_include


@pytest.mark.parametrize(("output", "status"), [("", 137), ("", -9), ("nvcc error : 'cicc' died due to signal 9", 1)])
def test_one_that_is_killed_alone_with_little_memory_is_the_machines_fault_and_not_kept(
    built_by: Callable[..., Artifact | BuildFailure],
    cache: ArtifactCache,
    monkeypatch: pytest.MonkeyPatch,
    output: str,
    status: int,
) -> None:
    kills = iter(range(10))
    monkeypatch.setattr(builder_module, "kernel_oom_kills", lambda: next(kills))
    with pytest.raises(MachineError, match="killed a compiler"):
        built_by(lambda work: failed(output, status))
    assert cache.summary().failures == 0


def test_one_that_only_says_that_it_was_killed_has_failed(
    built_by: Callable[..., Artifact | BuildFailure], cache: ArtifactCache
) -> None:
    """Any source can have the compiler say so, with #error. A second run would keep all others waiting."""
    tries: list[Path] = []

    def link(work: Path) -> CompilerRun:
        tries.append(work)
        return failed("a.cpp:1: error: #error Killed signal terminated program cc1plus")

    outcome = built_by(link)
    assert isinstance(outcome, BuildFailure)
    assert len(tries) == 1
    assert outcome.reason == "out-of-memory"
    assert cache.summary().failures == 0


def test_one_that_is_killed_alone_with_more_memory_than_compilers_need_is_the_candidates_and_not_kept(
    built_by: Callable[..., Artifact | BuildFailure], cache: ArtifactCache
) -> None:
    outcome = built_by(lambda work: failed(status=137, peak_bytes=8 << 30))
    assert isinstance(outcome, BuildFailure)
    assert outcome.reason == "out-of-memory"
    assert cache.summary().failures == 0


def test_the_run_alone_has_one_compiler_at_a_time(cache: ArtifactCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of one build may take the memory from each other, each with less than compilers need."""
    monkeypatch.setattr(builder_module.os, "sched_getaffinity", lambda _: range(4))
    kills = iter(range(100))
    monkeypatch.setattr(builder_module, "kernel_oom_kills", lambda: next(kills))
    plan = Plan(files={}, compile=(("cc", "a"), ("cc", "b"), ("cc", "c")), link=("ld",), output="module.so")
    toolchain = Toolchain("made", lambda request, around: plan, 1)
    monkeypatch.setattr(builder_module, "toolchains_for", lambda target, choice: (toolchain,))
    side_by_side, places = threading.Barrier(3, timeout=20), set()

    def played(argv: tuple[str, ...], *, cwd: Path, **_: Any) -> CompilerRun:
        places.add(cwd)
        if len(places) == 1:
            side_by_side.wait()
            return failed(status=137)
        assert threading.active_count() <= before + 1  # that of the build
        (cwd / "module.so").write_bytes(b"honest")
        return failed(status=0)

    monkeypatch.setattr(builder_module, "run_compiler", played)
    before = threading.active_count()
    builder = Builder(cache=cache, target="cpu")
    assert isinstance(builder.build(BuildRequest(name="m", cpp_sources=("",)), deadline_s=60), Artifact)


def test_what_a_build_waits_for_the_memory_of_others_is_not_its_own_time(
    cache: ArtifactCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compilers of the last toolchain, and of the run alone, have what is left of the deadline, however long others
    had the memory before."""
    clock, given = [0.0], []
    monkeypatch.setattr(builder_module, "time", types.SimpleNamespace(monotonic=lambda: clock[0]))
    kills = iter(range(100))
    monkeypatch.setattr(builder_module, "kernel_oom_kills", lambda: next(kills))
    plan = Plan(files={"a.cpp": ""}, compile=(("cc", "a.cpp"),), link=("ld",), output="module.so")
    both = tuple(Toolchain(name, lambda request, around: plan, 1) for name in ("first", "last"))
    monkeypatch.setattr(builder_module, "toolchains_for", lambda target, choice: both)
    monkeypatch.setattr(builder_module, "decide", lambda *_: None)
    builder = Builder(cache=cache, target="cpu")
    hold = builder._gate.hold

    def waits(*arguments: Any) -> contextlib.AbstractContextManager[None]:
        clock[0] += 1000.0
        return hold(*arguments)

    def played(argv: tuple[str, ...], *, cwd: Path, deadline_s: float, **_: Any) -> CompilerRun:
        given.append(deadline_s)
        clock[0] += 1.0
        killed = len(given) in (1, 3)
        return CompilerRun(137 if killed else 1, "a.cpp:1: error: no", 1.0, 1.0, timed_out=False)

    monkeypatch.setattr(builder._gate, "hold", waits)
    monkeypatch.setattr(builder_module, "run_compiler", played)
    outcome = builder.build(BuildRequest(name="m", cpp_sources=("x",)), deadline_s=20)
    assert isinstance(outcome, BuildFailure)
    assert (outcome.reason, outcome.toolchain) == ("compile", "last")
    assert given == [10, 9, 18, 17]
    assert outcome.seconds == 4


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small disk")
def test_a_full_disk_is_no_verdict_and_not_kept(
    built_by: Callable[..., Artifact | BuildFailure], cache: ArtifactCache
) -> None:
    import subprocess

    cache.root.mkdir()
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", cache.root], check=True, capture_output=True)
    except subprocess.CalledProcessError:
        pytest.skip("may not mount here")
    try:
        with pytest.raises(MachineError, match="is full"):
            built_by(lambda work: failed("a.cpp:1: fatal error: No space left on device"))
        with pytest.raises(MachineError, match="cannot be used"):
            built_by(lambda work: ((work / "module.so").write_bytes(bytes(5 << 20)), None)[1])
        assert cache.summary().failures == cache.summary().artifacts == 0
        assert isinstance(built_by(lambda work: ((work / "module.so").write_bytes(b"x"), None)[1]), Artifact)
    finally:
        subprocess.run(["umount", "-l", cache.root], check=True)
