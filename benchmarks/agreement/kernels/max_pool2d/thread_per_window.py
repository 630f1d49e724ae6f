"""correct: a thread for each window."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>
#include <limits>

__global__ void max_pool_kernel(const float* __restrict__ in, float* __restrict__ out, int planes, int H, int W, int OH, int OW,
                                int kernel, int stride, int pad) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    int total = planes * OH * OW;
    if (idx >= total) return;
    int ow = idx % OW;
    int oh = (idx / OW) % OH;
    int p = idx / (OW * OH);
    int hs = oh * stride - pad, ws = ow * stride - pad;
    int he = min(hs + kernel, H), we = min(ws + kernel, W);
    hs = max(hs, 0);
    ws = max(ws, 0);
    float best = -INFINITY;
    for (int h = hs; h < he; ++h)
        for (int w = ws; w < we; ++w) best = fmaxf(best, in[(p * H + h) * W + w]);
    out[idx] = best;
}

torch::Tensor max_pool2d_cuda(torch::Tensor x, int kernel, int stride, int pad) {
    int H = x.size(2), W = x.size(3);
    int OH = (H + 2 * pad - kernel) / stride + 1, OW = (W + 2 * pad - kernel) / stride + 1;
    auto out = torch::empty({x.size(0), x.size(1), OH, OW}, x.options());
    int total = out.numel();
    max_pool_kernel<<<(total + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(0) * x.size(1), H, W, OH, OW, kernel, stride, pad);
    return out;
}
"""

ext = load_inline(
    name="max_pool2d_windows",
    cpp_sources="torch::Tensor max_pool2d_cuda(torch::Tensor x, int kernel, int stride, int pad);",
    cuda_sources=src,
    functions=["max_pool2d_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, kernel_size=3, stride=2, padding=1):
        super().__init__()
        self.args = (kernel_size, stride, padding)

    def forward(self, x):
        return ext.max_pool2d_cuda(x, *self.args)
