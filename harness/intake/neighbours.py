"""Neighbours: the sources that lie beside a Python file and that it builds, as `load(sources=["relu.cu"])` does.

They become part of the submission: its text writes them down before anything else of it runs, and its hash covers them.
Only for a file that a person names; in a folder of answers a model would be reading another one's.
"""

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from harness.errors import InputError

SUFFIXES = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".hxx", ".inl", ".inc")
MAX_BYTES = 4 << 20
"""What all neighbours of a file may have together."""

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


def _found(tree: ast.Module, folder: Path) -> dict[str, str]:
    """The neighbours that strings of the module name, and those that they include, by their path in the folder."""
    names = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    waiting = [name for name in dict.fromkeys(names) if _is_name(name)]
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


def _is_name(name: str) -> bool:
    path = PurePosixPath(name)
    return "\n" not in name and len(name) < 256 and path.suffix in SUFFIXES and not path.is_absolute()


def _included(source: str, parent: PurePosixPath) -> Iterator[str]:
    for name in _INCLUDE.findall(source):
        if _is_name(name):
            yield str(parent / name)


def _read(path: Path) -> str:
    try:
        return path.read_bytes()[: MAX_BYTES + 1].decode("utf-8", "replace")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error


def _bringing(text: str, tree: ast.Module, found: dict[str, str]) -> str:
    """The text with one statement more, on the line of its first plain statement that may have one before it."""
    folders = dict.fromkeys(str(PurePosixPath(name).parent) for name in found)
    made = [f"{_PATH}({name!r}).mkdir(parents=True, exist_ok=True)" for name in folders if name != "."]
    written = ", ".join([*made, *(f"{_PATH}({name!r}).write_text({source!r})" for name, source in found.items())])
    lines = text.splitlines(keepends=True)
    plain = (ast.Import, ast.ImportFrom, ast.Assign, ast.Expr, ast.AnnAssign)
    for place, statement in enumerate(tree.body):
        if _must_be_first(statement, place):
            continue
        if isinstance(statement, plain):
            line = lines[statement.lineno - 1]
            lines[statement.lineno - 1] = f"[{written}]; {line}"
        else:
            lines[_first_line(statement) - 1 : _first_line(statement) - 1] = [f"[{written}]\n"]
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
