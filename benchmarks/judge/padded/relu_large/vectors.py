"""Vector loads and stores: bandwidth is what it costs. What WORK has above 100 is written to a scratch tensor."""

import torch
from torch.utils.cpp_extension import load_inline

WORK = 100

SOURCE = """
#include <torch/extension.h>

__global__ void relu4(const float4* x, float4* y, float4* scratch, int n, int extra) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n + extra) return;
    float4 v = x[i < n ? i : i - n];
    v = make_float4(fmaxf(v.x, 0.0f), fmaxf(v.y, 0.0f), fmaxf(v.z, 0.0f), fmaxf(v.w, 0.0f));
    if (i < n)
        y[i] = v;
    else
        scratch[i - n] = v;
}

torch::Tensor relu(torch::Tensor x, torch::Tensor scratch, int64_t work) {
    auto y = torch::empty_like(x);
    int n = x.numel() / 4, extra = n / 100 * (int)(work - 100);
    relu4<<<(n + extra + 255) / 256, 256>>>(reinterpret_cast<const float4*>(x.data_ptr<float>()),
                                            reinterpret_cast<float4*>(y.data_ptr<float>()),
                                            reinterpret_cast<float4*>(scratch.data_ptr<float>()), n, extra);
    return y;
}
"""

extension = load_inline(
    name="relu_vectors",
    cpp_sources="torch::Tensor relu(torch::Tensor x, torch::Tensor scratch, int64_t work);",
    cuda_sources=SOURCE,
    functions=["relu"],
)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scratch = None

    def forward(self, x):
        if self.scratch is None:
            self.scratch = torch.empty(x.numel() // 8, device=x.device)
        return extension.relu(x, self.scratch, WORK)
