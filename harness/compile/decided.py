"""Compile failures that need no stock compile: each of RULES tells from a fast compile that stock would refuse too.

A rule looks at the first error of one source, because whatever follows may come of it. It holds where the cause lies in
the candidate's own text and nothing that torch's headers might declare could mend it. It rests on two things: the fast
toolchain runs the same compiler, with the same flags, over a text that differs in torch's headers alone; and what a
source could take otherwise from these is left to stock before (`beyond.py`). Whatever no rule knows is asked of stock.
"""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from harness.compile.names import IDENTIFIER, Names, balanced, header_names, without_comments
from harness.compile.recipe import Plan
from harness.compile.toolchain import Surroundings

_GCC = re.compile(r"(?P<file>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)")
_NVCC = re.compile(r"(?P<file>[^\n(]+)\((?P<line>\d+)\): (?:catastrophic )?error(?: #\d+(?:-D)?)?: (?P<text>.*)")
_END = re.compile(r"(?P<file>At end of source): error(?: #\d+(?:-D)?)?: (?P<text>.*)")
MOST_CHARACTERS = 1 << 18
"""Of all sources together: what is read of longer ones would take seconds of the controller's."""
_LONGEST_LINE = 2_000
"""Characters of a compiler's line that are looked at: a candidate has it print lines of any length."""
_ANY_ERROR = re.compile(r"^[^\n]*?\berror\b[^\n]*:|^nvcc fatal")
_OWN = re.compile(r"(?:cpp|cuda)_sources\[\d+\]|binding")
_MARK = re.compile(r'^#line 1 "([^"]*)"\n', re.MULTILINE)
_LINE_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?:line\b|\d)", re.MULTILINE)


@dataclass(frozen=True)
class Decision:
    """`rule` names the row of RULES; `log` is the error in the compiler's own words, `detail` its first line."""

    rule: str
    detail: str
    log: str


@dataclass(frozen=True)
class _Error:
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
    def errors(self) -> list[_Error | None]:
        """The errors in the compiler's order; None for one whose place is not in the candidate's own text."""
        lines = [line[:_LONGEST_LINE] for line in self.output.splitlines()]
        starts = [index for index, line in enumerate(lines) if _ANY_ERROR.search(line)]
        return [self._read("\n".join(lines[start:end])) for start, end in itertools.pairwise([*starts, None])]

    @property
    def error(self) -> _Error | None:
        """The first error, where its place is in the candidate's own text."""
        return self.errors[0] if self.errors else None

    def _read(self, paragraph: str) -> _Error | None:
        found = _GCC.match(paragraph) or _NVCC.match(paragraph) or _END.match(paragraph)
        if found is None or not self._is_own(found["file"]):
            return None
        line = found.groupdict().get("line")
        return _Error(found["file"], int(line or 0), found["text"], paragraph.strip())

    def _is_own(self, file: str) -> bool:
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
        return not pasted and not _LINE_DIRECTIVE.search(_MARK.sub("", self.text))

    def line(self) -> str:
        """The line that the first error is on, without comments."""
        lines = self.lines()
        return lines[self.error.line - 1] if self.error and 0 < self.error.line <= len(lines) else ""

    def lines(self) -> list[str]:
        """Those of the text that the first error is in, without comments and strings."""
        assert self.error is not None
        parts = _MARK.split(self.text)
        texts = {**self.local, self.name: self.text, **dict(zip(parts[1::2], parts[2::2], strict=True))}
        return without_comments(texts.get(self.error.file, ""), keep_strings=False).splitlines()


_SUGGESTION = re.compile(r"; did you mean '[^'\n]*'\?")
"""What a compiler guesses from the names that it knows, which are the facade's here."""


# ---- rules of one source -----------------------------------------------------------------------------------------

_FLAG = re.compile(
    r"nvcc fatal\s*: (?:Unknown option|Unsupported|Value '.*' is not defined for option|redefinition of argument|"
    r"'.*': expected)|(?:\S*/)?(?:g\+\+|c\+\+|cc1plus|gcc)(?:-\d+)?: (?:fatal )?error: "
    r"(?:unrecognized|bad value|unknown|invalid|argument to)"
)


def _flag(unit: Unit) -> str | None:
    """A flag that the compiler does not take: it is refused before a source is read, and stock gets the same ones."""
    return next((line for line in unit.output.splitlines()[:1] if _FLAG.match(line)), None)


def _include(unit: Unit) -> str | None:
    """An include that is nowhere: the fast toolchain looks in every folder that stock looks in, and some more."""
    error = unit.error
    missing = r"\S+: No such file or directory|(?:could not|cannot) open source file \S+.*"
    return error.log if error and re.fullmatch(missing, error.text) else None


