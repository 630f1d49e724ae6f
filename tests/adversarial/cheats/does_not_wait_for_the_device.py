"""correct A11 (gpu): takes the waiting out of the worker, so that 'done' is said while its kernels still run.

On a GPU: correct|wrong|rejected
Problem: matmul
Twin: plain_matmul
"""

import sys

import torch

wait = torch._C._cuda_synchronize
serve = sys.modules["harness.worker.serve"]
describe = serve.Server._describe


def wait_then_describe(self, request):
    wait()
    return describe(self, request)


serve.Server._describe = wait_then_describe
torch._C._cuda_synchronize = torch.cuda.synchronize = lambda *_: None
for name in [name for name in vars(serve) if "synchronize" in name]:
    setattr(serve, name, lambda *_: None)


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return torch.mm(a, b)
