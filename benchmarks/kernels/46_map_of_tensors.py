"""A map of tensors in, a map and a pair out."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <map>
#include <string>

__global__ void affine_kernel(const float* x, const float* scale, const float* shift, float* y, int n, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * scale[i % cols] + shift[i % cols];
}

std::map<std::string, torch::Tensor> affine(
    torch::Tensor x, std::map<std::string, torch::Tensor> params, std::pair<int64_t, int64_t> rows) {
    auto part = x.narrow(0, rows.first, rows.second).contiguous();
    auto y = torch::empty_like(part);
    int n = part.numel();
    affine_kernel<<<(n + 127) / 128, 128>>>(part.data_ptr<float>(), params.at("scale").data_ptr<float>(),
                                            params["shift"].data_ptr<float>(), y.data_ptr<float>(), n, x.size(1));
    return {{"rows", y}, {"mean", y.mean()}};
}
"""

cpp_source = """
#include <map>
#include <string>
std::map<std::string, torch::Tensor> affine(
    torch::Tensor x, std::map<std::string, torch::Tensor> params, std::pair<int64_t, int64_t> rows);
"""

extension = load_inline(name="map_of_tensors", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["affine"])


class Model(nn.Module):
    def forward(self, x, scale, shift):
        y = F.relu(x[2:7] * 0) + x[2:7] * scale + shift
        return y, y.mean()


class ModelNew(nn.Module):
    def forward(self, x, scale, shift):
        made = extension.affine(x, {"scale": scale, "shift": shift}, (2, 5))
        return made["rows"], made["mean"]


def get_inputs():
    return [torch.randn(9, 12), torch.randn(12), torch.randn(12)]


def get_init_inputs():
    return []
