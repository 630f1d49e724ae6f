"""correct control: float4 loads and a tail, by the alignment of the pointer.

Problem: gelu
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__device__ float gelu_of(float v) {
    return 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
}

__global__ void gelu_vector(const float4* x, float4* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 v = x[i];
        y[i] = make_float4(gelu_of(v.x), gelu_of(v.y), gelu_of(v.z), gelu_of(v.w));
    }
}

__global__ void gelu_scalar(const float* x, float* y, int begin, int n) {
    int i = begin + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = gelu_of(x[i]);
}

torch::Tensor gelu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    const float* from = x.data_ptr<float>();
    float* to = y.data_ptr<float>();
    bool aligned = (reinterpret_cast<uintptr_t>(from) | reinterpret_cast<uintptr_t>(to)) % 16 == 0;
    int whole = aligned ? n / 4 : 0;
    if (whole > 0) {
        gelu_vector<<<(whole + 255) / 256, 256>>>(
            reinterpret_cast<const float4*>(from), reinterpret_cast<float4*>(to), whole);
    }
    int rest = n - whole * 4;
    if (rest > 0) gelu_scalar<<<(rest + 255) / 256, 256>>>(from, to, whole * 4, n);
    return y;
}
"""

extension = load_inline(
    name="gelu_vector", cpp_sources="torch::Tensor gelu(torch::Tensor x);", cuda_sources=SOURCE, functions=["gelu"]
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.gelu(x)
