"""failed/compile D22: has a header of the system print brackets that can be read in 2^90 ways.

They are read where the names of stock's headers are asked for, to decide on the error.
"""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
torch::Tensor relu(torch::Tensor x) { return x.clamp_min(lower_bound_of_nobody); }
#define size_t namespace BRACKETS ( {
#include <glob.h>
""".replace("BRACKETS", "[[]]" * 90)

extension = load_inline(name="reads_on_and_on", cpp_sources=SOURCE, functions=["relu"], verbose=False)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.relu(x)
