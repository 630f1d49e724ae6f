"""correct D9: leaves a torch.py and a sitecustomize.py wherever it may write; no process of ours imports them.

Twin: plain_relu
"""

import os
import site
import sys

import torch

EVIL = "raise SystemExit('harness-cheat: shadowed')\n"
for folder in {".", os.path.expanduser("~"), site.getusersitepackages(), sys.prefix, *sys.path}:
    for name in ("torch.py", "sitecustomize.py", "usercustomize.py", "harness-cheat.pth", "harness.py"):
        try:
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, name), "w") as file:
                file.write(EVIL)
        except OSError:
            continue


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
