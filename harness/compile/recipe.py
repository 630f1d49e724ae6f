"""The compiler calls of one build: the same structure, flags and order as torch's `load_inline`.

Every toolchain goes through here. They differ in the include directories that come first, in what is linked beside
torch, and in which compiler reads the CUDA part; nothing else, so that a faster toolchain cannot mean another program.
"""

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from harness.backends import BACKENDS
from harness.compile.sources import SourceFile
from harness.compile.torch_layout import CudaToolkit, TorchLayout
from harness.emulate import ADDRESS_SANITIZER_FLAGS
from harness.errors import ToolchainError
from harness.schema import BuildRequest, DeviceKind

# What a file of a candidate may be called. A compiler takes "-x" for a flag and "@x" for a file of flags.
_PART = re.compile(r"[\w+.][\w+.,=\- ]*", re.ASCII)
_DEEPEST, _LONGEST = 16, 200
_THREADS = re.compile(r"-?-(?:threads|t)(=?\d+)?")
# torch.utils.cpp_extension.COMMON_NVCC_FLAGS
NVCC_FLAGS = (
    "-D__CUDA_NO_HALF_OPERATORS__",
    "-D__CUDA_NO_HALF_CONVERSIONS__",
    "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "-D__CUDA_NO_HALF2_OPERATORS__",
    "--expt-relaxed-constexpr",
)


@dataclass(frozen=True)
class Machine:
    """What a build is for and with: the target, torch, the C++ compiler and the device's capability ("9.0").

    `inspected` builds are for the tools of `harness.inspect`: line numbers on a GPU, AddressSanitizer on a CPU.
    """

    target: DeviceKind
    layout: TorchLayout
    cxx: str
    arch: str | None = None
    inspected: bool = False

    @property
    def nvcc(self) -> bool:
        """Whether CUDA sources go to nvcc."""
        return BACKENDS[self.target].nvcc

    @property
    def sanitizer_flags(self) -> tuple[str, ...]:
        """AddressSanitizer's, for the C++ compiler and the linker."""
        return ADDRESS_SANITIZER_FLAGS if self.inspected and not self.nvcc else ()

    @property
    def toolkit(self) -> CudaToolkit:
        if self.layout.toolkit is None:
            raise ToolchainError("No CUDA compiler was found: install the CUDA toolkit, or name it in CUDA_HOME.")
        return self.layout.toolkit


@dataclass(frozen=True)
class Extras:
    """How a toolchain departs from the stock one.

    `first` are include directories before torch's, `linked` arguments of the linker before torch's libraries,
    `cxx_flags` flags of the C++ compiler before the candidate's, `library` a shared object that what is built needs
    beside it when it is loaded.
    """

    first: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()
    cxx_flags: tuple[str, ...] = ()
    library: Path | None = None


@dataclass(frozen=True)
class Plan:
    """Files to write and processes to run for one artifact; `compile` in any order, then `link`.

    A link whose output matches `refused_link` has failed, whatever the linker's exit status says. `library` is as in
    `Extras`.
    """

    files: dict[str, str]
    compile: tuple[tuple[str, ...], ...]
    link: tuple[str, ...]
    output: str
    notes: tuple[str, ...] = ()
    refused_link: str | None = None
    library: Path | None = None


class BadFlags(ValueError):
    """Flags of the candidate that no shell could have split."""


def plan_build(request: BuildRequest, files: Iterable[SourceFile], machine: Machine, extras: Extras = Extras()) -> Plan:
    """The calls that make `request` into a shared object. Raises BadFlags, and ToolchainError without a compiler."""
    files = tuple(files)
    with_cuda = request.uses_cuda and machine.nvcc
    common = _common_flags(request, machine, extras, with_cuda=with_cuda)
    calls, objects = [], []
    for file in (f for f in files if f.compiled):
        if file.language == "cuda" and with_cuda:
            compiler = [str(machine.toolkit.nvcc), *common, *_nvcc_flags(request, machine)]
            target = f"{file.name}.cuda.o"
        else:
            language = ("-x", "c++") if file.language == "cuda" else ()
            compiler = [machine.cxx, *common, *_cxx_flags(request, machine, extras), *language]
            target = f"{file.name}.o"
        on_top = ("-include", file.on_top) if file.on_top else ()
        objects.append(target.replace("/", "_"))
        calls.append((*compiler, *file.flags, *on_top, "-c", file.name, "-o", objects[-1]))
    output = "module.so"
    link = (machine.cxx, *objects, "-shared", *_link_flags(request, machine, extras, with_cuda), "-o", output)
    texts = {f.name: f.text for f in files}
    return Plan(files=texts, compile=tuple(calls), link=link, output=output, library=extras.library)


