"""Text to candidate: find the source in a submission, and say what was skipped and why.

A submission that parses as Python is its own candidate. Anything else is a response: the candidate is the last
complete fenced block that parses and defines `ModelNew`. Blocks before a closing `</think>` are drafts, taken only
where no block after it will do. A block that breaks off is never taken: what is left of it may parse and still not be
what the model wrote.
"""

import hashlib
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import NamedTuple

from harness.formats import KERNELBENCH
from harness.intake import kernel_alone
from harness.intake.languages import languages_of
from harness.intake.markdown import Fenced, fenced_blocks, has_more_fences
from harness.intake.python_source import MAX_SOURCE, Unparsable, defined_names, parse
from harness.languages.c_source import is_c, without_comments
from harness.schema import Block, Candidate, Extraction, Failed, Submission
from harness.schema.submission import ExtractPolicy
from harness.schema.verdict import Reason

MAX_SUBMISSION = 16 << 20
"""Longest submission that is read, in characters."""
MAX_FENCES = 10_000
"""Most lines that open or close a block. A response has some dozens."""
MAX_LISTED = 100
"""Most blocks that an extraction lists. Of more, the last ones are listed, and the one taken."""

_THINK_END = "</think>"
_IMPORT_LINE = re.compile(r"^(?:import|from)[ \t]+\w[^\n]*$", re.MULTILINE)
_LOOKS_LIKE_PYTHON = re.compile(r"^(?:import torch|from torch|class \w+\s*[(:]|def \w+\s*\()", re.MULTILINE)


class Extracted(NamedTuple):
    """What became of a submission: how it was read, and the candidate or why there is none."""

    extraction: Extraction
    outcome: Candidate | Failed


@dataclass(frozen=True)
class _Piece:
    """A stretch of the submission that may be the candidate. `fault` is empty where it is one."""

    source: str
    first_line: int
    fault: str = ""
    reason: Reason = "empty"  # why it is no candidate, where there is a fault

    @property
    def usable(self) -> bool:
        return not self.fault


def extract(submission: Submission, *, policy: ExtractPolicy = "last", entry: str = KERNELBENCH.entry) -> Extracted:
    """Take the candidate, which defines `entry`, out of a submission. Never raises for anything that the text holds.

    Policies: "last" and "first" take that one of the usable blocks, "strict" wants exactly one. Failures are at stage
    "extract": "empty" (no code), "syntax" (the detail names the line of the submission), "missing" (no `entry`),
    "ambiguous" (strict, and several would do), "unsupported" (too long).
    """
    text = _normalised(submission.text)
    if len(text) > MAX_SUBMISSION:
        detail = f"The submission is {len(text):,} characters long; at most {MAX_SUBMISSION:,} are read."
        return Extracted(Extraction(policy=policy, kind="python"), _failed("unsupported", detail))
    whole = _piece(text, entry, first_line=1)
    if whole.usable:
        return _taken(whole, Extraction(policy=policy, kind="python", first_line=1))
    if has_more_fences(text, MAX_FENCES):
        detail = f"The response has more than {MAX_FENCES:,} fences of code blocks; no more are read."
        return Extracted(Extraction(policy=policy, kind="response"), _failed("unsupported", detail))
    blocks = fenced_blocks(text)
    response = _from_response(text, blocks, policy, entry)
    is_file = PurePath(submission.path).suffix == ".py"
    if isinstance(response.outcome, Candidate) or (blocks and not is_file):
        return response
    if not blocks and (bare := _bare_code(text, entry)) is not None:
        return _taken(bare, Extraction(policy=policy, kind="response", first_line=bare.first_line))
    return Extracted(Extraction(policy=policy, kind="python"), _no_source(text, whole, path=submission.path))


def _normalised(text: str) -> str:
    """Line ends as Python reads them, no byte order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _piece(source: str, entry: str, *, first_line: int) -> _Piece:
    """Look at one stretch of source; only what names `entry` at all is parsed."""
    if not source.strip():
        return _Piece(source, first_line, "is empty", "empty")
    tree = parse(source)
    if isinstance(tree, Unparsable):
        if len(source) > MAX_SOURCE:
            return _Piece(source, first_line, f"is not read: {tree.detail}", "unsupported")
        return _Piece(source, first_line, _syntax_fault(tree, first_line), "syntax")
    if entry not in defined_names(tree):
        return _Piece(source, first_line, f"defines no {entry}", "missing")
    return _Piece(source if source.endswith("\n") else source + "\n", first_line)


def _syntax_fault(fault: Unparsable, first_line: int) -> str:
    """What does not parse, every line counted in the submission: Python's own messages count in the source."""
    message = re.sub(r" \(detected at line \d+\)", "", fault.detail)
    message = re.sub(r"(?<=\bline )\d+", lambda number: str(int(number.group()) + first_line - 1), message)
    where = "" if fault.line is None else f" on line {first_line + fault.line - 1}"
    return f"does not parse: {message}{where}"


