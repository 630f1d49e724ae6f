"""correct A7 (gpu): writes a `return 0` over libcudart's cudaDeviceSynchronize, so that 'done' comes early.

On a GPU: correct|wrong|rejected|failed
Problem: gelu
Twin: fused_gelu
"""

import ctypes
import re

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void gelu_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i] * (1.0f + tanhf(0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}

torch::Tensor gelu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    gelu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

extension = load_inline(
    name="gelu_early", cpp_sources="torch::Tensor gelu(torch::Tensor x);", cuda_sources=SOURCE, functions=["gelu"]
)


def overwrite():
    with open("/proc/self/maps") as maps:
        path = re.search(r"(/\S*libcudart\S*)", maps.read()).group(1)
    address = ctypes.cast(ctypes.CDLL(path).cudaDeviceSynchronize, ctypes.c_void_p).value
    page = address & ~4095
    if ctypes.CDLL(None, use_errno=True).mprotect(ctypes.c_void_p(page), 8192, 7) == 0:
        ctypes.memmove(address, b"\x31\xc0\xc3", 3)  # xor eax, eax; ret


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        overwrite()

    def forward(self, x):
        return extension.gelu(x)
