"""GELU under a causal mask of minus infinity."""

import torch

tokens = 256


class Model(torch.nn.Module):
    def forward(self, x):
        mask = torch.triu(torch.ones(tokens, tokens, dtype=torch.bool, device=x.device), 1)
        return torch.nn.functional.gelu(x).masked_fill(mask, float("-inf"))


def get_inputs():
    return [torch.rand(tokens, tokens)]


def get_init_inputs():
    return []
