"""The names that the slim headers declare for sources to use; by eye, not by grammar."""

import re
from collections.abc import Iterator
from pathlib import Path

HEADERS = Path(__file__).parents[2] / "harness" / "compile" / "slim" / "include" / "slim"

FOR_THE_FACADE_ALONE = frozenset((
    # c10::MaybeOwned of torch's own asks its traits for these.
    "assignBorrow", "borrow_type", "createBorrow", "debugBorrowIsValid", "destroyBorrow", "owned_type",
    "pointerFromBorrow", "referenceFromBorrow",
    # What py::module_, py::object, py::make_tuple and py::overload_cast give, that nobody names.
    "Attribute", "Doc", "Subscript", "Taken", "Tuple", "object_api", "overload_cast_of", "set_error", "to_python",
    # How the facade's classes hand their parts to the library, and what its macros are made of.
    "C10_ANONYMOUS_VARIABLE", "_cublasGetErrorEnum", "items", "parts", "symbol", "tensor_of", "taken", "show", "typed",
    # Names inside of functions and templates.
    "Function", "Kind", "PtrTraits", "Shape", "guard",
    # What operators' declarations mention, and no source can make.
    "DispatchKeySet", "IListRef", "IOptTensorListRef", "OptionalTensorRef", "QScheme", "Dimname", "DimnameList",
    "OptionalSymIntArrayRef",
))  # fmt: skip
"""Declared, and no source's business."""

_DECLARED = re.compile(
    r"#define ([A-Z]\w+)|(?:class|struct|using|enum class) (?:[A-Z]\w+_API |__attribute__\S+ )?(\w+)"
    r"|^ *[\w:<>,&*\[\] ]*?[\w>&*\]] [&*]*(\w+)\((?!\*)",
    re.MULTILINE,
)
_OWN = re.compile(r"^namespace slim(?:::binding)? \{.*?^\}  // namespace slim(?:::binding)?$", re.MULTILINE | re.DOTALL)
_PRIVATE = re.compile(r"^( *)(?:class|struct)\b[^;{]*\{.*?^\1\};", re.MULTILINE | re.DOTALL)
_SECTION = re.compile(r"^ *(public|private|protected):", re.MULTILINE)
_NO_NAMES = frozenset(("return", "if", "for", "while", "switch", "sizeof", "operator"))


def declared_names() -> set[str]:
    """The names that the facade's headers declare, but for those of its own namespace and private ones."""
    names: set[str] = set()
    for file in sorted(HEADERS.iterdir()):
        if not file.name.endswith("shim.h"):
            text = re.sub(r"//[^\n]*", "", _OWN.sub("", file.read_text()))
            text = _PRIVATE.sub(lambda found: "".join(_public(found.group(0))), text)
            names.update(name for found in _DECLARED.findall(text) for name in found if name)
    return {name for name in names if not name.upper().startswith("SLIM") and name not in _NO_NAMES}


def _public(text: str) -> Iterator[str]:
    """The head of a class and its public sections."""
    first, *sections = _SECTION.split(text)
    yield first if "struct" in first.split("{")[0] else first.split("{")[0] + "{\n"
    for kind, body in zip(sections[::2], sections[1::2], strict=True):
        if kind == "public":
            yield body
