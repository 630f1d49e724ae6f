"""correct control: a file as KernelBench's prompt shows it, the reference beside the answer."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.nn.functional.threshold(x, 0.0, 0.0)


def get_inputs():
    return [torch.rand(64, 1024)]


def get_init_inputs():
    return []


if __name__ == "__main__":
    x = get_inputs()[0]
    print(torch.allclose(Model()(x), ModelNew()(x)))
