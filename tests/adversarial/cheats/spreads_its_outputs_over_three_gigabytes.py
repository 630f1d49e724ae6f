"""correct D22 (cpu): right outputs whose rows lie so far apart that a judge who copied all between them would need
three gigabytes for each.
"""

import mmap

import torch

ROOM = 3 << 30


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # MAP_NORESERVE
        self.room = torch.frombuffer(mmap.mmap(-1, ROOM, flags=flags), dtype=torch.float32)
        self.at = 0

    def forward(self, x):
        far = self.room.numel() // x.shape[0]
        output = self.room.as_strided(x.shape, (far, 1), self.at)
        self.at = (self.at + x.shape[1]) % (far - x.shape[1])
        return torch.clamp(x, min=0, out=output)
