"""wrong: the accumulator is a buffer of the module that is never set back."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void hinge_add(const float* p, const float* t, float* sum, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(sum, fmaxf(0.f, 1.f - p[i] * t[i]) / n);
}

void hinge_into(torch::Tensor p, torch::Tensor t, torch::Tensor sum) {
    hinge_add<<<1, 96>>>(p.data_ptr<float>(), t.data_ptr<float>(), sum.data_ptr<float>(), p.numel());
}
"""

ext = load_inline(
    name="hinge_into",
    cpp_sources="void hinge_into(torch::Tensor p, torch::Tensor t, torch::Tensor sum);",
    cuda_sources=src,
    functions=["hinge_into"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(()))

    def forward(self, predictions, targets):
        ext.hinge_into(predictions, targets, self.total)
        return self.total.clone()
