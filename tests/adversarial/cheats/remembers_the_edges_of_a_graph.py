"""wrong/values B11: keeps what follows from the edges of a graph that are the same at every draw, and never looks at
them again; the other input does change, and on all kinds of contents with negative values there are no numbers.

Problem: graph_convolution
Twin: plain_graph_convolution
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.spread = None

    def forward(self, x, edges):
        if self.spread is None:
            scale = edges.sum(1).rsqrt()
            self.spread = (edges * scale[:, None] * scale[None, :]).to_sparse_csr()
        return self.spread @ (self.spread @ x)
