"""The slim toolchain: the stock compilers and flags over a facade of torch's headers, and a prebuilt library behind it.

Reading torch's headers is nineteen twentieths of a stock build. Here the source sees classes of the same names and
layout, and those of torch's own operator declarations whose names occur in it. Whatever is missing is a compile error,
and a compile error here means only that the next toolchain is asked.
"""

import contextlib
import re
from dataclasses import replace

from harness.build.functional import WANTED, functional_headers
from harness.build.recipe import Extras, Plan, plan_build
from harness.build.slim_tool import SlimTool, cuda_libraries, slim_tool
from harness.build.sources import candidate_texts, source_files
from harness.build.standard import standard_headers
from harness.build.toolchain import SteppedBack, Surroundings, Toolchain
from harness.build.torch_layout import TorchLayout
from harness.schema import BuildRequest

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
# What the facade does not have. Naming one saves the attempt; what is forgotten here costs an attempt, no more.
_BEYOND = re.compile(
    r"TORCH_LIBRARY\w*|torch::(?:nn(?!::functional)|jit|autograd::\w*Function|optim|data)\b|"
    r"py::(?:class_|array\w*|kwargs|args|bytes|buffer|enum_|error_already_set|capsule)\b|"
    r"<pybind11/(?:numpy|functional|complex)\.h>|<torch/(?:library|script)\.h>|<ATen/native/[^>]*>|TensorIterator\w*|"
    r"torch::stable|cudaEventExternal"
)
# Words of sources that use torch's headers for numbers of every kind.
_NUMERIC = r"complex|gpuAtomic|\.cuh>|NumericUtils|CUDABlas|cpu/vec"
# Parts of the facade that cost time to read, and the words that call for them.
_PARTS = {
    "SLIM_HALF": re.compile(rf"half|bfloat16|TYPES_AND|{_NUMERIC}", re.IGNORECASE),
    "SLIM_COMPLEX": re.compile(_NUMERIC, re.IGNORECASE),
    "SLIM_INDEX": re.compile(r"\bindexing\b|\bindex(?:_put_)?\s*\(|\bList\s*<"),
    "SLIM_MAYBE_OWNED": re.compile(r"MaybeOwned|expect_contiguous|borrow_from_optional_tensor"),
    "SLIM_ACCUMULATE": re.compile(r"\b(?:multiply|sum)_integers\b"),
    "SLIM_VECTORIZED": re.compile(r"cpu/vec"),
    "SLIM_MAP": re.compile(r"\bstd::map\b"),
    "SLIM_UNORDERED_MAP": re.compile(r"\bunordered_map\b"),
    "SLIM_SET": re.compile(r"\bstd::set\b"),
    "SLIM_OBJECTS": re.compile(
        r"\b(?:py|pybind11)::(?:object|dict|list|tuple|str|int_|float_|bool_|none\s*>|handle|sequence|iterable|function|cast|"
        r"print|len|isinstance|make_tuple|import|module_?::import|repr|hasattr|getattr|reinterpret_\w+|\w+_error)\b"
    ),
    "SLIM_ACCESSORS": re.compile(r"accessor", re.IGNORECASE),
    "SLIM_DISPATCH": re.compile(r"AT_DISPATCH"),
    "SLIM_CUBLAS": re.compile(r"cublas", re.IGNORECASE),
    "SLIM_CUBLASLT": re.compile(r"cublasLt"),
    "SLIM_PRINT": re.compile(r"\b(?:cout|cerr|clog|\w*stream)\b"),
    "SLIM_PARALLEL": re.compile(r"\bparallel_for\b|\bget_num_threads\b"),
}

_HEADERS = {
    "SLIM_HALF": ("c10/util/Half.h", "c10/util/BFloat16.h"),
    "SLIM_COMPLEX": ("c10/util/complex.h",),
    "SLIM_VECTORIZED": tuple(f"c10/util/{name}.h" for name in ("qint8", "quint8", "qint32", "quint4x2", "quint2x4")),
}


def _plan(request: BuildRequest, around: Surroundings) -> Plan:
    tool = slim_tool(around.machine, around.cache, around.on_status)
    if (beyond := beyond_the_facade(request)) is not None:
        raise SteppedBack(f"the source uses {beyond}")
    plan = plan_build(request, source_files(request), around.machine, slim_extras(tool, around))
    headers = mentioned_headers("\n".join(candidate_texts(request)), tool, around.machine.layout)
    return replace(plan, files={**plan.files, **headers}, refused_link=unkept_promises(around))


def unkept_promises(around: Surroundings) -> str | None:
    """What the linker says where the facade declared something that no library has."""
    # CUDA code where torch is a CPU build: it can be compiled, to look at it, but not loaded.
    if around.machine.target == "cuda" and around.machine.layout.cuda is None:
        return None
    return r"undefined reference to [`'](?:(?:typeinfo|vtable) for )?(?:at|c10|caffe2|torch|slim|pybind11)::"


def beyond_the_facade(request: BuildRequest) -> str | None:
    """The first thing that a request uses and the facade is known not to have; None where there is none."""
    found = _BEYOND.search("\n".join(candidate_texts(request)))
    return found.group(0) if found else None


def slim_extras(tool: SlimTool, around: Surroundings) -> Extras:
    """The facade's include directories (`.` holds what is written for each source) and the link with libslim."""
    linked = (
        f"-Wl,--version-script={tool.version_script}",
        *cuda_libraries(around.machine),
        # Names that are missing are told, and only those that the facade promised make the attempt fail: stock finds
        # the others (cuBLAS's, through libtorch_cuda) when the module is loaded, or reports them then.
        *("-Wl,--no-undefined", "-Wl,--warn-unresolved-symbols", f"-Wl,@{tool.linker_options}"),
    )
    return Extras(first=(".", str(tool.include)), objects=(str(tool.library),), linked=linked)


def mentioned_headers(text: str, tool: SlimTool, layout: TorchLayout) -> dict[str, str]:
    """The headers written for one source: what it mentions of the standard library, the facade and ATen."""
    own = set(_IDENTIFIER.findall(text))
    functional = functional_headers(own, layout.include_dirs[0]) if WANTED.search(text) else {}
    if functional:  # what they take for granted of torch's other headers
        text += "std::ostream std::sqrt MaybeOwned"
        own |= {"ostream", "sqrt"}
    names = sorted(own.union(*(_IDENTIFIER.findall(header) for header in functional.values())))
    parts = [part for part, words in _PARTS.items() if words.search(text)]
    prelude = [
        "#pragma once",
        *(f"#define {part}" for part in parts),
        *(f"#include <{header}>" for header in standard_headers(own, text)),
        *(f"#include <{header}>" for part in parts for header in _HEADERS.get(part, ())),
    ]
    return {
        "slim_prelude.h": "\n".join(prelude) + "\n",
        "slim_methods.inc": tool.operators.methods_text(names),
        "slim_operators.inc": tool.operators.operators_text(names),
        "slim_factories.inc": tool.operators.factories_text(names),
        "slim_functional.inc": "".join(f"#include <{header}>\n" for header in functional),
    }


def prepare_slim(around: Surroundings) -> None:
    """Make the tool now. Where it cannot be made, planning says so."""
    with contextlib.suppress(SteppedBack):
        slim_tool(around.machine, around.cache, around.on_status)


SLIM = Toolchain(name="slim", plan=_plan, memory_bytes=1 << 30, prepare=prepare_slim)
