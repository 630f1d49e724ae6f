"""Code: what languages are told by: imports, calls and C++ of a candidate, by its syntax tree. Comments never count."""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from harness.languages.c_source import is_c, without_comments

_LOADERS = {"load_inline", "load"}
_HARMLESS = sys.stdlib_module_names | {"torch", "numpy"}
"""Modules through which no kernels come but those of PyTorch and of C++, which is looked for itself."""


@dataclass(frozen=True)
class Code:
    """A candidate taken apart: dotted names that it imports, last parts of what it calls, its strings of code without
    comments, and whether it asks a loader for CUDA sources."""

    imports: frozenset[str]
    called: frozenset[str]
    strings: tuple[str, ...]
    asks_for_cuda: bool

    def imports_below(self, *modules: str) -> bool:
        """Whether it imports one of `modules` or what lies below it."""
        return any(name == module or name.startswith(f"{module}.") for name in self.imports for module in modules)


def code_of(tree: ast.Module) -> Code:
    """Take a syntax tree apart. Strings without a brace and without a launch define nothing and are left out."""
    imports: set[str] = set()
    called: set[str] = set()
    strings: list[str] = []
    asks = False
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if "{" in text or "<<<" in text:
                strings.append(without_comments(text))
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                called.add(name)
                asks = asks or (name in _LOADERS and _asks_for_cuda(node))
            case ast.Import() | ast.ImportFrom():
                imports.update(_imported(node))
    return Code(frozenset(imports), frozenset(called), tuple(strings), asks)


def mentioned_in(tree: ast.Module, word: str) -> bool:
    """Whether a name or a string of a syntax tree has `word` in it.

    What the program does not use does not count: docstrings, strings that stand alone as comments do, and comments in
    strings of C++.
    """
    nodes = list(ast.walk(tree))
    idle = {id(node.value) for node in nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
    return any(word in text for node in nodes if id(node) not in idle for text in _texts(node))


def _texts(node: ast.AST) -> Iterator[str]:
    """The names and strings that a node itself holds, not those below it."""
    for _, value in ast.iter_fields(node):
        for text in value if isinstance(value, list) else (value,):
            if isinstance(text, bytes):
                yield text.decode("latin-1")
            elif isinstance(text, str):
                yield without_comments(text) if isinstance(node, ast.Constant) and is_c(text) else text


def foreign_imports(code: Code) -> bool:
    """Whether it imports a module of which this house does not know that no kernels come through it."""
    return any(name.partition(".")[0] not in _HARMLESS for name in code.imports)


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif node.module and not node.level:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _asks_for_cuda(call: ast.Call) -> bool:
    """Whether a call of `load_inline` or `load` names CUDA sources."""
    for keyword in call.keywords:
        if keyword.arg == "cuda_sources" and not _is_nothing(keyword.value):
            return True
    constants = (node.value for node in ast.walk(call) if isinstance(node, ast.Constant))
    return any(isinstance(value, str) and value.endswith((".cu", ".cuh")) for value in constants)


def _is_nothing(value: ast.expr) -> bool:
    match value:
        case ast.Constant(value=None | ""):
            return True
        case ast.List(elts=[]) | ast.Tuple(elts=[]):
            return True
    return False
