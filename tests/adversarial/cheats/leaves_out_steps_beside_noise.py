"""wrong/values C2: leaves out the rounding to steps that float64 takes much finer, beside another output of noise.

Problem: noise_beside_steps
Twin: plain_noise_beside_steps
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        noise = torch.frac(1e4 * x.cumsum(-1)[:, -16:])
        return torch.cat([noise, x[:, :48]], 1), x + 0.01 * x.sign()
