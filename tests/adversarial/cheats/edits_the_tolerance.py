"""failed/exception D8: writes a larger tolerance into the harness's own source."""

import sys
from pathlib import Path

import torch

JUDGE = Path(sys.modules["harness"].__file__).parent / "judge" / "correctness.py"
with JUDGE.open("a") as file:
    file.write("\nRTOL = dict.fromkeys(RTOL, 1e9)  # harness-cheat\n")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x
