"""Runs on a stream of its own and joins it before it returns."""

import torch

side = torch.cuda.Stream() if torch.cuda.is_available() else None


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if not x.is_cuda:
            return torch.relu(x)
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            y = torch.relu(x)
        torch.cuda.current_stream().wait_stream(side)
        y.record_stream(torch.cuda.current_stream())
        return y
