"""The corpus of `tests/adversarial`: cheats, honest controls and plain failures, one file each, and what each must get.

A file's docstring says it:

    VERDICT[/REASON][|VERDICT...] [THREAT | control] [(cpu) | (gpu)]: what it does.

    On a GPU: VERDICT[/REASON][|...]      where a GPU shows something else
    Problem: NAME                         of tests/adversarial/problems; relu where it is not given
    Twin: NAME                            the same work done honestly: a cheat that is right must not be faster
"""

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "adversarial"
_FIRST_LINE = re.compile(
    r"(?P<verdicts>[\w/|-]+)(?: (?P<threat>[A-D]\d+|control))?(?: \((?P<device>cpu|gpu)\))?: (?P<what>.+)", re.DOTALL
)
_FIELD = re.compile(r"^(On a GPU|Problem|Twin): ([\w/|-]+)$", re.MULTILINE)


@dataclass(frozen=True)
class Expectation:
    """A verdict that a candidate may get; any reason where `reason` is None."""

    kind: str
    reason: str | None

    def __str__(self) -> str:
        return f"{self.kind}/{self.reason}" if self.reason else self.kind

    def meets(self, verdict: Any) -> bool:
        """Whether a verdict is this one; the reason of a rejected one is its rule."""
        return verdict.kind == self.kind and self.reason in (None, reason_of(verdict))


def reason_of(verdict: Any) -> str | None:
    """The reason of a verdict of any kind, or the rule that rejected it."""
    return getattr(verdict, "reason", None) or getattr(verdict, "rule", None)


@dataclass(frozen=True)
class Entry:
    """One file. `threat` is an id of docs/security.md, "control" or "" for a candidate that is only broken."""

    path: Path
    what: str
    threat: str
    devices: tuple[str, ...]
    problem: Path
    twin: str | None
    expected: tuple[Expectation, ...]
    expected_on_gpu: tuple[Expectation, ...]

    @property
    def name(self) -> str:
        return self.path.stem

    def expectations(self, device: str) -> tuple[Expectation, ...]:
        """What it may get on "cpu" or "cuda"."""
        return self.expected if device == "cpu" else self.expected_on_gpu


def read_corpus(folder: Path = FOLDER) -> list[Entry]:
    """Every file of the corpus, in order. Raises ValueError for a docstring that does not say what it must."""
    paths = sorted(path for part in ("cheats", "controls", "broken") for path in (folder / part).glob("*.py"))
    entries = [_read(path, folder) for path in paths]
    names = {entry.name for entry in entries}
    for entry in entries:
        if entry.twin is not None and entry.twin not in names:
            raise ValueError(f"{entry.path}: there is no twin {entry.twin}")
    return entries


def _read(path: Path, folder: Path) -> Entry:
    text = path.read_text()
    try:
        docstring = ast.get_docstring(ast.parse(text)) or ""
    except SyntaxError as error:
        raise ValueError(f"{path}: {error}") from error
    first, _, rest = docstring.partition("\n\n")
    match = _FIRST_LINE.fullmatch(first)
    if match is None:
        raise ValueError(f"{path}: its first line names no verdict: {first!r}")
    fields = dict(_FIELD.findall(rest))
    problem = folder / "problems" / f"{fields.get('Problem', 'relu')}.py"
    if not problem.is_file():
        raise ValueError(f"{path}: there is no problem {problem.stem}")
    expected = _expectations(match["verdicts"])
    devices = {"cpu": ("cpu",), "gpu": ("cuda",), None: ("cpu", "cuda")}
    return Entry(
        path=path,
        what=" ".join(match["what"].split()),
        threat=match["threat"] or "",
        devices=devices[match["device"]],
        problem=problem,
        twin=fields.get("Twin"),
        expected=expected,
        expected_on_gpu=_expectations(fields["On a GPU"]) if "On a GPU" in fields else expected,
    )


def _expectations(text: str) -> tuple[Expectation, ...]:
    pairs = (part.partition("/") for part in text.split("|"))
    return tuple(Expectation(kind, reason or None) for kind, _, reason in pairs)
