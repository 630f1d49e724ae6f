"""Screen a candidate: doubts with line numbers. It explains and never decides: sandbox and judge hold without it.

A text that wants to hide from these rules can. What they are for is the ordinary case: to tell a reader, beside a
verdict, what a candidate does that a kernel has no need of.
"""

from harness.intake.python_source import Unparsable, parse
from harness.intake.rules import RULES, Rule
from harness.intake.view import View, view_of
from harness.schema import Candidate, Flag

_MOST_FLAGS = 8  # of one rule
_MOST_LINES = 40  # of one flag


def screen(candidate: Candidate) -> tuple[Flag, ...]:
    """Apply every rule of `RULES`, in its order. Lines are 1-based lines of the candidate's source.

    A rule that finds the same thing on several lines raises one flag with all of them. Never raises for anything that
    the source holds; a source that does not parse has no flags, as it has no candidate.
    """
    tree = parse(candidate.source)
    if isinstance(tree, Unparsable):
        return ()
    view = view_of(tree)
    return tuple(flag for rule in RULES for flag in _flags(rule, view))


def _flags(rule: Rule, view: View) -> list[Flag]:
    lines: dict[str, set[int]] = {}
    for finding in rule.find(view):
        lines.setdefault(finding.detail, set()).add(finding.line)
    return [
        Flag(rule=rule.name, severity=rule.severity, detail=detail, lines=tuple(sorted(where)[:_MOST_LINES]))
        for detail, where in list(lines.items())[:_MOST_FLAGS]
    ]
