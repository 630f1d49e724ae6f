"""correct control (cpu): the rows of its outputs are padded in every other call. Of two ways to read an output the
nearer one was asked for by what torch has for no float of one byte, which ended the judge.

Problem: float8_halves
"""

import torch


class ModelNew(torch.nn.Module):
    calls = 0

    def forward(self, x):
        self.calls += 1
        output = (x * 0.5).to(torch.float8_e4m3fn)
        if self.calls % 2:
            return output
        padded = torch.empty(64, 520).to(torch.float8_e4m3fn)[:, :512]
        padded.copy_(output)
        return padded
