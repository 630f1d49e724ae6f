"""Two steps over a graph whose edges are the same at every draw; of a negative number of neighbours there is no root."""

import torch

nodes, width, neighbours = 1024, 16, 8


class Model(torch.nn.Module):
    def forward(self, x, edges):
        scale = edges.sum(1).rsqrt()
        spread = edges * scale[:, None] * scale[None, :]
        return spread @ (spread @ x)


def get_inputs():
    node = torch.arange(nodes)
    edges = torch.eye(nodes)
    for step in range(1, neighbours // 2 + 1):
        other = (node * 7 + step * 31) % nodes
        edges[node, other] = edges[other, node] = 1.0
    return [torch.rand(nodes, width), edges]


def get_init_inputs():
    return []
