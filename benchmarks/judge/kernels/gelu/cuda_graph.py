"""A graph that is captured once for a shape; inputs are copied into it and the output out of it."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>

__global__ void gelu_kernel(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float v = x[i];
        y[i] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
    }
}

void gelu(torch::Tensor x, torch::Tensor y) {
    gelu_kernel<<<1056, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(),
                                                                     (int)x.numel());
}
"""

extension = load_inline(
    name="gelu_graph",
    cpp_sources="void gelu(torch::Tensor x, torch::Tensor y);",
    cuda_sources=SOURCE,
    functions=["gelu"],
)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.captured = {}

    def forward(self, x):
        if x.shape not in self.captured:
            self.captured[x.shape] = self.capture(x)
        graph, given, made = self.captured[x.shape]
        given.copy_(x)
        graph.replay()
        return made.clone()

    def capture(self, x):
        given, made = x.clone(), torch.empty_like(x)
        extension.gelu(given, made)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            extension.gelu(given, made)
        return graph, given, made
