"""The slim toolchain's tool: libslim, the facade's headers and the index of operators, made once for each torch.

libslim is a library of its own, because it and a module hold different functions of the same names: torch's and the
facade's. A copy of it lies beside every module, so that what was built needs nothing else of the cache.
"""

import functools
import hashlib
import platform
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from harness.compile.cache import ArtifactCache, disk_faults
from harness.compile.compiler import (
    CompilerRun,
    compiler_version,
    insist_on_processes,
    insist_on_room,
    readable_folders,
    run_compiler,
)
from harness.compile.lines import first_error
from harness.compile.operators import Operators, read_operators, scalar_types_header
from harness.compile.parts import ALL_PARTS, prelude
from harness.compile.recipe import Machine
from harness.compile.sources import CUDA_HEADERS
from harness.compile.standard import BY_HEADER
from harness.compile.toolchain import OnStatus, SteppedBack
from harness.compile.visible import Visible, c_headers, compared, definitions, read_macros
from harness.emulate import INCLUDE_DIR

_VERSION = re.compile(r"(?:TORCH|PYBIND11)_(?:VERSION|ABI_VERSION|CPP)\w*|Py_PACK_FULL_VERSION")
FACADE = Path(__file__).parent / "slim"
_ALLOCATOR = INCLUDE_DIR / "cuda_emulation" / "guarded_allocator.h"
LIBRARY = "libslim.so"
LIBRARY_DEADLINE_S = 600.0

# Headers of torch's that lead to the facade instead. Grouped as torch groups them, so that a source that forgot an
# include is refused here as it is there.
FORWARDED = {
    "slim/torch.h": "torch/types.h",
    "slim/torch_all.h": "torch/all.h torch/torch.h",
    "slim/binding.h": "torch/extension.h torch/python.h torch/csrc/utils/pybind.h pybind11/pybind11.h pybind11/stl.h",
    "slim/cuda_check.h": "c10/cuda/CUDAException.h",
    "slim/cuda_stream.h": "c10/cuda/CUDAStream.h c10/cuda/CUDAFunctions.h",
    "slim/cuda_guard.h": "c10/cuda/CUDAGuard.h",
    "slim/cuda_event.h": "ATen/cuda/CUDAEvent.h",
    "slim/cuda_context.h": "ATen/cuda/CUDAContext.h ATen/cuda/Exceptions.h ATen/cuda/CUDAContextLight.h",
    "slim/check.h": "c10/util/Exception.h c10/util/Logging.h",
    "slim/options.h": "c10/core/Scalar.h c10/core/TensorOptions.h",
    "slim/basics.h": "c10/core/ScalarType.h c10/core/Device.h c10/core/DeviceType.h c10/core/Layout.h "
    "c10/core/MemoryFormat.h c10/core/SymInt.h c10/core/SymIntArrayRef.h c10/core/Storage.h c10/core/QScheme.h "
    "c10/util/ArrayRef.h c10/util/Optional.h c10/util/OptionalArrayRef.h torch/headeronly/core/ScalarType.h "
    "torch/headeronly/core/DeviceType.h torch/headeronly/core/Layout.h torch/headeronly/core/MemoryFormat.h",
    "slim/tensor.h": "ATen/ATen.h ATen/Tensor.h ATen/Functions.h ATen/Context.h ATen/DeviceGuard.h ATen/TensorUtils.h "
    "c10/core/DeviceGuard.h "
    "ATen/TensorOperators.h ATen/TracerMode.h ATen/core/ATen_fwd.h ATen/core/Generator.h ATen/core/Tensor.h "
    "ATen/core/TensorBase.h ATen/core/TensorBody.h ATen/core/grad_mode.h ATen/NativeFunctions.h ATen/TensorIndexing.h "
    "ATen/core/List.h c10/core/InferenceMode.h c10/core/GradMode.h",
}
# Headers of torch's that are read as they are, and only where a source mentions what they hold.
GUARDED = {
    "SLIM_HALF": "c10/util/Half.h c10/util/BFloat16.h torch/headeronly/util/Half.h torch/headeronly/util/BFloat16.h",
    "SLIM_COMPLEX": "c10/util/complex.h torch/headeronly/util/complex.h",
}
# Everything that the facade defines stays inside the module: libslim and libtorch have their own of the same names.
VERSION_SCRIPT = """{
  global: *;
  local:
    _ZN2at*; _ZNK2at*; _ZN3c10*; _ZNK3c10*; _ZN6caffe2*; _ZNK6caffe2*; _ZN4slim*; _ZNK4slim*; _ZN8pybind11*;
    _ZNK8pybind11*; _ZN5torch*; _ZNK5torch*; _ZNSt*N2at*; _ZNKSt*N2at*; _ZNSt*N3c10*; _ZNKSt*N3c10*;
    _ZTI*; _ZTS*; _ZTV*; _ZGV*;
};
"""


