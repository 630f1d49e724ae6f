"""One warp a row: Welford's running mean and variance, merged by Chan's formula across the warp."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void layer_norm_kernel(const float* x, const float* weight, const float* bias, float* y, int rows, int dim,
                                  float eps) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    x += (size_t)row * dim;
    y += (size_t)row * dim;
    float count = 0.0f, mean = 0.0f, m2 = 0.0f;
    for (int i = threadIdx.x; i < dim; i += 32) {
        float v = x[i], d = v - mean;
        count += 1.0f;
        mean += d / count;
        m2 += d * (v - mean);
    }
    for (int offset = 16; offset > 0; offset >>= 1) {
        float n = __shfl_xor_sync(0xffffffff, count, offset), m = __shfl_xor_sync(0xffffffff, mean, offset);
        float s = __shfl_xor_sync(0xffffffff, m2, offset);
        float total = count + n, d = m - mean;
        m2 += s + d * d * count * n / total;
        mean = (mean * count + m * n) / total;
        count = total;
    }
    float scale = rsqrtf(m2 / dim + eps);
    for (int i = threadIdx.x; i < dim; i += 32) y[i] = (x[i] - mean) * scale * weight[i] + bias[i];
}

torch::Tensor layer_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
    auto y = torch::empty_like(x);
    int dim = x.size(-1), rows = x.numel() / dim;
    layer_norm_kernel<<<(rows + 7) / 8, dim3(32, 8)>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                                       bias.data_ptr<float>(), y.data_ptr<float>(), rows, dim, eps);
    return y;
}
"""

extension = load_inline(
    name="layer_norm_welford",
    cpp_sources="torch::Tensor layer_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps);",
    cuda_sources=SOURCE,
    functions=["layer_norm"],
)


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gamma = torch.nn.Parameter(torch.randn(dim))
        self.beta = torch.nn.Parameter(torch.randn(dim))

    def forward(self, x):
        return extension.layer_norm(x, self.gamma, self.beta, 1e-5)
