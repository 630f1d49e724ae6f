"""Random mutations of benchmarks/kernels: names, types, arguments, braces, missing declarations, wrong namespaces.

What `same.py --mutations N` compares. Emulated, a mutant is the C++ that the emulation makes of a kernel's CUDA, as one
source with its bindings; for a GPU it is the candidate's own request. Its one call runs the candidate's own `forward`.
"""

import random
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snippets import Snippet

from harness.emulate import NotEmulated, rewrite
from harness.schema import BuildRequest

sys.path.insert(0, str(Path(__file__).parent))
from build import KERNELS, requests_of

Mutation = Callable[[str, random.Random], str]


def _swap(pattern: str, instead: Callable[[re.Match[str], random.Random], str]) -> Mutation:
    """One occurrence of a pattern, drawn, replaced."""

    def mutate(text: str, draw: random.Random) -> str:
        places = list(re.finditer(pattern, text))
        if not places:
            return text
        found = draw.choice(places)
        return text[: found.start()] + instead(found, draw) + text[found.end() :]

    return mutate


def _one_of(*others: str) -> Callable[[re.Match[str], random.Random], str]:
    return lambda found, draw: draw.choice([other for other in others if other != found.group(0)])


def _arguments(found: re.Match[str], draw: random.Random) -> str:
    name, given = found.group(1), [part.strip() for part in found.group(2).split(",")]
    match draw.randrange(4):
        case 0:
            given = given[:-1]
        case 1:
            given = [*given, given[-1]]
        case 2:
            draw.shuffle(given)
        case _:
            given = [*given, "0"]
    return f"{name}({', '.join(given)})"


_TYPES = ("float", "double", "int", "int64_t", "size_t", "bool", "unsigned", "long long", "char")
_OF_TORCH = (
    *("torch::Tensor", "at::Tensor&", "const torch::Tensor&", "torch::TensorList", "at::Scalar", "c10::Tensor"),
    *("torch::Tensor&&", "c10::optional<at::Tensor>", "std::vector<torch::Tensor>", "torch::TensorOptions"),
)
_MEMBERS = (
    *(".size", ".numel", ".dim", ".sizes", ".item", ".sum", ".var", ".data", ".options", ".dtype", ".type", ".to"),
    *(".data_ptr", ".contiguous", ".accessor", ".device", ".scalar_type", ".view", ".strides", ".mean"),
)
_OPERATORS = (" * ", " % ", " & ", " << ", " == ", " = ", " - ", " || ", " ^ ")
_CONSTANTS = ("kInt", "kDouble", "kFloat32", "kCPU", "kStrided", "kHalf", "Float")
_ANGLES = ("<double>", "<int>", "", "<bool>", "<const float>")


_HEADERS = ("ATen/cuda/CUDAHelpers.h", "torch/cuda_utils.h", "helper_math.h", "cuda_helpers.cuh", "cub/reduce.cuh")
_DIRECTIVES = ("#endif", "#else", "#if 1", "#inclde <cmath>", "#define", "#error not done", "#ifdef")
_PYTHON = ("None", "True", "self", "len", "range", "np", "math", "F", "nn", "x_ptr", "THREADS", "num_elements")


def _behind(pattern: str, *lines: str) -> Mutation:
    """A line more, drawn, behind what matches a pattern."""
    return _swap(pattern, lambda found, draw: found.group(0) + draw.choice(lines))


def _again(pattern: str) -> Mutation:
    """What matches a pattern twice."""
    return _swap(pattern, lambda found, draw: found.group(0) * 2)


def _without(pattern: str) -> Mutation:
    return _swap(pattern, lambda found, draw: found.group(0).replace(found.group(1), "", 1))


_OF_HOST = (
    "std::vector<float> mine(3);",
    'printf("%d", threadIdx.x, mine);',
    "auto t = torch::zeros({1});",
    "throw 1;",
    "std::string text = 1;",
)


def _launched(found: re.Match[str], draw: random.Random) -> str:
    given = [part.strip() for part in found.group(2).split(",")]
    given = draw.choice((given[:-1], [*given, given[-1]], given[::-1], [*given[1:], given[0]]))
    return f"{found.group(1)}({', '.join(given)})"


def _number(found: re.Match[str], draw: random.Random) -> str:
    return draw.choice((found.group(0) + "u", "0", "1.5", "-1", "2.0L", "true", "nullptr", "'a'", "1e10"))


