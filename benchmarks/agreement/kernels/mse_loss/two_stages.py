"""correct: parts by blocks, added by one more block."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

mse_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void mse_partial(const float* p, const float* t, float* partial, int n) {
    __shared__ float sdata[256];
    float acc = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        float diff = p[i] - t[i];
        acc += diff * diff;
    }
    sdata[threadIdx.x] = acc;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) sdata[threadIdx.x] += sdata[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = sdata[0];
}

__global__ void mse_final(const float* partial, float* out, int blocks, int n) {
    float total = 0.0f;
    for (int b = 0; b < blocks; ++b) total += partial[b];
    out[0] = total / n;
}

torch::Tensor mse_loss_cuda(torch::Tensor predictions, torch::Tensor targets) {
    int n = predictions.numel();
    int blocks = 10;
    auto partial = torch::empty({blocks}, predictions.options());
    auto out = torch::empty({1}, predictions.options());
    mse_partial<<<blocks, 256>>>(predictions.data_ptr<float>(), targets.data_ptr<float>(), partial.data_ptr<float>(), n);
    mse_final<<<1, 1>>>(partial.data_ptr<float>(), out.data_ptr<float>(), blocks, n);
    return out.squeeze();
}
"""

mse = load_inline(
    name="mse_two_stages",
    cpp_sources="torch::Tensor mse_loss_cuda(torch::Tensor predictions, torch::Tensor targets);",
    cuda_sources=mse_source,
    functions=["mse_loss_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, predictions, targets):
        return mse.mse_loss_cuda(predictions, targets)
