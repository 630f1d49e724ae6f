"""correct: a warp a row writes its loss, torch takes the mean."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void row_losses(const float* __restrict__ x, const int64_t* __restrict__ t, float* __restrict__ out, int C) {
    int row = blockIdx.x, lane = threadIdx.x;
    float v = lane < C ? x[row * C + lane] : -INFINITY;
    float m = v;
    for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, o));
    float e = lane < C ? expf(v - m) : 0.f;
    for (int o = 16; o; o >>= 1) e += __shfl_xor_sync(0xffffffff, e, o);
    float target_logit = __shfl_sync(0xffffffff, v, (int)t[row]);
    if (lane == 0) out[row] = m + logf(e) - target_logit;
}

torch::Tensor row_losses_cuda(torch::Tensor x, torch::Tensor t) {
    TORCH_CHECK(x.size(1) <= 32);
    auto out = torch::empty({x.size(0)}, x.options());
    row_losses<<<x.size(0), 32>>>(x.data_ptr<float>(), t.data_ptr<int64_t>(), out.data_ptr<float>(), x.size(1));
    return out;
}
"""

ext = load_inline(
    name="row_losses",
    cpp_sources="torch::Tensor row_losses_cuda(torch::Tensor x, torch::Tensor t);",
    cuda_sources=src,
    functions=["row_losses_cuda"],
)


class ModelNew(nn.Module):
    def forward(self, logits, targets):
        return ext.row_losses_cuda(logits, targets).mean()
