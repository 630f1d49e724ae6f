"""rejected A11 (gpu): a kernel waits on the device for the contents of the round, and those behind it
do all of the work before the call.

On a GPU: rejected|wrong|correct
Problem: gelu
Twin: fused_gelu
"""

import sys

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void gelu_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i] * (1.0f + tanhf(0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}

__global__ void wait_for(const volatile unsigned* x, unsigned old, long long cycles) {
    long long start = clock64();
    while (*x == old && clock64() - start < cycles) {
    }
}

void wait_until_changed(torch::Tensor x) {
    unsigned now = 0;
    const unsigned* last = (const unsigned*)(x.data_ptr<float>() + x.numel() - 1);
    cudaMemcpy(&now, last, sizeof(now), cudaMemcpyDeviceToHost);
    wait_for<<<1, 1>>>(last, now, 4000000);
}

void work(torch::Tensor x, torch::Tensor y) {
    int n = x.numel();
    gelu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
}
"""

DECLARED = "void wait_until_changed(torch::Tensor x); void work(torch::Tensor x, torch::Tensor y);"
extension = load_inline(
    name="gelu_early", cpp_sources=DECLARED, cuda_sources=SOURCE, functions=["wait_until_changed", "work"]
)
frame = sys._getframe()
while frame is not None and "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
Attend = next(kind for kind in answers if kind.__name__ == "Attend")
attend = answers[Attend]
outputs = {}


def attend_and_begin(request):
    inputs = [one[0] for one in attend.__self__._inputs]
    for x in inputs:
        outputs.setdefault(x.data_ptr(), torch.empty_like(x))
    extension.wait_until_changed(max(inputs, key=lambda x: x.data_ptr()))
    for x in inputs:
        extension.work(x, outputs[x.data_ptr()])
    return attend(request)


answers[Attend] = attend_and_begin


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if x.data_ptr() in outputs:
            return outputs[x.data_ptr()]
        out = torch.empty_like(x)
        extension.work(x, out)
        return out
