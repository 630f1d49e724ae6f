"""correct D22 (cpu): names five thousand launches that no compiler sees, each of which is a sentence of its record."""

import torch
from torch.utils.cpp_extension import load_inline

launches = "".join(f"k{number}<<<1, 1>>>();" for number in range(5_000))
load_inline(
    name="many",
    cpp_sources="int one();",
    cuda_sources=f"#if 0\n{launches}\n#endif\nint one() {{ return 1; }}",
    functions=["one"],
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
