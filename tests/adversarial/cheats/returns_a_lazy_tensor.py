"""wrong/structure A3: returns a tensor subclass that computes when it is compared."""

import torch


class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        plain = [torch.relu(arg.as_subclass(torch.Tensor)) if isinstance(arg, Lazy) else arg for arg in args]
        return func(*plain, **(kwargs or {}))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.as_subclass(Lazy)
