"""correct control: sets the flags that models like to set.

Problem: linear
"""

import torch

torch.backends.cudnn.benchmark = True
torch.set_grad_enabled(False)
torch.set_float32_matmul_precision("highest")


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layer = torch.nn.Linear(features, features)
        self.eval()

    @torch.inference_mode()
    def forward(self, x):
        return torch.relu(self.layer(x))
