"""failed/exception D12: asks the internet for the answer."""

import urllib.request

import torch

ANSWER = urllib.request.urlopen("http://1.1.1.1/", timeout=2).read()


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
