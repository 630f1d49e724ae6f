import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_source = """
#include <torch/extension.h>
#include <ATen/Parallel.h>
#include <algorithm>

// Eight sums a dot product, so that the compiler can keep them in one vector register.
static float dot(const float* a, const float* b, int64_t size) {
    float sums[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= size; i += 8) {
        for (int lane = 0; lane < 8; lane++) {
            sums[lane] += a[i + lane] * b[i + lane];
        }
    }
    float sum = 0.0f;
    for (; i < size; i++) {
        sum += a[i] * b[i];
    }
    for (int lane = 0; lane < 8; lane++) {
        sum += sums[lane];
    }
    return sum;
}

torch::Tensor linear_relu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    x = x.contiguous();
    const int64_t rows = x.size(0), inputs = x.size(1), outputs = weight.size(0);
    auto out = torch::empty({rows, outputs}, x.options());
    const float* in = x.data_ptr<float>();
    const float* w = weight.data_ptr<float>();
    const float* b = bias.data_ptr<float>();
    float* result = out.data_ptr<float>();
    at::parallel_for(0, rows, 1, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; row++) {
            for (int64_t column = 0; column < outputs; column++) {
                const float sum = dot(in + row * inputs, w + column * inputs, inputs) + b[column];
                result[row * outputs + column] = std::max(sum, 0.0f);
            }
        }
    });
    return out;
}
"""

extension = load_inline(
    name="linear_relu", cpp_sources=cpp_source, functions=["linear_relu"], extra_cflags=["-O3"]
)


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x):
        return extension.linear_relu(x, self.linear.weight, self.linear.bias)
