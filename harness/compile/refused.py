"""A source that a fast compiler refused: its errors, as far as they lie in the candidate's own text, and that text."""

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from harness.compile.printed import IDENTIFIER, Names, lines_of, without_comments

_GCC = re.compile(r"(?P<file>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)")
_NVCC = re.compile(r"(?P<file>[^\n(]+)\((?P<line>\d+)\): (?:catastrophic )?error(?: #\d+(?:-D)?)?: (?P<text>.*)")
_END = re.compile(r"(?P<file>At end of source): error(?: #\d+(?:-D)?)?: (?P<text>.*)")
LONGEST_LINE = 2_000
"""Characters of a compiler's line that are looked at: a candidate has it print lines of any length."""
_ANY_ERROR = re.compile(r"^[^\n]*?\berror\b[^\n]*:|^nvcc fatal")
_OWN = re.compile(r"(?:cpp|cuda)_sources\[\d+\]|binding")
MARK = re.compile(r'^#line 1 "([^"]*)"\n', re.MULTILINE)
# From the last such word before the brace: from each of many, the same text would be read again for each.
_CLASS_BODY = re.compile(r"\b(?:class|struct|union)\b(?:(?!\b(?:class|struct|union)\b)[^;(){}])*+\{")
_LINE_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?:line\b|\d)", re.MULTILINE)


@dataclass(frozen=True)
class Error:
    """An error of a compile: where it is, its words, and its whole paragraph. `line` is 0 at the end of a file."""

    file: str
    line: int
    text: str
    log: str


@dataclass(frozen=True)
class Unit:
    """One source with what the fast compiler said of it. `names` are those of stock's headers, found when asked for.

    `local` are the candidate's own files that are no sources.
    """

    name: str
    text: str
    output: str
    local: Mapping[str, str]
    ask_names: Callable[[], Names | None]

    @cached_property
    def names(self) -> Names | None:
        return self.ask_names()

    @cached_property
    def errors(self) -> list[Error | None]:
        """The errors in the compiler's order; None for one whose place is not in the candidate's own text."""
        lines = [line[:LONGEST_LINE] for line in lines_of(self.output)]
        starts = [index for index, line in enumerate(lines) if _ANY_ERROR.search(line)]
        return [self._read("\n".join(lines[start:end])) for start, end in itertools.pairwise([*starts, None])]

    @property
    def error(self) -> Error | None:
        """The first error, where its place is in the candidate's own text."""
        return self.errors[0] if self.errors else None

    def _read(self, paragraph: str) -> Error | None:
        found = _GCC.match(paragraph) or _NVCC.match(paragraph) or _END.match(paragraph)
        if found is None or not self.is_own(found["file"]):
            return None
        line = found.groupdict().get("line")
        return Error(found["file"], int(line or 0), found["text"], paragraph.strip())

    def is_own(self, file: str) -> bool:
        return _OWN.fullmatch(file) is not None or file in ("At end of source", self.name) or file in self.local

    @cached_property
    def own(self) -> str:
        """The candidate's text as one, without comments and strings."""
        return without_comments("\n".join((self.text, *self.local.values())), keep_strings=False)

    @cached_property
    def words(self) -> list[str]:
        return IDENTIFIER.findall(self.own)

    @property
    def is_plain(self) -> bool:
        """Whether no identifier of it can be one that its text does not show, but by macros of headers."""
        pasted = "##" in self.own or "%:%:" in self.own or "??" in self.own or "\\u" in self.own
        return not pasted and not _LINE_DIRECTIVE.search(MARK.sub("", self.text))

    def line(self) -> str:
        """The line that the first error is on, without comments."""
        lines = self.lines()
        return lines[self.error.line - 1] if self.error and 0 < self.error.line <= len(lines) else ""

    def lines(self) -> list[str]:
        """Those of the text that the first error is in, without comments and strings."""
        assert self.error is not None
        parts = MARK.split(self.text)
        texts = {**self.local, self.name: self.text, **dict(zip(parts[1::2], parts[2::2], strict=True))}
        return lines_of(without_comments(texts.get(self.error.file, ""), keep_strings=False))

    def words_before(self) -> list[str]:
        """The identifiers up to the line of the first error: what is behind it declares nothing for it, unless it lies
        in a class, whose functions know all of it. All of them where that cannot be told.
        """
        if self.error is None or self.error.file != self._last_label or _CLASS_BODY.search(self.own):
            return self.words
        behind = IDENTIFIER.findall("\n".join(self.lines()[self.error.line :]))
        return self.words[: len(self.words) - len(behind)] if not self.local else self.words

    @property
    def _last_label(self) -> str:
        """The name of the last of the strings that a source is made of."""
        labels = MARK.findall(self.text)
        return labels[-1] if labels else self.name
