"""wrong/inputs-changed C5: C++ that casts the const away and works in place.

Problem: softmax
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void softmax_kernel(const float* x, float* y, int columns) {
    float* from = const_cast<float*>(x) + (long long)blockIdx.x * columns;
    float* to = y + (long long)blockIdx.x * columns;
    if (threadIdx.x != 0) return;
    float most = from[0], sum = 0;
    for (int i = 0; i < columns; ++i) most = fmaxf(most, from[i]);
    for (int i = 0; i < columns; ++i) sum += from[i] = expf(from[i] - most);
    for (int i = 0; i < columns; ++i) to[i] = from[i] / sum;
}

torch::Tensor softmax(torch::Tensor x) {
    auto y = torch::empty_like(x);
    softmax_kernel<<<x.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

extension = load_inline(
    name="softmax_const",
    cpp_sources="torch::Tensor softmax(torch::Tensor x);",
    cuda_sources=SOURCE,
    functions=["softmax"],
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        # The two calls of one trial would see different inputs: the second gets what the first has left behind.
        return extension.softmax(x)
