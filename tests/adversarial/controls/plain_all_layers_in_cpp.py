"""correct control (cpu): the layers in C++, all of them outputs.

Problem: all_layers
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

static const int WIDTH = 128;

torch::Tensor single(torch::Tensor w, torch::Tensor b, torch::Tensor x) {
    auto out = torch::empty({w.size(0), 1, WIDTH});
    float here[WIDTH], sums[WIDTH];
    const float* from = x.data_ptr<float>();
    float* y = out.data_ptr<float>();
    for (int k = 0; k < WIDTH; ++k) here[k] = from[k];
    for (int64_t layer = 0; layer < w.size(0); ++layer) {
        const float* row = w.data_ptr<float>() + layer * WIDTH * WIDTH;
        const float* bias = b.data_ptr<float>() + layer * WIDTH;
        for (int o = 0; o < WIDTH; ++o) sums[o] = bias[o];
        for (int k = 0; k < WIDTH; ++k, row += WIDTH)
            for (int o = 0; o < WIDTH; ++o) sums[o] += here[k] * row[o];
        for (int o = 0; o < WIDTH; ++o) *y++ = here[o] = sums[o] > 0 ? sums[o] : 0;
    }
    return out;
}
"""
extension = load_inline(
    name="all_layers_in_cpp", cpp_sources=SOURCE, functions=["single"], extra_cflags=["-O3", "-ffast-math"]
)


class ModelNew(torch.nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(depth))
        self.packed = None

    def weights(self):
        if self.packed is None:
            with torch.no_grad():
                weights = torch.stack([layer.weight.t() for layer in self.layers]).contiguous()
                self.packed = weights, torch.stack([layer.bias for layer in self.layers])
        return self.packed

    def forward(self, x):
        return extension.single(*self.weights(), x).unbind()
