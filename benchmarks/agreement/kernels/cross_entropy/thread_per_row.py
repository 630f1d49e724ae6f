"""correct: a thread for each row, the mean by atomics."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void cross_entropy_kernel(const float* logits, const int64_t* targets, float* loss, int rows, int classes) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        const float* row = logits + r * classes;
        float m = row[0];
        for (int c = 1; c < classes; ++c) m = fmaxf(m, row[c]);
        float s = 0.f;
        for (int c = 0; c < classes; ++c) s += expf(row[c] - m);
        float l = logf(s) + m - row[targets[r]];
        atomicAdd(loss, l / rows);
    }
}

torch::Tensor cross_entropy_cuda(torch::Tensor logits, torch::Tensor targets) {
    auto loss = torch::zeros({}, logits.options());
    int rows = logits.size(0);
    cross_entropy_kernel<<<(rows + 31) / 32, 32>>>(logits.data_ptr<float>(), targets.data_ptr<int64_t>(), loss.data_ptr<float>(), rows, logits.size(1));
    return loss;
}
"""

ext = load_inline(
    name="cross_entropy_rows",
    cpp_sources="torch::Tensor cross_entropy_cuda(torch::Tensor logits, torch::Tensor targets);",
    cuda_sources=src,
    functions=["cross_entropy_cuda"],
)


class ModelNew(nn.Module):
    def forward(self, logits, targets):
        return ext.cross_entropy_cuda(logits, targets)
