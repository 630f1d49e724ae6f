"""Newton's method, as many steps as WORK says: arithmetic is what it costs. It is at its limit long before.

What a step takes does not depend on the value.
"""

import torch
from torch.utils.cpp_extension import load_inline

WORK = 100

SOURCE = """
#include <torch/extension.h>

__global__ void newton(const float* x, float* y, int n, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int exponent;
    float a = frexpf(fabsf(x[i]), &exponent), v = 1.0f;
    int thirds = exponent > 0 ? (exponent + 2) / 3 : exponent / 3;
    a = ldexpf(a, exponent - 3 * thirds);  // from 1/8 to 1: division takes longer far from there
    for (int s = 0; s < steps; ++s) v = (2.0f * v + a / (v * v)) * (1.0f / 3.0f);
    y[i] = ldexpf(v, thirds);
}

torch::Tensor cube_root(torch::Tensor x, int64_t steps) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    newton<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, (int)steps);
    return y;
}
"""

extension = load_inline(
    name="cube_root_newton",
    cpp_sources="torch::Tensor cube_root(torch::Tensor x, int64_t steps);",
    cuda_sources=SOURCE,
    functions=["cube_root"],
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.cube_root(x, WORK)
