"""Where in a source each token stands: in a preprocessor directive, outside functions, in device code."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from harness.emulate.tokens import Token

_ESCAPED_NEWLINE = re.compile(r"\\\r?\n")


@dataclass(frozen=True)
class Place:
    """`directive` numbers the directive that a token is part of, None outside. `outside` says that no function or class
    is around it, `device` that the function around it runs on the device and only there."""

    directive: int | None
    outside: bool
    device: bool


@dataclass(frozen=True)
class _Scope:
    outside: bool
    device: bool


_FILE = _Scope(outside=True, device=False)


def places(tokens: Sequence[Token]) -> list[Place]:
    """The place of each token. Braces inside directives open nothing; a `}` too many closes nothing."""
    result: list[Place] = []
    scopes = [_FILE]
    head: list[str] = []  # what was read since the last `;` or brace: it says what the next `{` opens
    directive: int | None = None
    directives = 0
    at_line_start = True
    for token in tokens:
        if directive is not None and token.kind == "space" and _ends_directive(token.text):
            directive, at_line_start = None, True
        elif directive is None and token.text == "#" and at_line_start:
            directive, directives = directives, directives + 1
        elif token.kind == "space":
            at_line_start = at_line_start or "\n" in token.text
        elif token.kind != "comment":
            at_line_start = False
        if directive is None and token.is_code:
            _read(token.text, scopes, head)
        result.append(Place(directive, outside=scopes[-1].outside, device=scopes[-1].device))
    return result


def _ends_directive(space: str) -> bool:
    return "\n" in _ESCAPED_NEWLINE.sub("", space)


def _read(text: str, scopes: list[_Scope], head: list[str]) -> None:
    if text == "{":
        scopes.append(_opened(head, scopes[-1]))
    elif text == "}" and len(scopes) > 1:
        scopes.pop()
    if text in ("{", "}", ";"):
        head.clear()
    else:
        head.append(text)


def _opened(head: list[str], around: _Scope) -> _Scope:
    if "namespace" in head or (head and head[0] == "extern" and head[-1].startswith('"')):
        return _Scope(outside=around.outside, device=False)
    if "(" not in head and not {"class", "struct", "union", "enum"}.isdisjoint(head):
        return _Scope(outside=False, device=False)
    for_device = ("__global__" in head or "__device__" in head) and "__host__" not in head
    return _Scope(outside=False, device=for_device or around.device)
