"""failed/processes D14: starts threads until there are no more."""

import threading

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        never = threading.Event()
        while True:
            threading.Thread(target=never.wait, daemon=True).start()
