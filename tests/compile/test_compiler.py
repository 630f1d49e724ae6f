"""The one place where compilers are started: what hostile sources do to them, and what they may read."""

import time
from pathlib import Path

import pytest

from harness.compile.compiler import run_compiler
from harness.errors import ToolchainError
from harness.sandbox import tool_confinement


def shell(script: str, cwd: Path, deadline_s: float = 20.0) -> tuple[int, str, bool]:
    run = run_compiler(["/bin/sh", "-c", script], cwd=cwd, deadline_s=deadline_s)
    return run.status, run.output, run.timed_out


def test_output_and_errors_come_back_together(tmp_path: Path) -> None:
    assert shell("echo out; echo err >&2; exit 3", tmp_path) == (3, "out\nerr\n", False)


def test_cpu_time_counts_the_children(tmp_path: Path) -> None:
    run = run_compiler(
        ["/bin/sh", "-c", "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; true"],
        cwd=tmp_path,
        deadline_s=30,
    )
    assert run.ok
    assert 0.05 < run.cpu_seconds <= run.seconds + 0.1


def test_a_compiler_that_hangs_is_stopped_at_its_deadline_with_its_children(tmp_path: Path) -> None:
    started = time.monotonic()
    _, _, timed_out = shell("sleep 60 & sleep 60 & echo $! > child; wait", tmp_path, deadline_s=0.5)
    assert timed_out
    assert time.monotonic() - started < 5
    assert not Path(f"/proc/{(tmp_path / 'child').read_text().strip()}/cmdline").exists() or "sleep" not in Path(
        f"/proc/{(tmp_path / 'child').read_text().strip()}/cmdline"
    ).read_text(errors="replace")


def test_an_endless_include_ends_in_a_limit(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text('#include "/dev/zero"\n')
    run = run_compiler(["g++", "-c", "a.cpp"], cwd=tmp_path, deadline_s=3)
    assert not run.ok
    assert run.seconds < 8


def test_a_template_bomb_is_stopped(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text(
        "template <int A, int B> struct T { static const int v = T<A - 1, B * 2>::v + T<A - 1, B * 2 + 1>::v; };\n"
        "template <int B> struct T<0, B> { static const int v = B; };\nint x = T<24, 0>::v;\n"
    )
    run = run_compiler(["g++", "-c", "a.cpp"], cwd=tmp_path, deadline_s=2)
    assert run.timed_out or not run.ok
    assert run.seconds < 6


def test_a_flood_of_errors_is_capped(tmp_path: Path) -> None:
    _, output, _ = shell("yes error | head -c 3000000", tmp_path)
    assert output.startswith("error")
    assert len(output) < 1 << 20


def test_a_private_file_cannot_be_included(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir()
    (private / "key").write_text("int secret_token;")
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.cpp").write_text(f'#include "{private}/key"\n')
    run = run_compiler(["g++", "-E", "a.cpp"], cwd=work, deadline_s=20)
    if run.ok and tool_confinement().tier == "none":
        pytest.skip("this machine can confine nothing")
    assert not run.ok
    assert "secret_token" not in run.output


def test_the_environment_holds_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("LD_PRELOAD", "")
    _, output, _ = shell("env", tmp_path)
    assert "sk-secret" not in output
    assert "LD_PRELOAD" not in output
    assert "PATH=" in output


def test_a_missing_compiler_is_the_machines_fault(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="no-such-compiler"):
        run_compiler(["no-such-compiler"], cwd=tmp_path, deadline_s=5)
