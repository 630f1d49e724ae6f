"""correct A11 (gpu): takes the waiting out of the worker, so that 'done' is said while its kernels still run.

On a GPU: correct|wrong|rejected|failed/exception
Problem: matmul
Twin: plain_matmul
"""

import sys

import torch

wait = torch._C._cuda_synchronize

frame = sys._getframe()
while "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
Describe = next(kind for kind in answers if kind.__name__ == "Describe")
describe = answers[Describe]


def wait_then_describe(request):
    wait()
    return describe(request)


answers[Describe] = wait_then_describe
torch._C._cuda_synchronize = torch.cuda.synchronize = lambda *_: None
serve = sys.modules["harness.worker.serve"]
for name in [name for name in vars(serve) if "synchronize" in name]:
    setattr(serve, name, lambda *_: None)


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return torch.mm(a, b)
