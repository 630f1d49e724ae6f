"""correct control: pads the rows of its output now more, now less, and takes new memory for it now and then."""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.kept = None

    def forward(self, x):
        self.calls += 1
        if self.calls % 50 == 0:
            self.kept = torch.empty(1 << 20, device=x.device)  # so that the next output lies elsewhere
        width = x.shape[1] + 32 * (self.calls % 3)
        out = torch.empty(x.shape[0], width, device=x.device)[:, : x.shape[1]]
        return torch.clamp(x, min=0, out=out)
