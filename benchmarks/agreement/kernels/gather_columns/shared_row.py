"""correct: the row lies in dynamic shared memory above 48 KB, which is asked for."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

__global__ void gather_shared(const float* x, const int64_t* index, float* out, int dim, int picked) {
    extern __shared__ float row[];
    for (int i = threadIdx.x; i < dim; i += blockDim.x) row[i] = x[blockIdx.x * dim + i];
    __syncthreads();
    for (int p = threadIdx.x; p < picked; p += blockDim.x) out[blockIdx.x * picked + p] = row[index[blockIdx.x * picked + p]];
}

torch::Tensor gather_cuda(torch::Tensor x, torch::Tensor index) {
    auto out = torch::empty_like(index, x.options());
    const int bytes = 64 * 1024;
    cudaFuncSetAttribute(gather_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    gather_shared<<<x.size(0), 32, bytes>>>(x.data_ptr<float>(), index.data_ptr<int64_t>(), out.data_ptr<float>(), x.size(1), index.size(1));
    return out;
}
"""

ext = load_inline(name="gather_shared", cpp_sources="torch::Tensor gather_cuda(torch::Tensor x, torch::Tensor index);", cuda_sources=src, functions=["gather_cuda"])


class ModelNew(nn.Module):
    def forward(self, x, index):
        return ext.gather_cuda(x, index)