MUTATIONS: dict[str, Mutation] = {
    "a name": _swap(r"\b[a-z_]\w{2,}\b", lambda found, draw: found.group(0) + draw.choice(("_", "s", "2"))),
    "a type": _swap(r"\b(?:float|double|int|int64_t|size_t|bool|auto|unsigned|long)\b", _one_of(*_TYPES)),
    "a type of torch's": _swap(r"\b(?:torch|at)::Tensor\b&?", _one_of(*_OF_TORCH)),
    "arguments": _swap(r"\b([A-Za-z_][\w:.]*)\(([^()\n]+)\)", _arguments),
    "a brace": _swap(r"[{}]", lambda found, draw: draw.choice(("", found.group(0) * 2, "(", ")"))),
    "a bracket": _swap(r"[()\[\]<>;,]", lambda found, draw: draw.choice(("", found.group(0) * 2))),
    "a missing line": _swap(r"\n[^\n]*;[^\n]*(?=\n)", lambda found, draw: ""),
    "a missing include": _swap(r"#include[^\n]*\n", lambda found, draw: "\n"),
    "a namespace": _swap(r"\b(?:torch|at|c10|std)::", _one_of("torch::", "at::", "c10::", "std::", "", "pybind11::")),
    "a number": _swap(r"(?<![\w.])\d+(?:\.\d*)?f?\b", _number),
    "a member": _swap(r"\.[a-z]\w*(?=[(<])", _one_of(*_MEMBERS)),
    "a type in angles": _swap(r"<(?:float|scalar_t|int|int64_t|at::Half)>", _one_of(*_ANGLES)),
    "an operator": _swap(r" (?:\*|\+|-|/|<|>|==|=|\+=|&&) ", _one_of(*_OPERATORS)),
    "a semicolon": _without(r"(;)[ ]*\n"),
    "a string": _without(r'"[^"\n<>]+(")'),
    "a comment": _swap(r"\n[^\n]*;[ ]*(?=\n)", lambda found, draw: "\n/*" + found.group(0)[1:]),
    "a directive": _swap(r"\n(?=[^\n]*;)", lambda found, draw: f"\n{draw.choice(_DIRECTIVES)}\n"),
    "an include": _swap(r"\A", lambda found, draw: f"#include <{draw.choice(_HEADERS)}>\n"),
    "a character": _swap(
        r" [-*+] ", lambda found, draw: draw.choice((" \u2212 ", " \u00d7 ", " \u2013 ", " \\ ", " @ ", " ` "))
    ),
    "a literal": _swap(
        r"(?<![\w.])\d+(?:\.\d*)?f?\b", lambda found, draw: found.group(0) + draw.choice(("fp", "_f", "x", "h"))
    ),
    "a word of Python's": _swap(
        r"\b(?:nullptr|true|false|[a-z]\w*)(?= *[;,)])", lambda found, draw: draw.choice(_PYTHON)
    ),
    "a result": _swap(
        r"(?m)^(?:torch::Tensor|at::Tensor|(?:__global__|__device__) \w+) (?=\w+\()", lambda found, draw: ""
    ),
    "a statement twice": _again(r"\n[ ]+(?:const )?(?:auto|int|float|int64_t|dim3|torch::Tensor) \w+ = [^\n;]*;"),
    "a function twice": _again(
        r"(?m)^(?:torch::Tensor|at::Tensor|__device__|__global__|static|void)[^\n;]*\{\n(?:[^}\n][^\n]*\n|\n)*\}\n"
    ),
    "arguments of a launch": _swap(
        r"(>>>)\(([^;()]+(?:\([^()]*\)[^;()]*)*)\)(?=;)", lambda found, draw: _launched(found, draw)
    ),
    "a launch": _without(r"\w(<<<[^;>]*>>>)\("),
    "a constant written": _behind(r"\bconst \w+\*? (\w+) = [^\n;]*;", " n = 0;", " block = 1;", " size = 2;"),
    "a pointer for a tensor": _without(r"\w(\.data_ptr<\w+>\(\))"),
    "a tensor for a number": _without(r"\w(\.(?:numel|size|dim)\(\d?\))"),
    "a function of the host": _swap(
        r"(?<=\{)\n(?=[ ]+[^\n]*(?:threadIdx|blockIdx))", lambda found, draw: f"\n    {draw.choice(_OF_HOST)}\n"
    ),
    "a return": _swap(
        r"\breturn [^\n;]*;", lambda found, draw: draw.choice(("return;", "return 0;", 'return "x";', "retrun x;"))
    ),
    "a constant of torch's": _swap(r"\bk[A-Z]\w+|\bat::ScalarType::\w+", _one_of(*_CONSTANTS)),
}


