"""wrong/values B10: has folded the weights of seed 0 at import and draws no others.

Problem: linear
"""

import torch

torch.manual_seed(0)
LAYER = torch.nn.Linear(256, 256)
FOLDED = LAYER.weight.detach().t().contiguous()


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layer = torch.nn.Linear(features, features)

    def forward(self, x):
        return torch.relu(torch.addmm(LAYER.bias.detach().to(x.device), x, FOLDED.to(x.device)))
