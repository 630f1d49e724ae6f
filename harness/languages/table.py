"""The table of languages. To add one, add a row: nothing else names them one by one."""

import re

from harness.languages.c_source import has_body, has_kernel, is_c
from harness.languages.code import Code
from harness.languages.row import Language

_CUDA_PROMPT = """\
Write CUDA C++ in strings and build it when the file is imported, with \
`torch.utils.cpp_extension.load_inline(name=..., cpp_sources=...,
cuda_sources=..., functions=[...])`; `functions` names what Python calls, and `cpp_sources` declares it.
"""
_CPP_PROMPT = """\
Write C++ for the CPU in a string and build it when the file is imported, with \
`torch.utils.cpp_extension.load_inline(name=...,
cpp_sources=..., functions=[...], extra_cflags=["-O3"])`; `functions` names what Python calls.
"""
_TRITON_PROMPT = """\
Write Triton kernels: functions decorated with `@triton.jit`, launched from `forward` or a function that it calls.
"""
_TILELANG_PROMPT = """\
Write TileLang kernels: functions decorated with `@T.prim_func` (`import tilelang.language as T`), compiled \
with `tilelang.compile` or
`@tilelang.jit` when the module is constructed or first called, and called from `forward`.
"""
_CUTE_PROMPT = """\
Write kernels in the CuTe DSL (`import cutlass.cute as cute`): device functions decorated with \
`@cute.kernel`, launched from a function
decorated with `@cute.jit` that is compiled with `cute.compile` once and called from `forward`.
"""
_CUPY_PROMPT = """\
Write CUDA C++ in strings and compile it with `cupy.RawKernel` or `cupy.RawModule`. Hand tensors over by \
`tensor.data_ptr()` or DLPack, and
launch on PyTorch's current stream (`cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)`).
"""
_NUMBA_PROMPT = """\
Write kernels with Numba: functions decorated with `@numba.cuda.jit`, launched from `forward` on \
`numba.cuda.as_cuda_array(tensor)` and on
PyTorch's current stream (`numba.cuda.external_stream(torch.cuda.current_stream().cuda_stream)`).
"""
_NVRTC_PROMPT = """\
Write CUDA C++ in strings, each kernel `extern "C" __global__`, and compile it with \
`torch.cuda._compile_kernel(source, name)` (NVRTC: no
headers of PyTorch). What it returns is called with `grid=`, `block=` and `args=[tensors and numbers]`.
"""

_GLOBAL = re.compile(
    r"__global__\s+(?:(?!__global__)[\w:]++(?:\s*+\([^()]*+\))?\s+)*?((?!__launch_bounds__)\w++)(?:\s*<[^<>()]*+>)?\s*+\("
)
"""The name of a `__global__` function, behind its type and launch bounds; a specialisation's too."""
_TORCH_LIBRARY = re.compile(
    r"\bat::|\bat_cuda_|\bcub::|\bthrust::|cutlass|cublas|cudnn|cufft|cusparse|magma|nccl|gemm|nvjet|flash_(fwd|bwd)"
    r"|^sm\d\d_|^(ampere|hopper|volta|turing|maxwell)_|xmma|wgrad|dgrad|^triton_|^Mem(cpy|set)|^aten::",
    re.IGNORECASE,
)
"""What PyTorch's kernels and those of the libraries that it calls look like in a profile."""


def _cuda(code: Code) -> bool:
    return code.asks_for_cuda or any(has_kernel(text) for text in code.strings)


def _cpp(code: Code) -> bool:
    return any(not has_kernel(text) and is_c(text) and has_body(text) for text in code.strings)


def _hip(code: Code) -> bool:
    return any(re.search(r"hip/hip_runtime\.h|\bhipLaunchKernelGGL\b|\bhipStream_t\b", text) for text in code.strings)


_ROWS = (
    Language(
        name="cuda",
        title="CUDA C++",
        makers=frozenset({"RawKernel", "RawModule", "_compile_kernel"}),
        detects=_cuda,
        defines=_GLOBAL,
        emulated=True,
        late_builds=True,
        prompt=_CUDA_PROMPT,
    ),
    Language(
        name="c++",
        title="C++ for the CPU",
        detects=_cpp,
        late_builds=True,
        part_of=frozenset({"cuda"}),  # the host's side of it
        prompt=_CPP_PROMPT,
    ),
    Language(
        name="triton",
        title="Triton",
        modules=("triton",),
        defines=re.compile(r"@(?:triton\.)?jit\b[^\n@]*+\s+def\s+(\w+)"),
        interpreter="triton",
        prompt=_TRITON_PROMPT,
    ),
    Language(
        name="tilelang",
        title="TileLang",
        modules=("tilelang",),
        defines=re.compile(r"@(?:\w+\.)*prim_func\b[^\n@]*+\s+def\s+(\w+)"),
        shown=("{}_kernel", "{}_kernel_1", "{}_kernel_2", "{}_kernel_3"),
        needs_gpu=True,
        prompt=_TILELANG_PROMPT,
    ),
    Language(
        name="cute",
        title="CuTe DSL",
        modules=("cutlass.cute",),
        own=re.compile(r"^kernel_cutlass_"),  # and then the Python function's name and its arguments' types
        needs_gpu=True,
        prompt=_CUTE_PROMPT,
    ),
    Language(
        name="cupy",
        title="CuPy",
        modules=("cupyx.jit",),
        makers=frozenset({"RawKernel", "RawModule", "ElementwiseKernel", "ReductionKernel"}),
        library=re.compile(r"^cupyx?_"),
        prompt=_CUPY_PROMPT,
    ),
    Language(
        name="numba",
        title="Numba",
        modules=("numba",),
        own=re.compile(r"\bcudapy::|^_ZN6cudapy"),
        prompt=_NUMBA_PROMPT,
    ),
    Language(
        name="nvrtc",
        title="CUDA C++ through NVRTC",
        modules=("cuda.nvrtc", "cuda.bindings.nvrtc", "cuda.core"),
        makers=frozenset({"_compile_kernel"}),
        prompt=_NVRTC_PROMPT,
    ),
    Language(name="hip", title="HIP", detects=_hip),
)
PYTORCH = Language(name="pytorch", title="PyTorch", library=_TORCH_LIBRARY)
"""What remains where a candidate has no kernel of its own."""

LANGUAGES: dict[str, Language] = {row.name: row for row in (*_ROWS, PYTORCH)}
"""Every language by its name, in the order in which records name them."""


def prompted() -> dict[str, Language]:
    """Those that models are asked for."""
    return {name: row for name, row in LANGUAGES.items() if row.prompt}


def languages_in(code: Code) -> tuple[str, ...]:
    """The languages of a candidate's own kernels, in the table's order; "pytorch" alone where it has none."""
    found = {row.name for row in LANGUAGES.values() if row.is_in(code)}
    return tuple(name for name, row in LANGUAGES.items() if name in found and not row.part_of & found) or (
        PYTORCH.name,
    )
