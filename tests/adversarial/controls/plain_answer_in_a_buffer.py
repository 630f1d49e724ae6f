"""correct control: sums what a reference sums into a buffer of its own, which it returns in every call.

Problem: answer_in_a_buffer
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.log(x)
        z = y
        for k in range(2, 10):
            z = z + torch.sin(y * k)
        return torch.sum(z, -1)
