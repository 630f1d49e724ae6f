"""Compilers are confined by either method, and cost what a candidate's source may not make them cost."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.errors import ToolchainError
from harness.sandbox import Isolation, bubblewrap, processes, run_tool, tool, tool_confinement
from harness.sandbox.jail import CANNOT_START
from harness.sandbox.policy import RISING

SECRET = "a-secret-of-ours"
REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(params=["full", "basic"])
def method(request: pytest.FixtureRequest) -> Isolation:
    if request.param == "full" and bubblewrap() is None:
        pytest.skip("bubblewrap is not here, or may not run")
    if request.param == "basic" and tool_confinement().tier == "none":
        pytest.skip("this kernel has no Landlock")
    return request.param


def test_an_include_of_a_private_file_does_not_leak_it(method: Isolation, tmp_path: Path, open_folder: Path) -> None:
    secret = open_folder / "secret.h"
    secret.write_text(f"{SECRET}\n")
    (tmp_path / "a.cpp").write_text(f'#include "{secret}"\n')
    assert SECRET in run_tool(["g++", "-c", "a.cpp"], cwd=tmp_path, deadline_s=30, isolation="none").output
    run = run_tool(["g++", "-c", "a.cpp"], cwd=tmp_path, deadline_s=30, isolation=method)
    assert run.returncode != 0
    assert SECRET not in run.output
    assert "a.cpp:1:" in run.output
    allowed = run_tool(["g++", "-c", "a.cpp"], cwd=tmp_path, deadline_s=30, readable=[secret], isolation=method)
    assert SECRET in allowed.output


def test_environment_and_command_lines_of_others_do_not_leak(
    method: Isolation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    script = f"env; cat /proc/self/environ /proc/1/environ /proc/{os.getpid()}/environ /proc/{os.getpid()}/cmdline"
    run = run_tool(["sh", "-c", script], cwd=tmp_path, deadline_s=30, isolation=method)
    assert "TMPDIR=" in run.output
    assert SECRET not in run.output
    assert "pytest" not in run.output.replace(str(tmp_path), "")


def test_it_compiles_links_and_runs_in_its_folder(method: Isolation, tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text("#include <vector>\nint main() { return std::vector<int>(42).size(); }\n")
    run = run_tool(["g++", "a.cpp", "-o", "a"], cwd=tmp_path, deadline_s=60, isolation=method)
    assert (run.returncode, run.output, run.timed_out) == (0, "", False)
    assert 0.05 < run.cpu_s < 30
    assert run_tool([str(tmp_path / "a")], cwd=tmp_path, deadline_s=30, isolation=method).returncode == 42


@pytest.mark.parametrize("flag", ["-flto", "-flto=auto", "-flto=8"])
def test_a_link_runs_one_compiler_after_the_other_whatever_its_objects_ask_for(flag: str, tmp_path: Path) -> None:
    """Many small ones would run out of memory together, and none of them would have had much."""
    (tmp_path / "a.cpp").write_text("".join(f"int f{n}(int x) {{ return x / {n + 2}; }}\n" for n in range(50)))
    (tmp_path / "main.cpp").write_text("int f3(int); int main() { return f3(35); }\n")
    for name in ("a", "main"):
        compiled = run_tool(["g++", "-c", flag, f"{name}.cpp"], cwd=tmp_path, deadline_s=60)
        assert compiled.returncode == 0, compiled.output
    linked = run_tool(["g++", "-v", "a.o", "main.o", "-o", "a"], cwd=tmp_path, deadline_s=60)
    assert linked.returncode == 0, linked.output
    assert "-fltrans" in linked.output
    assert "make " not in linked.output
    assert run_tool([str(tmp_path / "a")], cwd=tmp_path, deadline_s=30).returncode == 7


def test_it_writes_nowhere_else(method: Isolation, tmp_path: Path, open_folder: Path) -> None:
    inside, extra = tmp_path / "inside", open_folder / "extra"
    inside.mkdir()
    extra.mkdir()
    targets = (f"{tmp_path}/out", f"{open_folder}/out", "/usr/harness-out", f"{extra}/out", "in")
    script = "; ".join(f"echo x > {target}" for target in targets)
    run_tool(["sh", "-c", script], cwd=inside, writable=[extra], deadline_s=30, isolation=method)
    assert not (tmp_path / "out").exists()
    assert not (open_folder / "out").exists()
    assert not Path("/usr/harness-out").exists()
    assert (extra / "out").exists()
    assert (inside / "in").exists()


def test_it_has_no_network(method: Isolation, tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        script = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo through"
        assert "through" in run_tool(["bash", "-c", script], cwd=tmp_path, deadline_s=9, isolation="none").output
        assert "through" not in run_tool(["bash", "-c", script], cwd=tmp_path, deadline_s=9, isolation=method).output


@pytest.mark.parametrize("script", ["sleep 60", "sleep 60 & exit 0", "exec >&- 2>&-; sleep 60"])
def test_its_deadline_holds_whatever_it_does(method: Isolation, tmp_path: Path, script: str) -> None:
    started = time.monotonic()
    run = run_tool(["sh", "-c", script], cwd=tmp_path, deadline_s=0.4, isolation=method)
    assert time.monotonic() - started < 3
    assert run.timed_out or "exit 0" in script  # with a pid namespace, its end ends what it left behind at once


OWNER = """
import sys
sys.path.insert(0, {repository!r})
from pathlib import Path
from harness.sandbox import run_tool
sleep = "bash -c 'exec -a {mark} sleep 100'"
run_tool(["bash", "-c", "(setsid " + sleep + " &); " + sleep], cwd=Path({cwd!r}), deadline_s=60, isolation={method!r})
"""


def _named(mark: str) -> list[str]:
    """The host's processes that call themselves `mark`."""
    listing = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listing.splitlines() if line.startswith(mark)]


