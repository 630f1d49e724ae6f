"""Two passes over a workspace that is kept for each shape."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void partial_sums(const float* x, float* parts, int rows, int cols, int pieces) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= cols) return;
    int matrix = blockIdx.z, piece = blockIdx.y;
    int per = (rows + pieces - 1) / pieces, last = min(rows, (piece + 1) * per);
    float sum = 0.0f;
    for (int r = piece * per; r < last; ++r) sum += x[((size_t)matrix * rows + r) * cols + col];
    parts[((size_t)matrix * pieces + piece) * cols + col] = sum;
}

__global__ void finish(const float* parts, float* y, int rows, int cols, int pieces, int total) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int matrix = i / cols, col = i % cols;
    float sum = 0.0f;
    for (int p = 0; p < pieces; ++p) sum += parts[((size_t)matrix * pieces + p) * cols + col];
    y[i] = sum / rows;
}

torch::Tensor mean(torch::Tensor x, torch::Tensor parts) {
    int batch = x.size(0), rows = x.size(1), cols = x.size(2), pieces = parts.size(1);
    auto y = torch::empty({batch, cols}, x.options());
    dim3 blocks((cols + 127) / 128, pieces, batch);
    partial_sums<<<blocks, 128>>>(x.data_ptr<float>(), parts.data_ptr<float>(), rows, cols, pieces);
    int total = batch * cols;
    finish<<<(total + 255) / 256, 256>>>(parts.data_ptr<float>(), y.data_ptr<float>(), rows, cols, pieces, total);
    return y;
}
"""

extension = load_inline(
    name="mean_workspace",
    cpp_sources="torch::Tensor mean(torch::Tensor x, torch::Tensor parts);",
    cuda_sources=SOURCE,
    functions=["mean"],
)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.workspaces = {}

    def forward(self, x):
        if x.shape not in self.workspaces:
            self.workspaces[x.shape] = torch.empty(x.shape[0], 8, x.shape[2], device=x.device, dtype=x.dtype)
        return extension.mean(x, self.workspaces[x.shape])
