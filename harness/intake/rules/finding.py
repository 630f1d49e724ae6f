"""What a rule is, what it yields, and the few things that several rules do."""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from harness.intake.view import Call, Use, View
from harness.schema.flag import Severity


@dataclass(frozen=True)
class Finding:
    """What a rule saw, in words, and one line on which it stands."""

    detail: str
    line: int


Findings = Iterator[Finding]


@dataclass(frozen=True)
class Rule:
    """One doubt: its name in flags, how grave it is, and the function that looks for it."""

    name: str
    severity: Severity
    find: Callable[[View], Findings]


def mentions(uses: Iterator[Use], what: str) -> Findings:
    return (Finding(f"{what} {use.name}", use.line) for use in uses)


def native(view: View, pattern: str, what: str) -> Findings:
    """What a pattern finds in the candidate's C++, with the text that matched."""
    compiled = re.compile(pattern)
    for source in view.native:
        for text, line in source.matches(compiled):
            yield Finding(f"{what} {text.rstrip(' (')[:60]} in C++", line)


def last(call: Call) -> str:
    """The last part of what is called, imported or not: "load_inline" for `cpp_extension.load_inline(...)`."""
    return call.name.rpartition(".")[2].lstrip("~")


def calls_in(body: Sequence[ast.AST], view: View) -> Iterator[Call]:
    return (view.called[node] for node in view.below(*body) if isinstance(node, ast.Call))


def literal(call: Call, position: int) -> bool:
    """Whether an argument of a call is there as a plain string."""
    arguments = call.node.args
    return len(arguments) > position and isinstance(arguments[position], ast.Constant)
