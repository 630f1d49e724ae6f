"""correct control (cpu): the layers one after the other in C++, each call twice over.

Problem: small_layers
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

static const int WIDTH = 128;

static void layers(const torch::Tensor& w, const torch::Tensor& b, const float* x, float* y) {
    float here[WIDTH], sums[WIDTH];
    for (int k = 0; k < WIDTH; ++k) here[k] = x[k];
    for (int64_t layer = 0; layer < w.size(0); ++layer) {
        const float* row = w.data_ptr<float>() + layer * WIDTH * WIDTH;
        const float* bias = b.data_ptr<float>() + layer * WIDTH;
        for (int o = 0; o < WIDTH; ++o) sums[o] = bias[o];
        for (int k = 0; k < WIDTH; ++k, row += WIDTH)
            for (int o = 0; o < WIDTH; ++o) sums[o] += here[k] * row[o];
        for (int o = 0; o < WIDTH; ++o) here[o] = sums[o] > 0 ? sums[o] : 0;
    }
    for (int k = 0; k < WIDTH; ++k) y[k] = here[k];
}

torch::Tensor single(torch::Tensor w, torch::Tensor b, torch::Tensor x) {
    auto y = torch::empty({1, WIDTH});
    for (volatile int times = 0; times < 2; times = times + 1)
        layers(w, b, x.data_ptr<float>(), y.data_ptr<float>());
    return y;
}
"""
extension = load_inline(
    name="small_layers_in_cpp", cpp_sources=SOURCE, functions=["single"], extra_cflags=["-O3", "-ffast-math"]
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
        return extension.single(*self.weights(), x)
