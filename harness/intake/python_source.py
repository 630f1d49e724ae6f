"""Reading Python of unknown origin: parse it without ever raising, and say what a module defines."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from harness import syntax

MAX_SOURCE = 1 << 20
"""Longest source, in characters, that is parsed: 30 times the longest kernel that we have seen a model write."""


@dataclass(frozen=True)
class Unparsable:
    """Why a source is no Python module. `line` is 1-based; None where the fault is not in one line."""

    detail: str
    line: int | None = None


def parse(source: str) -> ast.Module | Unparsable:
    """Parse `source`, turning every way in which that can fail into data.

    Source longer than `MAX_SOURCE` is refused unread.
    """
    if len(source) > MAX_SOURCE:
        return Unparsable(f"{len(source):,} characters are too long; at most {MAX_SOURCE:,} are read")
    try:
        return syntax.parse(source)
    except SyntaxError as error:
        return Unparsable(error.msg or "invalid syntax", error.lineno or None)
    except ValueError as error:  # null bytes before 3.12, lone surrogates
        return Unparsable(str(error))
    except (RecursionError, MemoryError):  # how the parser reports nesting that it cannot follow
        return Unparsable("it is nested too deeply to be parsed")


def defined_names(tree: ast.Module) -> frozenset[str]:
    """Names that running the module may bind at its top level: classes, functions, assignments and imports."""
    return frozenset(name for statement in _module_level(tree) for name in _bound_by(statement))


def _module_level(tree: ast.Module) -> Iterator[ast.stmt]:
    """Statements that run in the module's own scope, those inside `if`, `try`, `with` and loops included."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            inner = ast.iter_child_nodes(node)
            waiting.extend(n for n in inner if isinstance(n, ast.stmt | ast.ExceptHandler | ast.match_case))


def _bound_by(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name for alias in aliases)
        case ast.Assign(targets=targets):
            yield from (name for target in targets for name in _stored(target))
        case ast.AnnAssign(target=target, value=ast.expr()):
            yield from _stored(target)


def _stored(target: ast.expr) -> Iterator[str]:
    return (node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
