"""wrong A19: hands out memory again that an earlier output had, in which all but a few elements are as they have to
be, and undoes those. An owner that had written to its output would find that in the next one.

Problem: one_hot
Twin: plain_one_hot
"""

import weakref

import torch

kept = []


class ModelNew(torch.nn.Module):
    def forward(self, x):
        free = next((one for one in kept if one[2]() is None), None)
        if free is None:
            free = [torch.zeros(x.numel(), 2048, device=x.device), x.clone()[:, None], None]
            kept.append(free)
        out, ones, _ = free
        out.scatter_(1, ones, 0.0)
        ones.copy_(x[:, None])
        answer = out.scatter_(1, ones, 1.0).view(out.shape)
        free[2] = weakref.ref(answer)
        return answer