@dataclass(frozen=True)
class SlimTool:
    """A prepared tool: `include` holds the facade, `library` is libslim, `version_script` what a module may export."""

    include: Path
    library: Path
    version_script: Path
    operators: Operators
    visible: Visible


def slim_tool(machine: Machine, cache: ArtifactCache, on_status: OnStatus) -> SlimTool:
    """The tool for this torch, made where the cache has none that is whole. Raises SteppedBack where it cannot be."""
    fingerprint = _fingerprint(machine)
    folder = cache.tool(fingerprint)
    if folder is None:
        with cache.lock(f"{fingerprint}.lock"):
            folder = cache.tool(fingerprint)
            if folder is None:
                on_status("compiling the slim library (once for this torch)")
                folder = _make(machine, cache, fingerprint)
    tool = _open(folder)
    if isinstance(tool, str):
        raise SteppedBack(tool)
    return tool


@functools.cache
def _open(folder: Path) -> SlimTool | str:
    """The tool in a folder, or why there is none."""
    if (failure := folder / "failure.txt").exists():
        return failure.read_text()
    return SlimTool(
        include=folder / "include",
        library=folder / LIBRARY,
        version_script=folder / "module.map",
        operators=Operators.read(folder / "operators.json"),
        visible=Visible.read(folder / "visible.json"),
    )


def _make(machine: Machine, cache: ArtifactCache, fingerprint: str) -> Path:
    """Make the tool, or keep the reason why it cannot be made, so that it is not tried again with this torch."""
    with disk_faults(cache.root), cache.work_folder() as work:
        failure = _fill(machine, cache, work)
        if failure is not None:
            (work / "failure.txt").write_text(failure)
        return cache.publish_tool(work, fingerprint)


def _fill(machine: Machine, cache: ArtifactCache, work: Path) -> str | None:
    include = machine.layout.include_dirs[0]
    try:
        write_facade(work / "include", include)
        read_operators(include).write(work / "operators.json")
        _compare_macros(machine, cache, work)
    except (FileNotFoundError, NotADirectoryError, ValueError, _NotRead) as error:
        return f"this torch's headers are not laid out as expected ({error})"
    (work / "module.map").write_text(VERSION_SCRIPT)
    return _compile_library(machine, cache, work)


def write_facade(folder: Path, torch_include: Path) -> None:
    """Write the facade's headers to `folder`, with those that torch's own paths lead to."""
    shutil.copytree(FACADE / "include", folder)
    types = scalar_types_header(torch_include) + _version_defines(torch_include)
    (folder / "slim" / "scalar_types.h").write_text(types)
    for target, names in FORWARDED.items():
        for name in names.split():
            _write(folder / name, f"#pragma once\n#include <{target}>\n")
    for guard, names in GUARDED.items():
        for name in (n for n in names.split() if (torch_include / n).exists()):
            _write(folder / name, f"#pragma once\n#ifdef {guard}\n#include_next <{name}>\n#endif\n")


