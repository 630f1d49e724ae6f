"""ReLU in plain C++; tests plant faults in it."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    for (long i = 0, n = x.numel(); i < n; i++) {
        float value = in[0];
        out[i] = value > 0 ? value : 0;
    }
    return y;
}
"""

extension = load_inline(name="inspected_relu_cpp", cpp_sources=SOURCE, functions=["relu"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu(x)
