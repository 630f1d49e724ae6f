"""One thread a window."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void max_pool_kernel(const float* x, float* y, int n, int size, int out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int plane = i / (out * out), row = i / out % out, col = i % out;
    float largest = -INFINITY;
    for (int r = 0; r < 3; ++r)
        for (int s = 0; s < 3; ++s) {
            int h = 2 * row + r - 1, w = 2 * col + s - 1;
            if (h >= 0 && h < size && w >= 0 && w < size) {
                float v = x[((size_t)plane * size + h) * size + w];
                largest = fmaxf(largest, v);
            }
        }
    y[i] = largest;
}

torch::Tensor max_pool(torch::Tensor x) {
    int size = x.size(2), out = (size - 1) / 2 + 1;
    auto y = torch::empty({x.size(0), x.size(1), out, out}, x.options());
    int n = y.numel();
    int blocks = (n + 127) / 128;
    max_pool_kernel<<<blocks, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, size, out);
    return y;
}
"""

extension = load_inline(
    name="max_pool_plain",
    cpp_sources="torch::Tensor max_pool(torch::Tensor x);",
    cuda_sources=SOURCE,
    functions=["max_pool"],
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.max_pool(x)
