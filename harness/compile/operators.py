"""Torch's operators, read from its own generated headers: which names there are, and the text that declares each.

The slim toolchain shows a source only the operators whose names occur in it. What it shows is torch's own text, so
overloads, default arguments and the functions behind them are those of the torch that is installed.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

_METHOD = re.compile(
    r"^  ((?:const )?(?:at::|::std::|c10::|void |bool |int64_t |double )[^\n;{}=]*?\b(\w+)\(.*\) const;)$", re.MULTILINE
)
_METHOD_BODY = re.compile(r"^inline [^\n]*? Tensor::(\w+)\([^\n]*\) const \{\n.*?^\}", re.MULTILINE | re.DOTALL)
# Overloads that torch writes by hand, so that the `1` of `var(x, 1)` is a dimension and no bool.
_WRITTEN_METHOD = re.compile(r"^  ((?:inline )?Tensor (\w+)\([^\n]*\) const \{\n    return [^\n]*\n  \})", re.MULTILINE)
_WRITTEN_FUNCTION = re.compile(r"^inline [^\n(]*? (\w+)\([^\n]*\) \{\n.*?^\}", re.MULTILINE | re.DOTALL)
_DECLARED = re.compile(r"^  [\w:]+[^\n;{}=]*?\b(\w+)\([^\n]*\)[ \w&]*[;{]", re.MULTILINE)
_FACTORY = re.compile(r"^inline at::Tensor (\w+)\([^\n]*\) \{\n.*?^\}", re.MULTILINE | re.DOTALL)
_FUNCTION = re.compile(r"^inline [^\n(]*?[ &](\w+)\(", re.MULTILINE)
_STRUCT = re.compile(r"^struct TORCH_API (\w+) \{", re.MULTILINE)
_CALLED = re.compile(r"at::_ops::(\w+)::")
_FORALL = re.compile(r"^#define (AT_FORALL_\w+)\((?:[^\n]*\\\n)*[^\n]*\n", re.MULTILINE)
_ALL_TYPES = "AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS"
_NOT_PUBLIC = ("_ops.h", "_native.h", "_dispatch.h", "_meta.h")
# Hand-written in the facade's Tensor, so torch's own text must not come a second time.
_OURS = frozenset({"contiguous", "type", "data", "size", "stride", "is_floating_point", "is_complex"})
# Methods that have overloads of torch's own text and others that the facade writes by hand.
_BOTH = frozenset({"item", "index", "index_put_"})
# Factories that are written by hand in torch too, over classes that the facade does not have.
_BEYOND = frozenset({"tensor", "from_blob"})


@dataclass(frozen=True)
class Operators:
    """An index of torch's operators by name.

    `methods` and `bodies` hold a Tensor method's declarations and definitions, `factories` the definitions of
    `torch::name`, `functions` the header of `at::name`, `written` further overloads of it, `structs` the header of an
    `at::_ops` entry.
    """

    methods: dict[str, list[str]]
    bodies: dict[str, list[str]]
    factories: dict[str, list[str]]
    functions: dict[str, list[str]]
    written: dict[str, list[str]]
    structs: dict[str, str]

    def methods_text(self, names: Iterable[str]) -> str:
        """The declarations that go into class Tensor."""
        return "\n".join(line for name in names for line in self.methods.get(name, ())) + "\n"

    def operators_text(self, names: Iterable[str]) -> str:
        """What goes behind class Tensor: operator headers, then the definitions of the methods."""
        names = list(names)
        bodies = [body for name in names for body in self.bodies.get(name, ())]
        headers = {self.structs[op] for body in bodies for op in _CALLED.findall(body)}
        headers |= {header for name in names for header in self.functions.get(name, ())}
        includes = "".join(f"#include <ATen/ops/{header}>\n" for header in sorted(headers))
        written = [text for name in names for text in self.written.get(name, ())]
        return includes + "namespace at {\n" + "\n".join(bodies + written) + "\n}\n"

    def factories_text(self, names: Iterable[str]) -> str:
        """The definitions of `torch::empty` and its like."""
        names = [name for name in names if name in self.factories]
        headers = sorted({header for name in names for header in self.functions.get(name, ())})
        includes = "".join(f"#include <ATen/ops/{header}>\n" for header in headers)
        bodies = "\n".join(body for name in names for body in self.factories[name])
        return f"{includes}namespace torch {{\n{bodies}\n}}\n"

    def write(self, file: Path) -> None:
        file.write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, file: Path) -> "Operators":
        return cls(**json.loads(file.read_text()))


def read_operators(include: Path) -> Operators:
    """The index of the torch whose headers lie under `include`.

    A method is left out unless all of its overloads were found: a call might mean one that is missing.
    """
    tensor = (include / "ATen" / "core" / "TensorBody.h").read_text()
    factories = (include / "torch" / "csrc" / "autograd" / "generated" / "variable_factories.h").read_text()
    overloads = (include / "ATen" / "Functions.h").read_text()
    functions, structs = _scan_headers(include / "ATen" / "ops")
    bodies = _grouped((found.group(1), found.group(0)) for found in _METHOD_BODY.finditer(tensor))
    methods = _grouped((found.group(2), found.group(1)) for found in _METHOD.finditer(tensor))
    in_class = tensor[tensor.index("class TORCH_API Tensor: public TensorBase") :].split("\n};", 1)[0]
    for found in _WRITTEN_METHOD.finditer(in_class):
        if found.group(2) in methods:
            methods[found.group(2)].append(found.group(1))
    declared = Counter(_DECLARED.findall(in_class))
    kept = {
        name
        for name, lines in methods.items()
        if name in bodies and name not in _OURS and (len(lines) == declared[name] or name in _BOTH)
    }
    return Operators(
        methods={name: lines for name, lines in methods.items() if name in kept},
        bodies={name: texts for name, texts in bodies.items() if name in kept},
        factories=_grouped(
            (found.group(1), found.group(0)) for found in _FACTORY.finditer(factories) if found.group(1) not in _BEYOND
        ),
        functions=functions,
        written=_grouped((found.group(1), found.group(0)) for found in _WRITTEN_FUNCTION.finditer(overloads)),
        structs=structs,
    )


def scalar_types_header(include: Path) -> str:
    """`slim/scalar_types.h`: the dtypes of this torch, in their order, the C++ types behind them, its AT_FORALL macros.

    Raises ValueError where torch's headers name no scalar types.
    """
    places = (include / "torch/headeronly/core/ScalarType.h", include / "c10/core/ScalarType.h")
    text = "\n".join(place.read_text() for place in places if place.exists())
    macros = {found.group(1): found.group(0) for found in _FORALL.finditer(text)}
    if _ALL_TYPES not in macros:
        raise ValueError("torch's headers name no scalar types")
    body = re.sub(r"/\*.*?\*/", "", macros[_ALL_TYPES].split(")", 1)[1])
    rows = [(cpp.replace("at::", "c10::"), name) for cpp, name in re.findall(r"_\(([^,()]+), (\w+)\)", body)]
    return _scalar_types_text(rows) + "\n".join(macros.values())


def _scalar_types_text(rows: list[tuple[str, str]]) -> str:
    plain = sorted({name for cpp, _ in rows for name in re.findall(r"c10::(\w+)(?!\w|<)", cpp)})
    numbered = sorted({name for cpp, _ in rows for name in re.findall(r"c10::(\w+)<\d+>", cpp)})
    declared = "".join(f"struct {name};\n" for name in plain)
    declared += "".join(f"template <unsigned int N>\nstruct {name};\n" for name in numbered)
    macro = " ".join(f"_({cpp}, {name})" for cpp, name in rows)
    return (
        "#pragma once\n#include <cstdint>\n"
        f"namespace c10 {{\ntemplate <typename T>\nstruct complex;\n{declared}}}\n"
        f"#define SLIM_SCALAR_TYPES(_) {macro}\n"
    )


def _scan_headers(folder: Path) -> tuple[dict[str, list[str]], dict[str, str]]:
    functions: list[tuple[str, str]] = []
    structs: dict[str, str] = {}
    for header in sorted(folder.glob("*.h")):
        text = header.read_text()
        if header.name.endswith("_ops.h"):
            structs.update(dict.fromkeys(_STRUCT.findall(text), header.name))
        elif not header.name.endswith(_NOT_PUBLIC) and header.stem not in _BEYOND:
            functions += [(name, header.name) for name in dict.fromkeys(_FUNCTION.findall(text))]
    return _grouped(functions), structs


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name, text in pairs:
        groups.setdefault(name, []).append(text)
    return groups
