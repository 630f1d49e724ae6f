"""failed/disk D23: sends itself files that it removed, and does not receive them: no process holds them meanwhile."""

import os
import socket
import time

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.pair = None

    def forward(self, x):
        if self.pair is None:
            self.pair = socket.socketpair()
            for number in range(3):
                file = os.open(f"file-{number}", os.O_RDWR | os.O_CREAT)
                os.posix_fallocate(file, 0, 1 << 30)
                os.unlink(f"file-{number}")
                socket.send_fds(self.pair[0], [b"x"], [file])
                os.close(file)
            time.sleep(4)
        return torch.relu(x)
