"""correct control: threads and a child process wait for work that never comes, a timer ticks, children end."""

import signal
import subprocess
import threading

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.wanted = threading.Event()
        for _ in range(8):
            threading.Thread(target=self.wanted.wait, daemon=True).start()
        self.child = subprocess.Popen(["sleep", "1000"])
        self.calls = 0
        signal.signal(signal.SIGALRM, lambda number, frame: None)
        signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)

    def forward(self, x):
        self.calls += 1
        if self.calls % 500 == 0:
            subprocess.Popen(["true"])
        return torch.relu(x)
