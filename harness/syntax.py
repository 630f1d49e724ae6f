"""Python source to syntax tree, in one thread at a time."""

import ast
import threading
import warnings

# Two things are of the whole process: `warnings.catch_warnings` swaps its filters, and CPython counts the depth of the
# tree that it builds in one place, so that two threads (a collection of garbage may hand over between them) end in
# "SystemError: AST constructor recursion depth mismatch" (seen with 3.11.7; github.com/python/cpython/issues/106905).
_PARSING = threading.Lock()


def parse(source: str) -> ast.Module:
    """The tree of `source`; the compiler's warnings (an invalid escape in a CUDA string) are dropped.

    Raises SyntaxError; ValueError for null bytes (before 3.12) and lone surrogates; RecursionError or MemoryError where
    it is nested more deeply than the parser can follow.
    """
    with _PARSING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)
