"""Compilers that the kernel refuses processes: the machine's fault, never a verdict, never kept.

Other processes of the same user may have all that it may have. g++ then says so, and fails as over a wrong source.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import harness.compile.builder as builder_module
from harness.compile import ArtifactCache, Builder, slim_tool
from harness.compile.compiler import CompilerRun
from harness.compile.recipe import Machine, Plan
from harness.compile.toolchain import SteppedBack, Toolchain
from harness.compile.torch_layout import cxx_compiler, find_torch
from harness.errors import GivenUpError, SandboxError
from harness.sandbox.elsewhere import python_for_anybody
from harness.schema import Artifact, BuildFailure, BuildRequest

REPOSITORY = Path(__file__).resolve().parents[2]
LIMITS = ((1, 3, 5), (2, 4, 8))
"""So many processes and threads more than there are; a build has less than the last at once. A compiler waits 15 s for
one that it is refused, and neighbouring limits come to that: they are tried side by side, each half by another user."""
SCRIPT = """
import json, os, resource, sys
from pathlib import Path

import harness.compile.builder as builder_module
from harness.compile import ArtifactCache, Builder
from harness.compile.recipe import Plan
from harness.compile.toolchain import Toolchain
from harness.errors import MachineError
from harness.sandbox import tool
from harness.schema import Artifact, BuildRequest

tier, limits = sys.argv[1], json.loads(sys.argv[2])
if tier == "basic":
    tool.bubblewrap = lambda: None
assert tool.tool_confinement().tier == tier
plan = Plan(
    files={"a.cpp": "int f() { return 1; }"},
    compile=(("c++", "-fPIC", "-c", "a.cpp", "-o", "a.o"),),
    link=("c++", "-shared", "a.o", "-o", "m.so"),
    output="m.so",
)
builder_module.toolchains_for = lambda target, choice: (Toolchain("small", lambda request, around: plan, 1),)
cache = ArtifactCache(Path("cache"))
builder = Builder(cache=cache, target="cpu")
builder_module.compiler_version(builder_module.cxx_compiler())
hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]


def tasks() -> int:
    found = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found += len(os.listdir(process / "task")) if process.stat().st_uid == os.getuid() else 0
        except (FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            pass
    return found


ended = []
for more in limits:
    resource.setrlimit(resource.RLIMIT_NPROC, (tasks() + more, hard))
    try:
        outcome = builder.build(BuildRequest(name=f"m{more}", cpp_sources=("",)), deadline_s=60)
        ended.append("artifact" if isinstance(outcome, Artifact) else f"verdict: {outcome.detail}")
    except MachineError as error:
        ended.append(str(error))
    finally:
        resource.setrlimit(resource.RLIMIT_NPROC, (hard, hard))
print(json.dumps({"ended": ended, "kept": cache.summary().failures}))
"""


@pytest.fixture(scope="module")
def tried() -> Iterator[dict[str, list[subprocess.Popen[str]]]]:
    """By tier, a process for each half of LIMITS. Root has no limit, so they are other users' there."""
    python, packages = sys.executable, [entry for entry in sys.path if entry.endswith("site-packages")]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("setpriv (util-linux) is not here")
        try:
            python = python_for_anybody()
        except SandboxError as error:
            pytest.skip(str(error))
    found: dict[str, list[subprocess.Popen[str]]] = {"full": [], "basic": []}
    with contextlib.ExitStack() as opened:
        for number, (tier, limits) in enumerate(product(found, LIMITS)):
            folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="harness-test-", dir="/var/tmp"))
            os.chmod(folder, 0o777)
            uid = 0x5000_0000 + 4 * os.getpid() + number  # nobody else's
            another = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--inh-caps=-all"]
            process = subprocess.Popen(
                [*(another if os.geteuid() == 0 else ()), python, "-c", SCRIPT, tier, json.dumps(limits)],
                cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                env={
                    "PATH": os.environ["PATH"],
                    "PYTHONPATH": ":".join([str(REPOSITORY), *packages]),
                    "TMPDIR": folder,
                },
            )  # fmt: skip
            found[tier].append(opened.enter_context(process))
            opened.callback(process.kill)
            if os.geteuid() != 0:
                process.wait()  # it is this user's limit that it lowers
        yield found


