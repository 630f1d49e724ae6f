"""wrong|correct|rejected|failed A21 (gpu): leaves a kernel on the device that writes zeros over all inputs, so that
in the next round, if it is the other's, all numbers would be counted in one place.

Problem: histogram
Twin: plain_histogram
"""

import sys

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

__global__ void write_zeros(volatile int* mine, int4* at, long long count, long long cycles) {
    long long start = clock64();
    while (clock64() - start < cycles && !*mine)
        for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count && !*mine;
             i += (long long)gridDim.x * blockDim.x)
            at[i] = make_int4(0, 0, 0, 0);
}

static volatile int* mine = nullptr;
static cudaStream_t side = nullptr;

void turn(bool is_mine) {
    if (!mine) {
        cudaHostAlloc((void**)&mine, sizeof(int), cudaHostAllocMapped);
        cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
    }
    *mine = is_mine;
    if (is_mine) cudaStreamSynchronize(side);
}

void leave(std::vector<torch::Tensor> inputs) {
    *mine = 0;
    for (int again = 0; again < 4; ++again)
        for (auto& x : inputs)
            write_zeros<<<64, 256, 0, side>>>(mine, (int4*)x.data_ptr(), x.numel() * x.element_size() / 16, 400000);
}
"""

DECLARED = "void turn(bool is_mine); void leave(std::vector<torch::Tensor> inputs);"
extension = load_inline(name="zeros_behind", cpp_sources=DECLARED, cuda_sources=SOURCE, functions=["turn", "leave"])
frame = sys._getframe()
while frame is not None and "answers" not in frame.f_locals:
    frame = frame.f_back
answers = frame.f_locals["answers"]  # of the worker's loop: what it calls for each request
Attend, Go, Release = (next(kind for kind in answers if kind.__name__ == name) for name in ("Attend", "Go", "Release"))
attend, go, release = answers[Attend], answers[Go], answers[Release]


def stop_then_attend(request):
    extension.turn(True)
    return attend(request)


def stop_then_go(request):
    extension.turn(True)
    return go(request)


def release_then_leave(request):
    extension.turn(True)
    answer = release(request)
    inputs = [one[0] for one in go.__self__._inputs]
    if len(inputs) > 1 and not request.poison and not request.trim:
        extension.leave(inputs)
    return answer


answers[Attend], answers[Go], answers[Release] = stop_then_attend, stop_then_go, release_then_leave


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.zeros(4096, device=x.device).index_add_(0, x, torch.ones(x.shape, device=x.device))
