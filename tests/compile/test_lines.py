"""Compiler messages in lines of the candidate's own file."""

import ast
import itertools
import string
import time

import pytest

from harness.compile import lines
from harness.compile.lines import LOG_LIMIT, cap_log, first_error, locate, to_candidate_lines
from harness.schema import BuildRequest

CANDIDATE = '''import torch

SOURCE = """
__global__ void f() {
    broken;
}
"""
CPP = "int g();"
'''
SOURCE = "\n__global__ void f() {\n    broken;\n}\n"


def test_a_literal_is_found_by_the_line_that_its_quotes_are_on() -> None:
    assert locate(SOURCE, CANDIDATE) == 3
    assert locate("int g();", CANDIDATE) == 8


def test_a_literal_that_was_stripped_on_its_way_is_found() -> None:
    line = locate(SOURCE.strip(), CANDIDATE)
    assert line == 4
    assert CANDIDATE.splitlines()[line - 1] == "__global__ void f() {"


def test_a_source_with_lines_put_before_it_is_shifted_back() -> None:
    line = locate("\n\n" + SOURCE, CANDIDATE)
    assert line == 1  # so that its fourth line, `__global__`, is the candidate's fourth
    assert locate("\n\n    " + SOURCE.strip(), CANDIDATE.replace('"""\n', '"""', 1)) == 1


def test_a_literal_that_begins_with_an_escaped_line_break_is_found() -> None:
    assert locate(SOURCE[1:], CANDIDATE.replace('"""\n', '"""\\\n', 1)) == 4


def test_a_literal_on_one_line_has_no_lines_of_the_candidate() -> None:
    assert locate(SOURCE, f"import torch\nSOURCE = {SOURCE!r}\n") is None
    assert locate("int a;\nint b;\n", 'x = (\n    "int a;\\n"\n    "int b;\\n"\n)\n') == 2


@pytest.mark.parametrize("candidate", ["x = 1", "def (", "x = '" + "\\0" * 3 + "'"])
def test_what_is_no_literal_is_not_found(candidate: str) -> None:
    assert locate(SOURCE, candidate) is None


@pytest.mark.parametrize("written", ["cuda_sources[0]:3:5: error: x", "cuda_sources[0](3): error: x"])
def test_both_compilers_ways_of_naming_a_line_become_the_candidates(written: str) -> None:
    request = BuildRequest(name="m", cuda_sources=(SOURCE,))
    assert to_candidate_lines(written, request, CANDIDATE).startswith("candidate.py:5")


def test_a_file_that_the_candidate_wrote_is_traced_to_its_literal() -> None:
    request = BuildRequest(name="m", files={"sub/k.cu": SOURCE})
    assert to_candidate_lines("sub/k.cu(3): error", request, CANDIDATE) == "candidate.py:5: error"
    assert to_candidate_lines("other/sub/k.cu(3): error", request, CANDIDATE) == "other/sub/k.cu(3): error"


def test_a_source_that_was_put_together_keeps_its_label() -> None:
    request = BuildRequest(name="m", cuda_sources=("int made_up;",))
    assert to_candidate_lines("cuda_sources[0]:1:1: error", request, CANDIDATE) == "cuda_sources[0]:1:1: error"


def test_the_first_error_is_the_first_line_that_says_error() -> None:
    log = "In file included from a.h:1:\nmain.cpp:3:1: warning: w\ncpp_sources[0]:2:4: error: no\nx.cpp:9: error: later"
    assert first_error(log) == "cpp_sources[0]:2:4: error: no"


def test_a_link_error_is_told_by_its_symbol_and_not_by_its_summary() -> None:
    log = "collect2: error: ld returned 1 exit status\nmain.o: undefined reference to `f()'"
    assert first_error(log) == "main.o: undefined reference to `f()'"


def test_a_silent_compiler_is_reported_as_one() -> None:
    assert first_error("\n") == "the compiler failed without a message"


def test_a_long_log_keeps_its_head_and_its_tail() -> None:
    log = "first" + "x" * (2 * LOG_LIMIT) + "last"
    capped = cap_log(log)
    assert capped.startswith("first")
    assert capped.endswith("last")
    assert len(capped) < LOG_LIMIT + 100


def test_a_candidate_is_parsed_once_however_many_sources_a_request_has(monkeypatch) -> None:
    parsed = []
    real = ast.parse
    monkeypatch.setattr(lines.ast, "parse", lambda source: parsed.append(source) or real(source))
    candidate = CANDIDATE + "# of this test alone"
    request = BuildRequest(name="x", cpp_sources=("int g();",) * 200)
    log = "".join(f"cpp_sources[{number}]:1: error\n" for number in range(200))
    assert to_candidate_lines(log, request, candidate).count("candidate.py:8") == 200
    assert len(parsed) == 1


def test_a_log_is_read_once_however_many_sources_a_request_names() -> None:
    names = ["".join(letters) for letters in itertools.product(string.ascii_lowercase, repeat=3)]
    request = BuildRequest(name="many", files=dict.fromkeys(names, "int"))
    log = f"the file name {''.join(names)!r} is none"
    started = time.process_time()
    assert to_candidate_lines(f"{log}\nxyz:1: error", request, 's = "int a"') == f"{log}\ncandidate.py:1: error"
    assert time.process_time() - started < 1