@dataclass(frozen=True)
class Mutant:
    """`kind` is the name of the mutation, `kernel` the file whose source it was made of."""

    kind: str
    kernel: str
    snippet: Snippet


@dataclass(frozen=True)
class CudaMutant:
    """`kind` is the name of the mutation, `call` what runs the candidate of a kernel over the module `module`."""

    kind: str
    name: str
    request: BuildRequest
    call: str


def _requests() -> dict[Path, BuildRequest]:
    """Of the kernels that build once, from sources of their own."""
    return {path: found[0] for path in KERNELS if len(found := requests_of(path)) == 1 and not found[0].files}


def cuda_mutants(count: int, seed: int) -> Iterator[CudaMutant]:
    """So many, of the CUDA or the C++ source of a kernel; the same ones for the same seed."""
    draw = random.Random(seed)
    requests = _requests()
    made: set[str] = set()
    while len(made) < count:
        path, kind = draw.choice(list(requests)), draw.choice(list(MUTATIONS))
        request = requests[path]
        part = draw.choice([name for name in ("cpp_sources", "cuda_sources") if any(getattr(request, name))])
        sources = list(getattr(request, part))
        at = draw.randrange(len(sources))
        sources[at] = MUTATIONS[kind](sources[at], draw)
        mutated = request.model_copy(update={part: tuple(sources)})
        if mutated != request and mutated.model_dump_json() not in made:
            made.add(mutated.model_dump_json())
            call = f"candidate({str(path)!r}, module, 'cuda')"
            yield CudaMutant(kind, f"mutations/{len(made)}-{path.stem}", mutated, call)


def mutants(count: int, seed: int) -> Iterator[Mutant]:
    """So many mutants that the emulation knows how to rewrite; the same ones for the same seed."""
    draw = random.Random(seed)
    requests = _requests()
    made: set[str] = set()
    while len(made) < count:
        path = draw.choice(list(requests))
        kind = draw.choice(list(MUTATIONS))
        source = _source(requests[path])
        mutated = MUTATIONS[kind](source, draw)
        if mutated == source or mutated in made:
            continue
        try:
            text = rewrite(mutated).source
        except NotEmulated:
            continue
        made.add(mutated)
        name = f"mutations/{len(made)}-{path.stem}"
        call = f"candidate({str(path)!r}, module)"
        # A module of its own, so that no function is bound but those that the candidate asked for.
        bound = "".join(
            f'm.def("{each}", torch::wrap_pybind_function({each}), "");\n' for each in _functions(requests[path])
        )
        module = f"PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{\n{bound}}}\n"
        whole = text if requests[path].functions is None else f"{text}\n{module}"
        yield Mutant(kind, path.stem, Snippet(name, f"mutations/{(len(made) - 1) // 10}", whole, (call,), False))


def _functions(request: BuildRequest) -> list[str]:
    return list(request.functions or ())


def _source(request: BuildRequest) -> str:
    return "\n".join((*request.cpp_sources, *request.cuda_sources))


def candidate(path: str, module: Any, device: str = "cpu") -> Any:
    """What a candidate's `forward` gives on a device over a module that stands for all that it builds."""
    import torch
    from torch.utils import cpp_extension

    cpp_extension.load_inline = lambda *_, **__: module
    torch.use_deterministic_algorithms(True, warn_only=True)  # what nobody wrote is NaN then
    names: dict[str, Any] = {"__name__": "candidate", "__file__": path}
    exec(compile(Path(path).read_text(), path, "exec"), names)
    torch.manual_seed(1)
    model = names["ModelNew"](*names["get_init_inputs"]()).to(device)
    torch.manual_seed(2)
    inputs = [value.to(device) if isinstance(value, torch.Tensor) else value for value in names["get_inputs"]()]
    with torch.no_grad():
        return model(*inputs)
