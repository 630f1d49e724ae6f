"""The slim toolchain's tool: libslim, the facade's headers and the index of operators, made once for each torch.

libslim is one object file, linked into every module: what was built needs no file of ours when it is loaded, wherever
the cache has been moved to since.
"""

import functools
import hashlib
import platform
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from harness.build.cache import ArtifactCache
from harness.build.compiler import compiler_version, readable_folders, run_compiler
from harness.build.lines import first_error
from harness.build.operators import Operators, read_operators, scalar_types_header
from harness.build.recipe import Machine
from harness.build.toolchain import OnStatus, SteppedBack

FACADE = Path(__file__).parent / "slim"
LIBRARY, _OPTIONS = "libslim.o", "libslim.options"
LIBRARY_DEADLINE_S = 600.0

# Headers of torch's that lead to the facade instead. Grouped as torch groups them, so that a source that forgot an
# include is refused here as it is there.
FORWARDED = {
    "slim/torch.h": "torch/types.h",
    "slim/functional.h": "torch/nn/functional.h",
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
# Everything that the facade and libslim define stays inside the module: libtorch has its own of the same names.
VERSION_SCRIPT = """{
  global: *;
  local:
    _ZN2at*; _ZNK2at*; _ZN3c10*; _ZNK3c10*; _ZN6caffe2*; _ZNK6caffe2*; _ZN4slim*; _ZNK4slim*; _ZN8pybind11*;
    _ZNK8pybind11*; _ZN5torch*; _ZNK5torch*; _ZNSt*N2at*; _ZNKSt*N2at*; _ZNSt*N3c10*; _ZNKSt*N3c10*;
    _ZTI*; _ZTS*; _ZTV*; _ZGV*;
};
"""
# Torch's inline functions and classes that libslim holds become local to it, once they are out of their groups: the
# linker would merge them with the facade's of the same names.
_OURS_ALONE = ("--wildcard", "--keep-global-symbol=_ZN4slim*", "--strip-unneeded")
# What libslim calls that is there when a module is loaded, and in no library when it is linked.
_OF_THE_PROCESS = re.compile(r"^((?:_?Py|cuda)\w+) U", re.MULTILINE)


@dataclass(frozen=True)
class SlimTool:
    """A prepared tool: `include` holds the facade, `library` is libslim, `version_script` what a module may export.

    `linker_options` is a file of them that goes with the library.
    """

    include: Path
    library: Path
    linker_options: Path
    version_script: Path
    operators: Operators


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
        linker_options=folder / _OPTIONS,
        version_script=folder / "module.map",
        operators=Operators.read(folder / "operators.json"),
    )


def _make(machine: Machine, cache: ArtifactCache, fingerprint: str) -> Path:
    """Make the tool, or keep the reason why it cannot be made, so that nobody tries again with this torch."""
    with cache.work_folder() as work:
        failure = _fill(machine, cache, work)
        if failure is not None:
            (work / "failure.txt").write_text(failure)
        return cache.publish_tool(work, fingerprint)


def _fill(machine: Machine, cache: ArtifactCache, work: Path) -> str | None:
    include = machine.layout.include_dirs[0]
    try:
        write_facade(work / "include", include)
        read_operators(include).write(work / "operators.json")
    except (OSError, ValueError) as error:
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
    text = (include / "c10" / "util" / "string_view.h").read_text()
    return "#define SLIM_STD_STRING_VIEW\n" if "using string_view = std::string_view" in text else ""


def _compile_library(machine: Machine, cache: ArtifactCache, work: Path) -> str | None:
    """Make libslim of shim.cpp and binding.cpp, with torch's real headers; gives what is wrong where it fails."""
    # One translation unit, because reading torch's headers is what takes the time.
    _write(work / "libslim.cpp", f'#include "{FACADE}/shim.cpp"\n#include "{FACADE}/binding.cpp"\n')
    compiler = functools.partial(
        run_compiler, cwd=work, deadline_s=LIBRARY_DEADLINE_S, readable=readable_folders(machine.layout, cache)
    )
    programs = {name: compiler((machine.cxx, f"-print-prog-name={name}")).output.strip() for name in ("objcopy", "nm")}
    for command in (
        _compile_command(machine),
        (machine.cxx, "-r", "-nostdlib", "-Wl,--force-group-allocation", "compiled.o", "-o", "grouped.o"),
        (programs["objcopy"], *_OURS_ALONE, "grouped.o", LIBRARY),
        (programs["nm"], "-u", "--format=posix", LIBRARY),
    ):
        run = compiler(command)
        if run.timed_out or run.out_of_memory:  # may pass the next time, so it is not kept
            raise SteppedBack("its library could not be compiled in the time and memory there is")
        if not run.ok:
            return f"its library does not compile against this torch: {first_error(run.output)}"
    names = _OF_THE_PROCESS.findall(run.output)
    (work / _OPTIONS).write_text("".join(f"--ignore-unresolved-symbol={name}\n" for name in names))
    for made in ("libslim.cpp", "compiled.o", "grouped.o"):
        (work / made).unlink()
    return None


def _compile_command(machine: Machine) -> tuple[str, ...]:
    layout = machine.layout
    with_cuda = bool(cuda_libraries(machine))
    system = [*layout.include_dirs, layout.python_include, *(layout.cuda_include_dirs if with_cuda else ())]
    return (
        machine.cxx,
        *("-O2", "-fPIC", "-w", f"-std={layout.cxx_standard}", "-fvisibility=hidden", "-fvisibility-inlines-hidden"),
        "-fno-gnu-unique",  # what is unique in a process cannot be made local to a module
        *("-DTORCH_API_INCLUDE_EXTENSION_H", f"-D_GLIBCXX_USE_CXX11_ABI={int(layout.cxx11_abi)}", *layout.pybind_flags),
        *(("-DSLIM_WITH_CUDA",) if with_cuda else ()),
        f"-I{FACADE / 'include'}",
        *(part for path in system for part in ("-isystem", str(path))),
        *("-c", "libslim.cpp", "-o", "compiled.o"),
    )


def cuda_libraries(machine: Machine) -> tuple[str, ...]:
    """What libslim calls of a CUDA torch, for the linker; nothing where it is built without."""
    with_cuda = machine.layout.cuda is not None and machine.layout.toolkit is not None
    return ("-lc10_cuda", "-ltorch_cuda") if with_cuda else ()


def _fingerprint(machine: Machine) -> str:
    """The name of the tool: everything that can change what it becomes, and nothing of where that lies."""
    layout = machine.layout
    abi = (layout.cxx11_abi, layout.cxx_standard, layout.pybind_flags, platform.machine())
    digest = hashlib.sha256(repr((layout.describe(), abi, compiler_version(machine.cxx))).encode())
    code = [Path(__file__), Path(__file__).with_name("operators.py"), *sorted(FACADE.rglob("*.*"))]
    for file in code:
        digest.update(file.name.encode() + file.read_bytes())
    return f"slim-{digest.hexdigest()[:32]}"


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
