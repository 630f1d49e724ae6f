"""A C++ or CUDA file alone: Python around it, where its text leaves no doubt about which function is the model.

That is the one function its PYBIND11_MODULE names, or else the one function of its own that returns tensors; of several
the one called `forward`, or like the file. It is called with the inputs of the problem's `forward`, so a problem with
weights needs Python written for it.
"""

import re
from collections.abc import Sequence
from pathlib import Path, PurePath

from harness.intake.neighbours import bringing, included_by
from harness.intake.python_source import MAX_SOURCE
from harness.languages.c_source import without_comments
from harness.schema.base import encodable

SUFFIXES = (".cu", ".cpp", ".cc", ".cxx")
WANTED = (
    "a candidate is Python that defines ModelNew and builds its kernel, by load_inline or, in a .py file that lies "
    "beside its sources, by load(sources=[...])"
)

_BINDING = re.compile(r"\bPYBIND11_MODULE\s*\(")
_DEFINED = re.compile(r'\.def\s*\(\s*"(\w+)"')
_LIBRARY = re.compile(r"\bTORCH_LIBRARY\w*\s*\(")
# Each part is bounded, so that no text makes the search go back and forth over more than some thousand characters.
_TENSORS = (
    r"(?:(?:std\s{0,9}::\s{0,9})?(?:vector|tuple|array)\s{0,9}<[^;{}()\n]{0,200}?\bTensor\b[^;{}()\n]{0,200}>"
    r"|(?:\w{1,80}\s{0,9}::\s{0,9}){0,8}Tensor)"
)
_FUNCTION = re.compile(
    rf"^[ \t]{{0,80}}(?:(?:static|inline)\s{{1,9}}){{0,2}}{_TENSORS}\s{{1,80}}(\w{{1,200}})\s{{0,80}}"
    r"\([^;{}]{0,1000}\)\s{0,80}\{",
    re.MULTILINE,
)


def with_python(source: str, path: Path) -> str:
    """A candidate that builds `source`, whose line n is line n of it; `source` as it is where there is a doubt.

    What the source includes from its folder is brought along. Raises InputError where that is too large or unreadable.
    """
    chosen = _choose(_functions(source), path)
    quotes = next((each for each in ("'''", '"""') if each not in source), None)
    if chosen is None or quotes is None or source.rstrip().endswith("\\"):
        return source
    bound = "" if _BINDING.search(without_comments(source)) else _bind(chosen)
    found = included_by(source, path.parent)
    before = f"{bringing(found)}; " if found else ""
    name = re.sub(r"^(?=\d)|[^0-9A-Za-z_]", "_", path.stem)
    file = f"{name}{path.suffix}"
    return f"""{before}_SOURCE = r{quotes}{source.rstrip()}
{bound}{quotes}
# This Python was put around {encodable(path.name)}, which came alone.
import pathlib

import torch
from torch.utils.cpp_extension import load

pathlib.Path({file!r}).write_text(_SOURCE)
_built = load(name={name!r}, sources=[{file!r}])


class ModelNew(torch.nn.Module):
    def __init__(self, *settings):
        super().__init__()

    def forward(self, *inputs):
        return _built.{chosen}(*inputs)
"""


def why_not(source: str, path: str) -> str:
    """One sentence that says what a C++ or CUDA text lacks to be judged alone, and what would do."""
    if PurePath(path).suffix not in SUFFIXES:
        return f"This is C++ or CUDA alone: {WANTED}. A file whose name ends in .cu gets its Python by itself."
    found = _functions(source)
    if len(found) > 1:
        return (
            f"This is C++ or CUDA alone, and {len(found)} of its functions could be the model ({', '.join(found[:5])}"
            f"{', ...' if len(found) > 5 else ''}): call one of them forward. Else {WANTED}."
        )
    return (
        "This is C++ or CUDA alone, without a function that takes and returns tensors, such as `torch::Tensor "
        f"forward(torch::Tensor x)` that launches the kernel: add one. Else {WANTED}."
    )


def _functions(source: str) -> list[str]:
    """The names of the functions that Python could call."""
    text = without_comments(source[:MAX_SOURCE])
    if _LIBRARY.search(text):
        return []
    names = _DEFINED.findall(text) if _BINDING.search(text) else _FUNCTION.findall(text)
    return list(dict.fromkeys(names))


def _choose(names: Sequence[str], path: Path) -> str | None:
    if len(names) == 1:
        return names[0]
    return next((name for name in ("forward", path.stem) if name in names), None)


def _bind(name: str) -> str:
    return f'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{ m.def("{name}", &{name}); }}\n'
