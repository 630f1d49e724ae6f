"""What torch's headers can declare to one source: every identifier in what stock's preprocessor makes of its includes.

A set of names, kept in the cache for each list of includes, flags, torch and compiler. Read to refuse a source without
stock's compile (`decided.py`), so it may hold too many names and never too few: macros count with their bodies, both
passes of nvcc count, and so do parameters, comments of macros and whatever else looks like an identifier.
Not covered: names that a macro makes by pasting tokens (`pasting` says which may), and what compilers know themselves.
What is said of namespaces and of classes, `within` and `members`, is missing where it could not be told.
"""

import functools
import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.compile.cache import disk_faults
from harness.compile.compiler import compiler_version, readable_folders, run_compiler
from harness.compile.toolchain import Surroundings

PREPROCESS_S = 120.0
MOST_BYTES = 48 << 20
"""Of one preprocessed source: torch's are 15 to 17 MB, and a candidate's includes can be made to give any number."""
MOST_NAMES = 400_000
"""Identifiers, and those in the bodies of macros: `torch/extension.h` has 54,000 and 26,000 (torch 2.13)."""
_THIS_CODE = Path(__file__).read_bytes()
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_COMMENT_OR_TEXT = re.compile(
    r'//[^\n]*|/\*.*?(?:\*/|\Z)|R"(\w{0,16})\(.*?(?:\)\1"|\Z)|"(?:\\.|[^"\\\n])*+"?|'
    r"(?:\b(?:u8|[uUL])|(?<!\w))'(?:\\.|[^'\\\n])*+'?",  # and not what separates digits
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"\s*#\s*(\w*)")
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
_NAMESPACE = re.compile(r"\bnamespace\b((?:\s|::|\w|\[\[.*?\]\]|__attribute__\s*\(\(.*?\)\))*)\Z")
_CLASS = re.compile(
    r"\b(?:class|struct)\s+(?:\[\[.*?\]\]\s*|(?:__attribute__|alignas|__declspec)\s*\(.*?\)+\s*)*(\w+)\s*(?:<[^;{}]*>\s*)?"
    r"(?:final\s*)?(?::(?!:)([^;{}]*))?\Z"
)
_NAMESPACES = ("std", "pybind11")
_CLASSES = ("Tensor", "ArrayRef", "TensorOptions", "Scalar", "Device", "CUDAStream", "Half", "BFloat16")
_DECLARATOR = re.compile(r"\s*[*&(]|\s*\w+\s*\Z|[^*]{0,40}__attribute__[^*]{0,80}\*")
_USING = re.compile(r"\busing\b[^;]*")
_ELABORATED = re.compile(r"\b(?:struct|class|union|enum)\s+(\w+)")


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
        waiting = [word for word in words if word in self.bodies]
        while waiting:
            new = set(self.bodies[waiting.pop()]) - found
            found |= new
            waiting += [word for word in new if word in self.bodies]
        return frozenset(found)

    def write(self, file: Path) -> None:
        sets = {name: sorted(found) for name, found in vars(self).items() if isinstance(found, frozenset)}
        by_name = {key: {name: sorted(found) for name, found in getattr(self, key).items()} for key in _BY_NAME}
        file.write_text(json.dumps({**sets, **by_name}))


_BY_NAME = ("bodies", "within", "members")


@functools.lru_cache(maxsize=8)
def _read(file: Path) -> Names:
    found: dict[str, Any] = json.loads(file.read_text())
    for key, value in found.items():
        found[key] = {name: frozenset(words) for name, words in value.items()} if key in _BY_NAME else frozenset(value)
    return Names(**found)


def header_names(call: Sequence[str], text: str, files: Mapping[str, str], around: Surroundings) -> Names | None:
    """The names that headers hold for the source `text`, which `call`, stock's, compiles beside the other `files`.

    None where stock's preprocessor does not take the includes, not in time, or makes too much of them: then nothing can
    be said. Raises
    MachineError where the cache cannot be used.
    """
    skeleton = skeleton_of(text)
    files = files if _may_include(skeleton, files) else {}
    flags = ["-DTORCH_EXTENSION_NAME=any" if f.startswith("-DTORCH_EXTENSION_NAME=") else f for f in call[:-4]]
    parts = (
        flags,
        call[-3],
        skeleton,
        sorted(files.items()),
        around.machine.layout.describe(),
        compiler_version(call[0]),
    )
    digest = hashlib.sha256(repr((parts, _THIS_CODE)).encode(errors="surrogateescape"))
    fingerprint = f"names-{digest.hexdigest()[:32]}"
    cache = around.cache
    with cache.lock(f"{fingerprint}.lock"):
        folder = cache.tool(fingerprint, hold=False)
        if folder is None:
            printed = _preprocess(flags, call[-3], skeleton, files, around)
            names = None if printed is None else read_names(printed)
            if names is None:
                return None
            with disk_faults(cache.root), cache.work_folder() as work:
                names.write(work / "names.json")
                folder = cache.publish_tool(work, fingerprint, hold=False)
        return _read(folder / "names.json")


