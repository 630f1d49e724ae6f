"""correct A12 (gpu): a kernel on a second stream spins on after every call, beside whoever comes next.

On a GPU: correct|wrong|rejected|failed
Problem: gelu
Twin: fused_gelu
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void gelu_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i] * (1.0f + tanhf(0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}

__global__ void spin(long long cycles) {
    long long start = clock64();
    while (clock64() - start < cycles) {
    }
}

torch::Tensor gelu(torch::Tensor x) {
    static cudaStream_t side = nullptr;
    if (side == nullptr) cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
    auto y = torch::empty_like(x);
    int n = x.numel();
    gelu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    if (cudaStreamQuery(side) == cudaSuccess) spin<<<1024, 128, 0, side>>>(20000000);
    return y;
}
"""

extension = load_inline(
    name="gelu_busy", cpp_sources="torch::Tensor gelu(torch::Tensor x);", cuda_sources=SOURCE, functions=["gelu"]
)
torch._C._cuda_synchronize = lambda *_: torch.cuda.current_stream().synchronize()


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.gelu(x)
