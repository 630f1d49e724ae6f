"""How a rewritten source is compiled: `g++ -I INCLUDE_DIR *COMPILE_FLAGS`, with `#include "HEADER"` on top.

The include directory must come before PyTorch's own (`-I` before `-isystem`): it shadows `cuda_runtime.h`,
`c10/cuda/*.h`, `ATen/cuda/CUDAContext.h` and their like. PyTorch's headers must be on the path for half and bfloat16.
"""

from pathlib import Path

INCLUDE_DIR = Path(__file__).resolve().parent / "include"
HEADER = "cuda_emulation.h"

COMPILE_FLAGS: tuple[str, ...] = (
    "-O1",  # most of what -O2 would give; a kernel here runs once or twice, and compiling it is what takes the time
    "-pthread",
    "-fPIC",
    "-fno-strict-aliasing",  # kernels read floats as float4 and half as unsigned: nvcc lets them
    "-fwrapv",  # signed overflow wraps on a GPU
    "-fno-math-errno",
    "-w",  # what g++ thinks of CUDA's idioms is not what the candidate asked
)

TRACE_FLAGS: tuple[str, ...] = (
    "-fsanitize=thread",
    "--param=tsan-instrument-func-entry-exit=0",
    "-fno-tree-sra",  # a float4 is read as 16 bytes, whose address has to be a multiple of 16, and not as four floats
    "-g1",  # lines, and nothing else
    "-gdwarf-4",
    "-gz=none",
)
"""Added to COMPILE_FLAGS where a file includes HEADER, and not at linking, they have every access to memory reported to
the headers' `trace.h`, which finds races and what is out of bounds or not aligned. Not with AddressSanitizer."""

OWN_TYPES = "-DCUDA_EMULATION_OWN_TYPES"
"""Beside TRACE_FLAGS: 16 bytes at once may be aligned to 8, as a source with types of its own may have them."""

OVER_TORCH = "-DCUDA_EMULATION_OVER_TORCH"
"""Beside torch's own headers: has the emulation declare what those declare for CUDA compilers alone."""

ADDRESS_SANITIZER_FLAGS: tuple[str, ...] = ("-fsanitize=address", "-g", "-fno-omit-frame-pointer")
"""Added to COMPILE_FLAGS and at linking, they report an out-of-bounds access of any heap memory at its own source line,
four to seven times slower. The process that loads the module must have been started with
`LD_PRELOAD=$(g++ -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0`; it dies of the first report."""
