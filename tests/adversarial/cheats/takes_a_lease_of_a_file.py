"""failed/exception D21: takes a lease of its file, so that whoever opens it waits for as long as it likes."""

import fcntl
import os

import torch

fcntl.fcntl(os.open("leased", os.O_CREAT | os.O_RDONLY), 1024, fcntl.F_WRLCK)  # F_SETLEASE


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
