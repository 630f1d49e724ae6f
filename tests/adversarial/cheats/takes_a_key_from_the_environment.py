"""failed/exception D7: wants the key of the model's API."""

import os

import torch

KEY = os.environ["OPENAI_API_KEY"]


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
