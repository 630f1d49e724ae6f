"""correct control: derives from nn.Linear and fuses by its own C++.

Problem: linear
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

torch::Tensor bias_relu(torch::Tensor y, torch::Tensor bias) {
    float* to = y.data_ptr<float>();
    const float* add = bias.data_ptr<float>();
    int64_t m = bias.numel();
    for (int64_t i = 0; i < y.numel(); ++i) {
        float v = to[i] + add[i % m];
        to[i] = v > 0 ? v : 0;
    }
    return y;
}
"""

extension = load_inline(name="bias_relu_cpp", cpp_sources=SOURCE, functions=["bias_relu"])


class FusedLinear(torch.nn.Linear):
    def forward(self, x):
        y = torch.mm(x, self.weight.t())
        return extension.bias_relu(y.cpu(), self.bias.detach().cpu()).to(x.device)


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layer = FusedLinear(features, features)

    def forward(self, x):
        return self.layer(x)
