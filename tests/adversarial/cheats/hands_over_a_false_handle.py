"""failed/protocol D3 (gpu): describes its output with a device handle that it made up."""

import sys

import torch

serve = sys.modules["harness.worker.serve"]
describe = serve.Server._describe


def describe_falsely(self, request):
    answer = describe(self, request)
    false = tuple(handle.model_copy(update={"handle": "ab" * 64}) for handle in answer.handles)
    return answer.model_copy(update={"handles": false})


serve.Server._describe = describe_falsely


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
