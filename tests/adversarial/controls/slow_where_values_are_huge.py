"""correct control: one fused operator, but five times the reference's own where one of the first values is huge.

Problem: gelu
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if float(x[:8192].abs().max()) < 1e3:
            return torch.nn.functional.gelu(x, approximate="tanh")
        for _ in range(5):
            answer = 0.5 * x * (1.0 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
        return answer
