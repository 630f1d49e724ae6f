"""Neighbours: the sources that lie beside a Python file and that it builds, as `load(sources=["relu.cu"])` does.

They become part of the submission: its text writes them down before anything else of it runs, and its hash covers them.
Which they are is read from the strings of the file: a path (`"csrc/relu.cu"`), its parts (`here / "csrc" / "relu.cu"`,
`f"{here}/relu.cu"`), or a pattern (`"csrc/*.cu"`); and from what those sources include.
Only for a file that a person names; in a folder of answers a model would be reading another one's.
"""

import ast
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from harness.errors import InputError

SUFFIXES = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".hxx", ".inl", ".inc")
MAX_BYTES = 4 << 20
"""What all neighbours of a file may have together."""

_MOST_FOLDERS = 100  # that strings may name: each is looked into for each name of a file
_PATH = '__import__("pathlib").Path'
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


def with_neighbours(text: str, folder: Path) -> str:
    """`text` that brings the neighbours it names; unchanged where it names none, or is no Python.

    Line n of what it returns is line n of `text`, if `text` has a plain statement such as an import at its top level.
    Raises InputError where they are too large or cannot be read.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    found = _found(tree, folder)
    return _bringing(text, tree, found) if found else text


def included_by(source: str, folder: Path) -> dict[str, str]:
    """What a C++ or CUDA source of that folder includes from it, by their path in the folder. Raises as above."""
    return _with_included(list(_included(source, PurePosixPath())), folder)


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
    folders = _named_folders(strings, folder)
    names = [name for string in strings if _is_source(string) for name in _named_files(string, folders, folder)]
    return _with_included(names, folder)


def _may_be_path(text: str) -> bool:
    return 0 < len(text) < 256 and text.isprintable()


def _is_source(name: str) -> bool:
    return PurePosixPath(name).suffix in SUFFIXES


def _named_folders(strings: Sequence[str], folder: Path) -> list[str]:
    """The folders below `folder` that strings name, by themselves or joined; its own first."""
    found = ["."]
    for parent in found:  # which grows meanwhile
        for name in strings:
            inner = os.path.normpath(f"{parent}/{name}")
            if len(found) < _MOST_FOLDERS and inner not in found and (folder / inner).is_dir() and _is_below(inner):
                found.append(inner)
    return found


def _is_below(name: str) -> bool:
    return not name.startswith(("..", "/"))


def _named_files(name: str, folders: Sequence[str], folder: Path) -> Iterator[str]:
    """The paths in the folder that `name` may mean: it is one, a pattern of some, or the last part of one."""
    for parent in folders:
        path = os.path.normpath(f"{parent}/{name}")  # which takes `{here}/relu.cu`, whose part is /relu.cu, as well
        if "*" in path and _is_below(path):
            yield from sorted(str(PurePosixPath(each.relative_to(folder))) for each in folder.glob(path))
        else:
            yield path


def _with_included(names: Sequence[str], folder: Path) -> dict[str, str]:
    """Those of `names` that are files of the folder, and what they include."""
    waiting = list(names)
    found: dict[str, str] = {}
    while waiting:
        name = waiting.pop(0)
        path = folder / name
        if name in found or not path.is_file() or not path.resolve().is_relative_to(folder.resolve()):
            continue
        found[name] = _read(path)
        if sum(map(len, found.values())) > MAX_BYTES:
            raise InputError(
                f"{path} and the other sources beside the submission have more than {MAX_BYTES >> 20} MiB."
            )
        waiting += _included(found[name], PurePosixPath(name).parent)
    return found


def _included(source: str, parent: PurePosixPath) -> Iterator[str]:
    for name in _INCLUDE.findall(source):
        if _may_be_path(name) and _is_source(name) and _is_below(path := os.path.normpath(parent / name)):
            yield path


def _read(path: Path) -> str:
    try:
        return path.read_bytes()[: MAX_BYTES + 1].decode("utf-8", "replace")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error


def _bringing(text: str, tree: ast.Module, found: dict[str, str]) -> str:
    """The text with one statement more, on the line of its first plain statement that may have one before it."""
    lines = text.splitlines(keepends=True)
    plain = (ast.Import, ast.ImportFrom, ast.Assign, ast.Expr, ast.AnnAssign)
    for place, statement in enumerate(tree.body):
        if _must_be_first(statement, place):
            continue
        if isinstance(statement, plain):
            line = lines[statement.lineno - 1]
            lines[statement.lineno - 1] = f"{bringing(found)}; {line}"
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
