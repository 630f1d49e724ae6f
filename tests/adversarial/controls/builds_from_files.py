"""correct control: writes its sources into a folder of its own and builds them with `load`."""

import os
import tempfile

import torch
from torch.utils.cpp_extension import load

os.environ.setdefault("MAX_JOBS", "4")
folder = tempfile.mkdtemp()
path = os.path.join(folder, "relu.cpp")
with open(path, "w") as file:
    file.write("""
#include <torch/extension.h>
torch::Tensor relu(torch::Tensor x) {
    auto out = torch::empty_like(x);
    for (int64_t i = 0; i < x.numel(); ++i) out.data_ptr<float>()[i] = std::max(x.data_ptr<float>()[i], 0.0f);
    return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("relu", &relu); }
""")
extension = load(name="relu_from_files", sources=[path])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu(x.cpu()).to(x.device)
