"""Fenced blocks of a response: where each one starts and ends. Text only, in time linear in its length.

The rules are CommonMark's (a block is closed by at least as many of its own fence characters, with no info string)
bent where models bend them: a fence may be indented by any amount, ```` ```python ```` may follow prose on its line,
a closing fence may carry a stop token (`<|im_end|>`), a block that was never closed ends where the next one of its
kind opens, and a fence inside a triple-quoted Python string is text where the longer block is valid Python.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from harness.intake.python_source import MAX_SOURCE, Unparsable, parse

Fate = Literal["closed", "interrupted", "open"]

_MARK = re.compile(
    r"^(?:(?P<indent>[ \t]*+)(?P<marks>`{3,}+|~{3,}+)(?P<rest>[^\n]*+)"
    r"|(?P<lead>[^\n`]*+)(?P<inline>`{3,}+)(?P<language>python|py)[ \t]*+)$",
    re.MULTILINE,
)
_STOP_TOKENS = re.compile(r"[ \t]*+(?:<[^<>\s]*+>[ \t]*+)++")

_TRIPLES = ('"""', "'''")
_IN_CODE = re.compile(r""""{3}|'{3}|\#[^\n]*+|"(?:\\.|[^"\\\n])*+"?|'(?:\\.|[^'\\\n])*+'?""", re.DOTALL)
_IN_STRING = {triple: re.compile(rf"\\.|{triple}", re.DOTALL) for triple in _TRIPLES}

_MOST_LOOKAHEADS = 16  # failed searches for the end of a string that holds fences, in one response


@dataclass(frozen=True)
class Fenced:
    """One fenced block. `start` and `end` delimit its code in the text; `first_line` is the 1-based line of `start`.

    `fate`: "closed" by a fence of its own, "interrupted" by the next block's, "open" when the text ended.
    """

    language: str
    indent: int
    first_line: int
    start: int
    end: int
    fate: Fate


@dataclass(frozen=True)
class _Mark:
    """One line that may open or close a block."""

    begin: int  # offset of the line
    after: int  # offset of the line after it
    line: int
    char: str
    length: int
    indent: int
    info: str  # "" for a bare fence
    stop: bool  # a bare fence with stop tokens behind it: it can close, not open
    inline: bool  # prose stands before it: it can open where nothing is open, nothing else

    @property
    def can_open(self) -> bool:
        return not self.stop and not (self.char == "`" and "`" in self.info)

    def closes(self, opener: "_Mark") -> bool:
        return not self.info and self.char == opener.char and self.length >= opener.length


class _Open:
    """A block whose end has not been seen, and whether the text read so far ends inside a string of it."""

    def __init__(self, mark: _Mark) -> None:
        self.mark = mark
        self.quote = ""
        self.read = mark.after

    def ends_in_string(self, text: str, at: int) -> bool:
        self.quote = _quote_at(text, self.read, at, self.quote)
        self.read = max(self.read, at)
        return bool(self.quote)

    def finish(self, end: int, fate: Fate) -> Fenced:
        mark = self.mark
        language = mark.info.split(maxsplit=1)[0].lower() if mark.info else ""
        return Fenced(language, mark.indent, mark.line + 1, mark.after, max(end, mark.after), fate)


def fenced_blocks(text: str) -> list[Fenced]:
    """All fenced blocks in the order in which they start. Lines end in a bare line feed."""
    marks = list(_marks(text))
    found: list[Fenced] = []
    opened: list[_Open] = []
    lookaheads = 0
    index = 0
    while index < len(marks):
        mark = marks[index]
        index += 1
        if opened and opened[-1].ends_in_string(text, mark.begin) and lookaheads < _MOST_LOOKAHEADS:
            end = _end_beyond_string(text, marks, index, opened[-1])
            if end is not None:
                found.append(opened.pop().finish(marks[end].begin, "closed"))
                index = end + 1
                continue
            lookaheads += 1
        found.extend(_step(opened, mark))
    found.extend(block.finish(len(text), "open") for block in opened if not _is_stray(block, text))
    return sorted(found, key=lambda block: block.start)


def has_more_fences(text: str, limit: int) -> bool:
    """Whether more than `limit` lines of the text could open or close a block."""
    return next(islice(_MARK.finditer(text), limit, None), None) is not None


def _step(opened: list[_Open], mark: _Mark) -> Iterator[Fenced]:
    """Let one fence line act on the blocks that are open; yields those that it ends."""
    closed = _closed_by(opened, mark)
    if closed is not None:
        while len(opened) > closed + 1:
            yield opened.pop().finish(mark.begin, "interrupted")
        yield opened.pop().finish(mark.begin, "closed")
        return
    if not mark.can_open or (opened and (mark.inline or not mark.info)):
        return
    # An inner block is legitimate where its fence could not have closed the outer one; otherwise the outer was torn.
    while opened and opened[-1].mark.char == mark.char and mark.length >= opened[-1].mark.length:
        yield opened.pop().finish(mark.begin, "interrupted")
    opened.append(_Open(mark))


def _closed_by(opened: list[_Open], mark: _Mark) -> int | None:
    """The depth of the block that a mark closes: the innermost whose fence it repeats, else the innermost it can."""
    closable = [depth for depth in reversed(range(len(opened))) if mark.closes(opened[depth].mark)]
    repeated = [depth for depth in closable if opened[depth].mark.length == mark.length]
    return next(iter(repeated or closable), None)


def _is_stray(block: _Open, text: str) -> bool:
    """A bare fence with nothing behind it: an extra closing fence, not a block cut off."""
    return not block.mark.info and not text[block.mark.after :].strip()


def _marks(text: str) -> Iterator[_Mark]:
    line, counted = 1, 0
    for match in _MARK.finditer(text):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        inline = match["inline"] is not None
        marks = match["inline"] if inline else match["marks"]
        rest = match["language"] if inline else match["rest"].strip()
        stop = bool(rest) and _STOP_TOKENS.fullmatch(rest) is not None
        yield _Mark(
            begin=match.start(),
            after=min(match.end() + 1, len(text)),
            line=line,
            char=marks[0],
            length=len(marks),
            indent=0 if inline else len(match["indent"]),
            info="" if stop else rest,
            stop=stop,
            inline=inline,
        )


def _end_beyond_string(text: str, marks: list[_Mark], index: int, block: _Open) -> int | None:
    """The mark that closes `block` if the fences up to it are text of a Python string; None if they are not."""
    quote, read = block.quote, block.read
    for position in range(index, len(marks)):
        mark = marks[position]
        if mark.begin - block.mark.after > MAX_SOURCE:
            return None
        quote = _quote_at(text, read, mark.begin, quote)
        read = mark.begin
        if not quote and mark.closes(block.mark):
            longer = parse(text[block.mark.after : mark.begin])
            return None if isinstance(longer, Unparsable) else position
    return None


def _quote_at(text: str, start: int, end: int, quote: str) -> str:
    """The triple quote that is open at `end`, given the one open at `start`; "" for none."""
    position = start
    while position < end:
        match = (_IN_STRING[quote] if quote else _IN_CODE).search(text, position, end)
        if match is None:
            break
        token = match.group()
        if token in _TRIPLES:
            quote = "" if quote else token
        position = match.end()
    return quote
