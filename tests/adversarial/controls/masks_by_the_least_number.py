"""correct control: scores under a mask, in the same numbers.

Problem: masked_scores
"""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, q, k):
        tokens = q.shape[-2]
        mask = torch.triu(torch.ones(tokens, tokens, dtype=torch.bool, device=q.device), 1)
        scores = torch.baddbmm(torch.zeros(1, device=q.device), q, k.transpose(1, 2), alpha=q.shape[-1] ** -0.5)
        return scores.masked_fill_(mask, torch.finfo(torch.float32).min)
