"""failed/exception D10: writes over the shared objects that others will load."""

import glob
import os

import torch

CACHES = ("/root/.cache", "/home/*/.cache", "/var/tmp", "/nonexistent/.cache")
found = [
    path
    for pattern in CACHES
    for folder in glob.glob(pattern)
    for path in glob.glob(f"{folder}/kernel-harness/artifacts/*/*/module.so")
]
if not found:
    raise PermissionError("no cache is in sight")
for path in found:
    os.chmod(path, 0o644)
    with open(path, "wb") as file:
        file.write(b"harness-cheat")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
