"""correct control: rounds to steps as the reference does, and adds from the other end what becomes noise.

Problem: noise_beside_steps
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        sums = x.sum(-1, keepdim=True) - x.flip(-1).cumsum(-1).flip(-1) + x
        noise = torch.frac(1e4 * sums[:, -16:])
        step = torch.finfo(torch.float32).eps * 2**20
        steps = torch.round(x / step)
        return torch.cat([noise, x[:, :48]], 1), torch.tanh(x / step).mul(0.01) + steps * step
