"""Compiler messages in the candidate's own words: which line of its file an error is on, and what the first error says.

A log names `cuda_sources[0]:12` or `cuda_sources[0](12)`; the string stands as a literal somewhere in the candidate's
Python file, and what a person wants to read is the line of that file.
"""

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate

from harness import syntax
from harness.compile.printed import lines_of
from harness.schema import BuildRequest

LOG_LIMIT = 64 << 10
CANDIDATE_NAME = "candidate.py"

_ERROR = re.compile(r"\berror\s*:|\bundefined reference\b|\bmultiple definition of\b|^nvcc fatal")
# g++ writes `label:12:5`, nvcc `label(12)`. A label is tried where it begins and nowhere in it.
_PLACE = re.compile(r"(?<![\w.,=\[\]/+-])([\w.,=\[\]/+-]++)(?:\((\d{1,9})\)|:(\d{1,9}))")
_SUMMARY = re.compile(r"^\d+ errors? detected in the compilation|collect2: error|^ptxas fatal")


def locate(request_source: str, candidate_source: str) -> int | None:
    """The 1-based line of the candidate on which the first line of this string stands; None where it is no literal.

    A string that was stripped or dedented at its ends on its way (`SOURCE.strip()`) is found as well. None also where
    the literal has fewer lines than the string.
    """
    wanted = request_source.strip("\n ")
    if not wanted:
        return None
    joined, starts, literals = _literals(candidate_source)
    found = joined.find(wanted)
    if found < 0:
        return None
    place = bisect_right(starts, found) - 1
    node, value, at = literals[place], str(literals[place].value), found - starts[place]
    if at + len(wanted) > len(value):
        return None  # it holds what stands between two literals here
    if value.count("\n") > (node.end_lineno or node.lineno) - node.lineno + 1:
        return None  # written as `"...\n..."` on one line: no line of the candidate is a line of it
    # Counted from the end, which is right as well for a literal that begins with an escaped line break.
    first = max(node.lineno, (node.end_lineno or node.lineno) - value.count("\n"))
    return first + value[:at].count("\n") - request_source[: request_source.find(wanted)].count("\n")


@lru_cache(maxsize=8)  # a request has many sources, and a candidate may have many requests
def _literals(candidate_source: str) -> tuple[str, list[int], list[ast.Constant]]:
    """Every string of a candidate's: all in one, to be searched at once, where each begins there, and each by itself.

    None where it cannot be parsed.
    """
    try:
        tree = syntax.parse(candidate_source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "", [], []
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    starts = list(accumulate((len(str(node.value)) + 1 for node in nodes), initial=0))
    return "\0".join(str(node.value) for node in nodes), starts, nodes


def to_candidate_lines(log: str, request: BuildRequest, candidate_source: str) -> str:
    """`log` with every `cuda_sources[0]:12` and `kernel.cu(12)` as `candidate.py:LINE`, where that could be traced.

    In one pass, however many sources a request names: it may be one that was refused for their number.
    """
    texts = dict(_labelled(request))
    starts: dict[str, int | None] = {}

    def traced(place: re.Match[str]) -> str:
        label, line = place[1], place[2] or place[3]
        if label in texts and label not in starts:
            starts[label] = locate(texts[label], candidate_source)
        start = starts.get(label)
        return place[0] if start is None else f"{CANDIDATE_NAME}:{start + int(line) - 1}"

    return _PLACE.sub(traced, log)


def first_error(log: str) -> str:
    """The first error of a compiler's output in one sentence; the first line of it where none is marked as an error."""
    lines = [line.strip() for line in lines_of(log) if line.strip()]
    errors = [line for line in lines if _ERROR.search(line)]
    telling = [line for line in errors if not _SUMMARY.search(line)] or errors or lines
    return telling[0][:500] if telling else "the compiler failed without a message"


def cap_log(log: str) -> str:
    """`log`, its middle left out where it is longer than a record should hold."""
    if len(log) <= LOG_LIMIT:
        return log
    half = LOG_LIMIT // 2
    return f"{log[:half]}\n[... {len(log) - LOG_LIMIT} characters left out ...]\n{log[-half:]}"


def _labelled(request: BuildRequest) -> Iterator[tuple[str, str]]:
    for kind, sources in (("cpp_sources", request.cpp_sources), ("cuda_sources", request.cuda_sources)):
        yield from ((f"{kind}[{i}]", text) for i, text in enumerate(sources))
    yield from request.files.items()
