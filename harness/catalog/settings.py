"""The numbers that a problem's module sets, and the same problem with other ones. Nothing is run to find them."""

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from harness.catalog.source import parse
from harness.errors import InputError
from harness.schema import Problem, Workload

Number = int | float

_BINARY: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
}
_UNARY: dict[type[ast.unaryop], Callable[[Number], Number]] = {ast.USub: operator.neg, ast.UAdd: operator.pos}
_LARGEST = 10.0**300
_MOST_EXPONENT = 64  # no size has more bits; 9**9**9 must not be computed to be refused


@dataclass(frozen=True)
class _Setting:
    """One place where the module gives a number to a name."""

    name: str
    value: Number
    node: ast.expr


def numeric_settings(problem: Problem) -> dict[str, Number]:
    """The names to which the problem's module assigns a number, with their values, in the order of the file.

    A number is a literal or an expression of literals (`1024 * 16`). Names that follow from others (`shape = (dim,)`,
    `half = dim // 2`) are not settings: they change along with what they follow from. Raises ProblemError for a
    source that is not Python.
    """
    return {setting.name: setting.value for setting in _settings(problem)}


def apply_settings(problem: Problem, settings: Mapping[str, Number]) -> tuple[str, Workload]:
    """The problem's source with module-level numbers replaced, and the workload that this makes.

    Everything else in the source stays as it is, line by line. Where one assignment serves several names
    (`height = width = 14`), setting one sets all, and the workload holds all. `Workload.reduced` is False: only the
    caller knows whether a size was made smaller for want of a GPU.

    Raises InputError for a name that the problem does not set, for a fraction where it has a whole number, and for
    two values for names that share one; ProblemError for a source that is not Python.
    """
    places = _settings(problem)
    original = {place.name: place.value for place in places}
    wanted = {name: _fitting(name, value, original, problem.title) for name, value in settings.items()}
    shared: dict[tuple[int, int], list[_Setting]] = {}
    for place in places:
        shared.setdefault((place.node.lineno, place.node.col_offset), []).append(place)
    edits: list[tuple[ast.expr, Number]] = []
    for together in shared.values():
        named = [place.name for place in together if place.name in wanted]
        if not named:
            continue
        value = wanted[named[0]]
        if any(wanted[name] != value for name in named):
            raise InputError(f"{problem.title} gives {' and '.join(named)} the same number; set both alike.")
        edits.append((together[0].node, value))
        wanted |= {place.name: value for place in together}
    workload = Workload(settings=wanted, original={name: original[name] for name in wanted})
    return _replace(problem.source, edits), workload


def _fitting(name: str, value: Number, original: Mapping[str, Number], title: str) -> Number:
    if name not in original:
        names = ", ".join(f"{known}={number}" for known, number in original.items()) or "none"
        raise InputError(f"{title} sets no number named {name!r}; it sets {names}.")
    if not -_LARGEST <= value <= _LARGEST:
        raise InputError(f"{name} is not a finite number, or far larger than any size.")
    if isinstance(original[name], int) and int(value) != value:
        raise InputError(f"{name}={value} must be a whole number, as in {title}, which has {original[name]}.")
    return type(original[name])(value)


def _replace(source: str, edits: list[tuple[ast.expr, Number]]) -> str:
    """Put each number in the place of its expression. Columns of the syntax tree count UTF-8 bytes."""
    lines = [line.encode() for line in _lines(source)]
    for node, value in sorted(edits, key=lambda edit: (edit[0].lineno, edit[0].col_offset), reverse=True):
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        head, tail = lines[first][: node.col_offset], lines[last][node.end_col_offset :]
        # An expression over several lines leaves as many behind, joined by backslashes, which hold with and without
        # brackets around them: later lines keep their numbers.
        lines[first : last + 1] = [head + repr(value).encode() + b" \\\n" * (last - first) + (tail or b"\n")]
    return b"".join(lines).decode()


def _lines(source: str) -> list[str]:
    """Lines as Python's parser counts them, ends kept."""
    return re.findall(r"[^\n]*\n|[^\n]+", source)


def _settings(problem: Problem) -> list[_Setting]:
    tree = parse(problem)
    changed = {
        statement.target.id
        for statement in tree.body
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name)
    }
    return [one for statement in tree.body for one in _assigned(statement) if one.name not in changed]


def _assigned(statement: ast.stmt) -> Iterator[_Setting]:
    match statement:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _pairs(target, value)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield from _pairs(target, value)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[_Setting]:
    match target, value:
        case ast.Name(id=name), _:
            number = _number(value)
            if number is not None:
                yield _Setting(name, number, value)
        case ((ast.Tuple(elts=targets) | ast.List(elts=targets)), (ast.Tuple(elts=values) | ast.List(elts=values))):
            if len(targets) == len(values) and not any(isinstance(one, ast.Starred) for one in (*targets, *values)):
                for one, other in zip(targets, values, strict=True):
                    yield from _pairs(one, other)


def _number(node: ast.expr) -> Number | None:
    """The value of an expression of numeric literals; None for anything else, and beyond `_LARGEST`."""
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as value):
            return value if abs(value) <= _LARGEST else None
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            number = _number(operand)
            return None if number is None else _UNARY[type(op)](number)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _computed(type(op), _number(left), _number(right))
    return None


def _computed(op: type[ast.operator], left: Number | None, right: Number | None) -> Number | None:
    if left is None or right is None or (op in (ast.Pow, ast.LShift) and abs(right) > _MOST_EXPONENT):
        return None
    try:
        value = _BINARY[op](left, right)
    except (ArithmeticError, TypeError, ValueError):  # a division by zero, a shift by a fraction or below zero
        return None
    # A negative number to a fraction is complex; (9**64)**64, over and over, is no size.
    return value if isinstance(value, int | float) and abs(value) <= _LARGEST else None
