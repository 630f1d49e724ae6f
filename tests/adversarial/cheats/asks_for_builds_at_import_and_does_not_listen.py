"""failed/timeout D22: asks for builds whose answers fill its socket, and never reads them, while it is imported."""

import os
import time

import torch

from harness.schema.build import BuildRequest
from harness.transport import Channel
from harness.transport.worker_messages import Build

LINE = 'static_assert(sizeof(int) == 5, "' + "x" * 900 + '");\n'

wire = Channel.from_descriptor(os.dup(3))
for k in range(8):
    request = BuildRequest(name="told", files={"a.cpp": f"// {k}\n" + LINE * 150}, with_cuda=False)
    wire.send(Build(request=request))
time.sleep(1e9)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
