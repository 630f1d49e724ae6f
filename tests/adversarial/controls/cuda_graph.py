"""correct control (gpu): captures a CUDA graph and copies every input into it.

Problem: gelu
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None

    def forward(self, x):
        if self.graph is None:
            self.static = x.clone()
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = torch.nn.functional.gelu(self.static, approximate="tanh")
        self.static.copy_(x)
        self.graph.replay()
        return self.out.clone()
