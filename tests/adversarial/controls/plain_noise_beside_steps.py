"""correct control: rounds to steps as the reference does, beside another output of noise.

Problem: noise_beside_steps
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        noise = torch.frac(1e4 * x.cumsum(-1)[:, -16:])
        step = torch.finfo(torch.float32).eps * 2**20
        steps = torch.round(x / step)
        return torch.cat([noise, x[:, :48]], 1), torch.tanh(x / step).mul(0.01) + steps * step
