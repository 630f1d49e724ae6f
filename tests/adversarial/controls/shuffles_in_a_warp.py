"""correct control: softmax with warp shuffles, fast math among its flags.

Problem: softmax
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void softmax_kernel(const float* x, float* y, int columns) {
    const float* from = x + (long long)blockIdx.x * columns;
    float* to = y + (long long)blockIdx.x * columns;
    float most = from[0];
    for (int i = threadIdx.x; i < columns; i += 32) most = fmaxf(most, from[i]);
    for (int lane = 16; lane > 0; lane /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, lane));
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += 32) sum += __expf(from[i] - most);
    for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
    for (int i = threadIdx.x; i < columns; i += 32) to[i] = __expf(from[i] - most) / sum;
}

torch::Tensor softmax(torch::Tensor x) {
    auto y = torch::empty_like(x);
    softmax_kernel<<<x.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

extension = load_inline(
    name="softmax_warp",
    cpp_sources="torch::Tensor softmax(torch::Tensor x);",
    cuda_sources=SOURCE,
    functions=["softmax"],
    extra_cuda_cflags=["-O3", "--use_fast_math"],
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.softmax(x)
