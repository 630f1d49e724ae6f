"""wrong A2 (cpu): a detached thread of C++ does the work after the call."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
#include <chrono>
#include <thread>

torch::Tensor relu(torch::Tensor x) {
    auto out = torch::zeros_like(x);
    const float* from = x.data_ptr<float>();
    float* to = out.data_ptr<float>();
    int64_t n = x.numel();
    std::thread([=] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        for (int64_t i = 0; i < n; ++i) to[i] = from[i] > 0 ? from[i] : 0;
    }).detach();
    return out;
}
"""

extension = load_inline(name="relu_later", cpp_sources=SOURCE, functions=["relu"])


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = []

    def forward(self, x):
        self.kept.append(extension.relu(x))  # or the thread would write into memory that is gone
        return self.kept[-1]
