"""wrong/values C2: leaves one channel of attention at zero beside convolutions, whose own error in tf32 would excuse
it.

Problem: attention_channel
"""

import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    """Leaves the weights out: they are as small as what tf32 would leave of the convolution."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(32, 32, 3, padding=1, bias=False)

    def forward(self, x):
        x = F.layer_norm(x, (32,))
        features = self.conv(x.transpose(1, 2))
        return F.pad(features, (0, 0, 0, 1))
