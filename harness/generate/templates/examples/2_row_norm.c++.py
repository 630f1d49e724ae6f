import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_source = """
#include <torch/extension.h>
#include <ATen/Parallel.h>
#include <cmath>

torch::Tensor row_norm(torch::Tensor x, double eps) {
    x = x.contiguous();
    auto out = torch::empty_like(x);
    const int64_t columns = x.size(1);
    const float* in = x.data_ptr<float>();
    float* result = out.data_ptr<float>();
    at::parallel_for(0, x.size(0), 1, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; row++) {
            const float* from = in + row * columns;
            float* to = result + row * columns;
            double sum = 0.0;
            for (int64_t i = 0; i < columns; i++) {
                sum += (double)from[i] * from[i];
            }
            const float scale = 1.0 / (std::sqrt(sum) + eps);
            for (int64_t i = 0; i < columns; i++) {
                to[i] = from[i] * scale;
            }
        }
    });
    return out;
}
"""

extension = load_inline(name="row_norm", cpp_sources=cpp_source, functions=["row_norm"], extra_cflags=["-O3"])


class ModelNew(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        return extension.row_norm(x, self.eps)
