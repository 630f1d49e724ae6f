"""correct control: prints on every call, warns and logs."""

import logging
import warnings

import torch

warnings.simplefilter("ignore")
log = logging.getLogger(__name__)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        print("relu of", tuple(x.shape))
        log.warning("relu")
        warnings.warn("relu", stacklevel=1)
        return torch.relu(x)