@pytest.mark.parametrize("tier", ["full", "basic"])
def test_a_build_that_the_kernel_refuses_processes_is_the_machines_fault_and_not_kept(
    tier: str, tried: dict[str, list[subprocess.Popen[str]]]
) -> None:
    """For real, with limits of so many processes more than there are."""
    ended: list[str] = []
    for process in tried[tier]:
        stdout, stderr = process.communicate(timeout=200)
        if "AssertionError" in stderr and tier == "full":
            pytest.skip("no bubblewrap for another user")
        assert process.returncode == 0, stderr
        said = json.loads(stdout)
        assert said["kept"] == 0
        ended += said["ended"]
    refused = [how for how in ended if how != "artifact"]
    assert not any(how.startswith("verdict") for how in refused)
    assert any("processes are left" in how for how in refused)
    assert ended[-1] == "artifact"


# ---- what a compiler says of it, where the kernel refuses none any more ----

REFUSED = "c++: fatal error: cannot execute '/usr/lib/gcc/cc1plus': vfork: Resource temporarily unavailable"


@pytest.fixture
def built_by(monkeypatch: pytest.MonkeyPatch, cache: ArtifactCache) -> Callable[..., Artifact | BuildFailure]:
    """`built_by(says)`: a build whose linker says this, one after the other, "" where it is content."""
    plan = Plan(files={"a.cpp": ""}, compile=(), link=("ld",), output="module.so")
    monkeypatch.setattr(
        builder_module, "toolchains_for", lambda target, choice: (Toolchain("played", lambda request, around: plan, 1),)
    )
    monkeypatch.setattr(builder_module, "_STARVED_PAUSES_S", (0.0, 0.0))
    builder = Builder(cache=cache, target="cpu")

    def built_by(says: Iterator[str]) -> Artifact | BuildFailure:
        def played(argv: tuple[str, ...], *, cwd: Path, **_: Any) -> CompilerRun:
            said = next(says)
            if not said:
                (cwd / "module.so").write_bytes(b"honest")
            return CompilerRun(int(said != ""), said, 0.0, 0.0, timed_out=False)

        monkeypatch.setattr(builder_module, "run_compiler", played)
        return builder.build(BuildRequest(name="m", cpp_sources=("x",)), deadline_s=20)

    return built_by


def test_one_that_was_refused_processes_for_a_moment_is_tried_again(
    built_by: Callable[..., Artifact | BuildFailure],
) -> None:
    assert isinstance(built_by(iter((REFUSED, "sh: 1: Cannot fork", ""))), Artifact)


def test_one_that_only_says_so_has_failed_and_is_not_kept(
    built_by: Callable[..., Artifact | BuildFailure], cache: ArtifactCache
) -> None:
    """Any source can have the compiler say it, with #error: that is tried three times, and no others wait for it."""
    says = iter([f"a.cpp:1: error: #error {REFUSED}"] * 3)
    outcome = built_by(says)
    assert isinstance(outcome, BuildFailure)
    assert outcome.reason == "compile"
    assert list(says) == []
    assert cache.summary().failures == 0


def test_one_that_nobody_waits_for_any_more_is_not_tried_again(
    built_by: Callable[..., Artifact | BuildFailure], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()

    def says() -> Iterator[str]:
        monkeypatch.setattr(builder_module._UnderWay, "go_on", given_up)
        yield REFUSED
        ended.set()
        yield REFUSED

    def given_up(build: Any) -> None:
        raise GivenUpError("nobody waits for this build any more")

    with pytest.raises(GivenUpError):
        built_by(says())
    assert not ended.is_set()


def test_a_tool_whose_headers_were_not_read_for_want_of_processes_is_made_again_the_next_time(
    cache: ArtifactCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[str] = []

    def refused(argv: tuple[str, ...], **_: Any) -> CompilerRun:
        tries.append(argv[0])
        return CompilerRun(1, REFUSED, 0.0, 0.0, timed_out=False)

    monkeypatch.setattr(slim_tool, "run_compiler", refused)
    machine = Machine(target="cpu", layout=find_torch(), cxx=cxx_compiler())
    for number in (1, 2):
        with pytest.raises(SteppedBack, match="processes"):
            slim_tool.slim_tool(machine, cache, on_status=lambda _: None)
        assert len(tries) == number
