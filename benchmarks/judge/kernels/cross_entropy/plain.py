"""One block a row, the rows added by atomics."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void cross_entropy_kernel(const float* x, const long* targets, float* loss, int rows, int classes) {
    __shared__ float partial[128];
    int row = blockIdx.x;
    const float* logits = x + (size_t)row * classes;
    float largest = -INFINITY;
    for (int c = threadIdx.x; c < classes; c += blockDim.x) largest = fmaxf(largest, logits[c]);
    partial[threadIdx.x] = largest;
    __syncthreads();
    for (int half = 64; half > 0; half >>= 1) {
        if (threadIdx.x < half) partial[threadIdx.x] = fmaxf(partial[threadIdx.x], partial[threadIdx.x + half]);
        __syncthreads();
    }
    largest = partial[0];
    __syncthreads();
    float sum = 0.0f;
    for (int c = threadIdx.x; c < classes; c += blockDim.x) {
        float v = logits[c];
        float e = expf(v - largest);
        sum += e;
    }
    partial[threadIdx.x] = sum;
    __syncthreads();  // every part of the sum is there
    for (int stride = 64; stride > 0; stride >>= 1) {
        if (threadIdx.x < stride) partial[threadIdx.x] += partial[threadIdx.x + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        float right = logits[targets[row]];
        atomicAdd(loss, (largest + logf(partial[0]) - right) / rows);
    }
}

torch::Tensor cross_entropy(torch::Tensor x, torch::Tensor targets) {
    int rows = x.size(0), classes = x.size(1);
    auto loss = torch::zeros({}, x.options());
    int blocks = rows;
    cross_entropy_kernel<<<blocks, 128>>>(x.data_ptr<float>(), targets.data_ptr<long>(), loss.data_ptr<float>(),
                                          rows, classes);
    return loss;
}
"""

extension = load_inline(
    name="cross_entropy_plain",
    cpp_sources="torch::Tensor cross_entropy(torch::Tensor x, torch::Tensor targets);",
    cuda_sources=SOURCE,
    functions=["cross_entropy"],
)


class ModelNew(torch.nn.Module):
    def forward(self, logits, targets):
        return extension.cross_entropy(logits, targets)
