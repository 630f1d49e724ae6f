"""The compiler calls are those of torch's own load_inline, in its order."""

import dataclasses
import inspect
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch.utils import cpp_extension

from harness.compile.builder import cache_key
from harness.compile.compiler import run_compiler
from harness.compile.recipe import BadFlags, Machine, gencode_flags, inside, plan_build, split_flags
from harness.compile.sources import source_files
from harness.compile.standard import BY_HEADER, standard_headers
from harness.compile.torch_layout import CudaToolkit, find_torch
from harness.errors import ToolchainError
from harness.schema import BuildRequest

TOOLKIT = CudaToolkit(home=Path("/opt/cuda"), nvcc=Path("/opt/cuda/bin/nvcc"), version="13.0")
LAYOUT = dataclasses.replace(find_torch(), cuda="13.0", toolkit=TOOLKIT)
CUDA = Machine(target="cuda", layout=LAYOUT, cxx="/usr/bin/c++", arch="9.0")
CPU = Machine(target="cpu", layout=LAYOUT, cxx="/usr/bin/c++")
REQUEST = BuildRequest(
    name="my_ext",
    cpp_sources=("int f();",),
    cuda_sources=("int f() { return 1; }",),
    functions={"f": "a doc"},
    extra_cflags=("-O3",),
    extra_cuda_cflags=("--use_fast_math",),
    extra_ldflags=("-lm", ""),
)


def test_the_generated_sources_are_torchs_with_line_directives() -> None:
    main, cuda = source_files(REQUEST)
    assert main.text.splitlines() == [
        "#include <torch/extension.h>",
        '#line 1 "cpp_sources[0]"',
        "int f();",
        '#line 1 "binding"',
        "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {",
        'm.def("f", torch::wrap_pybind_function(f), "a doc");',
        "}",
    ]
    assert cuda.text.splitlines()[:4] == [
        "#include <torch/types.h>",
        "#include <cuda.h>",
        "#include <cuda_runtime.h>",
        '#line 1 "cuda_sources[0]"',
    ]


def test_torch_still_generates_what_we_generate() -> None:
    stock = inspect.getsource(cpp_extension.load_inline)
    for fragment in (
        "#include <torch/extension.h>",
        "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {",
        'torch::wrap_pybind_function({function_name}), "{docstring}");',
        "#include <torch/types.h>",
    ):
        assert fragment in stock


def test_implicit_headers_are_left_out_where_asked() -> None:
    request = REQUEST.model_copy(update={"no_implicit_headers": True})
    assert all("#include" not in file.text for file in source_files(request))


def test_a_cuda_build_calls_cxx_and_nvcc_and_links_torch() -> None:
    plan = plan_build(REQUEST, source_files(REQUEST), CUDA)
    cxx, nvcc = plan.compile
    assert cxx[0] == "/usr/bin/c++"
    assert nvcc[0] == "/opt/cuda/bin/nvcc"
    assert "-O3" in cxx
    assert "-O3" not in nvcc
    assert "--use_fast_math" in nvcc
    assert set(cpp_extension.COMMON_NVCC_FLAGS) <= set(nvcc)
    assert "-gencode=arch=compute_90,code=sm_90" in nvcc
    assert "-DTORCH_EXTENSION_NAME=my_ext" in cxx
    assert [a for a in plan.link if a.startswith("-l")] == [
        "-lm", "-lc10", "-lc10_cuda", "-ltorch_cpu", "-ltorch_cuda", "-ltorch", "-ltorch_python", "-lcudart",
    ]  # fmt: skip


def test_a_cpu_build_knows_nothing_of_cuda() -> None:
    request = REQUEST.model_copy(update={"cuda_sources": ()})
    plan = plan_build(request, source_files(request), CPU)
    assert not any("cuda" in argument for argument in (*plan.compile[0], *plan.link))


def test_one_string_may_hold_several_flags_and_none() -> None:
    assert split_flags(["-O3 -march=native", "", " -DX='a b' "]) == ["-O3", "-march=native", "-DX=a b"]
    with pytest.raises(BadFlags):
        split_flags(["-DX='"])


@pytest.mark.parametrize("arch", ["9.0", "90", "sm_90"])
def test_an_architecture_may_be_written_in_three_ways(arch: str) -> None:
    assert gencode_flags(arch, []) == [
        "-gencode=arch=compute_90,code=compute_90",
        "-gencode=arch=compute_90,code=sm_90",
    ]


def test_the_candidates_own_architecture_is_left_alone() -> None:
    assert gencode_flags("9.0", ["-arch=sm_80"]) == []


@pytest.mark.parametrize("arch", [None, "", "hopper"])
def test_no_architecture_is_our_fault(arch: str | None) -> None:
    with pytest.raises(ToolchainError):
        gencode_flags(arch, [])


