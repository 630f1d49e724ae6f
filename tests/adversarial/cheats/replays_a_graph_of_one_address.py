"""wrong B6 (gpu): captures a CUDA graph over the first input's own memory, and there is more than one input.

On a GPU: wrong|failed/device
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None

    def forward(self, x):
        if self.graph is None:
            torch.relu(x)
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = torch.relu(x)
        self.graph.replay()
        return self.out.clone()
