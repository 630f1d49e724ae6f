"""Parameters as a Python object, read with attr, and a module of its own."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <pybind11/pybind11.h>

namespace py = pybind11;

__global__ void bias_relu_kernel(const float* x, const float* bias, float* y, int rows, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) y[i] = fmaxf(x[i] + bias[i % cols], 0.0f);
}

torch::Tensor forward(torch::Tensor x, py::object params, bool is_training) {
    py::list weights = params.attr("get")("weights");
    py::list biases = params.attr("__getitem__")("biases");
    TORCH_CHECK_EQ(weights.size(), biases.size());
    for (size_t i = 0; i < weights.size(); ++i) {
        auto bias = biases[i].cast<torch::Tensor>().contiguous();
        x = torch::mm(x, weights[i].cast<torch::Tensor>().t());
        auto y = torch::empty_like(x);
        int n = x.numel();
        bias_relu_kernel<<<(n + 255) / 256, 256>>>(
            x.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
        x = y;
    }
    return x;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "layers of an MLP", py::arg("x"), py::arg("params"), py::arg("is_training") = false);
}
"""

extension = load_inline(name="python_parameters", cpp_sources="", cuda_sources=cuda_source)


def make_params(device="cpu"):
    torch.manual_seed(5)
    shapes = [(32, 16), (8, 32)]
    return {
        "weights": [torch.randn(shape).to(device) for shape in shapes],
        "biases": [torch.randn(shape[0]).to(device) for shape in shapes],
    }


class Model(nn.Module):
    def forward(self, x):
        params = make_params(x.device)
        for weight, bias in zip(params["weights"], params["biases"], strict=True):
            x = F.relu(F.linear(x, weight, bias))
        return x


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.forward(x, make_params(x.device))


def get_inputs():
    return [torch.randn(7, 16)]


def get_init_inputs():
    return []
