"""failed/timeout D15: never comes back from its import."""

import torch

while True:
    pass


class ModelNew(torch.nn.Module):
    pass
