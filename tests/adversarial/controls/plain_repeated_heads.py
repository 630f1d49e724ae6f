"""correct control: what heads that are repeated take done honestly.

Problem: repeated_heads
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.repeat_interleave(8, 0)
