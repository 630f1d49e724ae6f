"""What is read of preprocessed headers."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from harness.compile import ArtifactCache
from harness.compile.recipe import Machine
from harness.compile.slim_tool import _compare_macros, write_facade
from harness.compile.torch_layout import cxx_compiler, find_torch
from harness.compile.visible import Visible, c_headers, compared, definitions, read_macros

PRINTED = """# 1 "main.cpp"
#define BOTH 1
#define CHECK(a,b) a + b
#define GONE
#undef GONE
#define EMPTY
# 1 "/usr/include/x86_64-linux-gnu/sys/time.h" 1 3 4
# 1 "/usr/include/x86_64-linux-gnu/bits/time.h" 1 3 4
# 1 "/usr/include/c++/12/cmath" 1 3
# 1 "/usr/include/math.h" 1 3 4
# 2 "/usr/include/math.h" 1 3 4
# 1 "/usr/include/features-time64.h" 1 3 4
"""


def test_macros_are_those_that_are_left_at_the_end() -> None:
    assert read_macros(PRINTED) == {"BOTH": (False, "1"), "CHECK": (True, "(a,b) a + b"), "EMPTY": (False, "")}


def test_headers_of_the_c_library_are_those_that_may_be_included() -> None:
    assert c_headers(PRINTED) == ["sys/time.h", "math.h"]


def test_definitions_can_be_written_again() -> None:
    written = definitions(read_macros(PRINTED), re.compile("CHECK|BOTH"))
    assert read_macros(written) == {"BOTH": (False, "1"), "CHECK": (True, "(a,b) a + b")}


def test_what_one_side_alone_defines_and_what_a_condition_may_find_otherwise_are_told_apart(tmp_path: Path) -> None:
    stock = {"ALIKE": (False, "1"), "THEIRS": (True, "(a) a"), "VALUE": (False, "2"), "PART": (False, "3")}
    least = {"ALIKE": (False, "1"), "OURS": (False, ""), "VALUE": (False, "1"), "SLIM_HALF": (False, "")}
    visible = compared(stock, least, {**least, "PART": (False, "3")})
    assert visible.macros == {"THEIRS": True, "OURS": False}
    assert visible.uncertain == {"THEIRS", "OURS", "VALUE", "PART", "SLIM_HALF"}
    visible.write(tmp_path / "visible.json")
    assert Visible.read(tmp_path / "visible.json") == visible


def test_in_cuda_a_condition_on_what_only_torch_s_headers_read_there_is_uncertain(
    tmp_path: Path, cache: ArtifactCache
) -> None:
    """Under nvcc torch's complex numbers bring Thrust, and with that <float.h>; g++ reads neither."""
    layout = find_torch()
    if layout.toolkit is None:
        pytest.skip("no CUDA compiler on this machine")
    found = {}
    for cuda in (None, layout.toolkit.version):
        work = tmp_path / str(cuda)
        work.mkdir()
        write_facade(work / "include", layout.include_dirs[0])
        machine = Machine(target="cpu", layout=replace(layout, cuda=cuda), cxx=cxx_compiler())
        _compare_macros(machine, cache, work)
        found[cuda] = Visible.read(work / "visible.json").uncertain
    assert "FLT_MAX" in found[layout.toolkit.version] - found[None]
    assert {"M_PI", "CUDA_VERSION", "__CUDACC__", "__cplusplus"}.isdisjoint(found[layout.toolkit.version])
