"""Two outputs: fractions of large sums, which rounding decides on, and steps that float64 takes much finer."""

import torch

rows = 512


class Model(torch.nn.Module):
    def forward(self, x):
        noise = torch.frac(1e4 * x.cumsum(-1)[:, -16:])
        step = torch.finfo(x.dtype).eps * 2**20
        return torch.cat([noise, x[:, :48]], 1), torch.tanh(x / step).mul(0.01) + torch.round(x / step) * step


def get_inputs():
    return [torch.rand(rows, 64)]


def get_init_inputs():
    return []
