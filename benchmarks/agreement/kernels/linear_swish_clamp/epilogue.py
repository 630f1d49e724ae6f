"""correct: everything after the product in one kernel."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

epilogue_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void epilogue_kernel(const float* __restrict__ in, float* __restrict__ out, int n) {
    const int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        float v = in[i];
        v = v / (1.0f + expf(-v));
        v *= 0.5f;
        v = fminf(fmaxf(v, -1.0f), 1.0f);
        out[i] = tanhf(v);
    }
}

torch::Tensor epilogue_cuda(torch::Tensor in) {
    auto out = torch::empty_like(in);
    const int n = in.numel();
    epilogue_kernel<<<std::min((n + 127) / 128, 16), 128>>>(in.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}
"""

epilogue = load_inline(
    name="swish_clamp_epilogue",
    cpp_sources="torch::Tensor epilogue_cuda(torch::Tensor in);",
    cuda_sources=epilogue_source,
    functions=["epilogue_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)

    def forward(self, x):
        return epilogue.epilogue_cuda(self.gemm(x))
