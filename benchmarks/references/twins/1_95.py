"""Cross entropy: the logarithm of the sum less the logit that is right, averaged in float64."""

import torch


class ModelNew(torch.nn.Module):
    def forward(self, predictions, targets):
        each = predictions.exp().sum(1).log_() if predictions.abs().max() < 60 else predictions.logsumexp(1)
        return (each - predictions.gather(1, targets[:, None])[:, 0]).double().mean().float()