def split_flags(flags: Iterable[str]) -> list[str]:
    """Flags as the shell under torch's ninja sees them: one string may hold several, an empty one holds none."""
    try:
        return shlex.split(" ".join(flag.strip() for flag in flags))
    except ValueError as error:
        raise BadFlags(f"compiler flags with an open quote: {' '.join(flags)!r}") from error


def gencode_flags(arch: str | None, cuda_flags: Iterable[str]) -> list[str]:
    """nvcc's code generation flags for one capability; none where the candidate's own flags name one.

    `arch` is "9.0", "90", "sm_90" or "9.0a"; machine code and PTX for it, as torch asks for the newest visible
    device. Raises ToolchainError for None.
    """
    if any("arch" in flag for flag in cuda_flags):
        return []
    found = re.fullmatch(r"(?:sm_|compute_)?(\d+)\.?(\d)([af]?)", arch or "")
    if found is None:
        raise ToolchainError(f"{arch!r} is no CUDA architecture: give one such as 9.0 or sm_90.")
    number = "".join(found.groups())
    return [f"-gencode=arch=compute_{number},code={kind}_{number}" for kind in ("compute", "sm")]


def _common_flags(request: BuildRequest, machine: Machine, extras: Extras, *, with_cuda: bool) -> list[str]:
    layout = machine.layout
    system = [*layout.include_dirs, *(layout.cuda_include_dirs if with_cuda else ()), layout.python_include]
    return [
        f"-DTORCH_EXTENSION_NAME={request.name}",
        "-DTORCH_API_INCLUDE_EXTENSION_H",
        *layout.pybind_flags,
        *(f"-I{path}" for path in extras.first),
        *(f"-I{path}" for path in request.extra_include_paths),
        *(part for path in system for part in ("-isystem", str(path))),
        f"-D_GLIBCXX_USE_CXX11_ABI={int(layout.cxx11_abi)}",
    ]


def _cxx_flags(request: BuildRequest, machine: Machine, extras: Extras) -> list[str]:
    standard = f"-std={machine.layout.cxx_standard}"
    return ["-fPIC", standard, *extras.cxx_flags, *machine.sanitizer_flags, *split_flags(request.extra_cflags)]


def _nvcc_flags(request: BuildRequest, machine: Machine) -> list[str]:
    own = _one_by_one(split_flags(request.extra_cuda_cflags))
    lines = ["-lineinfo"] if machine.inspected else []
    flags = [*NVCC_FLAGS, *lines, *gencode_flags(machine.arch, own), "--compiler-options", "-fPIC", *own]
    if not any(flag.startswith("-std=") for flag in flags):
        flags.append(f"-std={machine.layout.cxx_standard}")
    return flags


def _one_by_one(flags: Iterable[str]) -> list[str]:
    """Flags without nvcc's `--threads`, which compiles for that many architectures side by side: how many compilers a
    build has at once is not its candidate's to say.
    """
    waiting, kept = iter(flags), list[str]()
    for flag in waiting:
        if (threads := _THREADS.fullmatch(flag)) is None:
            kept.append(flag)
        elif threads[1] is None:
            next(waiting, None)
    return kept


def _link_flags(request: BuildRequest, machine: Machine, extras: Extras, with_cuda: bool) -> list[str]:
    layout = machine.layout
    torch_cuda = with_cuda and layout.cuda is not None
    flags = [*machine.sanitizer_flags, *split_flags(request.extra_ldflags), *extras.linked]
    flags += [f"-L{layout.library_dir}", "-lc10"]
    flags += ["-lc10_cuda"] if torch_cuda else []
    flags += ["-ltorch_cpu"]
    flags += ["-ltorch_cuda"] if torch_cuda else []
    flags += ["-ltorch", "-ltorch_python"]
    if with_cuda:
        flags += [f"-L{machine.toolkit.library_dir}", "-lcudart"]
    return flags


def inside(name: str) -> bool:
    """Whether a file name stays inside the folder that it is written to, and is no flag to a compiler."""
    path = PurePosixPath(name)
    plain = all(_PART.fullmatch(part) and part != ".." for part in path.parts)
    return plain and 0 < len(path.parts) <= _DEEPEST and len(name) <= _LONGEST
