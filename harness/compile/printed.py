"""The names in what a preprocessor printed: identifiers by where they stand, macros by what they bring.

    python -I -S printed.py NAMES PRINTED...     what reads it, among the compilers

A candidate decides what it includes, and so what is printed: any text of up to MOST_BYTES. `names.py` has this
file run as a program, with the standard library alone, in the sandbox and within the limits of a compiler. The time
that it takes is in proportion to the text.
"""

import json
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOST_BYTES = 48 << 20
"""Of what one pass printed: torch's headers are 15 to 17 MB."""
MOST_WORDS = 1 << 19
"""Of all the sets that are found: those of torch's headers for a CPU have 160,000, which take 20 MB of memory."""
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_COMMENT_OR_TEXT = re.compile(
    r'//[^\n]*|/\*.*?(?:\*/|\Z)|R"(\w{0,16})\(.*?(?:\)\1"|\Z)|"(?:\\.|[^"\\\n])*+"?|'
    r"(?:\b(?:u8|[uUL])|(?<!\w))'(?:\\.|[^'\\\n])*+'?",  # and not what separates digits
    re.DOTALL,
)
_MARKER = re.compile(r'# \d+ "([^"]*)"')
_DEFINE = re.compile(r"#define (\w+)(?:\([^)]*\))?(.*)")
_PASTE = re.compile(r",\s*##\s*__VA_ARGS__")
_PAIRS = {")": "(", "]": "[", "}": "{"}
_IN_PAIRS = r"[^;{}()]"
for _ in range(5):  # so many pairs in each other
    _IN_PAIRS = rf"(?:[^;{{}}()]|\({_IN_PAIRS}*\))"
# A block whose names are visible around it.
_OPEN_BLOCK = re.compile(
    r'(?:\bnamespace\s*(?:\[\[[^\]]*\]\]\s*)?|\binline\s+namespace\b[^;{}]*|\bextern\s*""\s*|'
    rf"\benum\b{_IN_PAIRS}*|"  # and not a function with such a parameter
    r"\bunion\s*)\Z"
)
_BLOCK_HEAD = 400
"""Characters before a brace that are looked at to know what it opens."""
# Possessive, so that there is one way to read each: two ways in each of a hundred would never end.
_BRACKETS = r"\[\[(?:(?!\]\]).)*+\]\]++"
_TWO_PAIRS = r"\((?:[^()]|\((?:[^()]|\([^()]*+\))*+\))*+\)"  # and a third inside of these
_NAMESPACE = re.compile(rf"\bnamespace\b((?:\s|::|{_BRACKETS}|__attribute__\s*+{_TWO_PAIRS}|\w)*+)\Z")
_CLASS = re.compile(
    rf"\b(?:class|struct)\s+(?:{_BRACKETS}\s*+|(?:__attribute__|alignas|__declspec)\s*+{_TWO_PAIRS}\s*+)*+(\w++)\s*+"
    r"(?:<[^;{}]*>\s*)?(?:final\s*)?(?::(?!:)([^;{}]*))?\Z"
)
_NAMESPACES = ("std", "pybind11")
_CLASSES = ("Tensor", "ArrayRef", "TensorOptions", "Scalar", "Device", "CUDAStream", "Half", "BFloat16")
_DECLARATOR = re.compile(r"\s*[*&(]|\s*\w+\s*\Z|[^*]{0,40}__attribute__[^*]{0,80}\*")
_USING = re.compile(r"\busing\b[^;]*")
_ELABORATED = re.compile(r"\b(?:struct|class|union|enum)\s+(\w+)")
_CALLED = re.compile(r"\s*[(\[]")


@dataclass(frozen=True)
class Names:
    """What headers hold. `everywhere`: every identifier; `outside`: those outside of named namespaces, classes and
    functions, which is where an unqualified name at global scope is looked for, besides what macros declare around it;
    `bodies`: by macro, the identifiers of its definition, where it has any; `pasting`: macros that may make an
    identifier out of others; `unbalanced`: macros whose brackets do not pair; `literals`: suffixes of literals;
    `within`: by namespace, the identifiers in it and in those that it uses; `members`: by the last name of a class of
    torch's, those in its body and its bases'.
    """

    everywhere: frozenset[str]
    outside: frozenset[str]
    pasting: frozenset[str]
    unbalanced: frozenset[str]
    bodies: Mapping[str, Collection[str]]
    literals: frozenset[str] = frozenset()
    within: Mapping[str, frozenset[str]] = field(default_factory=dict)
    members: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def of_macros(self, words: Iterable[str]) -> frozenset[str]:
        """The identifiers that macros among these words bring, and those that they name in turn."""
        found: set[str] = set()
        waiting = [word for word in dict.fromkeys(words) if word in self.bodies]
        while waiting:
            new = set(self.bodies[waiting.pop()]) - found
            found |= new
            waiting += [word for word in new if word in self.bodies]
        return frozenset(found)

    def to_json(self) -> dict[str, Any]:
        """As lists, in an order, for `of_json`."""
        sets = {name: sorted(found) for name, found in vars(self).items() if isinstance(found, frozenset)}
        by_name = {key: {name: sorted(found) for name, found in getattr(self, key).items()} for key in _BY_NAME}
        return {**sets, **by_name}

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> "Names":
        fields: dict[str, Any] = {key: frozenset(words) for key, words in found.items() if key not in _BY_NAME}
        for key in _BY_NAME:
            fields[key] = {name: frozenset(words) for name, words in found[key].items()}
        return cls(**fields)

    @property
    def words(self) -> int:
        """How many identifiers all of its sets have."""
        by_name = (words for key in _BY_NAME for words in getattr(self, key).values())
        return sum(len(found) for found in (*vars(self).values(), *by_name))


