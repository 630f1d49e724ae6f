"""Places in machine code to the candidate's lines."""

import subprocess
from pathlib import Path

import pytest

from harness.emulate import TRACE_FLAGS
from harness.schema.build import BuildRequest
from harness.worker.lines import place_in_candidate, rows

SOURCE = """
int twice(int x) {
    x *= 2;
    return x;
}
"""
CANDIDATE = f'import torch\n\nSOURCE = """{SOURCE}"""\n'
DEBUG = [flag for flag in TRACE_FLAGS if flag.startswith("-g")]


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lines")
    (folder / "cuda.cpp").write_text(f'#line 1 "cuda_sources[0]"\n{SOURCE}')
    command = ["g++", "-shared", "-fPIC", "-O0", *DEBUG, "cuda.cpp", "-o", "module.so"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "module.so"


def place_on(module: Path, line: int) -> int:
    """Behind an instruction of a line."""
    return next(row.address for row in rows(module) if row.file == "cuda_sources[0]" and row.line == line) + 1


def request(text: str = SOURCE) -> BuildRequest:
    return BuildRequest(name="module", cuda_sources=(text,))


@pytest.mark.parametrize("line", [2, 3])
def test_a_place_is_a_line_of_the_candidate(module: Path, line: int) -> None:
    told = place_in_candidate(module, place_on(module, line), request(), CANDIDATE)
    assert told == f"candidate.py:{line + 2}"
    assert CANDIDATE.splitlines()[line + 1] == SOURCE.splitlines()[line - 1]


def test_a_source_that_is_no_literal_has_lines_of_its_own(module: Path) -> None:
    assert place_in_candidate(module, place_on(module, 3), request(), "import torch") == "cuda_sources[0]:3"


def test_a_source_that_was_stripped_on_its_way_is_found(module: Path) -> None:
    # The first line of what was compiled is the second of the literal.
    told = place_in_candidate(module, place_on(module, 2), request(SOURCE.strip("\n")), CANDIDATE)
    assert told == "candidate.py:5"


def test_a_place_outside_of_all_code_has_no_line(module: Path) -> None:
    assert place_in_candidate(module, 1 << 30, request(), CANDIDATE) is None


@pytest.mark.parametrize("content", [b"", b"\x7fELF\x02\x01", b"\x7fELF\x02\x01" + b"\xff" * 200, b"text" * 100])
def test_what_is_no_module_has_no_lines(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "module.so").write_bytes(content)
    assert place_in_candidate(tmp_path / "module.so", 16, request(), CANDIDATE) is None


def test_a_line_table_that_was_cut_off_or_overwritten_has_no_lines(module: Path, tmp_path: Path) -> None:
    whole = module.read_bytes()
    for start in range(0, len(whole), 997):
        (tmp_path / "module.so").write_bytes(whole[:start] + b"\xff" * 64 + whole[start + 64 :])
        place_in_candidate(tmp_path / "module.so", place_on(module, 3), request(), CANDIDATE)  # ends, whatever it says
