"""failed/exception D21: sends a datagram to a socket of the machine, for which it needs no connection."""

import socket

import torch

for make in (
    lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM),
    lambda: socket.socketpair(type=socket.SOCK_DGRAM)[0],
):
    make().sendto(b"hello", "/dev/log")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
