"""failed/missing: defines ModelNew and takes it away again."""

import torch


class ModelNew(torch.nn.Module):
    pass


del ModelNew
