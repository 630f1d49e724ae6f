"""Reading the Python of a problem. It is parsed, never run."""

import ast

from harness import syntax
from harness.errors import ProblemError
from harness.schema import Problem

_MOST_DEPTH = 200
"""Of a tree. What reads it may go down by recursion, three frames a node; Python's parser goes down 3,000 nodes."""


def parse(problem: Problem) -> ast.Module:
    """The syntax tree of a problem. Raises ProblemError for a source that is not Python, or is nested too deeply."""
    try:
        tree = syntax.parse(problem.source)
    except SyntaxError as error:
        line = f" on line {error.lineno}" if error.lineno else ""
        raise ProblemError(f"The problem {problem.title} is not valid Python{line}: {error.msg}.") from error
    except ValueError as error:  # null bytes before Python 3.12
        raise ProblemError(f"The problem {problem.title} is not valid Python: {error}.") from error
    except (RecursionError, MemoryError) as error:  # how the parser reports nesting that it cannot follow
        raise _too_deep(problem) from error
    if _is_deep(tree):
        raise _too_deep(problem)
    return tree


def _too_deep(problem: Problem) -> ProblemError:
    return ProblemError(f"The problem {problem.title} is nested too deeply to be parsed.")


def _is_deep(tree: ast.Module) -> bool:
    level: list[ast.AST] = [tree]
    for _ in range(_MOST_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return bool(level)
