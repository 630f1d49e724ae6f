"""failed/timeout D22: asks for builds whose answers fill its socket, and never reads them, once it is judged."""

import os
import time

import torch

from harness.schema.build import BuildRequest
from harness.transport import Channel
from harness.transport.worker_messages import Build

LINE = 'static_assert(sizeof(int) == 5, "' + "x" * 900 + '");\n'


def ask_and_sleep():
    wire = Channel.from_descriptor(os.dup(3))
    for k in range(8):
        files = {"a.cpp": f"// {k}\n" + LINE * 150}
        wire.send(Build(request=BuildRequest(name="told", files=files, with_cuda=False)))
    time.sleep(1e9)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        ask_and_sleep()

    def forward(self, x):
        return torch.relu(x)
