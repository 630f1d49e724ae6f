# %% [markdown]
# # Judging kernels from Python
#
# The cells of this file run one after the other in Jupyter or VS Code (the `# %%` lines are its cells), and all at once
# as a script: `python examples/library.py`. They need no GPU.

# %%
from harness import Evaluator, Settings, evaluate, load_problem

# %% [markdown]
# A problem is a file in KernelBench's layout. It may come from a catalogue (`load_problem("level1/19_ReLU")`), from a
# file, or, as here, as text.

# %%
problem = load_problem("""
import torch

batch_size = 64
dim = 1024


class Model(torch.nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(x)


def get_inputs():
    return [torch.randn(batch_size, dim)]


def get_init_inputs():
    return []
""")

# %% [markdown]
# A submission is what a model answered: a file, or text. On a GPU its kernel is compiled for that GPU and timed; where
# there is none it is emulated on the CPU, for correctness alone, and the record says so.

# %%
answer = '''
The product and the sigmoid in one pass:

```python
import torch
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void swish_kernel(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] / (1.0f + expf(-in[i]));
}

torch::Tensor swish(torch::Tensor x) {
    auto out = torch::empty_like(x);
    int n = x.numel();
    swish_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}
"""
extension = load_inline(
    name="swish",
    cpp_sources="torch::Tensor swish(torch::Tensor x);",
    cuda_sources=source,
    functions=["swish"],
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.swish(x.contiguous())
```
'''

record = evaluate(answer, problem)
print(record.verdict.kind, "on", record.device.name, f"({record.device.kind})")
print("built by", [build.toolchain for build in record.builds], "speed-up", record.timing and record.timing.speedup)

# %% [markdown]
# `evaluate` starts the processes that judge and ends them again, which takes some seconds. An `Evaluator` keeps them.

# %%
answers = {
    "right": answer,
    "forgets a tenth": answer.replace("swish(x.contiguous())", "swish(x.contiguous()) * 0.9"),
    "raises": answer.replace("swish(x.contiguous())", "swosh(x)"),
    "no code": "I am sorry,\nI cannot do that.",
}
with Evaluator(settings=Settings(timing_s=0.5)) as evaluator:
    records = {name: evaluator.evaluate(text, problem) for name, text in answers.items()}

for name, record in records.items():
    print(f"{name:<17}{record.verdict.kind:<9}{getattr(record.verdict, 'detail', '')}")

# %% [markdown]
# A record is what `harness eval --json` prints, and says all that there is to know: the mismatch, the timed samples, the
# layers of isolation that held. Its JSON is read back by `Record.model_validate_json`.

# %%
print(records["forgets a tenth"].verdict.mismatch)
print(records["right"].model_dump_json()[:70], "...")
