"""correct control: two doubles at once, in a struct whose alignment is that of one of them.

Problem: gelu
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

struct Two {
    double a, b;
};

__device__ double gelu_of(double v) {
    return 0.5 * v * (1.0 + tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
}

__device__ Two gelu_of(Two v) {
    v.a = gelu_of(v.a);
    v.b = gelu_of(v.b);
    return v;
}

__global__ void gelu_pairs(const double* x, double* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int pairs = (n - 1) / 2;
    if (i < pairs) {
        Two both = reinterpret_cast<const Two*>(x + 1)[i];
        reinterpret_cast<Two*>(y + 1)[i] = gelu_of(both);
    }
    if (i == 0) {
        y[0] = gelu_of(x[0]);
        if (n > 1 && n % 2 == 0) y[n - 1] = gelu_of(x[n - 1]);
    }
}

torch::Tensor gelu(torch::Tensor x) {
    auto in = x.to(torch::kDouble).contiguous();
    auto out = torch::empty_like(in);
    int n = in.numel();
    gelu_pairs<<<(n / 2 + 256) / 256, 256>>>(in.data_ptr<double>(), out.data_ptr<double>(), n);
    return out.to(torch::kFloat);
}
"""

extension = load_inline(
    name="moves_pairs_of_doubles",
    cpp_sources="torch::Tensor gelu(torch::Tensor x);",
    cuda_sources=SOURCE,
    functions=["gelu"],
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.gelu(x)
