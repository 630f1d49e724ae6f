"""failed/compile D14: raises what a failed build raises, with a log of its own making."""

import torch

from harness.schema.build import BuildFailure
from harness.worker.capture import BuildFailed

TEXT = "\x1b[2Jeverything is fine\n" + "B" * 6_000_000


class ModelNew(torch.nn.Module):
    def forward(self, x):
        raise BuildFailed(
            "mine", BuildFailure(reason="compile", detail=TEXT, log=TEXT, toolchain=TEXT[:1000], seconds=1e300)
        )
