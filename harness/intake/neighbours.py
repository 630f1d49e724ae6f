"""Neighbours: the sources that lie beside a Python file and that it builds, as `load(sources=["relu.cu"])` does.

They become part of the submission: its text writes them down before anything else of it runs, and its hash covers them.
Which they are is read from the strings of the file: a path (`"csrc/relu.cu"`), its parts (`here / "csrc" / "relu.cu"`,
`f"{here}/relu.cu"`), or a pattern (`"csrc/*.cu"`); and from what those sources include.
Only for a file that a person names; in a folder of answers a model would be reading another one's.
"""

import ast
import contextlib
import io
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from harness import syntax
from harness.errors import InputError

SUFFIXES = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".hxx", ".inl", ".inc")
MAX_BYTES = 4 << 20
"""What all neighbours of a file may have together."""

MAX_FILES = 200
"""How many neighbours of a file there may be."""
MAX_LOOKS = 50_000
"""How many names may be looked for below a file's folder, and how many entries of folders patterns may go through: some
seconds. Text that a model wrote decides how many there are, and where a person put it, how much lies below."""

_MOST_FOLDERS = 100  # that strings may name: each is looked into for each name of a file
_PATH = '__import__("pathlib").Path'
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


class _Looks:
    """What is looked at below a folder, at most MAX_LOOKS times.

    By os.path, whose answer is no where a name is too long for a file: any text may be looked for.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._left = folder, MAX_LOOKS

    def take(self) -> Path:
        """Count one; gives the folder. Raises InputError where that was too much."""
        self._left -= 1
        if self._left < 0:
            raise InputError(
                f"The submission names more paths, or wider patterns, below {self._folder} than are followed: put it "
                "into a folder with nothing but what it needs."
            )
        return self._folder

    def matching(self, pattern: str) -> list[str]:
        """The files that a pattern means, sorted; `**` stands for any folders, none that a link leads to."""
        places = {""}
        for piece in PurePosixPath(pattern).parts:
            if piece == "**":
                places |= self._below(places)
            elif "*" in piece:
                inside = (inner for place in places for inner in self._inside(place))
                places = {inner for inner in inside if fnmatchcase(_name(inner), piece)}
            else:
                places = {f"{place}/{piece}".lstrip("/") for place in places}
        return sorted(place for place in places if os.path.isfile(self.take() / place))

    def _below(self, places: Iterable[str]) -> set[str]:
        found: set[str] = set()
        waiting = list(places)
        while waiting:
            inner = [each for each in self._inside(waiting.pop()) if each not in found]
            folders = [each for each in inner if os.path.isdir(path := self.take() / each) and not path.is_symlink()]
            found.update(folders)
            waiting += folders
        return found

    def _inside(self, place: str) -> list[str]:
        found = []
        with contextlib.suppress(OSError), os.scandir(self.take() / place) as entries:
            for entry in entries:
                self.take()
                found.append(f"{place}/{entry.name}".lstrip("/"))
        return found


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def with_neighbours(text: str, folder: Path) -> str:
    """`text` that brings the neighbours it names; unchanged where it names none, or is no Python.

    Line n of what it returns is line n of `text`, if `text` has a plain statement such as an import at its top level.
    Raises InputError where they are too large or cannot be read.
    """
    try:
        tree = syntax.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    found = _found(tree, folder)
    return _bringing(text, tree, found) if found else text


def included_by(source: str, folder: Path) -> dict[str, str]:
    """What a C++ or CUDA source of that folder includes from it, by their path in the folder. Raises as above."""
    return _with_included(list(_included(source, PurePosixPath())), _Looks(folder))


def bringing(found: dict[str, str]) -> str:
    """An expression of Python that writes the neighbours where it runs."""
    folders = dict.fromkeys(str(PurePosixPath(name).parent) for name in found)
    made = [f"{_PATH}({name!r}).mkdir(parents=True, exist_ok=True)" for name in folders if name != "."]
    written = [f"{_PATH}({name!r}).write_text({source!r})" for name, source in found.items()]
    return f"[{', '.join([*made, *written])}]"


def _found(tree: ast.Module, folder: Path) -> dict[str, str]:
    """The neighbours that strings of the module name, and those that they include, by their path in the folder."""
    nodes = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    strings = list(dict.fromkeys(value for value in nodes if isinstance(value, str) and _may_be_path(value)))
    looks = _Looks(folder)
    folders = _named_folders(strings, looks)
    names = [name for string in strings if _is_source(string) for name in _named_files(string, folders, looks)]
    return _with_included(names, looks)


def _may_be_path(text: str) -> bool:
    return 0 < len(text) < 256 and text.isprintable()


def _is_source(name: str) -> bool:
    return PurePosixPath(name).suffix in SUFFIXES


def _named_folders(strings: Sequence[str], looks: _Looks) -> list[str]:
    """The folders below the file's that strings name, by themselves or joined; its own first."""
    found = ["."]
    for parent in found:  # which grows meanwhile
        for name in strings:
            inner = os.path.normpath(f"{parent}/{name}")
            if os.path.isdir(looks.take() / inner) and inner not in found and _is_below(inner):
                found.append(inner)
            if len(found) == _MOST_FOLDERS:
                return found
    return found


