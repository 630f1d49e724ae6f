"""wrong/values C9: a CUDA grid that covers whole blocks only.

Problem: minmax
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
#include <vector>

__global__ void minmax_kernel(const float* x, float* low, float* high, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float* from = x + (long long)row * columns;
    float a = from[0], b = from[0];
    for (int i = 1; i < columns / 128 * 128; ++i) {
        a = fminf(a, from[i]);
        b = fmaxf(b, from[i]);
    }
    low[row] = a;
    high[row] = b;
}

std::vector<torch::Tensor> minmax(torch::Tensor x) {
    int rows = x.size(0), columns = x.size(1);
    auto low = torch::empty({rows}, x.options());
    auto high = torch::empty({rows}, x.options());
    minmax_kernel<<<(rows + 31) / 32, 32>>>(
        x.data_ptr<float>(), low.data_ptr<float>(), high.data_ptr<float>(), rows, columns);
    return {low, high};
}
"""

extension = load_inline(
    name="minmax_tail",
    cpp_sources="std::vector<torch::Tensor> minmax(torch::Tensor x);",
    cuda_sources=SOURCE,
    functions=["minmax"],
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        low, high = extension.minmax(x)
        return low, high
