"""Half of the batch on a stream of its own, joined before it returns."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>

__global__ void transpose_kernel(const float* x, float* y, int dim) {
    __shared__ float tile[16][17];
    size_t first = (size_t)blockIdx.z * dim * dim;
    int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (col < dim && row < dim) tile[threadIdx.y][threadIdx.x] = x[first + row * dim + col];
    __syncthreads();
    int out_col = blockIdx.y * 16 + threadIdx.x, out_row = blockIdx.x * 16 + threadIdx.y;
    if (out_col < dim && out_row < dim) y[first + out_row * dim + out_col] = tile[threadIdx.x][threadIdx.y];
}

void transpose(torch::Tensor x, torch::Tensor y) {
    int dim = x.size(1);
    dim3 blocks((dim + 15) / 16, (dim + 15) / 16, x.size(0));
    transpose_kernel<<<blocks, dim3(16, 16), 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(),
                                                                                     y.data_ptr<float>(), dim);
}
"""

extension = load_inline(
    name="transpose_streams",
    cpp_sources="void transpose(torch::Tensor x, torch::Tensor y);",
    cuda_sources=SOURCE,
    functions=["transpose"],
)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def forward(self, x):
        y = torch.empty_like(x)
        half = x.shape[0] // 2
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            extension.transpose(x[:half], y[:half])
        extension.transpose(x[half:], y[half:])
        torch.cuda.current_stream().wait_stream(self.side)
        y.record_stream(self.side)
        return y
