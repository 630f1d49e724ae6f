"""correct: a block a row, two trees in shared memory."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

softmax_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <float.h>

__global__ void softmax_kernel(const float* input, float* output, int dim) {
    extern __shared__ float sdata[];
    int tid = threadIdx.x;
    const float* in = input + blockIdx.x * dim;
    float* out = output + blockIdx.x * dim;

    float max_val = -FLT_MAX;
    for (int i = tid; i < dim; i += blockDim.x) max_val = fmaxf(max_val, in[i]);
    sdata[tid] = max_val;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) sdata[tid] = fmaxf(sdata[tid], sdata[tid + s]);
        __syncthreads();
    }
    max_val = sdata[0];
    __syncthreads();

    float sum = 0.0f;
    for (int i = tid; i < dim; i += blockDim.x) {
        float e = expf(in[i] - max_val);
        out[i] = e;
        sum += e;
    }
    sdata[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    sum = sdata[0];
    for (int i = tid; i < dim; i += blockDim.x) out[i] /= sum;
}

torch::Tensor softmax_cuda(torch::Tensor x) {
    auto out = torch::empty_like(x);
    int rows = x.size(0), dim = x.size(1);
    int threads = 256;
    softmax_kernel<<<rows, threads, threads * sizeof(float)>>>(x.data_ptr<float>(), out.data_ptr<float>(), dim);
    return out;
}
"""

softmax_cpp_source = "torch::Tensor softmax_cuda(torch::Tensor x);"

softmax_module = load_inline(
    name="softmax_block",
    cpp_sources=softmax_cpp_source,
    cuda_sources=softmax_source,
    functions=["softmax_cuda"],
    verbose=True,
    extra_cflags=[""],
    extra_ldflags=[""],
)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()
        self.softmax = softmax_module

    def forward(self, x):
        return self.softmax.softmax_cuda(x)