def _is_below(name: str) -> bool:
    return not name.startswith(("..", "/"))


def _named_files(name: str, folders: Sequence[str], looks: _Looks) -> Iterator[str]:
    """The paths in the folder that `name` may mean: it is one, a pattern of some, or the last part of one."""
    for parent in folders:
        looks.take()
        path = os.path.normpath(f"{parent}/{name}")  # which takes `{here}/relu.cu`, whose part is /relu.cu, as well
        if "*" in path and _is_below(path):
            yield from looks.matching(path)
        else:
            yield path


def _with_included(names: Sequence[str], looks: _Looks) -> dict[str, str]:
    """Those of `names` that are files of the folder, and what they include."""
    waiting = deque(dict.fromkeys(names))
    found: dict[str, str] = {}
    size = 0
    while waiting:
        name = waiting.popleft()
        if name in found:
            continue
        folder = looks.take()
        path = folder / name
        if not os.path.isfile(path) or not path.resolve().is_relative_to(folder.resolve()):
            continue
        found[name] = _read(path)
        size += len(found[name])
        if size > MAX_BYTES:
            raise InputError(
                f"{path} and the other sources beside the submission have more than {MAX_BYTES >> 20} MiB."
            )
        if len(found) > MAX_FILES:
            raise InputError(f"{path} and the other sources beside the submission are more than {MAX_FILES} files.")
        waiting += _included(found[name], PurePosixPath(name).parent)
    return found


def _included(source: str, parent: PurePosixPath) -> Iterator[str]:
    for name in _INCLUDE.findall(source):
        if _may_be_path(name) and _is_source(name) and _is_below(path := os.path.normpath(parent / name)):
            yield path


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1).decode("utf-8", "replace")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error


def _bringing(text: str, tree: ast.Module, found: dict[str, str]) -> str:
    """The text with one statement more, on the line of its first plain statement that may have one before it."""
    lines = list(io.StringIO(text, newline=""))  # as Python counts them
    plain = (ast.Import, ast.ImportFrom, ast.Assign, ast.Expr, ast.AnnAssign)
    for place, statement in enumerate(tree.body):
        if _must_be_first(statement, place):
            continue
        if isinstance(statement, plain):
            line = lines[statement.lineno - 1].encode()  # places in it are counted in bytes
            before, behind = line[: statement.col_offset].decode(), line[statement.col_offset :].decode()
            lines[statement.lineno - 1] = f"{before}{bringing(found)}; {behind}"
        else:
            lines[_first_line(statement) - 1 : _first_line(statement) - 1] = [f"{bringing(found)}\n"]
        break
    return "".join(lines)


def _must_be_first(statement: ast.stmt, place: int) -> bool:
    """Whether nothing may stand before it: the module's docstring, and what is imported from the future."""
    is_docstring = place == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_docstring or (isinstance(statement, ast.ImportFrom) and statement.module == "__future__")


def _first_line(statement: ast.stmt) -> int:
    match statement:
        case ast.ClassDef(decorator_list=decorators) | ast.FunctionDef(decorator_list=decorators):
            pass
        case _:
            decorators = []
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])
