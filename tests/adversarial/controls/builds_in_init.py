"""correct control (cpu): compiles C++ in its constructor, without anything at import."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
torch::Tensor relu(torch::Tensor x) {
    auto out = torch::empty_like(x);
    const float* from = x.data_ptr<float>();
    float* to = out.data_ptr<float>();
    for (int64_t i = 0; i < x.numel(); ++i) to[i] = from[i] > 0 ? from[i] : 0;
    return out;
}
"""


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.extension = load_inline(name="relu_cpu", cpp_sources=SOURCE, functions=["relu"])

    def forward(self, x):
        return self.extension.relu(x)
