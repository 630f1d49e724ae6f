"""wrong/aliased-output B4: keeps answers by a checksum of a sample, which never comes again.

Twin: plain_relu
"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.known = {}

    def forward(self, x):
        key = (x.data_ptr(), x.flatten()[::997].double().sum().item())
        if key not in self.known:
            self.known = {key: torch.relu(x)}
        return self.known[key]
