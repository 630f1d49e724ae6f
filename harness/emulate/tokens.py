"""C++ source as tokens that, joined, are the source again.

Just enough of the language to tell code from comments and literals. There is no text that it refuses: a character that
begins nothing known is a token of its own.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["space", "comment", "string", "character", "number", "name", "punctuation"]

# Order matters: a raw string before a name that begins with R, a number before the punctuation that it may begin with.
# Literals are possessive and may lack their end (theirs is that of the line): each character is read once.
# `<` and `>` stay single, because `>>>` ends both a launch's configuration and three template argument lists.
_TOKEN = re.compile(
    r"""
    (?P<space>      (?: \s | \\\r?\n )+ )
  | (?P<comment>    //(?: \\\r?\n | [^\n] )* | /\*.*?(?:\*/|\Z) )
  | (?P<string>     (?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?(?:\)(?P=delimiter)"|\Z)
                  | (?:u8|[uUL])?"(?: \\\r\n | \\. | [^"\\\n] )*+"? )
  | (?P<character>  (?:u8|[uUL])?'(?: \\. | [^'\\\n] )*+'? )
  | (?P<number>     \.?\d(?: [eEpP][+-] | '\w | [\w.] )* )
  | (?P<name>       [^\W\d]\w* )
  | (?P<punctuation> :: | -> | \#\# | . )
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    """A piece of source. `line` is the 1-based line on which it starts."""

    kind: Kind
    text: str
    line: int

    @property
    def is_code(self) -> bool:
        return self.kind not in ("space", "comment")


def tokenize(source: str) -> Iterator[Token]:
    """Yields the tokens of `source`; their texts concatenated are `source`, whatever it is."""
    line = 1
    for match in _TOKEN.finditer(source):
        # `lastgroup` would name the raw string's delimiter where there is one.
        kind: Kind = "string" if match["string"] is not None else match.lastgroup  # type: ignore[assignment]
        yield Token(kind, match[0], line)
        line += match[0].count("\n")


def next_code(tokens: Sequence[Token], index: int, step: int = 1) -> int | None:
    """Index of the first token from `index` on that is neither space nor comment; None where there is none."""
    while 0 <= index < len(tokens):
        if tokens[index].is_code:
            return index
        index += step
    return None


_OPENERS = {")": "(", "]": "[", "}": "{"}


def match_brackets(tokens: Sequence[Token]) -> dict[int, int]:
    """For each bracket that has a partner the index of it, both ways.

    Brackets are paired kind by kind, so that an odd one inside a macro's text does the others no harm.
    """
    partners: dict[int, int] = {}
    open_ones: dict[str, list[int]] = {opener: [] for opener in _OPENERS.values()}
    for index, token in enumerate(tokens):
        if token.kind != "punctuation":
            continue
        if token.text in open_ones:
            open_ones[token.text].append(index)
        elif token.text in _OPENERS and open_ones[_OPENERS[token.text]]:
            opener = open_ones[_OPENERS[token.text]].pop()
            partners[opener], partners[index] = index, opener
    return partners