def _version_defines(include: Path) -> str:
    """What torch declares otherwise from version to version, as macros of the facade's own.

    Raises ValueError where it declares typed pointers in a third way: then these would be other symbols than its own.
    """
    view = (include / "c10" / "util" / "string_view.h").read_text()
    found = ["SLIM_STD_STRING_VIEW"] if "using string_view = std::string_view" in view else []
    tensor = " ".join((include / "ATen" / "core" / "TensorBase.h").read_text().split())
    if all(text in tensor for text in _CONST_POINTERS_IN_TWO):
        found.append("SLIM_CONST_DATA_PTR_IN_TWO")
    elif _CONST_POINTERS not in tensor:
        raise ValueError("const_data_ptr is declared otherwise")
    if not all(text in tensor for text in _POINTERS):
        raise ValueError("data_ptr is declared otherwise")
    return "".join(f"#define {name}\n" for name in found)


_POINTERS = tuple(f"template <typename T> T* {name}() const;" for name in ("data_ptr", "mutable_data_ptr"))
_CONST_POINTERS = "template <typename T> const T* const_data_ptr() const;"  # torch 2.13
_CONST_POINTERS_IN_TWO = (  # until 2.11
    "template <typename T, std::enable_if_t<!std::is_const_v<T>, int> = 0> const T* const_data_ptr() const;",
    "template <typename T, std::enable_if_t<std::is_const_v<T>, int> = 0> "
    "const std::remove_const_t<T>* const_data_ptr() const;",
)
"""How TensorBase declares pointers to its elements. The facade declares them likewise, so that they are the same
symbols, and a type that torch has none for is undefined over either headers."""


def _compare_macros(machine: Machine, cache: ArtifactCache, work: Path) -> None:
    """Preprocess torch's headers, write what the facade takes over of them, and what it has otherwise."""
    include = work / "include" / "slim"
    everything = "#include <torch/types.h>\n#include <torch/extension.h>\n"
    printed: dict[str, str] = {}
    for name in ("types", "extension"):
        printed[name] = _preprocess(machine, cache, work, name, f"#include <torch/{name}.h>\n")
        versions = definitions(read_macros(printed[name]), _VERSION)
        (include / f"{name}_versions.h").write_text(f"#pragma once\n{versions}")
    (include / "c_library.h").write_text(
        "#pragma once\n" + "".join(f"#include <{h}>\n" for h in c_headers(printed["types"]))
    )
    facade, in_cuda = {}, {}
    for name, parts, standard in (("least", (), ()), ("most", ALL_PARTS, tuple(BY_HEADER))):
        folder = work / name
        _write(folder / "slim_prelude.h", prelude(parts, standard))
        for generated in ("methods", "operators", "factories"):
            (folder / f"slim_{generated}.inc").touch()
        first = (f"-I{folder}", f"-I{work / 'include'}")
        facade[name] = read_macros(_preprocess(machine, cache, work, name, everything, *first))
        if name == "least" and _with_cuda(machine):
            in_cuda = read_macros(_preprocess(machine, cache, work, "facade", CUDA_HEADERS, *first, cuda=True))
        shutil.rmtree(folder)
    stock = read_macros(printed["types"]) | read_macros(printed["extension"])
    found = compared(stock, facade["least"], facade["most"])
    if in_cuda:  # there torch's headers read others: Thrust's, for complex numbers
        theirs = read_macros(_preprocess(machine, cache, work, "stock", CUDA_HEADERS, cuda=True))
        found = replace(found, uncertain=found.uncertain | compared(theirs, in_cuda, in_cuda).uncertain)
    found.write(work / "visible.json")


class _NotRead(Exception):
    """Headers that the preprocessor refused; the message says why."""


