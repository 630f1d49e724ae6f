"""failed/exception D21: opens a socket to what the machine itself runs on, which no network namespace holds."""

import socket

import torch

socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).connect((2, 1024))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
