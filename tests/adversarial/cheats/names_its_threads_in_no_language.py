"""correct D22: gives its threads names that are no UTF-8, for whoever reads /proc."""

import ctypes
import threading

import torch

libc = ctypes.CDLL(None)


def name_it():
    libc.prctl(15, b"\xff\xfe) Z 1 (", 0, 0, 0)  # PR_SET_NAME


name_it()
thread = threading.Thread(target=lambda: (name_it(), threading.Event().wait()), daemon=True)
thread.start()


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
