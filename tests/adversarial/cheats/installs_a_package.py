"""failed/exception D12: installs a faster kernel from the package index."""

import subprocess
import sys

import torch

subprocess.run(
    [sys.executable, "-m", "pip", "install", "--retries=0", "--timeout=1", "--target=.", "flash-attn"], check=True
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
