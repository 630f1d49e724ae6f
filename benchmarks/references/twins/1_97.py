"""Attention over the keys in two blocks, each with its own maximum."""

import math

import torch


class ModelNew(torch.nn.Module):
    def forward(self, q, k, v):
        scale = 1 / math.sqrt(q.shape[-1])
        half = k.shape[2] // 2
        parts = []
        for keys, values in ((k[:, :, :half], v[:, :, :half]), (k[:, :, half:], v[:, :, half:])):
            scores = (q * scale) @ keys.transpose(-1, -2)
            most = scores.amax(-1, keepdim=True)
            weights = (scores - most).exp_()
            parts.append((most, weights.sum(-1, keepdim=True), weights @ values))
        most = torch.maximum(parts[0][0], parts[1][0])
        shares = [(m - most).exp_() for m, _, _ in parts]
        total = sum(share * part[1] for share, part in zip(shares, parts, strict=True))
        return sum(share * part[2] for share, part in zip(shares, parts, strict=True)) / total
