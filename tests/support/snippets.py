"""The snippets of tests/compile/snippets: small sources in the style of models, and the calls to make of them.

A file holds several, each under a line `// --- name`. Directives are comments in its first lines:

    // for: a | b         one snippet for each; `@` stands for it, `@1` and `@2` for what is before and behind a comma,
                          ⏎ for the end of a line
    // call: f(X)         a Python expression over the module's names and VALUES
    // each: f(V)         the same for every value of PARAMETERS
    // global             may not be put into a namespace of its own, where many are compiled at once
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.schema import BuildRequest

FOLDER = Path(__file__).parents[1] / "compile" / "snippets"

DECLARED = "torch::Tensor f(torch::Tensor x);\n"
"""What a snippet in CUDA has for its part in C++."""
PARAMETERS = (
    *("1", "-1", "2**40", "2**70", "1.5", "float('nan')", "True", "None", "'a'", "'abc'", "b'a'", "1j", "[]", "[1, 2]"),
    *("(1, 2)", "[1, 2.5]", "['a']", "[None]", "[[1, 2]]", "(1, 'a')", "{1, 2}", "{'a': 1}", "{'a': X}", "range(2)"),
    *("X", "X[0]", "torch.tensor(3)", "torch.tensor(2.5)", "torch.tensor([1, 2])", "[X]", "(X, X)", "torch.float16"),
    *("torch.device('cpu')", "'cpu'", "torch.strided", "torch.channels_last", "torch.Size([1, 2])", "len", "object"),
    *("torch.Generator()", "numpy.float32(2.5)", "numpy.int64(3)", "numpy.array([1, 2])", "iter([1, 2])", "slice(1)"),
)
_MARK = re.compile(r"^// --- ([\w'-]+)\n", re.MULTILINE)
_DIRECTIVE = re.compile(r"// (for|call|each|global)(?:: ?(.*))?$")


@dataclass(frozen=True)
class Snippet:
    """`group` is the file and the name, `name` that and which of the group it is."""

    name: str
    group: str
    text: str
    calls: tuple[str, ...]
    in_global: bool
    language: Literal["c++", "cuda"] = "c++"

    @property
    def functions(self) -> dict[str, str] | None:
        """What `load_inline` would be asked to bind; None where the source does so itself."""
        if "PYBIND11_MODULE" in self.text:
            return None
        return {name: "" for call in self.calls if (name := call.split("(")[0].split(".")[0]).isidentifier()}

    @property
    def request(self) -> BuildRequest:
        if self.language == "cuda":
            return BuildRequest(
                name="snippet", cpp_sources=(DECLARED,), cuda_sources=(self.text,), functions=self.functions
            )
        return BuildRequest(name="snippet", cpp_sources=(self.text,), functions=self.functions)


def read_snippets(language: Literal["c++", "cuda"] = "c++", folder: Path = FOLDER) -> list[Snippet]:
    """All snippets of a language, in the order of files and lines."""
    files = sorted(folder.glob("*.cpp" if language == "c++" else "*.cu"))
    return [snippet for file in files for snippet in _in_file(file, language)]


def _in_file(file: Path, language: Literal["c++", "cuda"]) -> Iterator[Snippet]:
    _, *parts = _MARK.split(file.read_text())
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        yield from _variants(f"{file.stem}/{name}", body.splitlines(), language)


def _variants(group: str, lines: list[str], language: Literal["c++", "cuda"]) -> Iterator[Snippet]:
    directives: dict[str, list[str]] = {}
    while lines and (found := _DIRECTIVE.match(lines[0])):
        directives.setdefault(found.group(1), []).append(found.group(2) or "")
        lines = lines[1:]
    text = "\n".join(lines).strip() + "\n"
    calls = [
        *directives.get("call", ()),
        *(_with(call, value) for call in directives.get("each", ()) for value in PARAMETERS),
    ]
    for number, item in enumerate(re.split(r" \|(?: |$)", directives["for"][0]) if "for" in directives else [""]):
        name = f"{group}[{number}]" if "for" in directives else group
        filled = tuple(_filled(call, item) for call in calls)
        yield Snippet(name, group, _filled(text, item), filled, "global" in directives, language)


def _with(call: str, value: str) -> str:
    return call.replace("(V)", f"({value})")


def _filled(text: str, item: str) -> str:
    first, _, second = item.partition(", ")
    filled = text.replace("@1", first).replace("@2", second).replace("@", item)
    return filled.replace("⏎", "\n")


_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[^\n]*\n", re.MULTILINE)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)


def many_in_one(snippets: list[Snippet], labels: dict[str, str]) -> str:
    """One source with all of them, each a module of its own, for compilers that take long to start.

    Errors are reported in files named by `labels`.
    """
    includes = {line for snippet in snippets for line in _INCLUDE.findall(snippet.text)}
    return "".join([*sorted(includes), *(_module(snippet, labels[snippet.name]) for snippet in snippets)])


def many_bindings(snippets: list[Snippet], labels: dict[str, str]) -> str:
    """The part in C++ of snippets in CUDA, as `many_in_one` has the other."""
    parts = (
        f'namespace {labels[s.name]}_ {{\n{DECLARED}PYBIND11_MODULE({labels[s.name]}, m) {{ m.def("f", f, ""); }}\n}}\n'
        for s in snippets
    )
    return "".join(parts)


def _module(snippet: Snippet, label: str) -> str:
    text = _INCLUDE.sub("\n", snippet.text)
    if snippet.functions is not None and snippet.language == "c++":
        lines = "".join(f'm.def("{name}", {name}, "");\n' for name in snippet.functions)
        text += f"PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{\n{lines}}}\n"
    macros = dict.fromkeys(_DEFINE.findall(text))
    kept = "".join(f'#pragma push_macro("{name}")\n' for name in macros)
    restored = "".join(f'#pragma pop_macro("{name}")\n' for name in macros)
    around = (f"#define f {label}_f\n", "#undef f\n") if snippet.in_global else (f"namespace {label}_ {{\n", "}\n")
    return (
        f"{kept}#undef TORCH_EXTENSION_NAME\n#define TORCH_EXTENSION_NAME {label}\n{around[0]}"
        f'#line 1 "{label}"\n{text}\n#line 1 "{label}"\n{around[1]}{restored}'
    )
