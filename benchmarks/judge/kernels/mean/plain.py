"""One block an output element, folded in shared memory."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void mean_kernel(const float* x, float* y, int rows, int cols) {
    __shared__ float partial[128];
    int matrix = blockIdx.x / cols, column = blockIdx.x % cols;
    size_t first = (size_t)matrix * rows * cols + column, step = cols;
    float sum = 0.0f;
    for (int r = threadIdx.x; r < rows; r += blockDim.x) {
        float v = x[first + r * step];
        sum += v;
    }
    partial[threadIdx.x] = sum;
    __syncthreads();  // every part is there
    for (int half = 64; half > 0; half >>= 1) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = partial[0] / rows;
}

torch::Tensor mean(torch::Tensor x) {
    int batch = x.size(0), rows = x.size(1), cols = x.size(2);
    auto y = torch::empty({batch, cols}, x.options());
    mean_kernel<<<batch * cols, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
    return y;
}
"""

extension = load_inline(
    name="mean_plain",
    cpp_sources="torch::Tensor mean(torch::Tensor x);",
    cuda_sources=SOURCE,
    functions=["mean"],
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.mean(x)
