"""Reading the Python of a problem. It is parsed, never run."""

import ast
import warnings

from harness.errors import ProblemError
from harness.schema import Problem


def parse(problem: Problem) -> ast.Module:
    """The syntax tree of a problem. Raises ProblemError for a source that is not Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(problem.source)
    except SyntaxError as error:
        line = f" on line {error.lineno}" if error.lineno else ""
        raise ProblemError(f"The problem {problem.title} is not valid Python{line}: {error.msg}.") from error
    except ValueError as error:  # null bytes before Python 3.12
        raise ProblemError(f"The problem {problem.title} is not valid Python: {error}.") from error
    except (RecursionError, MemoryError) as error:  # how the parser reports nesting that it cannot follow
        raise ProblemError(f"The problem {problem.title} is nested too deeply to be parsed.") from error
