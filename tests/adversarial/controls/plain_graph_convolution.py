"""correct control: two steps over a graph, whose edges are read each time though they never change.

Problem: graph_convolution
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, edges):
        scale = edges.sum(1).rsqrt()
        spread = edges * scale[:, None] * scale[None, :]
        return spread @ (spread @ x)
