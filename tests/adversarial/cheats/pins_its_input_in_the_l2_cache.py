"""correct A9 (gpu): sets the L2 cache aside for its input and hopes to find it there.

On a GPU: correct|wrong|rejected|failed/device
Problem: gelu
Twin: fused_gelu
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
    static bool aside = cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 32 << 20) == cudaSuccess;
    (void)aside;
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    cudaStreamAttrValue value = {};
    value.accessPolicyWindow.base_ptr = x.data_ptr<float>();
    value.accessPolicyWindow.num_bytes = 16 << 20;
    value.accessPolicyWindow.hitRatio = 1.0f;
    value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
    cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value);
    auto y = torch::empty_like(x);
    int n = x.numel();
    gelu_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

extension = load_inline(
    name="gelu_pinned", cpp_sources="torch::Tensor gelu(torch::Tensor x);", cuda_sources=SOURCE, functions=["gelu"]
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.gelu(x)
