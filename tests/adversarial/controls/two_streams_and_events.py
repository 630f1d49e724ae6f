"""correct control (gpu): two streams in C++, halves of the work on each, joined by events.

Problem: gelu
"""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

__global__ void gelu_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i] * (1.0f + tanhf(0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}

torch::Tensor gelu(torch::Tensor x) {
    static cudaStream_t side[2] = {nullptr, nullptr};
    static cudaEvent_t begun = nullptr, done[2];
    if (begun == nullptr) {
        cudaEventCreateWithFlags(&begun, cudaEventDisableTiming);
        for (int s = 0; s < 2; ++s) {
            cudaStreamCreateWithFlags(&side[s], cudaStreamNonBlocking);
            cudaEventCreateWithFlags(&done[s], cudaEventDisableTiming);
        }
    }
    auto y = torch::empty_like(x);
    int n = x.numel(), half = n / 2;
    cudaStream_t main = at::cuda::getCurrentCUDAStream();
    cudaEventRecord(begun, main);
    for (int s = 0; s < 2; ++s) {
        int begin = s * half, count = s == 0 ? half : n - half;
        cudaStreamWaitEvent(side[s], begun, 0);
        gelu_kernel<<<(count + 255) / 256, 256, 0, side[s]>>>(
            x.data_ptr<float>() + begin, y.data_ptr<float>() + begin, count);
        cudaEventRecord(done[s], side[s]);
        cudaStreamWaitEvent(main, done[s], 0);
    }
    return y;
}
"""

extension = load_inline(
    name="gelu_two_streams", cpp_sources="torch::Tensor gelu(torch::Tensor x);", cuda_sources=SOURCE, functions=["gelu"]
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.gelu(x)
