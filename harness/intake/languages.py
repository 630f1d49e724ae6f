"""Which languages a candidate is written in, by its syntax tree and the C++ in its strings. Comments never count."""

import ast
from collections.abc import Iterator

from harness.intake.c_source import has_body, has_kernel, is_c, without_comments
from harness.intake.python_source import Unparsable, parse
from harness.schema.submission import Language

_IN_ORDER: tuple[Language, ...] = ("cuda", "c++", "triton", "pytorch")
_LOADERS = {"load_inline", "load"}
_RAW_CUDA = {"RawKernel", "RawModule", "_compile_kernel"}


def languages_of(source: str) -> tuple[Language, ...]:
    """The languages of a candidate's own kernels, in a fixed order; "pytorch" alone where it has none.

    "cuda": a string with a `__global__` function or a launch, `cuda_sources=`, a `.cu` file for `load`, or CuPy's raw
    kernels. "c++": C++ with a body that no CUDA came with. "triton": an import of it.
    """
    tree = parse(source)
    if isinstance(tree, Unparsable):
        return ()
    found = {language for node in ast.walk(tree) for language in _languages_of(node)}
    if "cuda" in found:
        found.discard("c++")
    return tuple(language for language in _IN_ORDER if language in found) or ("pytorch",)


def _languages_of(node: ast.AST) -> Iterator[Language]:
    match node:
        case ast.Constant(value=str(text)) if "{" in text or "<<<" in text:
            code = without_comments(text)
            if has_kernel(code):
                yield "cuda"
            elif is_c(code) and has_body(code):
                yield "c++"
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            if name in _RAW_CUDA or (name in _LOADERS and _asks_for_cuda(node)):
                yield "cuda"
        case ast.Import(names=aliases) if any(alias.name.split(".")[0] == "triton" for alias in aliases):
            yield "triton"
        case ast.ImportFrom(module=str(module)) if module.split(".")[0] == "triton":
            yield "triton"


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
