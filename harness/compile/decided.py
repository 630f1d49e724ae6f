"""Compile failures that need no stock compile: which rule tells from a fast compile that stock would refuse too.

A rule holds where the cause lies in the candidate's own text and nothing that torch's headers might declare could mend
it. It rests on two things: the fast toolchain runs the same compiler, with the same flags, over a text that differs in
torch's headers alone; and what a source could take otherwise from these is left to stock before (`beyond.py`). Whatever
no rule knows is asked of stock. The rules of one source are in `rules.py`; that of the objects together is here.
"""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.compile.names import header_names
from harness.compile.printed import lines_of
from harness.compile.recipe import Plan
from harness.compile.refused import LONGEST_LINE, MARK, Unit
from harness.compile.rules import RULES
from harness.compile.toolchain import Surroundings
from harness.compile.waiting import Patience

MOST_CHARACTERS = 1 << 18
"""Of all sources together: what is read of longer ones would take seconds of the controller's."""


@dataclass(frozen=True)
class Decision:
    """`rule` names the row of RULES; `log` is the error in the compiler's own words, `detail` its first line."""

    rule: str
    detail: str
    log: str


_SUGGESTION = re.compile(r"; did you mean '[^'\n]*'\?")
"""What a compiler guesses from the names that it knows, which are the facade's here."""


# ---- rules of the objects together -------------------------------------------------------------------------------

_TWICE = re.compile(r"multiple definition of [`']([^'\n]*)'; (\S+?\.o):.*first defined here")
_MOST_TWICE = 20  # that are looked at
_OF_HEADERS = re.compile(r"(?:at|c10|caffe2|torch|slim|pybind11|std|__gnu_cxx)::")


def _defined_twice(output: str, objects: Sequence[str], texts: Sequence[str]) -> str | None:
    """A symbol that two of the candidate's own objects define is defined twice whatever the headers: a second
    PYBIND11_MODULE beside the one that `functions=` generates, a function that is in two sources.
    """
    lines = (line[:LONGEST_LINE] for line in lines_of(output))
    for found in itertools.islice(filter(None, map(_TWICE.search, lines)), _MOST_TWICE):
        symbol, first = found[1], found[2]
        name = re.match(r"(?:[\w:]*::)?(\w+)", symbol)
        if first not in objects or name is None or _OF_HEADERS.match(symbol):
            continue
        makers = [text for text in texts if re.search(rf"\b{name[1]}\b", text) or "PYBIND11_MODULE" in text]
        if len(makers) > 1 and (name[1].startswith("PyInit_") or all(name[1] in text for text in makers)):
            return f"{_place(makers, name[1])}: error: {found[0]}"
    return None


def _place(makers: Sequence[str], name: str) -> str:
    """Where the last of these sources defines a symbol, as `label:line`: what it names there, or its module."""
    word = "PYBIND11_MODULE" if name.startswith("PyInit_") else name
    for text in reversed(makers):
        parts = MARK.split(text)
        for label, part in zip(parts[1::2], parts[2::2], strict=True):
            found = re.search(rf"\b{word}\b", part)
            if found and label != "binding":
                return f"{label}:{part.count(chr(10), 0, found.start()) + 1}"
    return "link"


TWICE = "defined-twice"
"""What decides a link's: `_defined_twice`."""


def decide(
    outputs: Sequence[str], linked: str | None, fast: Plan, stock: Plan, around: Surroundings, patience: Patience
) -> Decision | None:
    """Whether stock would refuse as well, and by which rule; None where it has to be asked.

    `outputs` are what the compilers of the plan `fast` said, "" for those that were content; `linked` what the linker
    said, None where it was not asked. `stock` is stock's plan of the same request. Raises as `header_names` does.
    """
    sources = [call[-3] for call in stock.compile]
    if sources != [call[-3] for call in fast.compile] or sum(map(len, stock.files.values())) > MOST_CHARACTERS:
        return None
    local = {name: text for name, text in stock.files.items() if name not in sources}
    for call, output in zip(stock.compile, outputs, strict=True):
        if output and (found := _by_rule(_unit(call, output, stock, local, around, patience))) is not None:
            return found
    if linked is not None:
        objects = [call[-1] for call in fast.compile]
        log = _defined_twice(linked, objects, [stock.files[name] for name in sources])
        return Decision(TWICE, log.split("\n", 1)[0], log) if log else None
    return None


def _unit(
    call: Sequence[str], output: str, stock: Plan, local: Mapping[str, str], around: Surroundings, patience: Patience
) -> Unit:
    name = call[-3]
    text = stock.files[name]
    beside = {other: text for other, text in stock.files.items() if other != name}
    return Unit(name, text, output, local, ask_names=lambda: header_names(call, text, beside, around, patience))


def _by_rule(unit: Unit) -> Decision | None:
    for name, rule in RULES.items():
        if log := rule(unit):
            log = _SUGGESTION.sub("", log)
            return Decision(name, log.split("\n", 1)[0][:500], log)
    return None
