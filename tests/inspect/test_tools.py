"""Which tools there are, where they are found, and what is said where they are not."""

import os
import re
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.inspect import address_sanitizer, find_tool, require_tools, tools


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs that is the whole PATH, with no CUDA toolkit beside it."""
    folder = tmp_path / "home" / "bin"
    folder.mkdir(parents=True)
    monkeypatch.setenv("PATH", str(folder))
    without = type("Layout", (), {"toolkit": None})
    monkeypatch.setattr(tools, "find_torch", lambda: without)
    return folder


def program(path: Path) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("name", "wanted"), [("racecheck", "--sanitize racecheck needs compute-sanitizer"), ("ncu", "--profile needs ncu")]
)
def test_a_missing_tool_is_the_users_to_install_and_the_message_says_how(installed, name, wanted):
    with pytest.raises(InputError, match=f"{wanted}.*install .*PATH"):
        require_tools([name], "cuda")


def test_what_would_not_be_used_here_is_not_required(installed):
    require_tools(["racecheck", "ncu"], "cpu")


def test_compute_sanitizer_is_found_on_the_path_and_may_be_read_in_the_sandbox(installed):
    path = program(installed / "compute-sanitizer")
    invocation = find_tool("initcheck", "cuda").find()
    assert invocation.argv[:3] == (str(path), "--tool", "initcheck")
    assert invocation.environment == {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}, "each tensor is an allocation of its own"
    assert installed.parent in invocation.readable


def test_a_tool_behind_a_link_may_be_read_where_it_really_is(installed, tmp_path):
    real = tmp_path / "nsight" / "2025" / "ncu"
    real.parent.mkdir(parents=True)
    program(real)
    os.symlink(real, installed / "ncu")
    invocation = find_tool("ncu", "cuda").find()
    assert {installed.parent, real.parent.parent} <= set(invocation.readable)


def test_memcheck_without_a_gpu_is_address_sanitizer_of_the_compiler_that_builds():
    invocation = find_tool("memcheck", "cpu-emulated").find()
    assert invocation.argv == ()
    assert Path(invocation.environment["LD_PRELOAD"]).exists()
    assert "detect_leaks=0" in invocation.environment["ASAN_OPTIONS"]


def test_a_compiler_without_address_sanitizer_is_said_to_lack_it(tmp_path):
    compiler = program(tmp_path / "c++")
    with pytest.raises(InputError, match=rf"needs AddressSanitizer, which {re.escape(str(compiler))} lacks"):
        address_sanitizer.find_runtime(str(compiler))
