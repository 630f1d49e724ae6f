"""Its own PYBIND11_MODULE with named arguments and defaults."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <cuda.h>
#include <cuda_runtime.h>

__global__ void leaky_relu_kernel(const float* x, float* y, float slope, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        y[i] = v > 0 ? v : slope * v;
    }
}

torch::Tensor leaky_relu(torch::Tensor x, double negative_slope) {
    auto y = torch::zeros_like(x);
    int n = x.numel();
    leaky_relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), static_cast<float>(negative_slope), n);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.doc() = "leaky relu";
    m.def("forward", &leaky_relu, "Leaky ReLU", py::arg("x"), py::arg("negative_slope") = 0.01);
}
"""

cpp_source = ""

extension = load_inline(
    name="leaky_relu_module",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
)


class Model(nn.Module):
    def forward(self, x):
        return F.leaky_relu(x, 0.2)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.forward(x, negative_slope=0.2)


def get_inputs():
    return [torch.randn(1000)]


def get_init_inputs():
    return []
