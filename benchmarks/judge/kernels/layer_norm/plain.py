"""One block a row: mean, then variance, then the row."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__device__ float block_sum(float v) {
    __shared__ float partial[128];
    __syncthreads();  // those who still read the sum before
    partial[threadIdx.x] = v;
    __syncthreads();  // every part is there
    for (int half = 64; half > 0; half >>= 1) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    return partial[0];
}

__global__ void layer_norm_kernel(const float* x, const float* weight, const float* bias, float* y, int dim) {
    int row = blockIdx.x;
    size_t first = (size_t)row * dim, step = 1;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < dim; i += blockDim.x) {
        float v = x[first + i * step];
        sum += v;
    }
    float mean = block_sum(sum) / dim;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < dim; i += blockDim.x) {
        float d = x[first + i * step] - mean;
        squares += d * d;
    }
    float scale = rsqrtf(block_sum(squares) / dim + 1e-5f);
    for (int i = threadIdx.x; i < dim; i += blockDim.x) {
        float normal = (x[first + i * step] - mean) * scale;
        y[first + i * step] = normal * weight[i] + bias[i];
    }
}

torch::Tensor layer_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    auto y = torch::empty_like(x);
    int dim = x.size(2), rows = x.size(0) * x.size(1);
    layer_norm_kernel<<<rows, 128>>>(x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(),
                                     y.data_ptr<float>(), dim);
    return y;
}
"""

extension = load_inline(
    name="layer_norm_plain",
    cpp_sources="torch::Tensor layer_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias);",
    cuda_sources=SOURCE,
    functions=["layer_norm"],
)


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(dim))
        self.bias = torch.nn.Parameter(torch.randn(dim))

    def forward(self, x):
        return extension.layer_norm(x, self.weight, self.bias)