_LEXICAL = re.compile(
    r"missing terminating|missing closing quote|unterminated (?!argument)|comment unclosed|stray '|"
    r"#(?:endif|else|elif) without|#error|invalid preprocessing directive|invalid suffix|"
    r"extended character .* is not valid in an identifier"
)


def _lexical(unit: Unit) -> str | None:
    """An open string, comment or `#if`, a character that is none of C++'s: read before any name means something."""
    error = unit.error
    return error.log if error and unit.is_plain and _LEXICAL.match(error.text) else None


def _brackets(unit: Unit) -> str | None:
    """Brackets that do not pair. They pair in every program, and in headers; so they must in the candidate's text,
    where no macro of it or that it uses has a bracket too many and nothing is left out by a condition.
    """
    error, words = next((e for e in unit.errors if e and "expected" in e.text), unit.error), set(unit.words)
    if (
        error is None
        or not unit.is_plain
        or unit.local
        or re.search(r"^[ \t]*#[ \t]*(?:if|el)|<%|<:", unit.own, re.MULTILINE)
    ):
        return None
    if balanced(unit.own) or any(not balanced(line) for line in unit.own.splitlines() if re.match(r"\s*#", line)):
        return None
    return error.log if unit.names is not None and unit.names.unbalanced.isdisjoint(words) else None


_UNDECLARED = tuple(
    re.compile(pattern)
    for pattern in (
        r"'(?:[^']*::)?(\w+)' (?:was not declared in this scope|does not name a type|has not been declared|is not a "
        r"member of '|does not name a template type|is not a class|is not a type|is not a template|"
        r"in namespace '[^']*' does not)",
        r"there are no arguments to '(\w+)' that depend on a template parameter",
        r'identifier "(\w+)" is undefined',
        r'namespace "[^"]*" has no member "(\w+)"',
    )
)
_MEMBER = tuple(
    re.compile(pattern)
    for pattern in (
        r"'[^']*' has no member named '(\w+)'",
        r'(?:class|struct|union) "[^"]*" has no (?:actual )?member "(\w+)"',
    )
)
_PASTES_ELSEWHERE = re.compile(
    r"PYBIND11_MODULE|TORCH_EXTENSION_NAME|U?INT\w*_(?:MIN|MAX|C)|M_\w+|TORCH_WARN_ONCE|__\w+|_\w+"
)
"""Macros that paste, and what they make begins or ends with something of their own, as no name does that is decided."""
_PASTED = re.compile(r"(?:pybind11|PyInit)_\w*|_\w*|\w*_\d+|U?L*|\w*f\d+x?")


def _undeclared(unit: Unit) -> str | None:
    """A name that nothing declares: it stands nowhere in stock's headers, so no declaration of theirs can be of it, and
    where the candidate's own text declares it, it does so over both kinds of headers, and not where it is used.
    """
    found = _first_match(unit, _UNDECLARED)
    return unit.error.log if unit.error and found and _is_unknown(unit, found) else None


_UNQUALIFIED = re.compile(
    r"'(?P<gcc>\w+)' (?:was not declared in this scope|does not name a type|has not been declared)|"
    r'identifier "(?P<nvcc>\w+)" is undefined'
)
_BASE_CLASS = re.compile(r"\b(?:struct|class)\s+\w+(?:\s*<[^;{}]{0,200}>)?(?:\s+final)?\s*:(?!:)")


def _out_of_scope(unit: Unit) -> str | None:
    """An unqualified name that is not called: stock's headers have it, if at all, inside of namespaces, classes and
    functions, where it is not looked for, and no macro of theirs can have declared it around its use.
    """
    error = unit.error
    found = _UNQUALIFIED.match(error.text) if error else None
    if error is None or found is None or not error.line or unit.names is None or _BASE_CLASS.search(unit.own):
        return None
    name = found["gcc"] or found["nvcc"]
    line = unit.line()
    called = re.search(rf"\b{name}\s*+(?:<[^;()]{{0,200}}>\s*+)?\(", line) or not re.search(rf"\b{name}\b", line)
    if called or line.lstrip().startswith("#") or re.search(rf"\busing\b[^;]{{0,200}}\b{name}\b", unit.own):
        return None
    hidden = name not in unit.names.outside and name not in unit.names.of_macros(unit.words)
    return error.log if hidden and _no_paste_makes(unit, name) else None


def _no_member(unit: Unit) -> str | None:
    """A member of that name has no class: it stands nowhere in stock's headers, and in the candidate's text only where
    it is used.
    """
    found = _first_match(unit, _MEMBER)
    if not unit.error or not found or not _is_unknown(unit, found):
        return None
    uses = len(re.findall(rf"(?:\.|->)\s*(?:template\s+)?{found}\b", unit.own))
    return unit.error.log if uses == unit.words.count(found) else None


