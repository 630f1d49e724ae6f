"""A build request as source files: what torch's `load_inline` would have written to its build folder.

`#line` directives name each string after the argument that it came in ("cuda_sources[0]"), so every compiler reports
the candidate's own lines, whatever we put around them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from harness.schema import BuildRequest

CUDA_SUFFIXES = (".cu", ".cuh")
SOURCE_SUFFIXES = (".cpp", ".cc", ".cxx", ".c", ".C", ".c++", ".cu")

CPP_HEADER = "#include <torch/extension.h>"
CUDA_HEADERS = "#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>"


@dataclass(frozen=True)
class SourceFile:
    """One file of a build. `compiled` is False for a header that only lies beside the sources.

    `on_top` is a header that g++ includes before the first line, which leaves lines where compilers quote them; `flags`
    are g++'s for this file alone.
    """

    name: str
    text: str
    language: Literal["c++", "cuda"]
    compiled: bool = True
    on_top: str = ""
    flags: tuple[str, ...] = ()


def source_files(request: BuildRequest) -> tuple[SourceFile, ...]:
    """The files of a request, with the text that torch would compile."""
    return (*_inline_files(request), *_own_files(request))


def candidate_texts(request: BuildRequest) -> tuple[str, ...]:
    """Everything of a request that the candidate wrote as code."""
    return (*request.cpp_sources, *request.cuda_sources, *request.files.values())


def _inline_files(request: BuildRequest) -> Iterator[SourceFile]:
    if request.cpp_sources or request.functions is not None:
        yield SourceFile("main.cpp", _main_cpp(request), "c++")
    if request.cuda_sources:
        yield SourceFile("cuda.cu", _cuda_cu(request), "cuda")


def _own_files(request: BuildRequest) -> Iterator[SourceFile]:
    for name, text in request.files.items():
        suffix = PurePosixPath(name).suffix
        language: Literal["c++", "cuda"] = "cuda" if suffix in CUDA_SUFFIXES else "c++"
        yield SourceFile(name, text, language, compiled=suffix in SOURCE_SUFFIXES)


def _main_cpp(request: BuildRequest) -> str:
    header = [] if request.no_implicit_headers else [CPP_HEADER]
    sources = [_marked(f"cpp_sources[{i}]", text) for i, text in enumerate(request.cpp_sources)]
    binding = [] if request.functions is None else [_marked("binding", _binding(request))]
    return "\n".join([*header, *sources, *binding]) + "\n"


def _cuda_cu(request: BuildRequest) -> str:
    header = [] if request.no_implicit_headers else [CUDA_HEADERS]
    sources = [_marked(f"cuda_sources[{i}]", text) for i, text in enumerate(request.cuda_sources)]
    return "\n".join([*header, *sources]) + "\n"


def _marked(name: str, text: str) -> str:
    return f'#line 1 "{name}"\n{text}'


def _binding(request: BuildRequest) -> str:
    """The module that torch generates for `functions`, word for word; a docstring is pasted in as it is."""
    assert request.functions is not None
    wrapped = "torch::wrap_pybind_function({})" if request.with_pytorch_error_handling else "{}"
    lines = [f'm.def("{name}", {wrapped.format(name)}, "{doc}");' for name, doc in request.functions.items()]
    return "\n".join(["PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {", *lines, "}"])
