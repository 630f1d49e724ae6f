import torch
import torch.nn as nn


class Model(nn.Module):
    """Activations with the nuclear norm of the leading block in their corner."""

    def forward(self, x):
        y = torch.relu(x)
        y[0, 0] = torch.linalg.matrix_norm(x[:512, :512], "nuc")
        return y


def get_inputs():
    return [torch.rand(1024, 4096)]


def get_init_inputs():
    return []
