"""Captures a CUDA graph and copies every input into it."""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.graphs = {}

    def forward(self, x):
        key = (x.shape, x.dtype)
        if key not in self.graphs:
            static = x.clone()
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                out = torch.relu(static)
            self.graphs[key] = graph, static, out
        graph, static, out = self.graphs[key]
        static.copy_(x)
        graph.replay()
        return out.clone()
