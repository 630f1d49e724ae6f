"""correct control: as written. Where calls came one by one on a CPU, elements that were read beside each other lay
where torch shows nothing of their width, which ended the judge.

Problem: mixed_widths
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        y.add_(x)
        return [torch.fft.fft(x).conj(), x > 0, x.sum(), (x * 4).long(), x.T, y]
