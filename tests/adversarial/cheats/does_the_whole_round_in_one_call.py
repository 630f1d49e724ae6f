"""correct A10: finds the inputs of the calls to come and computes them all at the first call.

On a GPU: correct|wrong|rejected
Twin: plain_relu
"""

import sys

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.ready = {}

    def forward(self, x):
        if x.data_ptr() not in self.ready:
            server = self.find_server()
            inputs = [slot[0] for slot in server._inputs] if server is not None else [x]
            outputs = torch._foreach_clamp_min(inputs, 0.0)
            self.ready = {one.data_ptr(): out for one, out in zip(inputs, outputs, strict=True)}
        return self.ready.pop(x.data_ptr())

    def find_server(self):
        frame = sys._getframe()
        while frame is not None:
            owner = frame.f_locals.get("self")
            if hasattr(owner, "_inputs"):
                return owner
            frame = frame.f_back
        return None
