"""Where torch's headers and libraries lie, and what they were built with, without importing torch.

The controller and the builder stay free of torch (importing it costs three seconds and a CUDA library or two), so
everything that `torch.utils.cpp_extension` asks of the imported package is read from its files instead.
"""

import functools
import importlib.util
import mmap
import os
import re
import shutil
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from harness.errors import ToolchainError

_CXX_STANDARD = re.compile(r"-std=(c\+\+\d+)")
_PYBIND_ABI = re.compile(rb"__pybind11_internals_v\d+((?:_gcc|_clang)?)((?:_libstdcpp|_libcpp)?)((?:_cxxabi\d+)?)")


@dataclass(frozen=True)
class CudaToolkit:
    """A CUDA toolkit: `home` as torch would find it, `nvcc` its compiler, `version` the release ("13.0")."""

    home: Path
    nvcc: Path
    version: str

    @property
    def library_dir(self) -> Path:
        lib64 = self.home / "lib64"
        return lib64 if lib64.exists() or not (self.home / "lib").exists() else self.home / "lib"


@dataclass(frozen=True)
class TorchLayout:
    """One installed torch: where it lies and what it was built with.

    `cuda` is the CUDA release that torch was built for, None for a CPU build; `toolkit` the CUDA toolkit found on
    this machine, None where there is none (the two are independent). `cxx11_abi` is libstdc++'s dual ABI flag,
    `cxx_standard` the one that torch's own `load_inline` passes, `pybind_flags` the defines it adds for pybind11's
    ABI (none since torch 2.9).
    """

    root: Path
    version: str
    git_version: str
    cuda: str | None
    cxx11_abi: bool
    cxx_standard: str
    pybind_flags: tuple[str, ...]
    python_include: Path
    python_abi: str
    toolkit: CudaToolkit | None

    @property
    def library_dir(self) -> Path:
        return self.root / "lib"

    @property
    def include_dirs(self) -> tuple[Path, ...]:
        """Torch's own include directories, in the order of `torch.utils.cpp_extension.include_paths("cpu")`."""
        include = self.root / "include"
        return include, include / "torch" / "csrc" / "api" / "include"

    @property
    def cuda_include_dirs(self) -> tuple[Path, ...]:
        """The toolkit's headers, then those of pip's nvidia packages where the toolkit alone lacks cuBLAS's."""
        if self.toolkit is None:
            return ()
        home = self.toolkit.home / "include"
        if (home / "cublas_v2.h").exists():
            return (home,)
        packages = self.root.parent / "nvidia"
        return (home, *sorted(found.parent for found in packages.glob("*/include/cu*_v2.h")))

    def describe(self) -> dict[str, str]:
        """What a cache key must know about this torch."""
        return {
            "torch": f"{self.version} {self.git_version}",
            "torch_cuda": str(self.cuda),
            "python": self.python_abi,
            "toolkit": self.toolkit.version if self.toolkit else "",
        }


@functools.cache
def find_torch() -> TorchLayout:
    """The torch that `import torch` would give in this interpreter. Raises ToolchainError where there is none."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        raise ToolchainError("torch is not installed in this Python: run `pip install torch`.")
    return read_layout(Path(spec.submodule_search_locations[0]))


def read_layout(root: Path) -> TorchLayout:
    """The layout of the torch package in the folder `root`."""
    version = _assignments((root / "version.py").read_text())
    recipe = (root / "utils" / "cpp_extension.py").read_text()
    standard = _CXX_STANDARD.search(recipe)
    return TorchLayout(
        root=root,
        version=version.get("__version__", "unknown"),
        git_version=version.get("git_version", ""),
        cuda=version.get("cuda"),
        cxx11_abi=_contains(root / "lib" / "libc10.so", b"NSt7__cxx1112basic_string"),
        cxx_standard=standard.group(1) if standard else "c++17",
        pybind_flags=_pybind_flags(root) if "+= _get_pybind11_abi_build_flags()" in recipe else (),
        python_include=Path(sysconfig.get_path("include", scheme="posix_prefix")),
        python_abi=sysconfig.get_config_var("SOABI") or "unknown",
        toolkit=find_toolkit(),
    )


@functools.cache
def find_toolkit() -> CudaToolkit | None:
    """The CUDA toolkit, looked for as torch does: CUDA_HOME, CUDA_PATH, the folder of nvcc, /usr/local/cuda.

    torch takes the first guess as it is; here a guess without headers (an `nvcc` that is only a wrapper script) is
    passed over for the next.
    """
    named = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    nvcc = shutil.which("nvcc")
    guesses = [Path(named)] if named else []
    if nvcc:
        guesses += [Path(nvcc).parent.parent, Path(nvcc).resolve().parent.parent]
    guesses.append(Path("/usr/local/cuda"))
    for home in guesses:
        header, compiler = home / "include" / "cuda_runtime_api.h", home / "bin" / "nvcc"
        if header.exists() and compiler.exists():
            return CudaToolkit(home=home, nvcc=compiler, version=_cudart_version(header))
    return None


def cxx_compiler() -> str:
    """The C++ compiler that torch would call: $CXX, else `c++`. Raises ToolchainError where there is none."""
    named = os.environ.get("CXX", "c++")
    found = shutil.which(named) or shutil.which("g++")
    if found is None:
        raise ToolchainError("No C++ compiler was found: install g++ (`apt-get install g++`), or name one in CXX.")
    return found


def _cudart_version(header: Path) -> str:
    found = re.search(r"#define\s+CUDART_VERSION\s+(\d+)", header.read_text(errors="replace"))
    if found is None:
        return "unknown"
    number = int(found.group(1))
    return f"{number // 1000}.{number % 1000 // 10}"


def _assignments(source: str) -> dict[str, str]:
    """The string constants that a `version.py` assigns, annotated or not."""
    return dict(re.findall(r"^(\w+)(?:\s*:[^=]+)?\s*=\s*['\"]([^'\"]*)['\"]", source, re.MULTILINE))


def _contains(library: Path, needle: bytes) -> bool:
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(needle) >= 0


def _pybind_flags(root: Path) -> tuple[str, ...]:
    """The pybind11 ABI defines of a torch before 2.9, read from the name of its internals' capsule."""
    with (root / "lib" / "libtorch_python.so").open("rb") as file:
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            found = _PYBIND_ABI.search(content)
    if found is None:
        return ()
    names = ("COMPILER_TYPE", "STDLIB", "BUILD_ABI")
    return tuple(f'-DPYBIND11_{n}="{v.decode()}"' for n, v in zip(names, found.groups(), strict=True) if v)
