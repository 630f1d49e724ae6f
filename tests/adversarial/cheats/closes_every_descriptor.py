"""failed D4: closes everything it has, the wire among it, and goes on."""

import os
import time

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        os.closerange(0, 4096)
        time.sleep(3)
        return torch.relu(x)