def test_its_processes_end_with_an_owner_that_is_killed(method: Isolation, tmp_path: Path) -> None:
    """Daemons among them. In a process of its own, which is killed like a controller may be."""
    mark = f"harness-tool-{os.getpid()}-{method}"
    (tmp_path / "inside").mkdir()
    text = OWNER.format(repository=str(REPOSITORY), mark=mark, cwd=str(tmp_path / "inside"), method=method)
    (tmp_path / "owner.py").write_text(text)
    with subprocess.Popen([sys.executable, str(tmp_path / "owner.py")]) as owner:
        deadline = time.monotonic() + 20
        while len(_named(mark)) < 2:
            assert time.monotonic() < deadline, "it never started"
            time.sleep(0.05)
        owner.kill()
    while _named(mark):
        assert time.monotonic() < deadline, _named(mark)
        time.sleep(0.05)


def test_daemons_of_a_tool_end_with_it(method: Isolation, tmp_path: Path) -> None:
    mark = f"harness-daemon-of-a-tool-{os.getpid()}-{method}"
    script = f"(setsid bash -c 'exec -a {mark} sleep 100' >/dev/null 2>&1 &) ; sleep 0.3"
    run = run_tool(["bash", "-c", script], cwd=tmp_path, deadline_s=30, isolation=method)
    assert (run.returncode, run.timed_out) == (0, False)
    assert _named(mark) == []


