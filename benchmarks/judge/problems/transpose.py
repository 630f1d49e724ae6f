"""Square matrices, transposed and written out."""

import torch

batch_size = 128
dim = 301


class Model(torch.nn.Module):
    def forward(self, x):
        return x.transpose(1, 2).contiguous()


def get_inputs():
    return [torch.rand(batch_size, dim, dim)]


def get_init_inputs():
    return []
