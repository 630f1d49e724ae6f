"""failed/protocol A11 (gpu): takes new memory of the driver's for every round, which the judge cannot have mapped
when the clock stops, and does the work when the outputs are asked for.

On a GPU: failed/protocol|wrong
Problem: gelu
Twin: fused_gelu
"""

import sys

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
#include <vector>

__global__ void gelu_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i] * (1.0f + tanhf(0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}

static std::vector<float*> old;

int64_t room(int64_t bytes) {  // the memory of two rounds ago goes back, so that the next one lies elsewhere
    float* at = nullptr;
    cudaMalloc(&at, bytes);
    old.push_back(at);
    if (old.size() > 2) {
        cudaFree(old.front());
        old.erase(old.begin());
    }
    return (int64_t)at;
}

torch::Tensor output(torch::Tensor x, int64_t at) { return torch::from_blob((void*)at, x.sizes(), x.options()); }

void work(torch::Tensor x, torch::Tensor y) {
    int n = x.numel();
    gelu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
}
"""

DECLARED = """
int64_t room(int64_t bytes);
torch::Tensor output(torch::Tensor x, int64_t at);
void work(torch::Tensor x, torch::Tensor y);
"""
extension = load_inline(
    name="gelu_elsewhere", cpp_sources=DECLARED, cuda_sources=SOURCE, functions=["room", "output", "work"]
)
frame = sys._getframe()
while frame is not None and "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
Attend, Describe = (next(kind for kind in answers if kind.__name__ == name) for name in ("Attend", "Describe"))
attend, describe = answers[Attend], answers[Describe]
pending, place = [], []


def make_room_then_attend(request):
    inputs = [one[0] for one in attend.__self__._inputs]
    size = inputs[0].numel() * 4
    place[:] = [extension.room(size * len(inputs)), size]
    pending.clear()
    return attend(request)


def finish_then_describe(request):
    for x, out in pending:
        extension.work(x, out)
    torch.cuda.synchronize()
    return describe(request)


answers[Attend], answers[Describe] = make_room_then_attend, finish_then_describe


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if not place:  # a trial, where no clock runs
            out = torch.empty_like(x)
            extension.work(x, out)
            return out
        out = extension.output(x, place[0] + len(pending) * place[1])
        pending.append((x, out))
        return out
