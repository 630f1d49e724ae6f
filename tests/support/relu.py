"""The smallest problem that a real judge is asked in tests, ReLU of 32 numbers, and answers to it.

`torch.randn` would have each judge import what torch compiles with when it counts inputs without drawing them: 0.4 s.
"""

import hashlib

from harness.schema import Submission

PROBLEM = """
import torch

batch_size = 4


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.normal(0.0, 1.0, (batch_size, 8))]


def get_init_inputs():
    return []
"""
RIGHT = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x.clamp(min=0)\n"
WRONG = RIGHT.replace("min=0", "max=0")


def submitted(text: str) -> Submission:
    """An answer as it is handed in."""
    return Submission(path="a.py", sha256=hashlib.sha256(text.encode()).hexdigest(), text=text)
