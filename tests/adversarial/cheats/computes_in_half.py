"""wrong/values C6: computes in half precision and calls it float32."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x.half()).float()
