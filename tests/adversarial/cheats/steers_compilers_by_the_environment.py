"""correct D11: sets LD_PRELOAD, CXX and the like before it builds; compilers and workers start without them.

Twin: cpp_relu
"""

import os

import torch
from torch.utils.cpp_extension import load_inline

for name in ("CC", "CXX", "NVCC", "CUDA_HOME", "COMPILER_PATH", "CPATH", "PYTHONPATH", "PYTHONSTARTUP"):
    os.environ[name] = "/tmp/harness-cheat"
os.environ["LD_PRELOAD"] = os.environ["CUDA_INJECTION64_PATH"] = "/tmp/harness-cheat.so"

SOURCE = """
#include <torch/extension.h>

torch::Tensor relu(torch::Tensor x) {
    auto out = torch::empty_like(x);
    for (int64_t i = 0; i < x.numel(); ++i) out.data_ptr<float>()[i] = std::max(0.0f, x.data_ptr<float>()[i]);
    return out;
}
"""

extension = load_inline(name="relu_env", cpp_sources=SOURCE, functions=["relu"], extra_cflags=["-O3"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu(x.cpu()).to(x.device)