def _may_include(skeleton: str, files: Mapping[str, str]) -> bool:
    """Whether any of these files can matter to the directives of a source: one is named, or a macro names what, or
    they ask what there is.
    """
    included = re.findall(r"^\s*#\s*include\w*\s*(\S[^\n]*)", skeleton, re.MULTILINE)
    of_macros = any(not what.startswith(("<", '"')) for what in included)
    named = any(Path(name).name in what for name in files for what in included)
    return of_macros or named or "__has_include" in skeleton


def _preprocess(
    flags: Sequence[str], name: str, skeleton: str, files: Mapping[str, str], around: Surroundings
) -> str | None:
    """What stock's preprocessor makes of a skeleton: nvcc's of its passes for the host and for the device."""
    cuda = Path(flags[0]).name == "nvcc"
    passes = (("-Xcompiler", "-dD"), ("-Xcompiler", "-dD", "-U__CUDA_ARCH__")) if cuda else (("-dD",),)
    printed = []
    with disk_faults(around.cache.root), around.cache.work_folder() as work:
        for other, text in {**files, name: skeleton}.items():  # local headers may include each other
            (work / other).parent.mkdir(parents=True, exist_ok=True)
            (work / other).write_text(text, errors="surrogateescape")
        for own in passes:
            run = run_compiler(
                [*flags, *own, "-E", name, "-o", "printed.i"],
                cwd=work,
                deadline_s=PREPROCESS_S,
                readable=readable_folders(around.machine.layout, around.cache),
            )
            if not run.ok:
                return None
            if (work / "printed.i").stat().st_size > MOST_BYTES:
                return None
            printed.append((work / "printed.i").read_text(errors="replace"))
            (work / "printed.i").unlink()
    return "\n".join(printed)


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


def skeleton_of(text: str) -> str:
    """The directives of a source up to its last include: they alone decide what headers say to it."""
    lines = [line for line in without_comments(text).splitlines() if _DIRECTIVE.match(line)]
    words = [found[1] if (found := _DIRECTIVE.match(line)) else "" for line in lines]
    last = max((index for index, word in enumerate(words) if word.startswith("include")), default=-1)
    depth = 0
    for word in words[: last + 1]:
        depth += (word in ("if", "ifdef", "ifndef")) - (word == "endif")
    return "\n".join((*lines[: last + 1], *["#endif"] * max(0, depth), ""))


def read_names(printed: str) -> Names | None:
    """The names in what `-E -dD` printed, but for lines that came from files of the candidate's; None for too many."""
    lines = list(_of_headers(printed))
    everywhere = _distinct(lines)
    bodies = {found[1]: found[2] for line in lines if line.startswith("#define") and (found := _DEFINE.match(line))}
    if everywhere is None or sum(len(set(IDENTIFIER.findall(body))) for body in bodies.values()) > MOST_NAMES:
        return None
    code = "\n".join(line for line in lines if line and not line.startswith("#"))
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


def _distinct(lines: Iterable[str]) -> frozenset[str] | None:
    """The identifiers of these lines; None where there are too many."""
    found: set[str] = set()
    for line in lines:
        found.update(IDENTIFIER.findall(line))
        if len(found) > MOST_NAMES:
            return None
    return frozenset(found)


def _of_headers(printed: str) -> Iterator[str]:
    """Lines that headers or the compiler's own definitions made: those of files with an absolute name, or none."""
    theirs = True
    for line in printed.splitlines():
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
    waiting = [rest]
    while waiting:
        piece = waiting.pop()
        depth = last = begun = 0
        for bracket in re.finditer(r"[()]", piece):
            if bracket[0] == "(":
                if depth == 0:
                    found.update(IDENTIFIER.findall(piece[last : bracket.start()]))
                    begun = bracket.end()
                depth += 1
                continue
            depth -= 1
            if depth < 0:
                return frozenset(IDENTIFIER.findall(code))
            if depth == 0:
                last = bracket.end()
                inner = piece[begun : bracket.start()]
                if _DECLARATOR.match(inner) or re.match(r"\s*[(\[]", piece[last : last + 40]):
                    waiting.append(inner)
                else:
                    found.update(_ELABORATED.findall(inner))
        found.update(IDENTIFIER.findall(piece[last:]))
    return frozenset(found)


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


def _within(code: str, blocks: Sequence[_Block]) -> dict[str, frozenset[str]]:
    """By namespace what is in it, and in those that it uses; left out where it uses one that is not looked at."""
    texts = {name: "\n".join(code[b.start : b.end] for b in blocks if name in b.namespaces[:1]) for name in _NAMESPACES}
    inner = {name for block in blocks for name in block.namespaces}
    words = {name: frozenset(IDENTIFIER.findall("\n".join(_unqualified(text)))) for name, text in texts.items() if text}
    reached = {name: {name} for name in words}
    for name in words:
        for used in re.findall(r"\busing\s+namespace\s+(?:::\s*)?(\w+)", texts[name]):
            nested = used in inner and re.search(rf"\bnamespace\s+{used}\b", texts[name])
            reached[name].add(used if used in words or not nested else name)
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
        waiting, seen, words = [name], {name}, set()
        while waiting:
            for block in by_name.get(waiting.pop(), ()):
                words.update(IDENTIFIER.findall(code[block.start : block.end]))
                bases = set(IDENTIFIER.findall(block.bases)) - seen
                seen |= bases
                waiting += bases
        if name in by_name:
            found[name] = frozenset(words)
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