_BY_NAME = ("bodies", "within", "members")


def lines_of(text: str) -> list[str]:
    """The lines of a source, or of what a compiler printed, as compilers count them.

    `str.splitlines` also ends one at a form feed or a separator of Unicode's, so that all behind it would be elsewhere.
    """
    return text.removesuffix("\n").split("\n") if text else []


def without_comments(text: str, *, keep_strings: bool = True) -> str:
    """A source with its comments blanked and escaped line ends joined; raw strings, or all strings and characters, are
    empty. Lines stay where they are.
    """

    def blank(found: re.Match[str]) -> str:
        piece = found[0]
        lines = "\n" * piece.count("\n")
        if piece.startswith("/"):
            return f" {lines}"
        return piece if keep_strings and not piece.startswith("R") else f'""{lines}'

    joined = re.sub(r"^(?:[^\n]*\\\n)+[^\n]*", _joined, text, flags=re.MULTILINE) if "\\\n" in text else text
    return _COMMENT_OR_TEXT.sub(blank, joined)


def _joined(found: re.Match[str]) -> str:
    """A line that goes on over escaped line ends as one, with as many empty ones after it."""
    return found[0].replace("\\\n", "") + "\n" * found[0].count("\\\n")


def read_names(printed: str) -> Names:
    """The names in what `-E -dD` printed, but for lines that came from files of the candidate's."""
    lines = list(_of_headers(printed))
    bodies = {found[1]: found[2] for line in lines if line.startswith("#define") and (found := _DEFINE.match(line))}
    code = "\n".join(line for line in lines if line and not line.startswith("#"))
    everywhere = frozenset(word for line in lines for word in IDENTIFIER.findall(line))
    code = without_comments(code, keep_strings=False)
    outside = "\n".join(_outside(code))
    blocks = list(_named_blocks(code))
    brought_in = re.search(r"\busing\s+namespace\b", outside)
    return Names(
        everywhere=everywhere,
        outside=everywhere if brought_in else frozenset((*declared_in(outside), *bodies)),
        pasting=_pasting(bodies),
        unbalanced=frozenset(name for name, body in bodies.items() if not balanced(body)),
        bodies={name: words for name, body in bodies.items() if (words := frozenset(IDENTIFIER.findall(body)))},
        literals=frozenset(re.findall(r'operator\s*""\s*(\w+)', code)),
        within=_within(code, blocks),
        members=_members(code, blocks),
    )


def _of_headers(printed: str) -> Iterator[str]:
    """Lines that headers or the compiler's own definitions made: those of files with an absolute name, or none."""
    theirs = True
    for line in lines_of(printed):
        if found := _MARKER.match(line):
            theirs = found[1].startswith(("/", "<"))
        elif theirs:
            yield line


def _outside(code: str) -> Iterator[str]:
    """The pieces of a source that lie in no block but those whose names are visible around them."""
    depth = last = 0
    for brace in re.finditer(r"[{}]", code):
        at = brace.start()
        if depth == 0:
            yield code[last:at]
            begun, last = last, at + 1
            if brace[0] == "{" and not _OPEN_BLOCK.search(code[max(begun, at - _BLOCK_HEAD) : at]):
                depth = 1
        else:
            depth += 1 if brace[0] == "{" else -1
            last = at + 1
    yield code[last:]


def declared_in(code: str) -> frozenset[str]:
    """The identifiers of a piece without blocks but those that can only be a parameter's, or the last part of `a::b`.

    In brackets a name is declared behind `*` or `&`, alone, or where more brackets follow, and a class by `struct`.
    """
    used, rest = _unqualified(code)
    found = set(IDENTIFIER.findall(used))
    closings = _closings(rest)
    if closings is None:
        return frozenset(IDENTIFIER.findall(code))
    last = 0
    for bracket in re.finditer(r"[()]", rest):
        if bracket.start() < last:  # in brackets that declare nothing
            continue
        found.update(IDENTIFIER.findall(rest, last, bracket.start()))
        last = begun = bracket.end()
        if bracket[0] == "(":
            if (closing := closings.get(bracket.start())) is None:
                break
            if not _DECLARATOR.match(rest, begun, closing) and not _CALLED.match(rest, closing + 1, closing + 41):
                found.update(_ELABORATED.findall(rest, begun, closing))
                last = closing + 1
    found.update(IDENTIFIER.findall(rest, last))
    return frozenset(found)


