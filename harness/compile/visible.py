"""What torch's headers make visible beside their own declarations: macros, and the C library's headers.

Read once for each torch by preprocessing its headers and the facade's, so that the two can be compared.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.compile.printed import lines_of

_LINE = re.compile(r'^# \d+ "([^"]*)"')
_DEFINE = re.compile(r"^#define (\w+)(\([^)]*\))? ?(.*)")
_UNDEF = re.compile(r"^#undef (\w+)")
_C_HEADER = re.compile(r"/usr/include/(?:[\w-]+-linux-gnu/)?((?:sys/)?\w+\.h)$")
# Parts of other headers, which say so and refuse to be included alone.
_NOT_ALONE = frozenset({"features-time64.h", "stdc-predef.h", "sys/cdefs.h", "sys/single_threaded.h"})
_OURS = re.compile(r"SLIM_|_*slim")

Macros = dict[str, tuple[bool, str]]
"""Name to whether it takes arguments, and what is behind the name in its definition."""


@dataclass(frozen=True)
class Visible:
    """How what a source sees of the facade differs from what it sees of torch.

    `macros`: name to whether it takes arguments, for those that only one of the two defines. `uncertain`: macros that a
    condition (`#if`, `#ifdef`) may find otherwise than over torch's headers.
    """

    macros: dict[str, bool]
    uncertain: frozenset[str]

    def write(self, file: Path) -> None:
        file.write_text(json.dumps({**asdict(self), "uncertain": sorted(self.uncertain)}))

    @classmethod
    def read(cls, file: Path) -> "Visible":
        data = json.loads(file.read_text())
        return cls(macros=data["macros"], uncertain=frozenset(data["uncertain"]))


def compared(stock: Macros, least: Macros, most: Macros) -> Visible:
    """The difference between torch's macros and the facade's, read with none and with all of its parts."""
    one_sided = {name: stock[name][0] for name in stock.keys() - most.keys()}
    one_sided |= {name: most[name][0] for name in most.keys() - stock.keys() if not _OURS.match(name)}
    names = stock.keys() | least.keys() | most.keys()
    uncertain = {name for name in names if stock.get(name) != least.get(name)}
    return Visible(macros=one_sided, uncertain=frozenset(uncertain))


def read_macros(preprocessed: str) -> Macros:
    """The macros at the end of what `g++ -E -dD` printed."""
    macros: Macros = {}
    for line in lines_of(preprocessed):
        if found := _DEFINE.match(line):
            macros[found.group(1)] = (found.group(2) is not None, f"{found.group(2) or ''} {found.group(3)}".strip())
        elif found := _UNDEF.match(line):
            macros.pop(found.group(1), None)
    return macros


def c_headers(preprocessed: str) -> list[str]:
    """The C library's headers that were read, in their order: what they declare stands in the global namespace."""
    names: Mapping[str, None] = {
        found.group(1): None
        for line in lines_of(preprocessed)
        if (place := _LINE.match(line)) and (found := _C_HEADER.search(place.group(1)))
    }
    return [name for name in names if name not in _NOT_ALONE]


def definitions(macros: Macros, wanted: re.Pattern[str]) -> str:
    """The `#define`s of the macros whose whole name matches, where they are not defined already."""
    return "".join(
        f"#ifndef {name}\n#define {name}{'' if takes_arguments else ' '}{rest}\n#endif\n"
        for name, (takes_arguments, rest) in macros.items()
        if wanted.fullmatch(name)
    )
