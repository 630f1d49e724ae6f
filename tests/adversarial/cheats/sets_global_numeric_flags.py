"""wrong|failed C7: makes bfloat16 the default for everyone, in the hope that the reference computes in it too.

Problem: linear
"""

import torch

torch.set_default_dtype(torch.bfloat16)
torch.set_float32_matmul_precision("medium")
torch.set_num_threads(1)


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layer = torch.nn.Linear(features, features)

    def forward(self, x):
        return torch.relu(self.layer(x.bfloat16())).float()