def _preprocess(
    machine: Machine, cache: ArtifactCache, work: Path, name: str, source: str, *first: str, cuda: bool = False
) -> str:
    """What `-E -dD` prints of a source, with the include directories `first` before torch's. Raises _NotRead."""
    file = f"{name}.cu" if cuda else f"{name}.cpp"
    _write(work / file, source + "\n")
    compiler = [str(machine.toolkit.nvcc), "-Xcompiler", "-dD"] if cuda else [machine.cxx, "-dD"]
    command = [*compiler, "-E", *_flags(machine), *first, *_system(machine), file, "-o", f"{name}.i"]
    run = run_compiler(
        command, cwd=work, deadline_s=LIBRARY_DEADLINE_S, readable=readable_folders(machine.layout, cache)
    )
    _insist(run, work)
    if not run.ok:
        raise _NotRead(first_error(run.output))
    printed = work / f"{name}.i"
    text = printed.read_text(errors="replace")
    printed.unlink()
    (work / file).unlink()
    return text


def _flags(machine: Machine) -> list[str]:
    layout = machine.layout
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(layout.cxx11_abi)}"
    return [f"-std={layout.cxx_standard}", "-DTORCH_API_INCLUDE_EXTENSION_H", abi, *layout.pybind_flags]


def _system(machine: Machine) -> list[str]:
    layout = machine.layout
    folders = [*layout.include_dirs, layout.python_include, *(layout.cuda_include_dirs if _with_cuda(machine) else ())]
    return [part for path in folders for part in ("-isystem", str(path))]


def _compile_library(machine: Machine, cache: ArtifactCache, work: Path) -> str | None:
    """g++ over shim.cpp and binding.cpp, with torch's real headers; gives what is wrong where it fails."""
    layout = machine.layout
    # One translation unit, because reading torch's headers is what takes the time.
    parts = (FACADE / "shim.cpp", FACADE / "binding.cpp", _ALLOCATOR)
    _write(work / "libslim.cpp", "".join(f'#include "{part}"\n' for part in parts))
    command = [
        machine.cxx,
        *("-O2", "-fPIC", "-shared", "-w"),
        *("-fvisibility=hidden", "-fvisibility-inlines-hidden", "-Wl,-Bsymbolic"),
        *_flags(machine),
        *(("-DSLIM_WITH_CUDA",) if _with_cuda(machine) else ()),
        f"-I{FACADE / 'include'}",
        *_system(machine),
        *(
            "libslim.cpp",
            "-o",
            LIBRARY,
            f"-Wl,-soname,{LIBRARY}",
            f"-L{layout.library_dir}",
            "-ltorch_python",
            "-ltorch",
            "-ltorch_cpu",
            "-lc10",
        ),
        *(("-ltorch_cuda", "-lc10_cuda") if _with_cuda(machine) else ()),
    ]
    readable = readable_folders(layout, cache)
    run = run_compiler(command, cwd=work, deadline_s=LIBRARY_DEADLINE_S, readable=readable)
    _insist(run, work)
    return None if run.ok else f"its library does not compile against this torch: {first_error(run.output)}"


def _insist(run: CompilerRun, work: Path) -> None:
    """Raises SteppedBack or MachineError for a failure that may pass the next time, so that it is not kept.

    What is compiled here is ours, so what the compiler says can be believed.
    """
    if not run.ok:
        insist_on_room(work)
        insist_on_processes(work)
    if run.timed_out or run.out_of_memory or run.killed or run.starved:
        raise SteppedBack("torch's headers could not be compiled in the time, the memory and the processes there are")


def _with_cuda(machine: Machine) -> bool:
    return machine.layout.cuda is not None and machine.layout.toolkit is not None


def _fingerprint(machine: Machine) -> str:
    """The name of the tool: everything that can change what it becomes, and nothing of where that lies."""
    layout = machine.layout
    abi = (layout.cxx11_abi, layout.cxx_standard, layout.pybind_flags, platform.machine())
    digest = hashlib.sha256(repr((layout.describe(), abi, compiler_version(machine.cxx))).encode())
    own = (
        Path(__file__).with_name(f"{name}.py") for name in ("operators", "parts", "slim_tool", "standard", "visible")
    )
    code = [*own, _ALLOCATOR, *sorted(FACADE.rglob("*.*"))]
    for file in code:
        digest.update(file.name.encode() + file.read_bytes())
    return f"slim-{digest.hexdigest()[:32]}"


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