def _from_response(text: str, blocks: Sequence[Fenced], policy: ExtractPolicy, entry: str) -> Extracted:
    pieces = [_piece_of(text, block, entry) for block in blocks]
    usable = [index for index, piece in enumerate(pieces) if piece.usable]
    answer_line = _answer_line(text, blocks)
    final = [index for index in usable if pieces[index].first_line > answer_line] or usable
    chosen = _choose(final, policy)
    extraction = Extraction(
        policy=policy,
        kind="response",
        truncated=any(block.fate == "open" for block in blocks),
        first_line=None if chosen is None else pieces[chosen].first_line,
        blocks=_listing(text, blocks, pieces, chosen),
    )
    if chosen is not None:
        return _taken(pieces[chosen], extraction)
    if len(final) > 1:
        lines = ", ".join(str(pieces[index].first_line) for index in final[:10])
        detail = f"Strict extraction wants exactly one block that defines {entry}; {len(final)} do, at lines {lines}."
        return Extracted(extraction, _failed("ambiguous", detail))
    return Extracted(extraction, _no_block(blocks, pieces, entry))


def _choose(usable: Sequence[int], policy: ExtractPolicy) -> int | None:
    if not usable or (policy == "strict" and len(usable) > 1):
        return None
    return usable[0] if policy == "first" else usable[-1]


def _piece_of(text: str, block: Fenced, entry: str) -> _Piece:
    """The best reading of a block's code, given that its fence or all of it may be indented."""
    if block.fate == "open":
        return _Piece("", block.first_line, "breaks off before its closing fence", "empty")
    if block.fate == "interrupted":
        return _Piece("", block.first_line, "is not closed before the next block opens", "empty")
    code = text[block.start : block.end]
    if entry not in code:
        return _Piece("", block.first_line, f"defines no {entry}" if code.strip() else "is empty", "missing")
    readings = dict.fromkeys([_unindented(code, block.indent), code, textwrap.dedent(code)])
    pieces = [_piece(reading, entry, first_line=block.first_line) for reading in readings]
    return next((piece for piece in pieces if piece.usable), pieces[0])


def _unindented(code: str, indent: int) -> str:
    """`code` less up to `indent` blanks at the start of each line, as CommonMark has it for an indented fence."""
    return re.sub(rf"^[ \t]{{1,{indent}}}", "", code, flags=re.MULTILINE) if indent else code


def _answer_line(text: str, blocks: Sequence[Fenced]) -> int:
    """The 1-based line on which the reasoning ends, 0 where the response has none. Code that says so does not count."""
    position = text.rfind(_THINK_END)
    for block in reversed(blocks):
        if block.start <= position < block.end and block.fate == "closed":
            position = text.rfind(_THINK_END, 0, block.start)
    return 0 if position < 0 else text.count("\n", 0, position) + 1


def _bare_code(text: str, entry: str) -> _Piece | None:
    """Code without any fence behind prose or reasoning: from its first import to the end of the response."""
    after = text.rfind(_THINK_END)
    start = _IMPORT_LINE.search(text, after + len(_THINK_END) if after >= 0 else 0)
    if start is None:
        return None
    piece = _piece(text[start.start() :], entry, first_line=text.count("\n", 0, start.start()) + 1)
    return piece if piece.usable else None


def _listing(text: str, blocks: Sequence[Fenced], pieces: Sequence[_Piece], chosen: int | None) -> tuple[Block, ...]:
    listed = set(range(len(blocks))[-MAX_LISTED:]) | ({chosen} if chosen is not None else set())
    if chosen is None:
        passed_over = "several blocks would do"
    else:
        passed_over = f"the block at line {pieces[chosen].first_line} was taken"
    return tuple(
        Block(
            index=index,
            language=blocks[index].language[:40],
            first_line=blocks[index].first_line,
            lines=len(text[blocks[index].start : blocks[index].end].removesuffix("\n").split("\n")),
            outcome="taken" if index == chosen else "skipped",
            reason="" if index == chosen else pieces[index].fault or passed_over,
        )
        for index in sorted(listed)
    )


def _no_block(blocks: Sequence[Fenced], pieces: Sequence[_Piece], entry: str) -> Failed:
    """Say why no block would do: the last of the blocks that tried."""
    gravest = ("unsupported", "syntax")
    torn = next((piece for piece in reversed(pieces) if piece.fault and piece.reason in gravest), None)
    if torn is not None:
        return _failed(torn.reason, f"The block at line {torn.first_line} {torn.fault}.")
    if blocks and blocks[-1].fate == "open":
        where = blocks[-1].first_line
        return _failed("empty", f"The response breaks off in the block at line {where}; no block before it is usable.")
    return _failed("missing", f"No block of the response defines {entry}.")


def _no_source(text: str, whole: _Piece, *, path: str) -> Failed:
    """Say why a submission without a usable block is no candidate either."""
    if not text.strip():
        return _failed("empty", "The submission is empty.")
    is_kernel = PurePath(path).suffix in kernel_alone.SUFFIXES or not _LOOKS_LIKE_PYTHON.search(text)
    if is_kernel and is_c(without_comments(text)):
        return _failed("missing", kernel_alone.why_not(text, path))
    if PurePath(path).suffix != ".py" and not _LOOKS_LIKE_PYTHON.search(text):
        return _failed("empty", "The response holds no code block.")
    return _failed(whole.reason, f"The submission {whole.fault}.")


def _failed(reason: Reason, detail: str) -> Failed:
    return Failed(stage="extract", reason=reason, detail=detail)


def _taken(piece: _Piece, extraction: Extraction) -> Extracted:
    candidate = Candidate(
        source=piece.source,
        sha256=hashlib.sha256(piece.source.encode("utf-8", "surrogatepass")).hexdigest(),
        languages=languages_of(piece.source),
        first_line=piece.first_line,
    )
    return Extracted(extraction, candidate)