def test_its_memory_is_bounded(method: Isolation, tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text("#include <cstdlib>\nint main() { return std::malloc(1l << 30) == nullptr; }\n")
    compiled = run_tool(["g++", "a.cpp", "-o", "a"], cwd=tmp_path, deadline_s=60, isolation=method)
    assert compiled.returncode == 0
    small = run_tool([str(tmp_path / "a")], cwd=tmp_path, deadline_s=9, memory_bytes=1 << 29, isolation=method)
    large = run_tool([str(tmp_path / "a")], cwd=tmp_path, deadline_s=9, memory_bytes=1 << 32, isolation=method)
    assert (small.returncode, large.returncode) == (1, 0)


@pytest.mark.parametrize("isolation", ["full", "basic", "none"])
def test_the_kernel_ends_a_compiler_before_the_judge_where_memory_is_short(
    isolation: Isolation, tmp_path: Path
) -> None:
    if isolation in RISING[RISING.index(tool_confinement().tier) + 1 :]:
        pytest.skip("that method cannot be had here")
    adjusted: list[str] = []
    command = ["sh", "-c", "until [ -e seen ]; do sleep 0.05; done"]
    words = "".join(f"{word}\0" for word in command).encode()
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(run_tool, command, cwd=tmp_path, deadline_s=30, isolation=isolation)
        while not adjusted and not run.done():
            for pid in processes.descendants(os.getpid()):
                with contextlib.suppress(OSError):
                    if Path(f"/proc/{pid}/cmdline").read_bytes() == words:
                        adjusted.append(Path(f"/proc/{pid}/oom_score_adj").read_text().strip())
            time.sleep(0.01)
        (tmp_path / "seen").touch()
        assert run.result().returncode == 0
    assert set(adjusted) == {"1000"}  # a shell's child bears its name until it is `sleep`


def test_it_closes_no_folder_to_us(method: Isolation, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    script = "touch a b c; chmod 755 c; chmod 6755 b; chmod 000 a .. ."
    run_tool(["sh", "-c", script], cwd=tmp_path / "work", deadline_s=9, isolation=method)
    (tmp_path / "work").chmod(0o755)  # its own folder it may close where it has a namespace
    assert tmp_path.stat().st_mode & 0o700 == 0o700
    assert (tmp_path / "work" / "c").stat().st_mode & 0o100
    if method == "basic":
        assert (tmp_path / "work" / "a").stat().st_mode & 0o600 == 0o600
        assert not (tmp_path / "work" / "b").stat().st_mode & 0o6000


@pytest.mark.parametrize("script", ["head -c 40M /dev/zero > a", "exec >&- 2>&-; head -c 40M /dev/zero > a"])
def test_what_it_may_write_together_is_bounded(method: Isolation, tmp_path: Path, script: str) -> None:
    script = f"{script}; cp a b; sleep 60"
    run = run_tool(["sh", "-c", script], cwd=tmp_path, deadline_s=30, disk_bytes=64 << 20, isolation=method)
    assert (run.overfull, run.timed_out) == (True, False)
    few = run_tool(["sh", "-c", "sleep 0.8"], cwd=tmp_path, deadline_s=30, disk_bytes=96 << 20, isolation=method)
    assert (few.overfull, few.returncode) == (False, 0)


def test_a_flood_of_messages_is_capped(method: Isolation, tmp_path: Path) -> None:
    run = run_tool(
        ["sh", "-c", "echo head; yes | head -c 30000000; echo tail"], cwd=tmp_path, deadline_s=30, isolation=method
    )
    assert run.output.startswith("head\n")
    assert run.output.endswith("tail\n")
    assert len(run.output) < 300_000


def test_a_program_that_does_not_exist_is_the_machine_s_fault(method: Isolation, tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="no-such-compiler cannot be found"):
        run_tool(["no-such-compiler"], cwd=tmp_path, deadline_s=9, isolation=method)


def test_a_sandbox_that_does_not_start_is_the_machine_s_fault(
    method: Isolation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import harness.sandbox.tool as tool

    monkeypatch.setattr(tool, "_NAMESPACES", (*tool._NAMESPACES, "--ro-bind", "/not/there", "/not/there"))
    monkeypatch.setattr(tool, "_JAIL", "raise SystemExit(1)")
    with pytest.raises(ToolchainError, match="could not start true"):
        run_tool(["true"], cwd=tmp_path, deadline_s=9, isolation=method)


def test_limits_that_are_refused_are_the_machine_s_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import harness.sandbox.tool as tool

    monkeypatch.setattr(tool, "_limited", lambda memory_bytes: [*tool._LIMITED, "no number", "1"])
    with pytest.raises(ToolchainError, match="could not start true"):
        run_tool(["true"], cwd=tmp_path, deadline_s=9, isolation="none")


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="becomes another user by setpriv")
def test_a_process_that_is_refused_for_the_tool_is_the_machine_s_fault() -> None:
    """And not the tool's, whose status would be that of a compiler that refused a source."""
    uid = 0x5000_0000 + os.getpid()  # nobody else's
    another = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--inh-caps=-all"]
    command = [*another, "prlimit", "--nproc=0", *tool._limited(1 << 30), "/bin/true"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, "fork" in run.stderr) == (CANNOT_START, True)


def test_it_runs_where_its_folder_and_what_it_reads_lie_behind_links(method: Isolation, tmp_path: Path) -> None:
    (tmp_path / "real" / "inner").mkdir(parents=True)
    (tmp_path / "real" / "inner" / "file").write_text("found")
    (tmp_path / "work").mkdir()
    for link, target in (("link", "real"), ("other", "work")):
        (tmp_path / link).symlink_to(tmp_path / target)
    readable = [tmp_path / "link", tmp_path / "link" / "inner", tmp_path / "link" / "inner" / "file"]
    script = f"cat {readable[-1]} && echo written > {tmp_path}/other/out"
    run = run_tool(["sh", "-c", script], cwd=tmp_path / "other", readable=readable, deadline_s=9, isolation=method)
    assert (run.returncode, run.output) == (0, "found")
    assert (tmp_path / "work" / "out").read_text() == "written\n"


def test_more_isolation_than_there_is_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import harness.sandbox.tool as tool

    monkeypatch.setattr(tool, "bubblewrap", lambda: None)
    with pytest.raises(ToolchainError, match="cannot be confined as fully as asked"):
        run_tool(["true"], cwd=tmp_path, deadline_s=9, isolation="full")
    assert tool_confinement().tier in ("basic", "none")
    assert any("bubblewrap" in one for one in tool_confinement().missing)


def test_an_idle_tool_has_the_lowest_priority(tmp_path):
    assert run_tool(["nice"], cwd=tmp_path, deadline_s=30).output.strip() == str(os.nice(0))
    assert run_tool(["nice"], cwd=tmp_path, deadline_s=30, idle=True).output.strip() == "19"
