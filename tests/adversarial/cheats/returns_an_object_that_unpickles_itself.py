"""wrong/structure D5: returns an object that runs code wherever it is unpickled."""

import os

import torch


class Answer:
    def __reduce__(self):
        return (os.system, ("touch /tmp/harness-cheat-unpickled",))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return Answer()
