"""What torch's headers can declare to one source: every identifier in what stock's preprocessor makes of its includes.

A set of names, kept in the cache for each list of includes, flags, torch and compiler. Read to refuse a source without
stock's compile (`decided.py`), so it may hold too many names and never too few: macros count with their bodies, both
passes of nvcc count, and so do parameters, comments of macros and whatever else looks like an identifier.
Not covered: names that a macro makes by pasting tokens (`pasting` says which may), and what compilers know themselves.
"""

import functools
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.compile.cache import disk_faults
from harness.compile.compiler import compiler_version, readable_folders, run_compiler
from harness.compile.toolchain import Surroundings

PREPROCESS_S = 120.0
MOST_BYTES = 48 << 20
"""Of one preprocessed source: torch's are 15 to 17 MB, and a candidate's includes can be made to give any number."""
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
# A block whose names are visible around it.
_OPEN_BLOCK = re.compile(
    r'(?:\bnamespace\s*(?:\[\[[^\]]*\]\]\s*)?|\binline\s+namespace\b[^;{}]*|\bextern\s*""\s*|\benum\b[^;{}]*|'
    r"\bunion\s*)\Z"
)
_BLOCK_HEAD = 400
"""Characters before a brace that are looked at to know what it opens."""


@dataclass(frozen=True)
class Names:
    """What headers hold. `everywhere`: every identifier; `outside`: those outside of named namespaces, classes and
    functions, which is where an unqualified name at global scope is looked for, besides what macros declare around it;
    `bodies`: by macro, the identifiers of its definition, where it has any; `pasting`: macros that may make an
    identifier out of others; `unbalanced`: macros whose brackets do not pair.
    """

    everywhere: frozenset[str]
    outside: frozenset[str]
    pasting: frozenset[str]
    unbalanced: frozenset[str]
    bodies: Mapping[str, Sequence[str]]

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
        sets = {name: sorted(found) for name, found in vars(self).items() if name != "bodies"}
        file.write_text(json.dumps({**sets, "bodies": dict(self.bodies)}))


@functools.lru_cache(maxsize=8)
def _read(file: Path) -> Names:
    found = json.loads(file.read_text())
    bodies = found.pop("bodies")
    return Names(**{name: frozenset(words) for name, words in found.items()}, bodies=bodies)


def header_names(call: Sequence[str], text: str, files: Mapping[str, str], around: Surroundings) -> Names | None:
    """The names that headers hold for the source `text`, which `call`, stock's, compiles beside the other `files`.

    None where stock's preprocessor does not take the includes, not in time, or makes too much of them: then nothing can
    be said. Raises
    MachineError where the cache cannot be used.
    """
    skeleton = skeleton_of(text)
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
            if printed is None:
                return None
            with disk_faults(cache.root), cache.work_folder() as work:
                read_names(printed).write(work / "names.json")
                folder = cache.publish_tool(work, fingerprint, hold=False)
        return _read(folder / "names.json")


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


def read_names(printed: str) -> Names:
    """The names in what `-E -dD` printed, but for lines that came from files of the candidate's."""
    lines = list(_of_headers(printed))
    bodies = {found[1]: found[2] for line in lines if line.startswith("#define") and (found := _DEFINE.match(line))}
    code = "\n".join(line for line in lines if line and not line.startswith("#"))
    everywhere = frozenset(word for line in lines for word in IDENTIFIER.findall(line))
    outside = "\n".join(_outside(without_comments(code, keep_strings=False)))
    brought_in = re.search(r"\busing\s+namespace\b", outside)
    return Names(
        everywhere=everywhere,
        outside=everywhere if brought_in else frozenset((*IDENTIFIER.findall(outside), *bodies)),
        pasting=_pasting(bodies),
        unbalanced=frozenset(name for name, body in bodies.items() if not balanced(body)),
        bodies={name: sorted(words) for name, body in bodies.items() if (words := set(IDENTIFIER.findall(body)))},
    )


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
