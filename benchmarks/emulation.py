"""What watching emulated kernels takes: `python benchmarks/emulation.py`.

Compiles the five shipped kernels and four of a few lines without PyTorch, as `tests/emulate` does, once as they were
before anything was watched and once as they are built now, and prints for each the milliseconds of a call

    plain     compiled without being watchable
    off       watchable, and not watched: what most calls are
    watched   every access watched, in one order
    zones     off, its output made by an allocator with red zones (a factor, of `off` with torch's own)

and the CPU seconds of the compiler. All on one CPU thread, the best of some calls, turn by turn.
"""

import argparse
import ctypes
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from harness.emulate import COMPILE_FLAGS, HEADER, INCLUDE_DIR, TRACE_FLAGS, rewrite

SOURCE = r"""
#include <cuda_runtime.h>
#include <cmath>
__global__ void matmul(const float* a, const float* b, float* c, int n) {
    __shared__ float s[16][16], t[16][16];
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        s[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        t[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += s[threadIdx.y][i] * t[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
__global__ void naive_matmul(const float* a, const float* b, float* c, int n) {
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}
__global__ void gelu(const float* x, const float*, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n * n) y[i] = 0.5f * x[i] * (1.f + tanhf(0.79788456f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}
__global__ void row_sum(const float* x, const float*, float* y, int n) {
    __shared__ float s[256];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 256) sum += x[blockIdx.x * n + i];
    s[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half; half >>= 1) {
        if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = s[0];
}
#define CALL(NAME, GRID, BLOCK) \
    extern "C" void call_##NAME(float* a, float* b, float* c, int n) { NAME<<<GRID, BLOCK>>>(a, b, c, n); }
CALL(matmul, dim3(n / 16, n / 16), dim3(16, 16))
CALL(naive_matmul, dim3(n / 16, n / 16), dim3(16, 16))
CALL(gelu, n * n / 256, 256)
CALL(row_sum, n, 256)
"""
KERNELS = ("matmul", "naive_matmul", "gelu", "row_sum")
SIDE, ROUNDS = 256, 7
NOTHING, FAULTS = 0, 1
# The allocator alone, against torch's real headers, behind the same functions as in a candidate's module.
ALLOCATOR = '#include "cuda_emulation/guarded_allocator.h"\n'


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        plain, plain_s = built(root, "plain", f'#include "{HEADER}"\n{rewrite(SOURCE).source}')
        traced, traced_s = built(root, "traced", f'#include "{HEADER}"\n{rewrite(SOURCE).source}', *TRACE_FLAGS)
        torch_root = Path(torch.__file__).parent
        against = ("-I", str(torch_root / "include"), "-L", str(torch_root / "lib"), "-lc10")
        allocator, _ = built(root, "allocator", ALLOCATOR, *against)
        print(f"compiler: {plain_s:.2f} CPU s plain, {traced_s:.2f} watchable ({traced_s / plain_s:.2f})")
        print(f"{'kernel':14} {'plain':>8} {'off':>8} {'watched':>8} {'off/plain':>10} {'zones':>6}")
        for name in KERNELS:
            print(row(name, plain, traced, allocator))


def built(root: Path, name: str, text: str, *flags: str) -> tuple[ctypes.CDLL, float]:
    """A shared object, loaded, and the CPU seconds that compiling it took."""
    (root / f"{name}.cpp").write_text(text)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["g++", "-std=c++17", *COMPILE_FLAGS, "-I", str(INCLUDE_DIR), "-c", str(root / f"{name}.cpp")]
    links = [flag for flag in flags if flag in ("-lc10",) or flag.endswith("/lib") or flag == "-L"]
    subprocess.run([*command, *(f for f in flags if f not in links), "-o", str(root / f"{name}.o")], check=True)
    subprocess.run(["g++", "-shared", str(root / f"{name}.o"), *links, "-o", str(root / f"{name}.so")], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return ctypes.CDLL(str(root / f"{name}.so")), seconds


def row(name: str, plain: ctypes.CDLL, traced: ctypes.CDLL, allocator: ctypes.CDLL) -> str:
    import torch

    a, b = torch.rand(SIDE, SIDE), torch.rand(SIDE, SIDE)
    zone_of = ctypes.cast(allocator.cuda_emulation_zone_of, ctypes.c_void_p)

    def call(library: ctypes.CDLL, watch: int, *, guarded: bool) -> None:
        allocator.cuda_emulation_guard_tensors(ctypes.c_bool(guarded))
        out = torch.empty(SIDE, SIDE)
        if library is traced:
            library.cuda_emulation_schedule(1, ctypes.c_uint64(0), watch, zone_of)
        function: Callable[..., object] = getattr(library, f"call_{name}")
        function(*(ctypes.c_void_p(value.data_ptr()) for value in (a, b, out)), SIDE)

    forms: tuple[Callable[[], None], ...] = (
        lambda: call(plain, NOTHING, guarded=False),
        lambda: call(traced, NOTHING, guarded=False),
        lambda: call(traced, FAULTS, guarded=True),
        lambda: call(traced, NOTHING, guarded=True),
    )
    best = [float("inf")] * len(forms)
    for _ in range(ROUNDS):
        for index, form in enumerate(forms):
            started = time.perf_counter()
            form()
            best[index] = min(best[index], (time.perf_counter() - started) * 1e3)
    off, watched, zones = best[1] / best[0], best[2], best[3] / best[1]
    return f"{name:14} {best[0]:8.2f} {best[1]:8.2f} {watched:8.2f} {off:10.2f} {zones:6.2f}"


if __name__ == "__main__":
    main()