def _first_match(unit: Unit, patterns: Sequence[re.Pattern[str]]) -> str | None:
    text = unit.error.text if unit.error else ""
    return next((found[1] for pattern in patterns if (found := pattern.match(text))), None)


def _is_unknown(unit: Unit, name: str) -> bool:
    """Whether no header of stock's holds this name, nor makes it by a macro that the source uses."""
    return unit.names is not None and name not in unit.names.everywhere and _no_paste_makes(unit, name)


def _no_paste_makes(unit: Unit, name: str) -> bool:
    """Whether no macro, of the source or of stock's headers and used there, can make this name out of others."""
    if unit.names is None or not unit.is_plain or _PASTED.fullmatch(name):
        return False
    return all(_PASTES_ELSEWHERE.fullmatch(macro) for macro in unit.names.pasting.intersection(unit.words))


_QUALIFIED = re.compile(r"(?<![\w:])(?:::\s*)?(at|torch|c10|std|pybind11|py)((?:\s*::\s*\w+)+)")


def _qualified(unit: Unit) -> str | None:
    """`at::cuda::x` of which a part stands nowhere in stock's headers, on the line of the error: the namespace is
    torch's or the library's, so the candidate declares nothing in it (`beyond.py`).
    """
    error = unit.error
    if error is None or not error.line or re.search(r"\bnamespace\s+(?:at|torch|c10|std|pybind11)\b", unit.own):
        return None
    line = unit.line()
    own_macros = set(re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", unit.own, re.MULTILINE))
    if line.lstrip().startswith("#") or not own_macros.isdisjoint(IDENTIFIER.findall(line)):
        return None
    parts = [part for found in _QUALIFIED.finditer(line) for part in IDENTIFIER.findall(found[2])]
    return error.log if any(_is_unknown(unit, part) for part in parts) else None


def _function(unit: Unit) -> str | None:
    """A function of `functions=` that is declared nowhere: the module that is generated names it at global scope."""
    return _out_of_scope(unit) if unit.error and unit.error.file == "binding" else None


_MODULE_TWICE = re.compile(r" error: (redefinition of 'PyObject\* PyInit_\w+\(\)')")


def _defined_again(unit: Unit) -> str | None:
    """A definition of which another stands before it in the candidate's own text: both are there over any headers."""
    first = next((line[:_LONGEST_LINE] for line in unit.output.splitlines() if " error: " in line), "")
    if (twice := _MODULE_TWICE.search(first)) and unit.words.count("PYBIND11_MODULE") > 1:
        place = re.search(r"^(.*): note: in expansion of macro 'PYBIND11_MODULE'", unit.output, re.MULTILINE)
        return f"{place[1]}: error: {twice[1]}" if place and not unit.errors[0] else None
    error = unit.error
    if error is None or not re.match(r"redefinition of '|conflicting declaration '|redeclaration of '", error.text):
        return None
    places = re.findall(r"^([^:\n]+):\d+:(?:\d+:)? note: .*(?:previous|here)", error.log, re.MULTILINE)
    return error.log if places and all(unit._is_own(place) for place in places) else None


def _count(unit: Unit) -> str | None:
    """Too many or too few arguments to a function that only the candidate can declare: no header has its name."""
    error = unit.error
    if error is None:
        return None
    one = re.match(r"too (?:many|few) arguments to function '(?:[^'(]*\W)?(\w+)\(", error.text)
    several = re.match(r"no matching function for call to '(\w+)\(", error.text)
    if one:
        return error.log if _is_unknown(unit, one[1]) else None
    notes = re.findall(r" note: +(.*)", error.log)
    reasons = [note for note in notes if not note.startswith("candidate: ")]
    counted = bool(reasons) and all(
        re.match(r"candidate expects \d+ arguments?, \d+ provided", note) for note in reasons
    )
    return error.log if several and counted and _is_unknown(unit, several[1]) else None


_SAFE_MACROS = re.compile(
    r"__(?:global|device|host|shared|constant|restrict|forceinline|launch_bounds)__|NULL|INFINITY|NAN|M_\w+|"
    r"(?:FLT|DBL|INT)_(?:MAX|MIN)"
)
"""Macros that end no statement and begin none, over any headers."""


def _syntax(unit: Unit) -> str | None:
    """A token is expected and missing, in a statement without macros of headers. What a name is, a type, a function or
    a value, it is over both kinds of headers; only what is a template could be parsed otherwise, and none is there.
    """
    error = unit.error
    if error is None or error.line < 2 or not error.text.startswith("expected ") or not unit.is_plain:
        return None
    lines = unit.lines()
    before = "\n".join(lines[: error.line - 2])
    begun = max((before.rfind(mark) for mark in ";{}"), default=-1)
    statement = before[begun + 1 :] + "\n" + "\n".join(lines[error.line - 2 : error.line])
    if re.search(r"(?:::|\.|->)\s*\w+\s*<|^[ \t]*#|\boperator\b|\btemplate\b", statement, re.MULTILINE):
        return None
    words = [word for word in IDENTIFIER.findall(statement) if not _SAFE_MACROS.fullmatch(word)]
    if unit.names is None or any(word in unit.names.bodies or word in unit.names.unbalanced for word in words):
        return None
    return error.log


# ---- rules of the objects together -------------------------------------------------------------------------------

_TWICE = re.compile(r"multiple definition of [`']([^'\n]*)'; (\S+?\.o):.*first defined here")
_MOST_TWICE = 20  # that are looked at
_OF_HEADERS = re.compile(r"(?:at|c10|caffe2|torch|slim|pybind11|std|__gnu_cxx)::")


def _defined_twice(output: str, objects: Sequence[str], texts: Sequence[str]) -> str | None:
    """A symbol that two of the candidate's own objects define is defined twice whatever the headers: a second
    PYBIND11_MODULE beside the one that `functions=` generates, a function that is in two sources.
    """
    lines = (line[:_LONGEST_LINE] for line in output.splitlines())
    for found in itertools.islice(filter(None, map(_TWICE.search, lines)), _MOST_TWICE):
        symbol, first = found[1], found[2]
        name = re.match(r"(?:[\w:]*::)?(\w+)", symbol)
        if first not in objects or name is None or _OF_HEADERS.match(symbol):
            continue
        makers = [text for text in texts if re.search(rf"\b{name[1]}\b", text) or "PYBIND11_MODULE" in text]
        if len(makers) > 1 and (name[1].startswith("PyInit_") or all(name[1] in text for text in makers)):
            return f"{_place(makers, name[1])}: error: {found[0]}"
    return None


def _place(makers: Sequence[str], name: str) -> str:
    """Where the last of these sources defines a symbol, as `label:line`: what it names there, or its module."""
    word = "PYBIND11_MODULE" if name.startswith("PyInit_") else name
    for text in reversed(makers):
        parts = _MARK.split(text)
        for label, part in zip(parts[1::2], parts[2::2], strict=True):
            found = re.search(rf"\b{word}\b", part)
            if found and label != "binding":
                return f"{label}:{part.count(chr(10), 0, found.start()) + 1}"
    return "link"


RULES: dict[str, Callable[[Unit], str | None]] = {
    "flag": _flag,
    "include": _include,
    "lexical": _lexical,
    "function": _function,
    "undeclared": _undeclared,
    "out-of-scope": _out_of_scope,
    "member": _no_member,
    "qualified": _qualified,
    "defined-again": _defined_again,
    "count": _count,
    "brackets": _brackets,
    "syntax": _syntax,
}
"""What decides a source's refusal; each gives the error's text where it does. In this order, the cheap ones first."""
TWICE = "defined-twice"
"""What decides a link's: `_defined_twice`."""


def decide(
    outputs: Sequence[str], linked: str | None, fast: Plan, stock: Plan, around: Surroundings
) -> Decision | None:
    """Whether stock would refuse as well, and by which rule; None where it has to be asked.

    `outputs` are what the compilers of the plan `fast` said, "" for those that were content; `linked` what the linker
    said, None where it was not asked. `stock` is stock's plan of the same request. Raises MachineError.
    """
    sources = [call[-3] for call in stock.compile]
    if sources != [call[-3] for call in fast.compile] or sum(map(len, stock.files.values())) > MOST_CHARACTERS:
        return None
    local = {name: text for name, text in stock.files.items() if name not in sources}
    for call, output in zip(stock.compile, outputs, strict=True):
        if output and (found := _by_rule(_unit(call, output, stock, local, around))) is not None:
            return found
    if linked is not None:
        objects = [call[-1] for call in fast.compile]
        log = _defined_twice(linked, objects, [stock.files[name] for name in sources])
        return Decision(TWICE, log.split("\n", 1)[0], log) if log else None
    return None


def _unit(call: Sequence[str], output: str, stock: Plan, local: Mapping[str, str], around: Surroundings) -> Unit:
    name = call[-3]
    text = stock.files[name]
    beside = {other: text for other, text in stock.files.items() if other != name}
    return Unit(name, text, output, local, ask_names=lambda: header_names(call, text, beside, around))


def _by_rule(unit: Unit) -> Decision | None:
    for name, rule in RULES.items():
        if log := rule(unit):
            log = _SUGGESTION.sub("", log)
            return Decision(name, log.split("\n", 1)[0][:500], log)
    return None