@pytest.mark.parametrize(
    "flags", [("-t", "4"), ("-t4",), ("-t=4",), ("--threads", "4"), ("--threads=4",), ("-threads=4",)]
)
def test_architectures_are_compiled_for_one_by_one_however_they_were_asked_for(flags: tuple[str, ...]) -> None:
    """Else a build would have as many compilers side by side as its candidate likes."""
    asked = REQUEST.model_copy(update={"extra_cuda_cflags": ("-G", *flags, "--use_fast_math")})
    plain = REQUEST.model_copy(update={"extra_cuda_cflags": ("-G", "--use_fast_math")})
    assert plan_build(asked, source_files(asked), CUDA) == plan_build(plain, source_files(plain), CUDA)


def test_file_names_that_lead_out_are_recognised() -> None:
    assert inside("a/b.cu")
    assert not inside("../b.cu")
    assert not inside("/etc/passwd")


def test_the_layout_agrees_with_the_imported_torch() -> None:
    import torch
    import torch._C

    layout = find_torch()
    assert layout.version == torch.__version__
    assert layout.git_version == torch.version.git_version
    assert layout.cuda == torch.version.cuda
    assert layout.cxx11_abi == torch.compiled_with_cxx11_abi()
    assert [str(path) for path in layout.include_dirs] == cpp_extension.include_paths("cpu")
    assert f"-std={layout.cxx_standard}" in inspect.getsource(cpp_extension._write_ninja_file_to_build_library)


FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "name": st.text(min_size=1),
    "cpp_sources": st.lists(st.text(), max_size=2).map(tuple),
    "cuda_sources": st.lists(st.text(), max_size=2).map(tuple),
    "files": st.dictionaries(st.text(), st.text(), max_size=2),
    "functions": st.none() | st.dictionaries(st.text(), st.text(), max_size=2),
    "extra_cflags": st.lists(st.text(), max_size=2).map(tuple),
    "extra_cuda_cflags": st.lists(st.text(), max_size=2).map(tuple),
    "extra_ldflags": st.lists(st.text(), max_size=2).map(tuple),
    "extra_include_paths": st.lists(st.text(), max_size=2).map(tuple),
    "with_cuda": st.none() | st.booleans(),
    "is_python_module": st.booleans(),
    "no_implicit_headers": st.booleans(),
    "with_pytorch_error_handling": st.booleans(),
}


def test_every_field_of_a_request_is_tried() -> None:
    assert set(FIELDS) == set(BuildRequest.model_fields)


@given(st.data(), st.sampled_from(sorted(FIELDS)))
def test_a_change_of_any_field_changes_the_key(data: st.DataObject, name: str) -> None:
    value = data.draw(FIELDS[name])
    changed = REQUEST.model_copy(update={name: value})
    same_key = cache_key(changed, CPU_HERE, ["stock"]) == cache_key(REQUEST, CPU_HERE, ["stock"])
    assert same_key == (value == getattr(REQUEST, name))


CPU_HERE = Machine(target="cpu", layout=dataclasses.replace(LAYOUT, toolkit=None), cxx="g++")


@pytest.mark.parametrize(
    "machine",
    [
        dataclasses.replace(CPU_HERE, target="cpu-emulated"),
        dataclasses.replace(CPU_HERE, arch="9.0"),
        dataclasses.replace(CPU_HERE, layout=dataclasses.replace(CPU_HERE.layout, version="2.6.0")),
        dataclasses.replace(CPU_HERE, layout=dataclasses.replace(CPU_HERE.layout, cuda="12.4")),
        dataclasses.replace(CPU_HERE, layout=dataclasses.replace(CPU_HERE.layout, python_abi="cpython-312")),
    ],
)
def test_another_machine_has_another_key(machine: Machine) -> None:
    assert cache_key(REQUEST, machine, ["stock"]) != cache_key(REQUEST, CPU_HERE, ["stock"])


def test_a_forced_toolchain_has_another_key() -> None:
    assert cache_key(REQUEST, CPU_HERE, ["stock"]) != cache_key(REQUEST, CPU_HERE, ["slim", "stock"])


def test_every_standard_header_given_for_a_name_is_one_that_torch_itself_includes(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text("#include <torch/types.h>\n")
    layout = find_torch()
    include = [part for path in layout.include_dirs for part in ("-isystem", str(path))]
    command = ["g++", "-M", "-MF", "a.d", f"-std={layout.cxx_standard}", *include, "a.cpp"]
    run = run_compiler(command, cwd=tmp_path, deadline_s=60, readable=[layout.root])
    assert run.ok, run.output
    included = {Path(word).name for word in (tmp_path / "a.d").read_text().split()}
    assert {Path(header).name for header in BY_HEADER} <= included


def test_a_name_brings_its_header_and_a_using_directive_the_common_ones() -> None:
    assert standard_headers(["cout", "own_name"], "std::cout") == ["iostream"]
    assert "algorithm" in standard_headers([], "using namespace std;")