def _closings(code: str) -> dict[int, int] | None:
    """Where each bracket that is closed is closed; None where one is closed that was never opened."""
    opened: list[int] = []
    closings = {}
    for bracket in re.finditer(r"[()]", code):
        if bracket[0] == "(":
            opened.append(bracket.start())
        elif not opened:
            return None
        else:
            closings[opened.pop()] = bracket.start()
    return closings


def _unqualified(code: str) -> tuple[str, str]:
    """What `using` brings in, and the rest without the last part of `a::b`, which declares nothing around it."""
    rest = _USING.sub("", code)
    return "\n".join(_USING.findall(code)), re.sub(r"(?<=[\w>])\s*::\s*(?:template\s+)?[A-Za-z_]\w*", "", rest)


@dataclass(frozen=True)
class _Block:
    """A block of a namespace or a class: their names, what a class inherits, where it begins and ends."""

    namespaces: tuple[str, ...]
    name: str
    bases: str
    start: int
    end: int


def _named_blocks(code: str) -> Iterator[_Block]:
    """The blocks of namespaces and classes, inner ones first."""
    opened: list[tuple[int, int]] = []
    last = 0
    for brace in re.finditer(r"[{}]", code):
        at = brace.start()
        if brace[0] == "{":
            opened.append((max(last, at - _BLOCK_HEAD), at))
        elif opened:
            head_at, start = opened.pop()
            head = code[head_at:start].rpartition(";")[2]
            if found := _NAMESPACE.search(head):
                yield _Block(tuple(IDENTIFIER.findall(found[1])), "", "", start, at)
            elif found := _CLASS.search(head):
                yield _Block((), found[1], found[2] or "", start, at)
        last = at + 1


def _in_any(code: str, blocks: Iterable[_Block]) -> str:
    """The text of these blocks, that of one inside another once."""
    pieces = []
    end = 0
    for block in sorted(blocks, key=lambda one: one.start):
        if block.start >= end:
            pieces.append(code[block.start : block.end])
            end = block.end
    return "\n".join(pieces)


def _within(code: str, blocks: Sequence[_Block]) -> dict[str, frozenset[str]]:
    """By namespace what is in it, and in those that it uses; left out where it uses one that is not looked at."""
    texts = {name: _in_any(code, (b for b in blocks if name in b.namespaces[:1])) for name in _NAMESPACES}
    inner = {name for block in blocks for name in block.namespaces}
    words = {name: frozenset(IDENTIFIER.findall("\n".join(_unqualified(text)))) for name, text in texts.items() if text}
    reached = {name: {name} for name in words}
    for name in words:
        nested = inner.intersection(re.findall(r"\bnamespace\s+(\w+)", texts[name]))
        for used in re.findall(r"\busing\s+namespace\s+(?:::\s*)?(\w+)", texts[name]):
            reached[name].add(used if used in words or used not in nested else name)
    for _ in words:
        reached = {name: {deep for one in to for deep in reached.get(one, {one})} for name, to in reached.items()}
    return {name: frozenset().union(*(words[one] for one in to)) for name, to in reached.items() if to <= words.keys()}


def _members(code: str, blocks: Sequence[_Block]) -> dict[str, frozenset[str]]:
    """By class of torch's what its bodies and its bases' hold, whichever classes have that name."""
    by_name: dict[str, list[_Block]] = {}
    for block in blocks:
        by_name.setdefault(block.name, []).append(block)
    found = {}
    for name in _CLASSES:
        waiting, seen, reached = [name], {name}, list[_Block]()
        while waiting:
            for block in by_name.get(waiting.pop(), ()):
                reached.append(block)
                bases = set(IDENTIFIER.findall(block.bases)) - seen
                seen |= bases
                waiting += bases
        if name in by_name:
            found[name] = frozenset(IDENTIFIER.findall(_in_any(code, reached)))
    return found


def _pasting(bodies: Mapping[str, str]) -> frozenset[str]:
    """Macros whose body pastes, or names a macro that does."""
    named_by: dict[str, list[str]] = {}
    for name, body in bodies.items():
        for word in set(IDENTIFIER.findall(body)):
            named_by.setdefault(word, []).append(name)
    waiting = [name for name, body in bodies.items() if "##" in _PASTE.sub("", body)]
    found = set(waiting)
    while waiting:
        new = [name for name in named_by.get(waiting.pop(), ()) if name not in found]
        found.update(new)
        waiting += new
    return frozenset(found)


def balanced(code: str) -> bool:
    """Whether the brackets of a text pair, leaving out its comments and strings."""
    opened: list[str] = []
    for bracket in re.findall(r"[()\[\]{}]", without_comments(code, keep_strings=False)):
        if bracket in _PAIRS:
            if not opened or opened.pop() != _PAIRS[bracket]:
                return False
        else:
            opened.append(bracket)
    return not opened


def _main(target: str, *printed: str) -> int:
    """Writes the names of all that was printed to a file; 1 where that is too much."""
    files = [Path(each) for each in printed]
    if any(file.stat().st_size > MOST_BYTES for file in files):
        return 1
    names = read_names("\n".join(file.read_text(errors="replace") for file in files))
    if names.words > MOST_WORDS:
        return 1
    Path(target).write_text(json.dumps(names.to_json()))
    return 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
