"""Causal attention of several heads."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 2
heads = 3
length = 19
dim = 16


class Model(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def get_inputs():
    return [torch.randn(batch_size, heads, length, dim) for _ in range(3)]


def get_init_inputs():
    return []
